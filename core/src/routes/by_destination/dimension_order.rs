//! Dimension order on a recognised grid: the healthy rule, and which paths follow it.

use super::{Forwarding, NO_CHANNEL};
use crate::fabric::{
    Direction, Graph, Grid, Network, Placed, Sign, UNREACHABLE,
    walk::{self, Hops},
};
use crate::routing::dimension_order;

/// A graph whose switches stand on the positions of a grid.
#[derive(Clone, Debug)]
pub struct DimensionOrder {
    placed: Placed,
    /// Per dimension and position: its place in the ring through it, and how many that has.
    rings: Vec<Vec<(u32, u32)>>,
    twist: Option<Twist>,
    /// Direction of every channel, `None` for cables that join no neighbours.
    along: Vec<Option<Direction>>,
    /// Place of every dimension in the order.
    turn: Vec<usize>,
    /// Bit of every dimension whose rings need a dateline.
    bits: Vec<Option<u8>>,
}

/// What a twist adds: dimensions cannot be looked at one by one.
#[derive(Clone, Debug)]
struct Twist {
    /// All shortest displacements, by where they lead from the first position.
    ways: Vec<Vec<Hops>>,
    /// The same by dimension, as sets: whether one of them has hops there and none in earlier dimensions.
    ordered: Vec<u8>,
    /// By switch and root: where a displacement between them leads from the first position.
    apart: Vec<u32>,
}

impl DimensionOrder {
    /// The order on the grid that the switches of a network stand on, if they stand on one.
    pub fn of(network: &Network) -> Option<Self> {
        Some(Self::new(network.switches()?, network.placed()?.clone()))
    }

    /// The order on a grid; rings whose size is a multiple of four come last.
    pub fn new(graph: &Graph, placed: Placed) -> Self {
        let grid = &placed.grid;
        let at = |switch: u32| position(grid, &placed.places[switch as usize]) as u32;
        let along = (0..graph.channels() as u32)
            .map(|channel| {
                let (from, to) = graph.ends(channel);
                let (from, to) = (at(from), at(to));
                (0..2 * grid.dimensions())
                    .map(Direction::from_index)
                    .find(|&direction| grid.neighbour(from, direction) == Some(to))
            })
            .collect();
        let mut order: Vec<usize> = (0..grid.dimensions()).collect();
        let rings: Vec<Vec<(u32, u32)>> =
            (0..grid.dimensions()).map(|dimension| rings(grid, dimension)).collect();
        let around = |dimension: usize| if grid.wraps(dimension) { rings[dimension][0].1 } else { 0 };
        order.sort_by_key(|&dimension| grid.wraps(dimension) && grid.sizes()[dimension].is_multiple_of(4));
        let mut turn = vec![0; grid.dimensions()];
        order.iter().enumerate().for_each(|(place, &dimension)| turn[dimension] = place);
        let mut next_bit = 0;
        let bits = (0..grid.dimensions())
            .map(|dimension| {
                (around(dimension) >= 5).then(|| {
                    next_bit += 1;
                    next_bit - 1
                })
            })
            .collect();
        let twist = (!grid.lattice().is_plain()).then(|| Twist::new(&placed, &turn));
        Self { placed, rings, twist, along, turn, bits }
    }

    /// Service levels that tell on which rings a path crosses the dateline.
    pub fn levels(&self) -> usize {
        1 << self.bits.iter().flatten().count()
    }

    /// Dimension of a channel.
    pub fn dimension(&self, channel: u32) -> Option<usize> {
        self.along[channel as usize].map(Direction::dimension)
    }

    /// The bit of a channel's dimension in the service levels.
    pub fn bit(&self, channel: u32) -> Option<u8> {
        self.bits[self.dimension(channel)?]
    }

    /// Whether a channel crosses the dateline of its ring, between the last coordinate and the first.
    fn crosses(&self, graph: &Graph, channel: u32) -> bool {
        let Some(direction) = self.along[channel as usize] else { return false };
        let place = &self.placed.places[graph.ends(channel).0 as usize];
        let (here, length) = self.rings[direction.dimension()][position(&self.placed.grid, place)];
        length > 0 && here == if direction.sign() == Sign::Plus { length - 1 } else { 0 }
    }

    /// Whether a hop towards a root is one of dimension order: all earlier dimensions are done.
    pub fn is_ordered(&self, channel: u32, switch: u32, root: u32) -> bool {
        let Some(dimension) = self.dimension(channel) else { return false };
        if let Some(twist) = &self.twist {
            return twist.ordered[twist.between(self.placed.places.len(), switch, root)] >> dimension & 1
                == 1;
        }
        let (here, there) = (&self.placed.places[switch as usize], &self.placed.places[root as usize]);
        (0..here.len()).all(|other| self.turn[other] >= self.turn[dimension] || here[other] == there[other])
            && here[dimension] != there[dimension]
    }

    /// The service level of a path under the dateline rule, and whether it is a path of dimension order.
    pub fn level(&self, graph: &Graph, path: &[u32]) -> (u8, bool) {
        let mut level = 0;
        let mut ordered = true;
        let mut last: Option<Direction> = None;
        for &channel in path {
            let along = self.along[channel as usize];
            if let Some(bit) = self.bit(channel)
                && self.crosses(graph, channel)
            {
                level |= 1 << bit;
            }
            ordered &= match (last, along) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(before), Some(now)) => {
                    before == now || self.turn[before.dimension()] < self.turn[now.dimension()]
                }
            };
            last = along;
        }
        (level, ordered)
    }

    /// The rule that balances healthy tori, where it can be followed; elsewhere any nearer switch.
    pub fn start(&self, graph: &Graph, roots: Vec<u32>) -> Forwarding {
        let mut table = Forwarding::shortest(graph, roots);
        let switches = graph.switches();
        let mut distances: Vec<u16> = Vec::new();
        let mut of = u32::MAX;
        for destination in 0..table.roots.len() {
            let root = table.roots[destination];
            if root != of {
                distances = graph.distances_to(root);
                of = root;
            }
            for switch in (0..switches as u32).filter(|&switch| switch != root) {
                let here = distances[switch as usize];
                if here == UNREACHABLE {
                    continue;
                }
                let wanted = self.direction(switch, root);
                let mut best = (0, NO_CHANNEL);
                let copies = destination as u32;
                for (place, &channel) in graph.outgoing(switch).iter().enumerate() {
                    if distances[graph.ends(channel).1 as usize] + 1 != here {
                        continue;
                    }
                    let worth = match self.along[channel as usize] {
                        along if along == wanted => 4,
                        _ if self.is_ordered(channel, switch, root) => 3,
                        Some(_) => 2,
                        None => 1,
                    };
                    // Parallel cables take turns by destination.
                    let spread = copies.wrapping_add(place as u32).is_multiple_of(2);
                    if worth > best.0 || worth == best.0 && spread {
                        best = (worth, channel);
                    }
                }
                table.next[destination * switches + switch as usize] = best.1;
            }
        }
        table
    }

    /// Where the rule for healthy tori goes.
    fn direction(&self, switch: u32, root: u32) -> Option<Direction> {
        if let Some(twist) = &self.twist {
            return self.balanced(
                &twist.ways[twist.between(self.placed.places.len(), switch, root)],
                switch,
                root,
            );
        }
        let (here, there) = (&self.placed.places[switch as usize], &self.placed.places[root as usize]);
        let dimension = (0..here.len())
            .filter(|&other| here[other] != there[other])
            .min_by_key(|&other| self.turn[other])?;
        let (size, from, to) = (self.placed.grid.sizes()[dimension], here[dimension], there[dimension]);
        // Both ways to the place opposite are equally long: half of the pairs take each.
        let parity = || {
            let others = || (0..there.len()).filter(|&other| other != dimension).map(|other| there[other]);
            (from + if size.is_multiple_of(4) { 0 } else { others().sum::<u32>() }).is_multiple_of(2)
        };
        let sign = dimension_order::nearer(size, self.placed.grid.wraps(dimension), from, to, parity)?;
        Some(Direction::new(dimension, sign))
    }

    /// The first direction of one of several displacements: where they part, half of the pairs take each.
    fn balanced(&self, ways: &[Hops], switch: u32, root: u32) -> Option<Direction> {
        let mut left: Vec<&Hops> = ways.iter().collect();
        let here = &self.placed.places[switch as usize];
        let parity: u32 = self.placed.places[root as usize].iter().sum();
        let mut order: Vec<usize> = (0..here.len()).collect();
        order.sort_by_key(|&dimension| self.turn[dimension]);
        for &dimension in &order {
            let upper = (here[dimension] + parity).is_multiple_of(2);
            let hops = left.iter().map(|way| way[dimension]);
            let chosen = if upper { hops.max() } else { hops.min() }?;
            left.retain(|way| way[dimension] == chosen);
            if chosen != 0 {
                let sign = if chosen > 0 { Sign::Plus } else { Sign::Minus };
                return Some(Direction::new(dimension, sign));
            }
        }
        None
    }

    /// Whether dimensions can be looked at one by one.
    pub(crate) fn is_plain(&self) -> bool {
        self.twist.is_none()
    }

    /// The hop towards a root in dimension order with the ring of every dimension cut in front of a coordinate;
    /// `None` where that cable is missing. Parallel cables take turns by `copy`.
    pub(crate) fn hop_within(
        &self,
        graph: &Graph,
        (switch, root): (u32, u32),
        cuts: &[u32],
        copy: usize,
    ) -> Option<u32> {
        let (here, there) = (&self.placed.places[switch as usize], &self.placed.places[root as usize]);
        let dimension = (0..here.len())
            .filter(|&other| here[other] != there[other])
            .min_by_key(|&other| self.turn[other])?;
        let behind = |place: u32| self.behind(dimension, place, cuts);
        let sign = if behind(there[dimension]) > behind(here[dimension]) { Sign::Plus } else { Sign::Minus };
        let along = Some(Direction::new(dimension, sign));
        let hops = || graph.outgoing(switch).iter().filter(|&&hop| self.along[hop as usize] == along);
        hops().nth(copy % hops().count().max(1)).copied()
    }

    /// Sum of the hops to a root along these rings, from all places of the grid.
    pub(crate) fn distances_within(&self, root: u32, cuts: &[u32]) -> u64 {
        let to_one_end = |hops: u32| u64::from(hops) * (u64::from(hops) + 1) / 2;
        let sums = self.placed.grid.sizes().iter().enumerate().map(|(dimension, &size)| {
            let at = self.behind(dimension, self.placed.places[root as usize][dimension], cuts);
            let rings = self.placed.grid.positions() as u64 / u64::from(size);
            (to_one_end(at) + to_one_end(size - 1 - at)) * rings
        });
        sums.sum()
    }

    /// How far a coordinate is from the cut of its ring; on a mesh, from the first.
    fn behind(&self, dimension: usize, place: u32, cuts: &[u32]) -> u32 {
        let size = self.placed.grid.sizes()[dimension];
        if self.placed.grid.wraps(dimension) { (place + size - cuts[dimension]) % size } else { place }
    }

    /// Where the switches stand.
    pub fn placed(&self) -> &Placed {
        &self.placed
    }
}

/// The index of coordinates inside a grid.
fn position(grid: &Grid, place: &[u32]) -> usize {
    place.iter().zip(grid.sizes()).rev().fold(0, |index, (&at, &size)| index * size as usize + at as usize)
}

/// By position: its place in the ring of a dimension, counted from the first position in it, and the length of
/// that ring; zeros where the dimension does not wrap around.
fn rings(grid: &Grid, dimension: usize) -> Vec<(u32, u32)> {
    let mut known = vec![(0, 0); grid.positions()];
    if !grid.wraps(dimension) {
        return known;
    }
    let plus = Direction::new(dimension, Sign::Plus);
    for first in 0..grid.positions() as u32 {
        if known[first as usize].1 > 0 {
            continue;
        }
        let next = |&here: &u32| grid.neighbour(here, plus).filter(|&next| next != first);
        let ring: Vec<u32> = std::iter::successors(Some(first), next).collect();
        for (place, &position) in ring.iter().enumerate() {
            known[position as usize] = (place as u32, ring.len() as u32);
        }
    }
    known
}

impl Twist {
    fn new(Placed { grid, places }: &Placed, turn: &[usize]) -> Self {
        let ways = shortest_displacements(grid);
        let ordered = |ways: &Vec<Hops>| {
            let first = ways.iter().filter_map(|way| {
                (0..way.len())
                    .filter(|&dimension| way[dimension] != 0)
                    .min_by_key(|&dimension| turn[dimension])
            });
            first.fold(0, |set, dimension| set | 1 << dimension)
        };
        let apart = places.iter().flat_map(|here| {
            places.iter().map(move |there| {
                let apart: Vec<i32> =
                    there.iter().zip(here).map(|(&to, &from)| to as i32 - from as i32).collect();
                grid.position(&apart).unwrap_or(0)
            })
        });
        Self { ordered: ways.iter().map(ordered).collect(), apart: apart.collect(), ways }
    }

    fn between(&self, switches: usize, switch: u32, root: u32) -> usize {
        self.apart[switch as usize * switches + root as usize] as usize
    }
}

/// By position: every shortest displacement that leads there from the first one, if all dimensions close.
fn shortest_displacements(grid: &Grid) -> Vec<Vec<Hops>> {
    let directions = || (0..2 * grid.dimensions()).map(Direction::from_index);
    let arcs = |here| {
        let sign = |direction: Direction| if direction.sign() == Sign::Plus { 1 } else { -1 };
        directions().filter_map(move |direction| {
            Some((grid.neighbour(here, direction)?, direction.dimension(), sign(direction)))
        })
    };
    let (distances, order) =
        walk::distances(grid.positions(), 0, u32::MAX, |here| arcs(here).map(|arc| arc.0));
    walk::displacements(&order, &distances, arcs)
}
