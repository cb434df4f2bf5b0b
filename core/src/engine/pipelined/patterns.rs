//! Traffic patterns: where a packet of a node goes.

use super::{numbers::Numbers, options::parts};

/// The digits that patterns shift, and the nodes of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    pub k: u32,
    pub xr: u32,
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
    /// Near a node of 64, or anywhere.
    Taper,
    /// Anywhere but in these nodes.
    Background(Vec<bool>),
    /// Any node of the next so many.
    NextGroup(u32),
    /// The same place, by number, of any so many nodes.
    Column(u32),
}

/// The number that a text begins with; what follows is not read.
fn number(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    text[..end + text.len() - digits.len()].parse().map_err(|_| format!("{text:?} is not a number"))
}

impl Pattern {
    /// The names of all patterns.
    pub(super) const NAMES: [&str; 15] = [
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
        "taper64",
        "background",
        "bad_dragon",
        "badperm_yarc",
    ];

    /// The pattern of a name with parameters in brackets.
    pub(super) fn from_text(
        text: &str,
        digits: &Digits,
        permutation: u32,
        numbers: &mut Numbers,
    ) -> Result<Self, String> {
        let (name, inside) = text.split_once('(').unwrap_or((text, ""));
        let inside = inside.rsplit_once(')').map_or(inside, |(inside, _)| inside);
        let given = parts(inside);
        let given_number = |index: usize, otherwise: u32| match given.get(index) {
            None => Ok(otherwise),
            Some(text) => number(text).and_then(|value| {
                u32::try_from(value).map_err(|_| format!("{name}: {value} is out of range"))
            }),
        };
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
        // Numbers in brackets stand for k, n and xr.
        let radix = || {
            let radix = given_number(0, digits.k)?.checked_mul(given_number(2, digits.xr)?);
            radix.filter(|&radix| radix > 0).ok_or_else(|| format!("{name}: k xr is out of range"))
        };
        let shifted = |by: &dyn Fn(u32) -> u32| {
            let (radix, count) = (radix()?, given_number(1, digits.count)?);
            if count > 32 || radix.checked_pow(count).is_none() {
                return Err(format!("{name}: {radix} to the power {count} is out of range"));
            }
            fixed(&|node| (0..count).map(|d| (node / radix.pow(d) + by(radix)) % radix * radix.pow(d)).sum())
        };
        match name {
            "uniform" => Ok(Self::Uniform),
            "diagonal" => Ok(Self::Diagonal),
            "asymmetric" if nodes == 1 => Err("asymmetric needs two nodes at least".into()),
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
            "tornado" => shifted(&|radix| radix.div_ceil(2) - 1),
            "neighbor" => shifted(&|_| 1),
            "taper64" if nodes == 64 => Ok(Self::Taper),
            "taper64" => Err(format!("taper64 needs 64 nodes, and there are {nodes}")),
            "background" => {
                let Some(without) = given.first().map(|text| parts(text)) else {
                    return Err("background: no node is named, and BookSim2 does not survive that".into());
                };
                let mut excluded = vec![false; nodes as usize];
                for text in &without {
                    let node = number(text)?;
                    let place = usize::try_from(node).ok().and_then(|node| excluded.get_mut(node));
                    *place
                        .ok_or_else(|| format!("background: there is no node {node}; there are {nodes}"))? =
                        true;
                }
                if excluded.iter().all(|&one| one) {
                    return Err("background: no node is left to send to".into());
                }
                Ok(Self::Background(excluded))
            }
            "bad_dragon" => {
                let k = given_number(0, digits.k)?;
                if !(1..1 << 9).contains(&k) {
                    return Err(format!("bad_dragon: k is {k}, out of range"));
                }
                Ok(Self::NextGroup(2 * k * k))
            }
            "badperm_yarc" => {
                let radix = radix()?;
                let most = u64::from(radix - 1) * u64::from(radix) + u64::from((nodes - 1) / radix);
                if most >= u64::from(nodes) {
                    return Err(format!(
                        "badperm_yarc sends to node {most}, and there are {nodes}; k and xr say other numbers of nodes"
                    ));
                }
                Ok(Self::Column(radix))
            }
            "randperm" => Ok(numbers.aside(given_number(0, permutation)?, |numbers| {
                let mut free: Vec<u32> = (0..nodes).collect();
                let mut to = vec![0; nodes as usize];
                for node in 0..nodes {
                    let taken = free.remove(numbers.upto(nodes - 1 - node) as usize);
                    to[taken as usize] = node;
                }
                Self::Fixed(to)
            })),
            "hotspot" => Self::hotspot(&given, nodes, numbers),
            _ => Err(format!(
                "{text:?} is not a pattern that is known here; there are {}",
                Self::NAMES.join(", ")
            )),
        }
    }

    /// Nodes, then weights; a node below 0 is drawn.
    fn hotspot(given: &[String], nodes: u32, numbers: &mut Numbers) -> Result<Self, String> {
        let list = |index: usize, otherwise: &str| {
            let text = given.get(index).map_or(otherwise, |text| text);
            parts(text).iter().map(|text| number(text)).collect::<Result<Vec<_>, _>>()
        };
        let to = list(0, "-1")?;
        let mut spots = Vec::new();
        for node in to {
            let node = if node < 0 { i64::from(numbers.upto(nodes - 1)) } else { node };
            if node >= i64::from(nodes) {
                return Err(format!("hotspot: there is no node {node}; there are {nodes}"));
            }
            spots.push((node as u32, 1));
        }
        let weights = list(1, "1")?;
        for (place, spot) in spots.iter_mut().enumerate() {
            let weight = weights.get(place).or(weights.last()).copied().unwrap_or(1);
            if !(1..1 << 20).contains(&weight) {
                return Err(format!("hotspot: a weight is {weight}; it must be 1 to {}", (1 << 20) - 1));
            }
            spot.1 = weight as u32;
        }
        if spots.is_empty() {
            return Err("hotspot: no node is named".into());
        }
        let sum: u64 = spots.iter().map(|spot| u64::from(spot.1)).sum();
        let sum = i32::try_from(sum).map_err(|_| format!("hotspot: the sum of the weights is {sum}"))?;
        Ok(Self::Hotspot(spots, sum as u32))
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
            Self::Taper => {
                if numbers.upto(1) == 0 {
                    return numbers.upto(nodes - 1);
                }
                let rows = 8 * numbers.upto(2);
                (64 - 8 - 1 + node + rows + numbers.upto(2)) % 64
            }
            Self::Background(excluded) => loop {
                let to = numbers.upto(nodes - 1);
                if !excluded[to as usize] {
                    return to;
                }
            },
            Self::NextGroup(group) => (numbers.upto(group - 1) + (node / group + 1) * group) % nodes,
            Self::Column(row) => numbers.upto(row - 1) * row + node / row,
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
