//! Sets of turns, one per lane, in which no channels can wait for each other in a circle.

use super::super::beside::center;
use super::DimensionOrder;
use crate::fabric::Graph;
use crate::flow::order::Dependencies;
use crate::routes::lanes::spread_roots;
use crate::traffic::{Purpose, draw};

/// By lane the turns, a channel and the next one, that ways may take; without a circle in any lane.
pub(super) struct Turns {
    pub(super) lanes: usize,
    /// Turns, by lane, that are never given up.
    kept: Vec<(u32, u32, usize)>,
    /// Whether they lead from everywhere to everywhere in every lane.
    trees: bool,
    order: Dependencies,
}

impl Turns {
    /// Whether turns that are never given up lead from everywhere to everywhere in every lane.
    pub(super) fn keeps_trees(&self) -> bool {
        self.trees
    }

    /// No turn in any lane.
    pub(super) fn none(graph: &Graph, lanes: usize) -> Self {
        Self { lanes, kept: Vec::new(), trees: false, order: Dependencies::unordered(graph, lanes) }
    }

    /// Only those turns that are never given up.
    pub(super) fn only_kept(&self, graph: &Graph) -> Self {
        let mut turns = Self { kept: self.kept.clone(), trees: self.trees, ..Self::none(graph, self.lanes) };
        for &(channel, next, lane) in &self.kept {
            turns.allow(channel, next, lane);
        }
        turns
    }

    /// Ways that fall and then rise in the numbers of switches (up*/down*), by lane in those of breadth-first search
    /// from another root; roots lie far apart. The first lane keeps the turns of a given tree, if there is one, and
    /// takes others as far as they close no circle with these.
    pub(super) fn numbered(graph: &Graph, lanes: usize, tree: Option<&[u32]>) -> Self {
        let mut turns = Self::none(graph, lanes);
        let legal = |root: u32| {
            let far = graph.distances_to(root);
            let number = move |switch: u32| (far[switch as usize], switch);
            all(graph).filter(move |&(channel, next)| {
                let ((from, at), to) = (graph.ends(channel), graph.ends(next).1);
                number(from) > number(at) || number(to) > number(at)
            })
        };
        let roots = spread_roots(graph, lanes).into_iter().cycle().take(lanes);
        for (lane, root) in roots.enumerate().skip(usize::from(tree.is_some())) {
            legal(root).for_each(|(channel, next)| {
                turns.allow(channel, next, lane);
            });
        }
        if let Some(tree) = tree {
            turns.keep_within(graph, &of_channels(graph, tree), 0);
            for place in 0..turns.kept.len() {
                let (channel, next, lane) = turns.kept[place];
                turns.allow(channel, next, lane);
            }
            turns.put_in_order();
            legal(center(graph)).for_each(|turn| {
                turns.allow_all(&[turn], 0);
            });
        }
        turns
    }

    /// Dimension order on rings that are cut at one of two opposite places, by lane in other combinations; where lanes
    /// are left, in the order of dimensions turned round. With trees, every lane has one for pairs that failures leave
    /// no such way. A given tree is that of the first lane.
    pub(super) fn cut_rings(
        graph: &Graph,
        order: &DimensionOrder,
        lanes: usize,
        trees: bool,
        given: Option<&[u32]>,
    ) -> Self {
        let lane = |lane| CutRings::new(order, lane, lanes);
        let mut turns = Self { trees, ..Self::none(graph, lanes) };
        for at in 0..lanes {
            match given.filter(|_| at == 0) {
                Some(tree) => turns.keep_within(graph, &of_channels(graph, tree), at),
                None if trees => turns.keep_within(graph, &lane(at).tree(graph), at),
                None => {}
            }
        }
        let mut turns = turns.only_kept(graph);
        turns.put_in_order();
        for at in 0..lanes {
            let lane = lane(at);
            for turn in all(graph).filter(|&(channel, next)| lane.allows(graph, channel, next)) {
                turns.allow_all(&[turn], at);
            }
        }
        turns
    }

    /// Never gives up the turns between some cables.
    fn keep_within(&mut self, graph: &Graph, cables: &[bool], lane: usize) {
        let within =
            all(graph).filter(|(channel, next)| cables[*channel as usize / 2] && cables[*next as usize / 2]);
        self.kept.extend(within.map(|(channel, next)| (channel, next, lane)));
    }

    /// Lanes in which one channel may follow another.
    pub(super) fn turn(&self, channel: u32, next: u32) -> u16 {
        self.order.lanes(channel, next)
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

/// Dimension order on rings that are cut.
struct CutRings<'a> {
    order: &'a DimensionOrder,
    /// By dimension where its rings are cut.
    cuts: Vec<u32>,
    /// Whether the last dimension comes first.
    turned: bool,
}

impl<'a> CutRings<'a> {
    /// Those of a lane.
    fn new(order: &'a DimensionOrder, lane: usize, lanes: usize) -> Self {
        let sizes = order.placed().grid.sizes();
        let combinations = 1 << sizes.len();
        // Few lanes differ in as many places as they can.
        let parity = (lane.count_ones() as usize & 1) << (sizes.len() - 1);
        let opposite = if lanes < combinations { lane | parity } else { lane % combinations };
        // More lanes than both orders have combinations are cut between.
        let first = |size: u32| if lane / combinations / 2 % 2 == 1 { size / 4 } else { 0 };
        let cut = |(dimension, &size): (usize, &u32)| {
            first(size) + if opposite >> dimension & 1 == 1 { size / 2 } else { 0 }
        };
        let cuts = sizes.iter().enumerate().map(cut).collect();
        Self { order, cuts, turned: lane / combinations % 2 == 1 }
    }

    fn allows(&self, graph: &Graph, channel: u32, next: u32) -> bool {
        let (Some(one), Some(other)) = (self.order.dimension(channel), self.order.dimension(next)) else {
            return false;
        };
        let ((from, at), to) = (graph.ends(channel), graph.ends(next).1);
        let grid = &self.order.placed().grid;
        let [from, here, to] = [from, at, to].map(|switch| self.order.placed().places[switch as usize][one]);
        let size = grid.sizes()[one];
        match one.cmp(&other) {
            std::cmp::Ordering::Equal => {
                (here + size - from) % size == (to + size - here) % size
                    && !(grid.wraps(one) && here == self.cuts[one])
            }
            order => order.is_lt() != self.turned,
        }
    }

    /// The cables of a tree over all switches: whole rings of the first dimension, then those of the next where they
    /// are farthest from the cuts, so that without failures its turns close no circle with dimension order.
    fn tree(&self, graph: &Graph) -> Vec<bool> {
        let (sizes, places) = (self.order.placed().grid.sizes(), &self.order.placed().places);
        let rank = |dimension: usize| if self.turned { sizes.len() - 1 - dimension } else { dimension };
        let far = |dimension: usize, place: u32| {
            let (size, middle) = (sizes[dimension], self.cuts[dimension] + sizes[dimension] / 2);
            let apart = (place + size - middle % size) % size;
            apart.min(size - apart)
        };
        let mut cables: Vec<u32> = (0..graph.channels() as u32 / 2).collect();
        cables.sort_by_cached_key(|&cable| {
            let Some(dimension) = self.order.dimension(2 * cable) else {
                return (usize::MAX, false, 0, cable);
            };
            let (from, to) = graph.ends(2 * cable);
            let place = &places[from as usize];
            let before = (0..sizes.len()).filter(|&other| rank(other) < rank(dimension));
            let off = before.map(|other| far(other, place[other])).sum();
            let ends = [place[dimension], places[to as usize][dimension]];
            let cut = self.cuts[dimension];
            let into = (cut + sizes[dimension] - 1) % sizes[dimension];
            (rank(dimension), ends.contains(&cut) && ends.contains(&into), off, cable)
        });
        let mut part: Vec<u32> = (0..graph.switches() as u32).collect();
        let mut tree = vec![false; graph.channels() / 2];
        for cable in cables {
            let (from, to) = graph.ends(2 * cable);
            let (from, to) = (root(&mut part, from), root(&mut part, to));
            tree[cable as usize] = from != to;
            part[from as usize] = to;
        }
        tree
    }
}

/// Whether each cable has one of some channels.
fn of_channels(graph: &Graph, channels: &[u32]) -> Vec<bool> {
    let mut cables = vec![false; graph.channels() / 2];
    channels.iter().for_each(|&channel| cables[channel as usize / 2] = true);
    cables
}

/// The switch that stands for the part that a switch is in.
fn root(part: &mut [u32], mut at: u32) -> u32 {
    while part[at as usize] != at {
        part[at as usize] = part[part[at as usize] as usize];
        at = part[at as usize];
    }
    at
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
    use crate::fabric::{Grid, Placed};

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
        let grid = Grid::plain(&[size, size], &[true, true]);
        let places = (0..switches).map(|switch| grid.coordinates(switch)).collect();
        let order = DimensionOrder::new(&graph, Placed { grid, places });
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
        let numbered = || Turns::numbered(&graph, 5, None);
        let cut = || Turns::cut_rings(&graph, &order, 8, true, None);
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
