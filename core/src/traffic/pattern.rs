use super::{Destinations, Purpose, draw_below};
use crate::{fabric::NodeId, fault::Fault, names::UnknownName};
use std::fmt;
use thiserror::Error;

/// Who sends to whom. The six permutations are those of cup-stacking-2022, Table 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// `bcmp`: every address bit inverted.
    BitComplement,
    /// `brev`: address bits in reverse order.
    BitReverse,
    /// `brot`: address bits rotated right by one.
    BitRotation,
    /// `shfl`: address bits rotated left by one.
    PerfectShuffle,
    /// `torn`: `W -> (W + Nx/2) mod nodes` on the node index.
    Tornado,
    /// `trns`: coordinates in reverse order, `(x, y) -> (y, x)`.
    Transpose,
    /// `next`: one further along x, the last of a row to its first.
    Neighbour,
    /// `rand`: every packet to another node, drawn uniformly.
    Random,
    /// `rpar`: nodes drawn into pairs that exchange packets; an odd node out sends to itself.
    RandomPair,
    /// `hots`: a fraction of the packets to one target, the others as in `Random`.
    Hotspot {
        /// Probability that a packet goes to the target.
        fraction: f64,
        /// The target; the node itself draws randomly instead.
        target: NodeId,
    },
    /// A destination per node, from a file or a program.
    Given(Vec<NodeId>),
}

/// What can be wrong with a pattern.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PatternError {
    /// No such name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A bit permutation on sizes that are not powers of two.
    #[error(
        "{pattern} permutes address bits, so every size must be a power of two; dimension {dimension} has {size}"
    )]
    NotPowerOfTwo {
        /// Short name of the pattern.
        pattern: &'static str,
        /// The offending dimension.
        dimension: usize,
        /// Its size.
        size: u32,
    },
    /// Transpose on a shape that is not its own transpose.
    #[error("trns needs sizes that read the same in either order (16x16, 4x8x4); {0} does not")]
    NotSymmetric(String),
    /// A probability outside 0 to 1.
    #[error("hotspot fraction is {0}; it must be between 0 and 1")]
    Fraction(f64),
    /// A node that does not exist.
    #[error("node {node} does not exist; nodes are 0 to {last}")]
    Node {
        /// The node that was named.
        node: NodeId,
        /// Highest valid index.
        last: NodeId,
    },
    /// A permutation of the wrong length.
    #[error("{given} destinations given; one per node ({needed}) is needed")]
    Length {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
}

impl PatternError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Unknown(name) => name.fault(),
            other => Fault::somewhere(other.to_string(), ""),
        }
    }
}

impl Pattern {
    /// Short names, in the order of the papers' tables and then ours.
    pub const NAMES: [&'static str; 10] =
        ["bcmp", "brev", "brot", "shfl", "torn", "trns", "next", "rand", "rpar", "hots"];

    /// Those of cup-stacking-2022, Table 1.
    pub const PUBLISHED: [&'static str; 6] = ["bcmp", "brev", "brot", "shfl", "torn", "trns"];

    /// The pattern of a short name, for nodes that are numbered in the order of these sizes; `hots` sends a tenth of its packets to the middle node
    /// `(Nx/2, Ny/2, ...)`.
    ///
    /// # Errors
    /// No such name.
    pub fn from_name(name: &str, sizes: &(impl AsRef<[u32]> + ?Sized)) -> Result<Self, PatternError> {
        Ok(match name {
            "bcmp" => Self::BitComplement,
            "brev" => Self::BitReverse,
            "brot" => Self::BitRotation,
            "shfl" => Self::PerfectShuffle,
            "torn" => Self::Tornado,
            "trns" => Self::Transpose,
            "next" => Self::Neighbour,
            "rand" => Self::Random,
            "rpar" => Self::RandomPair,
            "hots" => {
                let sizes = sizes.as_ref();
                let middle: Vec<u32> = sizes.iter().map(|size| size / 2).collect();
                Self::Hotspot { fraction: 0.1, target: number(&middle, sizes) }
            }
            _ => return Err(UnknownName::of("pattern", "the patterns are", name, &Self::NAMES).into()),
        })
    }

    /// Short name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BitComplement => "bcmp",
            Self::BitReverse => "brev",
            Self::BitRotation => "brot",
            Self::PerfectShuffle => "shfl",
            Self::Tornado => "torn",
            Self::Transpose => "trns",
            Self::Neighbour => "next",
            Self::Random => "rand",
            Self::RandomPair => "rpar",
            Self::Hotspot { .. } => "hots",
            Self::Given(_) => "given",
        }
    }

    /// Whether every node sends to, and receives from, exactly one node.
    pub fn claims_permutation(&self) -> bool {
        !matches!(self, Self::Random | Self::Hotspot { .. } | Self::Given(_))
    }

    /// Whether the destination of a packet depends on the seed.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Random | Self::RandomPair | Self::Hotspot { .. })
    }

    /// The destinations of nodes that are numbered in the order of these sizes, the first fastest: those of a grid, or
    /// one that is all nodes. All random choices are made by `seed`.
    ///
    /// # Errors
    /// The pattern is not defined on these sizes, or its parameters are out of range.
    pub fn destinations(
        &self,
        sizes: &(impl AsRef<[u32]> + ?Sized),
        seed: u64,
    ) -> Result<Destinations, PatternError> {
        let sizes = sizes.as_ref();
        let nodes: NodeId = sizes.iter().product();
        let fixed = |send: &dyn Fn(NodeId) -> NodeId| Destinations::Fixed((0..nodes).map(send).collect());
        let bits = nodes.trailing_zeros();
        Ok(match self {
            Self::BitComplement | Self::BitReverse | Self::BitRotation | Self::PerfectShuffle => {
                self.check_powers_of_two(sizes)?;
                match self {
                    Self::BitComplement => fixed(&|node| nodes - 1 - node),
                    Self::BitReverse => fixed(&|node| node.reverse_bits() >> (32 - bits)),
                    Self::BitRotation => fixed(&|node| (node >> 1) | ((node & 1) << (bits - 1))),
                    _ => fixed(&|node| ((node << 1) & (nodes - 1)) | (node >> (bits - 1))),
                }
            }
            Self::Tornado => fixed(&|node| (node + sizes[0] / 2) % nodes),
            Self::Transpose => {
                if !sizes.iter().eq(sizes.iter().rev()) {
                    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                    return Err(PatternError::NotSymmetric(sizes.join("x")));
                }
                fixed(&|node| {
                    let mut rest = node;
                    let mut coordinates: Vec<u32> = Vec::with_capacity(sizes.len());
                    for size in sizes {
                        coordinates.push(rest % size);
                        rest /= size;
                    }
                    coordinates.reverse();
                    number(&coordinates, sizes)
                })
            }
            Self::Neighbour => fixed(&|node| {
                let size = sizes[0];
                let x = node % size;
                node - x + (x + 1) % size
            }),
            Self::Random => Destinations::Random { nodes, seed, hotspot: None },
            Self::RandomPair => Destinations::Fixed(random_pairs(nodes, seed)),
            Self::Hotspot { fraction, target } => {
                if !(0.0..=1.0).contains(fraction) {
                    return Err(PatternError::Fraction(*fraction));
                }
                check_node(*target, nodes)?;
                // Exact for any fraction of 53 bits; 1.0 saturates at the largest draw.
                let threshold = (fraction * super::DRAWS) as u64;
                Destinations::Random { nodes, seed, hotspot: Some((threshold, *target)) }
            }
            Self::Given(destinations) => {
                if destinations.len() != nodes as usize {
                    let (given, needed) = (destinations.len(), nodes as usize);
                    return Err(PatternError::Length { given, needed });
                }
                destinations.iter().try_for_each(|&node| check_node(node, nodes))?;
                Destinations::Fixed(destinations.clone())
            }
        })
    }

    fn check_powers_of_two(&self, sizes: &[u32]) -> Result<(), PatternError> {
        match sizes.iter().enumerate().find(|(_, size)| !size.is_power_of_two()) {
            Some((dimension, &size)) => {
                Err(PatternError::NotPowerOfTwo { pattern: self.name(), dimension, size })
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

fn check_node(node: NodeId, nodes: NodeId) -> Result<(), PatternError> {
    if node < nodes { Ok(()) } else { Err(PatternError::Node { node, last: nodes - 1 }) }
}

/// The node at coordinates, the first fastest.
fn number(coordinates: &[u32], sizes: &[u32]) -> NodeId {
    coordinates.iter().zip(sizes).rev().fold(0, |node, (coordinate, size)| node * size + coordinate)
}

/// Pairs the nodes of a random order: first with second, third with fourth, ...
fn random_pairs(nodes: NodeId, seed: u64) -> Vec<NodeId> {
    let mut order: Vec<NodeId> = (0..nodes).collect();
    for last in (1..nodes).rev() {
        let chosen = draw_below(seed, last, Purpose::Shuffle, 0, last + 1);
        order.swap(last as usize, chosen as usize);
    }
    let mut partner: Vec<NodeId> = (0..nodes).collect();
    for pair in order.chunks_exact(2) {
        partner[pair[0] as usize] = pair[1];
        partner[pair[1] as usize] = pair[0];
    }
    partner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;

    fn shapes() -> Vec<Shape> {
        [vec![16, 16], vec![4, 4, 4], vec![8], vec![2, 2, 2, 2], vec![5, 5], vec![3, 4, 3], vec![4, 8]]
            .iter()
            .map(|sizes| Shape::torus(sizes).unwrap())
            .collect()
    }

    #[test]
    fn patterns_keep_their_claims_on_every_shape_they_are_defined_on() {
        assert_eq!(Pattern::NAMES[..6], Pattern::PUBLISHED);
        for shape in shapes() {
            for name in Pattern::NAMES {
                let pattern = Pattern::from_name(name, &shape).unwrap();
                assert_eq!(pattern.name(), name);
                let Ok(destinations) = pattern.destinations(&shape, 3) else { continue };
                let nodes = shape.nodes() as NodeId;
                let mut seen: Vec<NodeId> = (0..nodes).map(|node| destinations.of(node, 0)).collect();
                assert!(seen.iter().all(|&node| node < nodes));
                if pattern.claims_permutation() {
                    seen.sort_unstable();
                    assert_eq!(seen, (0..nodes).collect::<Vec<_>>(), "{name} on {:?}", shape.sizes());
                }
            }
        }
    }

    #[test]
    fn the_six_permutations_on_16x16() {
        let shape = Shape::torus(&[16, 16]).unwrap();
        let send = |name: &str, node| {
            Pattern::from_name(name, &shape).unwrap().destinations(&shape, 0).unwrap().of(node, 0)
        };
        assert_eq!(send("bcmp", 0b0000_0001), 0b1111_1110);
        assert_eq!(send("brev", 0b0000_0001), 0b1000_0000);
        assert_eq!(send("brot", 0b0000_0011), 0b1000_0001);
        assert_eq!(send("shfl", 0b1000_0001), 0b0000_0011);
        assert_eq!(send("torn", 0b0000_1000), 0b0001_0000);
        assert_eq!(send("trns", 0b0001_0010), 0b0010_0001);
    }

    #[test]
    fn impossible_patterns_say_why() {
        let shape = Shape::torus(&[6, 4]).unwrap();
        let error = Pattern::BitReverse.destinations(&shape, 0).unwrap_err();
        assert!(error.to_string().contains("dimension 0 has 6"), "{error}");
        assert!(matches!(Pattern::Transpose.destinations(&shape, 0), Err(PatternError::NotSymmetric(_))));
        assert!(matches!(Pattern::from_name("x", &shape), Err(PatternError::Unknown(_))));
        let hotspot = Pattern::Hotspot { fraction: 1.5, target: 0 };
        assert_eq!(hotspot.destinations(&shape, 0), Err(PatternError::Fraction(1.5)));
    }

    #[test]
    fn a_hotspot_takes_its_fraction() {
        let shape = Shape::torus(&[8, 8]).unwrap();
        let hotspot = Pattern::Hotspot { fraction: 0.25, target: 9 }.destinations(&shape, 1).unwrap();
        let hits = (0..40_000).filter(|&index| hotspot.of(0, index) == 9).count();
        assert!((10_000..11_200).contains(&hits), "{hits}");
    }
}
