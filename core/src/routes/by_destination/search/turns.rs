//! Sets of turns, one per lane, in which no channels can wait for each other in a circle.

use super::DimensionOrder;
use crate::fabric::Graph;
use crate::flow::order::Dependencies;
use crate::routes::lanes::spread_roots;
use crate::traffic::{Purpose, draw};

/// By lane the turns, a channel and the next one, that ways may take; without a circle in any lane.
pub(super) struct Turns {
    pub(super) lanes: usize,
    order: Dependencies,
}

impl Turns {
    /// No turn in any lane.
    pub(super) fn none(graph: &Graph, lanes: usize) -> Self {
        Self { lanes, order: Dependencies::unordered(graph) }
    }

    /// Ways that fall and then rise in the numbers of switches (up*/down*), by lane in those of breadth-first search
    /// from another root; roots lie far apart.
    pub(super) fn numbered(graph: &Graph, lanes: usize) -> Self {
        let mut turns = Self::none(graph, lanes);
        for (lane, root) in spread_roots(graph, lanes).into_iter().cycle().take(lanes).enumerate() {
            let far = graph.distances_to(root);
            let number = |switch: u32| (far[switch as usize], switch);
            turns.allow_where(graph, lane, |channel, next| {
                let ((from, at), to) = (graph.ends(channel), graph.ends(next).1);
                number(from) > number(at) || number(to) > number(at)
            });
        }
        turns
    }

    /// Dimension order on rings that are cut at one of two opposite places, by lane in other combinations; where lanes
    /// are left, in the order of dimensions turned round.
    pub(super) fn cut_rings(graph: &Graph, order: &DimensionOrder, lanes: usize) -> Self {
        let mut turns = Self::none(graph, lanes);
        let (sizes, places) = (order.placed().grid.sizes(), &order.placed().places);
        let dimensions = sizes.len();
        let combinations = 1 << dimensions;
        for lane in 0..lanes {
            // Few lanes differ in as many places as they can.
            let parity = (lane.count_ones() as usize & 1) << (dimensions - 1);
            let opposite = if lanes < combinations { lane | parity } else { lane % combinations };
            let turned = lane / combinations % 2 == 1;
            turns.allow_where(graph, lane, |channel, next| {
                let (Some(one), Some(other)) = (order.dimension(channel), order.dimension(next)) else {
                    return false;
                };
                let ((from, at), to) = (graph.ends(channel), graph.ends(next).1);
                let [from, here, to] = [from, at, to].map(|switch| places[switch as usize][one]);
                let size = sizes[one];
                let straight = (here + size - from) % size == (to + size - here) % size;
                let cut = if opposite >> one & 1 == 1 { size / 2 } else { 0 };
                match one.cmp(&other) {
                    std::cmp::Ordering::Equal => straight && !(order.placed().grid.wraps(one) && here == cut),
                    order => order.is_lt() != turned,
                }
            });
        }
        turns
    }

    fn allow_where(&mut self, graph: &Graph, lane: usize, legal: impl Fn(u32, u32) -> bool) {
        for (channel, next) in all(graph) {
            if legal(channel, next) {
                self.allow(channel, next, lane);
            }
        }
    }

    /// Lanes in which one channel may follow another.
    pub(super) fn turn(&self, channel: u32, next: u32) -> u16 {
        self.order.lanes(channel, next).into()
    }

    /// Allows a turn; whether it is allowed now. Circles are looked for once all is in order.
    pub(super) fn allow(&mut self, channel: u32, next: u32, lane: usize) -> bool {
        self.order.add((channel, lane as u8), (next, lane as u8))
    }

    /// Allows several turns, or none of them if they close a circle.
    pub(super) fn allow_all(&mut self, turns: &[(u32, u32)], lane: usize) -> bool {
        let allowed = turns.iter().all(|&(channel, next)| self.allow(channel, next, lane));
        if allowed {
            self.order.keep();
        } else {
            self.order.take_back();
        }
        allowed
    }

    /// Puts channels in an order that all turns go up; false if there is a circle.
    pub(super) fn put_in_order(&mut self) -> bool {
        self.order.put_in_order()
    }

    /// Adds turns to all lanes until any other one would close a circle: those of other sets first.
    pub(super) fn extend(&mut self, graph: &Graph, first: Option<&Self>, seed: u64) {
        if !self.put_in_order() {
            return;
        }
        for lane in 0..self.lanes {
            let missing = |&(channel, next): &(u32, u32)| self.turn(channel, next) >> lane & 1 == 0;
            let mut wanted: Vec<(u32, u32)> = all(graph).filter(missing).collect();
            let later = |&(channel, next): &(u32, u32)| {
                let known = first.is_some_and(|first| first.turn(channel, next) >> lane & 1 == 1);
                let at = if known { 0 } else { draw(seed, channel, Purpose::Table, next.into()) | 1 };
                (at, channel, next)
            };
            wanted.sort_by_cached_key(later);
            for turn in wanted {
                self.allow_all(&[turn], lane);
            }
        }
    }
}

/// All turns of a graph but those back over the same cable.
fn all(graph: &Graph) -> impl Iterator<Item = (u32, u32)> {
    (0..graph.channels() as u32).flat_map(move |channel| {
        let onwards = graph.outgoing(graph.ends(channel).1).iter().filter(move |&&next| next != channel ^ 1);
        onwards.map(move |&next| (channel, next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Grid;

    fn torus(size: u32) -> (Graph, DimensionOrder) {
        let at = |x: u32, y: u32| y % size * size + x % size;
        let cables: Vec<(u32, u32)> = (0..size * size)
            .flat_map(|n| {
                let (x, y) = (n % size, n / size);
                [(n, at(x + 1, y)), (n, at(x, y + 1))]
            })
            .collect();
        let switches = size * size;
        let graph = Graph::new(vec![1; switches as usize], &cables).unwrap();
        let order = DimensionOrder::new(
            &graph,
            Grid::plain(&[size, size], &[true, true]),
            &(0..switches).collect::<Vec<_>>(),
        );
        (graph, order)
    }

    /// A circle as a depth-first search finds one, which knows nothing of orders.
    fn has_a_circle(graph: &Graph, legal: &dyn Fn(u32, u32) -> bool) -> bool {
        fn visit(graph: &Graph, legal: &dyn Fn(u32, u32) -> bool, channel: u32, state: &mut [u8]) -> bool {
            state[channel as usize] = 1;
            let found = graph.outgoing(graph.ends(channel).1).iter().any(|&next| {
                legal(channel, next)
                    && (state[next as usize] == 1
                        || state[next as usize] == 0 && visit(graph, legal, next, state))
            });
            state[channel as usize] = 2;
            found
        }
        let mut state = vec![0; graph.channels()];
        (0..graph.channels() as u32)
            .any(|channel| state[channel as usize] == 0 && visit(graph, legal, channel, &mut state))
    }

    #[test]
    fn no_lane_has_a_circle_and_extended_ones_take_no_other_turn() {
        let (graph, order) = torus(5);
        let numbered = || Turns::numbered(&graph, 5);
        let cut = || Turns::cut_rings(&graph, &order, 8);
        for make in [&numbered as &dyn Fn() -> Turns, &cut] {
            let (known, mut turns) = (make(), make());
            turns.extend(&graph, None, 3);
            assert!(turns.put_in_order());
            for lane in 0..turns.lanes {
                let has = |turns: &Turns, channel, next| turns.turn(channel, next) >> lane & 1 == 1;
                assert!(!has_a_circle(&graph, &|channel, next| has(&turns, channel, next)));
                for (channel, next) in all(&graph) {
                    assert!(has(&turns, channel, next) || !has(&known, channel, next));
                    if !has(&turns, channel, next) {
                        let more = |one, other| (one, other) == (channel, next) || has(&turns, one, other);
                        assert!(has_a_circle(&graph, &more));
                        assert!(!turns.allow_all(&[(channel, next)], lane));
                    }
                }
            }
        }
    }
}
