//! Sets of turns, one per lane, in which no channels can wait for each other in a circle.

use super::DimensionOrder;
use crate::fabric::Graph;
use crate::routes::lanes::spread_roots;
use crate::traffic::{Purpose, draw};

/// By lane the turns, a channel and the next one, that ways may take; without a circle in any lane.
#[derive(Clone)]
pub(super) struct Turns {
    pub(super) lanes: usize,
    ports: usize,
    places: Vec<u8>,
    /// Lanes by channel and place of the next one.
    allowed: Vec<u16>,
}

/// An order of channels that allowed turns go up, kept as turns are added (Pearce and Kelly 2006).
pub(super) struct Ranks {
    rank: Vec<u32>,
    mark: Vec<u32>,
    round: u32,
    behind: Vec<u32>,
    before: Vec<u32>,
}

impl Turns {
    /// No turn in any lane.
    pub(super) fn none(graph: &Graph, lanes: usize) -> Self {
        let ports =
            (0..graph.switches() as u32).map(|switch| graph.outgoing(switch).len()).max().unwrap_or(0);
        Self {
            lanes,
            ports,
            places: (0..graph.channels() as u32).map(|channel| graph.place(channel) as u8).collect(),
            allowed: vec![0; graph.channels() * ports],
        }
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

    fn slot(&self, channel: u32, next: u32) -> usize {
        channel as usize * self.ports + usize::from(self.places[next as usize])
    }

    /// Lanes in which one channel may follow another.
    pub(super) fn turn(&self, channel: u32, next: u32) -> u16 {
        self.allowed[self.slot(channel, next)]
    }

    /// Allows a turn, of which the caller knows that it closes no circle.
    pub(super) fn allow(&mut self, channel: u32, next: u32, lane: usize) {
        let slot = self.slot(channel, next);
        self.allowed[slot] |= 1 << lane;
    }

    /// Takes a turn back.
    pub(super) fn forbid(&mut self, channel: u32, next: u32, lane: usize) {
        let slot = self.slot(channel, next);
        self.allowed[slot] &= !(1 << lane);
    }

    /// An order of all channels of a lane; `None` if there is a circle.
    pub(super) fn ranks(&self, graph: &Graph, lane: usize) -> Option<Ranks> {
        let channels = graph.channels();
        let mut arriving = vec![0_u32; channels];
        let legal = |&(channel, next): &(u32, u32)| self.turn(channel, next) >> lane & 1 == 1;
        all(graph).filter(legal).for_each(|(_, next)| arriving[next as usize] += 1);
        let mut order: Vec<u32> =
            (0..channels as u32).filter(|&channel| arriving[channel as usize] == 0).collect();
        let mut rank = vec![0; channels];
        let mut head = 0;
        while let Some(&channel) = order.get(head) {
            rank[channel as usize] = head as u32;
            head += 1;
            for &next in graph.outgoing(graph.ends(channel).1) {
                if legal(&(channel, next)) {
                    arriving[next as usize] -= 1;
                    if arriving[next as usize] == 0 {
                        order.push(next);
                    }
                }
            }
        }
        let mark = vec![0; channels];
        let (behind, before) = (Vec::new(), Vec::new());
        (order.len() == channels).then_some(Ranks { rank, mark, round: 0, behind, before })
    }

    /// Allows a turn unless it closes a circle.
    pub(super) fn add(&mut self, graph: &Graph, ranks: &mut Ranks, lane: usize, turn: (u32, u32)) -> bool {
        let added = self.turn(turn.0, turn.1) >> lane & 1 == 1 || ranks.make_room(graph, self, lane, turn);
        if added {
            self.allow(turn.0, turn.1, lane);
        }
        added
    }

    /// Adds turns to all lanes until any other one would close a circle: those of other sets first.
    pub(super) fn extend(&mut self, graph: &Graph, first: Option<&Self>, seed: u64) {
        for lane in 0..self.lanes {
            let Some(mut ranks) = self.ranks(graph, lane) else { continue };
            let missing = |&(channel, next): &(u32, u32)| self.turn(channel, next) >> lane & 1 == 0;
            let mut wanted: Vec<(u32, u32)> = all(graph).filter(missing).collect();
            let later = |&(channel, next): &(u32, u32)| {
                let known = first.is_some_and(|first| first.turn(channel, next) >> lane & 1 == 1);
                let at = if known { 0 } else { draw(seed, channel, Purpose::Table, next.into()) | 1 };
                (at, channel, next)
            };
            wanted.sort_by_cached_key(later);
            for turn in wanted {
                self.add(graph, &mut ranks, lane, turn);
            }
        }
    }
}

impl Ranks {
    /// Reorders so that the first channel of a turn stands before the second; false if that leads back to the first.
    fn make_room(&mut self, graph: &Graph, turns: &Turns, lane: usize, (from, to): (u32, u32)) -> bool {
        let (high, low) = (self.rank[from as usize], self.rank[to as usize]);
        if high < low {
            return true;
        }
        self.round += 1;
        let legal = |channel: u32, next: u32| turns.turn(channel, next) >> lane & 1 == 1;
        self.behind.clear();
        self.behind.push(to);
        let mut head = 0;
        while let Some(&channel) = self.behind.get(head) {
            head += 1;
            for &next in graph.outgoing(graph.ends(channel).1) {
                if !legal(channel, next) {
                    continue;
                }
                if next == from {
                    return false;
                }
                if self.rank[next as usize] < high && self.mark[next as usize] != self.round {
                    self.mark[next as usize] = self.round;
                    self.behind.push(next);
                }
            }
        }
        self.before.clear();
        self.before.push(from);
        head = 0;
        while let Some(&channel) = self.before.get(head) {
            head += 1;
            for &back in graph.outgoing(graph.ends(channel).0) {
                let earlier = back ^ 1;
                if legal(earlier, channel)
                    && self.rank[earlier as usize] > low
                    && self.mark[earlier as usize] != self.round
                {
                    self.mark[earlier as usize] = self.round;
                    self.before.push(earlier);
                }
            }
        }
        let rank = &self.rank;
        self.before.sort_unstable_by_key(|&channel| rank[channel as usize]);
        self.behind.sort_unstable_by_key(|&channel| rank[channel as usize]);
        let moved: Vec<u32> = self.before.iter().chain(&self.behind).copied().collect();
        let mut places: Vec<u32> = moved.iter().map(|&channel| self.rank[channel as usize]).collect();
        places.sort_unstable();
        moved.iter().zip(places).for_each(|(&channel, place)| self.rank[channel as usize] = place);
        true
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
    fn has_a_circle(graph: &Graph, turns: &Turns, lane: usize) -> bool {
        fn visit(graph: &Graph, turns: &Turns, lane: usize, channel: u32, state: &mut [u8]) -> bool {
            state[channel as usize] = 1;
            let found = graph.outgoing(graph.ends(channel).1).iter().any(|&next| {
                turns.turn(channel, next) >> lane & 1 == 1
                    && (state[next as usize] == 1
                        || state[next as usize] == 0 && visit(graph, turns, lane, next, state))
            });
            state[channel as usize] = 2;
            found
        }
        let mut state = vec![0; graph.channels()];
        (0..graph.channels() as u32)
            .any(|channel| state[channel as usize] == 0 && visit(graph, turns, lane, channel, &mut state))
    }

    #[test]
    fn no_lane_has_a_circle_and_extended_ones_take_no_other_turn() {
        let (graph, order) = torus(5);
        for mut turns in [Turns::numbered(&graph, 5), Turns::cut_rings(&graph, &order, 8)] {
            let known = turns.clone();
            turns.extend(&graph, None, 3);
            for lane in 0..turns.lanes {
                assert!(!has_a_circle(&graph, &turns, lane));
                assert!(turns.ranks(&graph, lane).is_some());
                for (channel, next) in all(&graph) {
                    let had = known.turn(channel, next) >> lane & 1;
                    let has = turns.turn(channel, next) >> lane & 1;
                    assert!(had <= has);
                    if has == 0 {
                        let mut more = turns.clone();
                        more.allow(channel, next, lane);
                        assert!(has_a_circle(&graph, &more, lane));
                        assert!(more.ranks(&graph, lane).is_none());
                    }
                }
            }
        }
    }
}
