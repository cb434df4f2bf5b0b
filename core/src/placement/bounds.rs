//! What no placement can be better than, with what proves it.

use super::{
    Demand, Ways,
    loads::{channel_loads, score},
};
use crate::fabric::FabricError;

/// A proof that no placement is better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// There is no traffic.
    Nothing,
    /// All ranks send as much to all others and every node has one: all placements load the channels alike.
    Uniform,
    /// One pair of ranks takes one way.
    Message {
        /// Its source.
        source: u32,
        /// Its destination.
        destination: u32,
    },
    /// One rank sends or receives so much through the channels of a node.
    Degree {
        /// The rank.
        rank: u32,
        /// Whether it is what it sends.
        sends: bool,
        /// Channels of a node in one direction.
        channels: u32,
    },
    /// Every rank's traffic, the largest first, at the distances of the network, the least first, where channels
    /// of a dimension have these lengths.
    Sorted {
        /// Lengths per dimension.
        lengths: Vec<u64>,
    },
    /// Any so many ranks send so much outwards, and a cut has so few channels.
    Cut {
        /// The dimension that is cut.
        dimension: usize,
        /// Nodes on one side.
        nodes: u64,
        /// Channels from there.
        channels: u64,
    },
}

impl Proof {
    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Uniform => "uniform",
            Self::Message { .. } => "message",
            Self::Degree { .. } => "degree",
            Self::Sorted { .. } => "sorted",
            Self::Cut { .. } => "cut",
        }
    }
}

/// A bound of the fullest channel, or of hop-bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// No placement has less.
    pub value: u64,
    /// Why.
    pub proof: Proof,
}

impl Bound {
    fn none() -> Self {
        Self { value: 0, proof: Proof::Nothing }
    }
}

/// How pairs of an axis are joined, for the bound of cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// All with all.
    Clique,
    /// Neighbours in a ring.
    Ring,
    /// Neighbours on a line.
    Line,
}

/// An axis of a logical mesh with its units per ordered pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Ranks per group.
    pub size: u32,
    /// Which pairs exchange something.
    pub kind: AxisKind,
    /// Units per ordered pair.
    pub units: u64,
}

/// Distances from a node to all others, `lengths` per channel of each dimension, ascending; for the node at the worst place.
///
/// In a torus all nodes see the same; in a mesh the least of each rank of the order over all nodes is taken.
fn distances(ways: &Ways, lengths: &[u64]) -> Vec<u64> {
    let shape = ways.shape();
    let nodes = shape.nodes() as u32;
    let uniform = !shape.is_twisted()
        && (0..shape.dimensions()).all(|d| shape.wraps(d) || shape.size(d) == 2 || shape.is_full(d));
    let from = |source: u32| {
        let mut all: Vec<u64> = (0..nodes)
            .map(|node| {
                if shape.is_twisted() {
                    let least = lengths.iter().min().copied().unwrap_or(0);
                    return u64::from(shape.distance(source, node)) * least;
                }
                (0..shape.dimensions())
                    .map(|d| {
                        let apart = shape.coordinate(source, d).abs_diff(shape.coordinate(node, d));
                        let hops = match shape.size(d) {
                            size if shape.wraps(d) => apart.min(size - apart),
                            _ if shape.is_full(d) => apart.min(1),
                            _ => apart,
                        };
                        u64::from(hops) * lengths[d]
                    })
                    .sum()
            })
            .collect();
        all.sort_unstable();
        all
    };
    let mut least = from(0);
    if !uniform && !shape.is_twisted() {
        for source in 1..nodes {
            least.iter_mut().zip(from(source)).for_each(|(least, other)| *least = (*least).min(other));
        }
    }
    least
}

/// Sum over ranks of what they send times the distances of the places nearest to them; `per_node` ranks share a node.
fn nearest(ways: &Ways, demand: &Demand, lengths: &[u64], per_node: usize) -> u128 {
    let distances: Vec<u64> =
        distances(ways, lengths).into_iter().flat_map(|d| std::iter::repeat_n(d, per_node)).skip(1).collect();
    let mut units = Vec::new();
    let mut known: std::collections::BTreeMap<Vec<u64>, u128> = std::collections::BTreeMap::new();
    (0..demand.ranks() as u32)
        .map(|rank| {
            units.clear();
            units.extend(demand.peers(rank).iter().map(|peer| peer.sent + peer.received));
            units.sort_unstable_by(|a, b| b.cmp(a));
            if let Some(sum) = known.get(&units) {
                return *sum;
            }
            let sum = units.iter().zip(&distances).map(|(a, b)| u128::from(*a) * u128::from(*b)).sum();
            if known.len() < 64 {
                known.insert(units.clone(), sum);
            }
            sum
        })
        .sum::<u128>()
        .div_ceil(2)
}

/// The bound of hop-bytes by sorted traffic at sorted distances (Gilmore 1962, Lawler 1963, without an assignment problem).
///
/// # Errors
/// Nodes have no grid.
pub fn least_hops(ways: &Ways, demand: &Demand, per_node: usize) -> Result<Bound, FabricError> {
    let lengths = vec![1; ways.grid()?.dimensions()];
    let hops = nearest(ways, demand, &lengths, per_node) as u64;
    Ok(Bound { value: up(hops, demand), proof: Proof::Sorted { lengths } })
}

/// The best bound of the fullest channel.
///
/// # Errors
/// Nodes have no grid.
pub fn fullest_channel(
    ways: &Ways,
    demand: &Demand,
    axes: &[Axis],
    per_node: usize,
) -> Result<Bound, FabricError> {
    let nodes = ways.grid()?.nodes();
    let mut best = Bound::none();
    let mut offer = |bound: Bound| {
        if bound.value > best.value {
            best = bound;
        }
    };
    if per_node == 1 {
        offer(message(demand));
        offer(degree(ways, demand));
    }
    offer(sorted(ways, demand, per_node));
    if per_node == 1 && demand.ranks() == nodes {
        offer(cuts(ways, axes));
        offer(uniform(ways, demand));
    }
    Ok(Bound { value: up(best.value, demand), ..best })
}

/// Loads are multiples of the greatest common divisor of all units.
fn up(value: u64, demand: &Demand) -> u64 {
    value.next_multiple_of(demand.divisor())
}

/// What every placement has if it makes no difference who sits where.
fn uniform(ways: &Ways, demand: &Demand) -> Bound {
    let ranks = demand.ranks();
    let mut sent = (0..ranks as u32).flat_map(|rank| demand.peers(rank).iter().map(|peer| peer.sent));
    let first = sent.next();
    if demand.entries() != ranks * (ranks - 1) || sent.any(|units| Some(units) != first) {
        return Bound::none();
    }
    let nodes: Vec<u32> = (0..ranks as u32).collect();
    Bound { value: score(&channel_loads(ways, demand, &nodes)).fullest, proof: Proof::Uniform }
}

fn message(demand: &Demand) -> Bound {
    let all =
        (0..demand.ranks() as u32).flat_map(|rank| demand.peers(rank).iter().map(move |peer| (rank, peer)));
    all.max_by_key(|(_, peer)| peer.sent).map_or_else(Bound::none, |(source, peer)| Bound {
        value: peer.sent,
        proof: Proof::Message { source, destination: peer.rank },
    })
}

fn degree(ways: &Ways, demand: &Demand) -> Bound {
    let shape = ways.shape();
    let channels = (0..shape.dimensions()).map(|d| match shape.size(d) {
        size if shape.is_full(d) => size - 1,
        size => size.min(3) - 1,
    });
    let channels = channels.sum::<u32>();
    let all = (0..demand.ranks() as u32).flat_map(|rank| {
        let (sent, received) = demand.totals(rank);
        [(sent, rank, true), (received, rank, false)]
    });
    all.max_by_key(|(units, ..)| *units).map_or_else(Bound::none, |(units, rank, sends)| Bound {
        value: units.div_ceil(u64::from(channels)),
        proof: Proof::Degree { rank, sends, channels },
    })
}

/// The best of some lengths: all channels alike, one dimension alone, and steps from the best of these.
fn sorted(ways: &Ways, demand: &Demand, per_node: usize) -> Bound {
    const WHOLE: u64 = 48;
    let channels = ways.channels();
    let dimensions = channels.len();
    let worth = |lengths: &[u64]| {
        let all: u128 = lengths.iter().zip(channels).map(|(l, c)| u128::from(*l) * u128::from(*c)).sum();
        if all == 0 { 0 } else { nearest(ways, demand, lengths, per_node).div_ceil(all) as u64 }
    };
    let mut best = (0, vec![0; dimensions]);
    let mut starts = vec![vec![WHOLE; dimensions]];
    starts.extend(
        (0..dimensions).map(|one| (0..dimensions).map(|d| if d == one { WHOLE } else { 0 }).collect()),
    );
    for lengths in starts {
        best = best.max((worth(&lengths), lengths));
    }
    if demand.entries() > 1 << 20 {
        return Bound { value: best.0, proof: Proof::Sorted { lengths: best.1 } };
    }
    let mut step = WHOLE / 2;
    while step > 0 {
        let mut better = false;
        for dimension in 0..dimensions {
            for up in [false, true] {
                let mut lengths = best.1.clone();
                lengths[dimension] =
                    if up { lengths[dimension] + step } else { lengths[dimension].saturating_sub(step) };
                let value = worth(&lengths);
                if value > best.0 {
                    best = (value, lengths);
                    better = true;
                }
            }
        }
        if !better {
            step /= 2;
        }
    }
    Bound { value: best.0, proof: Proof::Sorted { lengths: best.1 } }
}

/// Cuts between slabs of the network against what any so many ranks send outwards.
///
/// If every ordered pair of ranks sends one unit along the axes of the logical mesh (within a clique directly), an
/// edge of an axis carries a known number; so the traffic across any border of s ranks is at least s (n - s) times the
/// least ratio of an edge's units to that number.
fn cuts(ways: &Ways, axes: &[Axis]) -> Bound {
    let ranks: u64 = axes.iter().map(|axis| u64::from(axis.size)).product();
    // Edge load times 8 over units, the largest of all axes.
    let mut worst: Option<(u128, u128)> = None;
    for axis in axes.iter().filter(|axis| axis.size > 1) {
        let size = u128::from(axis.size);
        let groups = u128::from(ranks) / size;
        let eighths = match axis.kind {
            AxisKind::Clique => 8,
            // Shortest ways in a ring, ties half and half.
            AxisKind::Ring if axis.size > 2 => {
                if size % 2 == 0 {
                    size * size
                } else {
                    size * size - 1
                }
            }
            AxisKind::Ring => 8,
            AxisKind::Line => 8 * (size / 2) * size.div_ceil(2),
        };
        let one = (eighths * groups, 8 * u128::from(axis.units));
        if one.1 == 0 {
            return Bound::none();
        }
        if worst.is_none_or(|(load, units)| one.0 * units > load * one.1) {
            worst = Some(one);
        }
    }
    let Some((load, units)) = worst else { return Bound::none() };
    let shape = ways.shape();
    let mut best = Bound::none();
    if shape.is_twisted() {
        return best;
    }
    for dimension in 0..shape.dimensions() {
        let size = u64::from(shape.size(dimension));
        let slab = shape.nodes() as u64 / size;
        for slabs in 1..size {
            let nodes = slabs * slab;
            let channels = slab
                * match () {
                    () if shape.is_full(dimension) => slabs * (size - slabs),
                    () if shape.wraps(dimension) => 2,
                    () => 1,
                };
            let outwards = u128::from(nodes) * u128::from(ranks - nodes) * units;
            let value = outwards.div_ceil(load * u128::from(channels)) as u64;
            if value > best.value {
                best = Bound { value, proof: Proof::Cut { dimension, nodes, channels } };
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;

    /// The demand of a clique on every row of `size` ranks.
    fn cliques(ranks: u32, size: u32, units: u64) -> Demand {
        let rows: Vec<_> = (0..ranks)
            .flat_map(|rank| (0..size).map(move |other| (rank, rank - rank % size + other, units)))
            .collect();
        Demand::new(ranks, &rows).unwrap()
    }

    #[test]
    fn sorted_distances_of_a_small_torus_are_counted_by_hand() {
        // In a 4x4 torus a node has 4 others at distance 1 and 6 at distance 2: a clique of 8 needs 4 + 3 * 2 per rank.
        let ways = Ways::new(Shape::torus(&[4, 4]).unwrap());
        let bound = least_hops(&ways, &cliques(16, 8, 3), 1).unwrap();
        assert_eq!(bound.value, 16 * (4 + 6) * 3);
        // 480 over 64 channels.
        assert_eq!(fullest_channel(&ways, &cliques(16, 8, 3), &[], 1).unwrap().value, 9);
    }

    #[test]
    fn a_cut_holds_what_all_pairs_send() {
        // 8x8 ring of rings, rank by rank on an 8x8 mesh: no cut of 32 nodes has fewer channels than 8, and a
        // clique of all 64 sends 32 * 32 over it.
        let ways = Ways::new(Shape::mesh(&[8, 8]).unwrap());
        let axes = [Axis { size: 64, kind: AxisKind::Clique, units: 1 }];
        let bound = fullest_channel(&ways, &cliques(64, 64, 1), &axes, 1).unwrap();
        assert_eq!(bound.value, 128);
        assert_eq!(bound.proof, Proof::Cut { dimension: 0, nodes: 32, channels: 8 });
    }

    #[test]
    fn an_exchange_of_all_with_all_is_the_same_everywhere() {
        // A ring of 4 under the rule of ties: 0 to 2 and 1 to 3 and 1 to 0 go over channel 0-, 12 in a row of 4x4
        // since each of 3 pairs counts for the 4 nodes of the column where it ends.
        let ways = Ways::new(Shape::torus(&[4, 4]).unwrap());
        let bound = fullest_channel(&ways, &cliques(16, 16, 1), &[], 1).unwrap();
        assert_eq!(bound, Bound { value: 12, proof: Proof::Uniform });
    }

    #[test]
    fn a_mesh_has_its_nearest_places_in_the_middle() {
        let ways = Ways::new(Shape::mesh(&[3]).unwrap());
        assert_eq!(distances(&ways, &[1]), [0, 1, 1]);
    }
}
