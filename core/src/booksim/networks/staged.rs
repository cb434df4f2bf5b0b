//! Butterflies (k-ary n-flies) and fat trees: routers in stages of k^(n-1), whose positions are numbers of
//! n - 1 digits to the base k; a link between two stages may change one digit.

use super::super::options::{OptionError, Options};
use super::{bounded, named};
use crate::engine::pipelined::{HeaderPlace as Place, Network, Numbers, Packet, Ways, Wiring};

/// How a packet finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By the digits of the destination, stage by stage.
    Tag,
    /// Up to a common ancestor by drawn ports, then down.
    Ancestor,
    /// Up by the less loaded of two drawn ports.
    Adaptive,
}

/// A butterfly or a fat tree.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    radix: u32,
    stages: u32,
    way: Way,
}

impl Staged {
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        let is_tree = options.text("topology") == "fattree";
        let way = if is_tree {
            named(options, &[("nca", Way::Ancestor), ("anca", Way::Adaptive)], options.text("topology"))?
        } else {
            named(options, &[("dest_tag", Way::Tag)], options.text("topology"))?
        };
        let radix = options.within("k", 2..=1 << 10)? as u32;
        let stages = options.within("n", 1..=16)? as u32;
        let nodes = bounded(u64::from(radix).checked_pow(stages))?;
        let made = Self { radix, stages, way };
        let wiring = if is_tree { made.tree(nodes) } else { made.butterfly(nodes) };
        Ok((made, wiring))
    }

    /// Routers of one stage.
    fn per_stage(&self) -> u32 {
        self.radix.pow(self.stages - 1)
    }

    fn with_digit(&self, number: u32, weight: u32, digit: u32) -> u32 {
        number - number / weight % self.radix * weight + digit * weight
    }

    /// Nodes send into stage 0 and receive from the last one; stage s exchanges the s-th digit from the top.
    fn butterfly(&self, nodes: usize) -> Wiring {
        let (k, count) = (self.radix, self.per_stage());
        let ports = (k as usize, k as usize);
        let mut wiring = Wiring::new(nodes, std::iter::repeat_n(ports, (count * self.stages) as usize));
        for stage in 0..self.stages - 1 {
            let weight = k.pow(self.stages - 2 - stage);
            for position in 0..count {
                for port in 0..k {
                    let there = (stage + 1) * count + self.with_digit(position, weight, port);
                    let into = position / weight % k;
                    wiring.connect((stage * count + position, port as usize), (there, into as usize), 1);
                }
            }
        }
        let last = (self.stages - 1) * count;
        for node in 0..nodes as u32 {
            let port = (node % k) as usize;
            wiring.attach(node, (node / k, port), (last + node / k, port), 1);
        }
        wiring
    }

    /// Level 0 is the top; ports 0 to k - 1 lead down, the others up.
    fn tree(&self, nodes: usize) -> Wiring {
        let (k, count) = (self.radix, self.per_stage());
        let ports = |router: u32| if router < count { k as usize } else { 2 * k as usize };
        let all = (0..count * self.stages).map(|router| (ports(router), ports(router)));
        let mut wiring = Wiring::new(nodes, all);
        for level in 1..self.stages {
            let weight = k.pow(self.stages - 1 - level);
            for position in 0..count {
                let router = level * count + position;
                let digit = (position / weight % k) as usize;
                for port in 0..k {
                    let above = (level - 1) * count + self.with_digit(position, weight, port);
                    wiring.connect((router, (k + port) as usize), (above, digit), 1);
                    wiring.connect((above, digit), (router, (k + port) as usize), 1);
                }
            }
        }
        let last = (self.stages - 1) * count;
        for node in 0..nodes as u32 {
            let at = (last + node / k, (node % k) as usize);
            wiring.attach(node, at, at, 1);
        }
        wiring
    }
}

impl Network for Staged {
    fn ways(
        &self,
        wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
    ) -> Ways {
        let (k, count, (a, b)) = (self.radix, self.per_stage(), place.channels);
        let (stage, position) = (place.router / count, place.router % count);
        let height = self.stages - 1 - stage;
        let there = packet.destination;
        let down = there / k.pow(height) % k;
        if self.way == Way::Tag {
            return Ways::one(down as usize, a, b);
        }
        if position / k.pow(height) == there / k.pow(height + 1) {
            return Ways::one(down as usize, a, b);
        }
        let mut up = k + numbers.upto(k - 1);
        if self.way == Way::Adaptive {
            let other = k + numbers.upto(k - 1);
            let load = |port: u32| place.load[wiring.output(place.router, port as usize)];
            if load(up) > load(other) {
                up = other;
            }
        }
        Ways::one(up as usize, a, b)
    }

    fn draws(&self) -> bool {
        true
    }

    fn goes_by_load(&self) -> bool {
        self.way == Way::Adaptive
    }
}
