//! Traffic patterns: where a packet of a node goes.

use super::{numbers::Generators, options::parts};
use crate::engine::pipelined::Numbers;

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

/// The name of a pattern with what its brackets give.
struct Named<'a> {
    name: &'a str,
    given: Vec<String>,
    digits: &'a Digits,
}

impl Named<'_> {
    /// A number in the brackets.
    fn number(&self, index: usize, otherwise: u32) -> Result<u32, String> {
        let Some(text) = self.given.get(index) else { return Ok(otherwise) };
        let value = number(text)?;
        u32::try_from(value).map_err(|_| format!("{}: {value} is out of range", self.name))
    }

    /// The pattern in which every node sends to a node of its own.
    fn fixed(&self, to: impl Fn(u32) -> u32) -> Result<Pattern, String> {
        let (name, nodes) = (self.name, self.digits.nodes);
        let to: Vec<u32> = (0..nodes).map(to).collect();
        match to.iter().find(|&&to| to >= nodes) {
            None => Ok(Pattern::Fixed(to)),
            Some(to) => Err(format!(
                "{name} sends to node {to}, and there are {nodes}; k, n and xr say other numbers of nodes"
            )),
        }
    }

    /// The product of k and xr, for which numbers in brackets stand.
    fn radix(&self) -> Result<u32, String> {
        let radix = self.number(0, self.digits.k)?.checked_mul(self.number(2, self.digits.xr)?);
        radix.filter(|&radix| radix > 0).ok_or_else(|| format!("{}: k xr is out of range", self.name))
    }

    /// Every coordinate is shifted by so much, of a radix.
    fn shifted(&self, by: impl Fn(u32) -> u32) -> Result<Pattern, String> {
        let (radix, count) = (self.radix()?, self.number(1, self.digits.count)?);
        if count > 32 || radix.checked_pow(count).is_none() {
            return Err(format!("{}: {radix} to the power {count} is out of range", self.name));
        }
        self.fixed(|node| (0..count).map(|d| (node / radix.pow(d) + by(radix)) % radix * radix.pow(d)).sum())
    }

    /// A pattern that changes the bits of the number of a node.
    fn of_bits(&self) -> Result<Pattern, String> {
        let (name, nodes) = (self.name, self.digits.nodes);
        if !nodes.is_power_of_two() {
            return Err(format!("{name} needs a power of two of nodes, and there are {nodes}"));
        }
        let bits = nodes.trailing_zeros();
        match name {
            "bitcomp" => self.fixed(|node| nodes - 1 - node),
            "bitrev" => self.fixed(|node| if bits == 0 { 0 } else { node.reverse_bits() >> (32 - bits) }),
            "shuffle" => self.fixed(|node| (node << 1 | node >> bits.saturating_sub(1)) & (nodes - 1)),
            _ if bits % 2 == 1 => {
                Err(format!("transpose needs a square number of nodes, and there are {nodes}"))
            }
            _ => {
                let half = bits / 2;
                self.fixed(|node| (node >> half) | (node & ((1 << half) - 1)) << half)
            }
        }
    }

    /// Uniform traffic to all nodes but those that are given.
    fn background(&self) -> Result<Pattern, String> {
        let nodes = self.digits.nodes;
        let Some(without) = self.given.first().map(|text| parts(text)) else {
            return Err("background: no node is named, and BookSim2 does not survive that".into());
        };
        let mut excluded = vec![false; nodes as usize];
        for text in &without {
            let node = number(text)?;
            let place = usize::try_from(node).ok().and_then(|node| excluded.get_mut(node));
            *place.ok_or_else(|| format!("background: there is no node {node}; there are {nodes}"))? = true;
        }
        if excluded.iter().all(|&one| one) {
            return Err("background: no node is left to send to".into());
        }
        Ok(Pattern::Background(excluded))
    }
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
        numbers: &mut Generators,
    ) -> Result<Self, String> {
        let (name, inside) = text.split_once('(').unwrap_or((text, ""));
        let inside = inside.rsplit_once(')').map_or(inside, |(inside, _)| inside);
        let named = Named { name, given: parts(inside), digits };
        let nodes = digits.nodes;
        match name {
            "uniform" => Ok(Self::Uniform),
            "diagonal" => Ok(Self::Diagonal),
            "asymmetric" if nodes == 1 => Err("asymmetric needs two nodes at least".into()),
            "asymmetric" => Ok(Self::Asymmetric),
            "bitcomp" | "bitrev" | "shuffle" | "transpose" => named.of_bits(),
            "tornado" => named.shifted(|radix| radix.div_ceil(2) - 1),
            "neighbor" => named.shifted(|_| 1),
            "taper64" if nodes == 64 => Ok(Self::Taper),
            "taper64" => Err(format!("taper64 needs 64 nodes, and there are {nodes}")),
            "background" => named.background(),
            "bad_dragon" => {
                let k = named.number(0, digits.k)?;
                if !(1..1 << 9).contains(&k) {
                    return Err(format!("bad_dragon: k is {k}, out of range"));
                }
                Ok(Self::NextGroup(2 * k * k))
            }
            "badperm_yarc" => {
                let radix = named.radix()?;
                let most = u64::from(radix - 1) * u64::from(radix) + u64::from((nodes - 1) / radix);
                if most >= u64::from(nodes) {
                    return Err(format!(
                        "badperm_yarc sends to node {most}, and there are {nodes}; k and xr say other numbers of nodes"
                    ));
                }
                Ok(Self::Column(radix))
            }
            "randperm" => Ok(numbers.aside(named.number(0, permutation)?, |numbers| {
                let mut free: Vec<u32> = (0..nodes).collect();
                let mut to = vec![0; nodes as usize];
                for node in 0..nodes {
                    let taken = free.remove(numbers.upto(nodes - 1 - node) as usize);
                    to[taken as usize] = node;
                }
                Self::Fixed(to)
            })),
            "hotspot" => Self::hotspot(&named.given, nodes, numbers),
            _ => Err(format!(
                "{text:?} is not a pattern that is known here; there are {}",
                Self::NAMES.join(", ")
            )),
        }
    }

    /// Nodes, then weights; a node below 0 is drawn.
    fn hotspot(given: &[String], nodes: u32, numbers: &mut Generators) -> Result<Self, String> {
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
    pub(super) fn destination(&self, node: u32, nodes: u32, numbers: &mut impl Numbers) -> u32 {
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
