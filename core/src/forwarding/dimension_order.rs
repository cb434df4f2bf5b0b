//! Dimension order on a recognised grid: the healthy rule, and which paths follow it.

use super::{Forwarding, NO_CHANNEL};
use crate::fabric::{Direction, Graph, Grid, Sign, UNREACHABLE};

/// A graph whose switches stand on the positions of a grid without a twist.
#[derive(Clone, Debug)]
pub struct DimensionOrder {
    grid: Grid,
    places: Vec<Vec<u32>>,
    /// Direction of every channel, `None` for cables that join no neighbours.
    along: Vec<Option<Direction>>,
    /// Place of every dimension in the order.
    turn: Vec<usize>,
    /// Bit of every dimension whose rings need a dateline.
    bits: Vec<Option<u8>>,
}

impl DimensionOrder {
    /// The order on a grid; rings whose size is a multiple of four come last.
    pub fn new(graph: &Graph, grid: Grid, positions: &[u32]) -> Self {
        let along = (0..graph.channels() as u32)
            .map(|channel| {
                let (from, to) = graph.ends(channel);
                (0..2 * grid.dimensions()).map(Direction::from_index).find(|&direction| {
                    grid.neighbour(positions[from as usize], direction) == Some(positions[to as usize])
                })
            })
            .collect();
        let mut order: Vec<usize> = (0..grid.dimensions()).collect();
        order.sort_by_key(|&dimension| grid.wraps(dimension) && grid.sizes()[dimension].is_multiple_of(4));
        let mut turn = vec![0; grid.dimensions()];
        order.iter().enumerate().for_each(|(place, &dimension)| turn[dimension] = place);
        let mut next_bit = 0;
        let bits = (0..grid.dimensions())
            .map(|dimension| {
                let needed = grid.wraps(dimension) && grid.sizes()[dimension] >= 5;
                needed.then(|| {
                    next_bit += 1;
                    next_bit - 1
                })
            })
            .collect();
        let places = positions.iter().map(|&position| grid.coordinates(position)).collect();
        Self { grid, places, along, turn, bits }
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
        let here = self.places[graph.ends(channel).0 as usize][direction.dimension()];
        let last = self.grid.sizes()[direction.dimension()] - 1;
        here == if direction.sign() == Sign::Plus { last } else { 0 }
    }

    /// Whether a hop towards a root is one of dimension order: all earlier dimensions are done.
    pub fn is_ordered(&self, channel: u32, switch: u32, root: u32) -> bool {
        let Some(dimension) = self.dimension(channel) else { return false };
        let (here, there) = (&self.places[switch as usize], &self.places[root as usize]);
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
        let (here, there) = (&self.places[switch as usize], &self.places[root as usize]);
        let dimension = (0..here.len())
            .filter(|&other| here[other] != there[other])
            .min_by_key(|&other| self.turn[other])?;
        let (size, from, to) = (self.grid.sizes()[dimension], here[dimension], there[dimension]);
        let plus = if self.grid.wraps(dimension) {
            let ahead = (to + size - from) % size;
            if 2 * ahead == size {
                // Both ways are equally long: half of the pairs take each.
                let parity = if size.is_multiple_of(4) {
                    from
                } else {
                    from + (0..there.len())
                        .filter(|&other| other != dimension)
                        .map(|other| there[other])
                        .sum::<u32>()
                };
                parity.is_multiple_of(2)
            } else {
                2 * ahead < size
            }
        } else {
            to > from
        };
        Some(Direction::new(dimension, if plus { Sign::Plus } else { Sign::Minus }))
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Coordinates of a switch.
    pub fn place(&self, switch: u32) -> &[u32] {
        &self.places[switch as usize]
    }
}
