//! Traffic patterns: where a packet of a node goes.

use super::numbers::Numbers;

/// The digits that patterns shift, and the nodes of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    pub radix: u32,
    pub count: u32,
    pub nodes: u32,
}

/// A pattern with its parameters.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Uniform,
    /// A fixed destination per node.
    Fixed(Vec<u32>),
    /// Nodes with weights, and the sum of the weights.
    Hotspot(Vec<(u32, u32)>, u32),
    Diagonal,
    Asymmetric,
}

impl Pattern {
    /// The names of all patterns.
    pub(super) const NAMES: [&str; 11] = [
        "uniform",
        "bitcomp",
        "bitrev",
        "transpose",
        "shuffle",
        "tornado",
        "neighbor",
        "randperm",
        "hotspot",
        "diagonal",
        "asymmetric",
    ];

    /// The pattern of a name with parameters in brackets.
    pub(super) fn from_text(
        text: &str,
        digits: &Digits,
        permutation: u32,
        numbers: &mut Numbers,
    ) -> Result<Self, String> {
        let (name, inside) = text.split_once('(').unwrap_or((text, ""));
        let nodes = digits.nodes;
        let bits = nodes.trailing_zeros();
        let bits_only = || {
            if nodes.is_power_of_two() {
                Ok(())
            } else {
                Err(format!("{name} needs a power of two of nodes, and there are {nodes}"))
            }
        };
        let fixed = |to: &dyn Fn(u32) -> u32| {
            let to: Vec<u32> = (0..nodes).map(to).collect();
            match to.iter().find(|&&to| to >= nodes) {
                None => Ok(Self::Fixed(to)),
                Some(to) => Err(format!(
                    "{name} sends to node {to}, and there are {nodes}; k, n and xr say other numbers of nodes"
                )),
            }
        };
        let shifted = |by: u32| {
            fixed(&|node| {
                let radix = digits.radix;
                (0..digits.count).map(|d| (node / radix.pow(d) + by) % radix * radix.pow(d)).sum()
            })
        };
        match name {
            "uniform" => Ok(Self::Uniform),
            "diagonal" => Ok(Self::Diagonal),
            "asymmetric" => Ok(Self::Asymmetric),
            "bitcomp" => {
                bits_only()?;
                fixed(&|node| nodes - 1 - node)
            }
            "bitrev" => {
                bits_only()?;
                fixed(&|node| if bits == 0 { 0 } else { node.reverse_bits() >> (32 - bits) })
            }
            "shuffle" => {
                bits_only()?;
                fixed(&|node| (node << 1 | node >> bits.saturating_sub(1)) & (nodes - 1))
            }
            "transpose" => {
                bits_only()?;
                if bits % 2 == 1 {
                    return Err(format!("transpose needs a square number of nodes, and there are {nodes}"));
                }
                let half = bits / 2;
                fixed(&|node| (node >> half) | (node & ((1 << half) - 1)) << half)
            }
            "tornado" => shifted(digits.radix.div_ceil(2) - 1),
            "neighbor" => shifted(1),
            "randperm" => Ok(numbers.aside(permutation, |numbers| {
                let mut free: Vec<u32> = (0..nodes).collect();
                let mut to = vec![0; nodes as usize];
                for node in 0..nodes {
                    let taken = free.remove(numbers.upto(nodes - 1 - node) as usize);
                    to[taken as usize] = node;
                }
                Self::Fixed(to)
            })),
            "hotspot" => Self::hotspot(inside, nodes, numbers),
            _ => Err(format!(
                "{text:?} is no pattern that is known here; there are {}",
                Self::NAMES.join(", ")
            )),
        }
    }

    fn hotspot(inside: &str, nodes: u32, numbers: &mut Numbers) -> Result<Self, String> {
        // Nodes, then weights; a part without braces of its own is a list of one.
        let inside = inside.trim_end_matches(')');
        let inside = inside.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(inside);
        let lists = super::options::lists(inside);
        let read = |text: &String| text.parse::<u32>().map_err(|_| format!("hotspot: {text:?} is no number"));
        let to: Vec<u32> = match lists.first() {
            None => vec![numbers.upto(nodes - 1)],
            Some(list) => list.iter().map(read).collect::<Result<_, _>>()?,
        };
        let mut weights: Vec<u32> = match lists.get(1) {
            None => vec![1],
            Some(list) => list.iter().map(read).collect::<Result<_, _>>()?,
        };
        if let Some(node) = to.iter().find(|&&node| node >= nodes) {
            return Err(format!("hotspot: there is no node {node}; there are {nodes}"));
        }
        weights.resize(to.len(), weights.last().copied().unwrap_or(1));
        let sum = weights.iter().sum();
        if sum == 0 {
            return Err("hotspot: all weights are 0".into());
        }
        Ok(Self::Hotspot(to.into_iter().zip(weights).collect(), sum))
    }

    /// Draws a destination.
    pub(super) fn destination(&self, node: u32, nodes: u32, numbers: &mut Numbers) -> u32 {
        match self {
            Self::Uniform => numbers.upto(nodes - 1),
            Self::Fixed(to) => to[node as usize],
            Self::Diagonal => {
                if numbers.upto(2) == 0 {
                    (node + 1) % nodes
                } else {
                    node
                }
            }
            Self::Asymmetric => {
                let half = nodes / 2;
                node % half + if numbers.upto(1) == 1 { half } else { 0 }
            }
            Self::Hotspot(spots, sum) => {
                if spots.len() == 1 {
                    return spots[0].0;
                }
                let mut left = numbers.upto(sum - 1);
                for &(to, weight) in spots {
                    if left < weight {
                        return to;
                    }
                    left -= weight;
                }
                spots[spots.len() - 1].0
            }
        }
    }
}
