//! Dragonflies (Kim et al., ISCA 2008): groups of 2p routers with p nodes, every two routers of a group and every
//! two groups linked once.

use super::super::options::{OptionError, Options};
use super::{bounded, named};
use crate::engine::pipelined::{HeaderPlace as Place, Link, Network, Numbers, Packet, Ways, Wiring};

/// Latencies within and between groups.
const LOCAL: u32 = 10;
const GLOBAL: u32 = 100;
/// By how many flits the longer way has to be less loaded.
const THRESHOLD: u32 = 30;

/// A dragonfly.
#[derive(Clone, Debug)]
pub(super) struct Dragonfly {
    /// Nodes per router, which are its links to other groups as well.
    nodes: u32,
    /// Whether packets may take a way through a drawn group.
    adapts: bool,
}

impl Dragonfly {
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        let adapts = named(options, &[("min", false), ("ugal", true)], options.text("topology"))?;
        let nodes = options.within("k", 1..=1 << 8)? as u32;
        if options.whole("n")? != 1 {
            return Err(OptionError { option: "n", text: "dragonflies are known here with 1 only".into() });
        }
        if options.whole("num_vcs")? < 2 {
            return Err(OptionError {
                option: "num_vcs",
                text: "min on a dragonfly needs at least 2".into(),
            });
        }
        if adapts && options.whole("num_vcs")? != 3 {
            let text = "BookSim2 does not survive ugal on a dragonfly with another number than 3".into();
            return Err(OptionError { option: "num_vcs", text });
        }
        let made = Self { nodes, adapts };
        let all = bounded(Some(u64::from(nodes) * u64::from(made.group()) * u64::from(made.groups())))?;
        let radix = (nodes + made.group() - 1 + nodes) as usize;
        let routers = made.group() * made.groups();
        let mut wiring = Wiring::new(all, std::iter::repeat_n((radix, radix), routers as usize));
        for router in 0..routers {
            let first = router - router % made.group();
            for other in (first..first + made.group()).filter(|&other| other != router) {
                let from = (router, made.within(router, other));
                wiring.connect(from, (other, made.within(other, router)), LOCAL);
            }
            for link in 0..nodes {
                let mine = router / made.group();
                let between = router % made.group() * nodes + link;
                let other = if between < mine { between } else { between + 1 };
                let (there, port) = made.out_of(other, mine);
                wiring.connect((router, made.first_global() + link as usize), (there, port), GLOBAL);
            }
            for port in 0..nodes {
                let at = (router, port as usize);
                wiring.attach(router * nodes + port, at, at, 1);
            }
        }
        Ok((made, wiring))
    }

    /// Routers of a group.
    fn group(&self) -> u32 {
        2 * self.nodes
    }

    fn groups(&self) -> u32 {
        self.group() * self.nodes + 1
    }

    fn first_global(&self) -> usize {
        (self.nodes + self.group() - 1) as usize
    }

    /// The port that leads to another router of the same group.
    fn within(&self, from: u32, to: u32) -> usize {
        let place = to % self.group();
        (self.nodes + if place < from % self.group() { place } else { place - 1 }) as usize
    }

    /// Router and port of a group that lead to another group.
    fn out_of(&self, group: u32, to: u32) -> (u32, usize) {
        let link = if to < group { to } else { to - 1 };
        (group * self.group() + link / self.nodes, self.first_global() + (link % self.nodes) as usize)
    }

    /// The port of the shortest way to a node.
    fn towards(&self, router: u32, node: u32) -> usize {
        let there = node / self.nodes;
        if there == router {
            return (node % self.nodes) as usize;
        }
        let (mine, other) = (router / self.group(), there / self.group());
        if mine == other {
            return self.within(router, there);
        }
        let (leaves, port) = self.out_of(mine, other);
        if leaves == router { port } else { self.within(router, leaves) }
    }
}

impl Network for Dragonfly {
    /// Channel 0 is that of ways to a drawn node, or of `min` before the link between groups; the highest one that
    /// behind it.
    fn ways(
        &self,
        wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
    ) -> Ways {
        let here = place.router;
        let one = |port: usize, channel: u8| Ways::one(port, channel.into(), channel.into());
        if !self.adapts {
            if place.enters {
                packet.phase = 0;
            }
            let port = self.towards(here, packet.destination);
            if port >= self.first_global() {
                packet.phase = 1;
            }
            return one(port, packet.phase);
        }
        if place.enters {
            let group = |node: u32| node / self.nodes / self.group();
            packet.phase = if group(packet.destination) == here / self.group() {
                2
            } else {
                packet.middle = numbers.upto(wiring.nodes() as u32 - 1);
                let load = |node: u32| place.load[wiring.output(here, self.towards(here, node))];
                let is_short = group(packet.middle) == here / self.group()
                    || load(packet.destination) <= 2 * load(packet.middle) + THRESHOLD;
                u8::from(is_short)
            };
        }
        if packet.phase == 0 && here == packet.middle / self.nodes {
            packet.phase = 1;
        }
        let to = if packet.phase == 0 { packet.middle } else { packet.destination };
        let port = self.towards(here, to);
        if packet.phase == 1 && port >= self.first_global() {
            packet.phase = 2;
        }
        one(port, packet.phase)
    }

    /// One of all is drawn.
    fn entry_channels(
        &self,
        _wiring: &Wiring,
        _to: u32,
        (all, _channels): (usize, (u32, u32)),
        numbers: &mut dyn Numbers,
    ) -> (u32, u32) {
        let one = numbers.upto(all as u32 - 1);
        (one, one)
    }

    fn draws(&self) -> bool {
        true
    }

    fn goes_by_load(&self) -> bool {
        self.adapts
    }

    /// BookSim2 asks for the latency of a link before it gives it one.
    fn latency_of(&self, _router: u32, _link: Link) -> u32 {
        1
    }
}
