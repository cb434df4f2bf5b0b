//! Grids of routers with several nodes each: concentrated meshes, and flattened butterflies (Kim et al., ISCA 2007)
//! whose routers are linked with all others in the same row and column.

use super::super::options::{OptionError, Options};
use super::{bounded, named};
use crate::engine::pipelined::{HeaderPlace as Place, Network, Numbers, Packet, Ways, Wiring, part};
use std::cmp::Ordering;

/// How a packet finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The lowest dimension first.
    DimensionOrder,
    /// A drawn order.
    XyYx,
    /// The less loaded order; of equal ones a drawn one.
    AdaptiveXyYx,
    /// To a drawn node first.
    Valiant,
    /// To a drawn router first where that is less loaded (Singh 2005); in a drawn order, or in channels that are
    /// those of the next coordinate alone.
    Ugal { is_drawn: bool, is_apart: bool },
}

/// By how much the longer way of `ugal` has to be less loaded, in flits times hops.
const THRESHOLD: u32 = 2;

/// How long the links are to the nodes of a router of a flattened butterfly, by port. The nodes stand around it in a
/// square, and every step away along a side beyond the first makes a link longer by one. BookSim2 goes through the
/// places column by column while it numbers the nodes row by row.
fn lengths_to_nodes(side: u32) -> Vec<u32> {
    let half = side as i32 / 2;
    let places: Vec<i32> = (-half..=half).filter(|&place| place != 0 || side % 2 == 1).collect();
    let beyond = |place: i32| (place.abs() - 1).max(0) as u32;
    places.iter().flat_map(|&x| places.iter().map(move |&y| 1 + beyond(y) + beyond(x))).collect()
}

/// A concentrated mesh or a flattened butterfly.
#[derive(Clone, Debug)]
pub(super) struct Flat {
    radix: u32,
    dimensions: u32,
    /// Nodes per router.
    nodes: u32,
    is_mesh: bool,
    /// Hops from which on the long links along the edges of a concentrated mesh are taken.
    express: Option<u32>,
    way: Way,
}

impl Flat {
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        let is_mesh = options.text("topology") == "cmesh";
        let size = |name, most| options.within(name, 1..=most).map(|value| value as u32);
        let (radix, nodes) = (size("k", 256)?, size("c", 256)?);
        let ugal = |is_drawn, is_apart| Way::Ugal { is_drawn, is_apart };
        let (way, express) = if is_mesh {
            let known = [
                ("dor_no_express", (Way::DimensionOrder, None)),
                ("dor", (Way::DimensionOrder, Some(radix / 2))),
                ("xy_yx_no_express", (Way::XyYx, None)),
                ("xy_yx", (Way::XyYx, Some(2))),
            ];
            named(options, &known, options.text("topology"))?
        } else {
            let known = [
                ("ran_min", Way::DimensionOrder),
                ("xyyx", Way::XyYx),
                ("adaptive_xyyx", Way::AdaptiveXyYx),
                ("valiant", Way::Valiant),
                ("ugal", ugal(false, false)),
                ("ugal_xyyx", ugal(true, false)),
                ("ugal_pni", ugal(false, true)),
            ];
            (named(options, &known, options.text("topology"))?, None)
        };
        let refuse = |option, text: &str| Err(OptionError { option, text: text.into() });
        if options.whole("n")? != 2 {
            return refuse("n", "concentrated meshes and flattened butterflies are known here with 2 only");
        }
        let side = size("xr", 16)?;
        if side != size("yr", 16)? || side * side != nodes {
            return refuse("xr", "c is not xr yr with equal xr and yr, which BookSim2 needs");
        }
        if is_mesh && nodes != 4 {
            return refuse("c", "BookSim2 does not survive another concentration of a cmesh than 4");
        }
        if express.is_some() && !radix.is_multiple_of(2) {
            let text = "BookSim2 does not survive express links on a cmesh of an odd k; give dor_no_express";
            return refuse("k", text);
        }
        if way == ugal(false, true) && radix != nodes {
            return refuse("c", "ugal_pni needs as many nodes per router as routers per row");
        }
        let width = size("x", 4096)?;
        if width != size("y", 4096)? {
            return refuse("y", "is not x, which BookSim2 needs");
        }
        // Of a cmesh it reads no more of them.
        if !is_mesh && width != radix {
            return refuse("x", "x and y of a flatfly are not k, which BookSim2 needs");
        }
        let all = bounded(Some(u64::from(radix * radix) * u64::from(nodes)))?;
        let made = Self { radix, dimensions: 2, nodes, is_mesh, express, way };
        let stretch = if options.whole("use_noc_latency")? == 1 { side } else { 0 };
        let lengths = if is_mesh || stretch == 0 { vec![1; nodes as usize] } else { lengths_to_nodes(side) };
        let mut wiring = if is_mesh { made.mesh(all, stretch) } else { made.butterfly(all, stretch) };
        // Nodes are numbered row by row over the whole grid of nodes.
        let row = radix * side;
        for node in 0..all as u32 {
            let (x, y) = (node % row, node / row);
            let at = (y / side * radix + x / side, (y % side * side + x % side) as usize);
            wiring.attach(node, at, at, lengths[at.1]);
        }
        Ok((made, wiring))
    }

    fn coordinate(&self, router: u32, dimension: u32) -> u32 {
        router / self.radix.pow(dimension) % self.radix
    }

    /// Ports of a dimension: to the next higher coordinate, to the next lower one. Where these would lead out of
    /// the mesh they lead half the way along the other dimension.
    fn mesh(&self, all: usize, stretch: u32) -> Wiring {
        let (k, c) = (self.radix, self.nodes as usize);
        let mut wiring = Wiring::new(all, std::iter::repeat_n((c + 4, c + 4), (k * k) as usize));
        for router in 0..k * k {
            for port in 0..4 {
                let (dimension, down) = (port as u32 / 2, port % 2);
                let (x, weight) = (self.coordinate(router, dimension), k.pow(dimension));
                let (there, into, length) = if down == 0 && x + 1 < k {
                    (router + weight, port ^ 1, 1)
                } else if down == 1 && x > 0 {
                    (router - weight, port ^ 1, 1)
                } else {
                    let (y, across) = (self.coordinate(router, 1 - dimension), k.pow(1 - dimension));
                    (router - y * across + (y + k / 2) % k * across, port, k / 2)
                };
                let latency = if stretch > 0 { stretch * length } else { 1 };
                wiring.connect((router, c + port), (there, c + into), latency);
            }
        }
        wiring
    }

    /// Ports of a dimension lead to all other coordinates, ascending; input ports are those of all other routers,
    /// ascending by router.
    fn butterfly(&self, all: usize, stretch: u32) -> Wiring {
        let (k, c) = (self.radix, self.nodes as usize);
        let ports = c + (self.dimensions * (k - 1)) as usize;
        let routers = k.pow(self.dimensions);
        let mut wiring = Wiring::new(all, std::iter::repeat_n((ports, ports), routers as usize));
        let mut entered = vec![c; routers as usize];
        for router in 0..routers {
            for dimension in 0..self.dimensions {
                let (x, weight) = (self.coordinate(router, dimension), k.pow(dimension));
                for y in (0..k).filter(|&y| y != x) {
                    let there = router - x * weight + y * weight;
                    let latency = if stretch > 0 { stretch * x.abs_diff(y) } else { 1 };
                    let into = entered[there as usize];
                    entered[there as usize] += 1;
                    wiring.connect((router, self.port(x, y, dimension)), (there, into), latency);
                }
            }
        }
        wiring
    }

    /// The port of a flattened butterfly from one coordinate to another.
    fn port(&self, x: u32, y: u32, dimension: u32) -> usize {
        (self.nodes + dimension * (self.radix - 1) + if y < x { y } else { y - 1 }) as usize
    }

    /// The port towards another router, by the lowest dimension that differs or the highest.
    fn towards(&self, here: u32, there: u32, lowest_first: bool) -> usize {
        let differs = |&d: &u32| self.coordinate(here, d) != self.coordinate(there, d);
        let mut dimensions = 0..self.dimensions;
        let found = if lowest_first { dimensions.find(differs) } else { dimensions.rev().find(differs) };
        let dimension = found.unwrap_or(0);
        let (x, y) = (self.coordinate(here, dimension), self.coordinate(there, dimension));
        if !self.is_mesh {
            return self.port(x, y, dimension);
        }
        let first = (self.nodes + 2 * dimension) as usize;
        if self.express.is_some_and(|from| x.abs_diff(y) >= from) {
            // The ports that would lead out of the mesh across this dimension.
            let across = self.coordinate(here, 1 - dimension);
            let edge = (self.nodes + 2 * (1 - dimension)) as usize;
            if across == 0 {
                return edge + 1;
            }
            if across == self.radix - 1 {
                return edge;
            }
        }
        first + usize::from(y < x)
    }

    /// The port and channels of a packet that goes straight or through a drawn router, by the load.
    fn ugal(
        &self,
        (place, wiring): (&Place<'_>, &Wiring),
        (packet, numbers): (&mut Packet, &mut dyn Numbers),
        (is_drawn, is_apart): (bool, bool),
        lowest_first: bool,
    ) -> (usize, (u32, u32)) {
        let (here, (a, b)) = (place.router, place.channels);
        let half = (b - a).div_ceil(2);
        let (there, exit) = wiring.exits[packet.destination as usize];
        let load = |port: usize| place.load[wiring.output(here, port)];
        if place.enters {
            packet.middle = self.drawn_router(here, there, numbers);
            let cost = |to: u32, hops: u32| hops * load(self.towards(here, to, lowest_first));
            let hops = self.hops(here, packet.middle) + self.hops(packet.middle, there);
            let is_short = packet.middle == here
                || cost(there, self.hops(here, there)) <= cost(packet.middle, hops) + THRESHOLD;
            packet.phase = u8::from(is_short);
        } else if here == packet.middle {
            packet.phase = 1;
        }
        let to = if packet.phase == 0 { packet.middle } else { there };
        let port = self.towards(here, to, lowest_first);
        let (mut first, mut last) = (a, b);
        let mut cut = half;
        if is_drawn {
            (first, last) = if lowest_first { (a, b - half) } else { (a + half, b) };
            cut = half / 2;
        }
        if packet.phase == 0 {
            last -= cut
        } else {
            first += cut
        }
        let mut channels = (first, last);
        if is_apart {
            // The coordinate after the next one, or the node in the end.
            let next = (port as u32 - self.nodes) / (self.radix - 1) + 1;
            let coordinate = if next == self.dimensions { exit.into() } else { self.coordinate(there, next) };
            channels = part(channels, self.radix, coordinate);
        }
        (port, channels)
    }

    /// Hops between two routers of a flattened butterfly.
    fn hops(&self, a: u32, b: u32) -> u32 {
        (0..self.dimensions).filter(|&d| self.coordinate(a, d) != self.coordinate(b, d)).count() as u32
    }

    /// A router that differs from both in those dimensions alone in which they differ.
    fn drawn_router(&self, from: u32, to: u32, numbers: &mut dyn Numbers) -> u32 {
        // Which node of the router makes no difference.
        numbers.upto(self.nodes - 1);
        let draw = |dimension| {
            let [mine, other] = [from, to].map(|router| self.coordinate(router, dimension));
            let coordinate = if mine == other { mine } else { numbers.upto(self.radix - 1) };
            coordinate * self.radix.pow(dimension)
        };
        (0..self.dimensions).map(draw).sum()
    }
}

impl Network for Flat {
    fn ways(
        &self,
        wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
    ) -> Ways {
        let (here, (a, b)) = (place.router, place.channels);
        let half = (b - a).div_ceil(2);
        let (lower, upper) = ((a, b - half), (a + half, b));
        let (there, exit) = wiring.exits[packet.destination as usize];
        if self.way == Way::Valiant {
            if place.enters {
                packet.middle = numbers.upto(wiring.nodes() as u32 - 1);
                packet.phase = 0;
            }
            if packet.phase == 0 && here == wiring.exits[packet.middle as usize].0 {
                packet.phase = 1;
            }
        }
        if here == there {
            return Ways::one(exit.into(), a, b);
        }
        let load = |port: usize| place.load[wiring.output(here, port)];
        // Orders are told by channels; of an odd number the one in the middle changes the order.
        let is_lower = place.channel < a + half;
        let (port, (first, last)) = match self.way {
            Way::DimensionOrder => (self.towards(here, there, true), (a, b)),
            Way::XyYx | Way::AdaptiveXyYx => {
                let ports = [true, false].map(|lowest_first| self.towards(here, there, lowest_first));
                let lowest_first = if !place.enters {
                    is_lower
                } else {
                    let by_load = match self.way {
                        Way::AdaptiveXyYx => load(ports[0]).cmp(&load(ports[1])),
                        _ => Ordering::Equal,
                    };
                    by_load.is_lt() || by_load.is_eq() && numbers.upto(1) > 0
                };
                if lowest_first { (ports[0], lower) } else { (ports[1], upper) }
            }
            Way::Valiant if packet.phase == 1 => (self.towards(here, there, true), upper),
            Way::Valiant => {
                let middle = wiring.exits[packet.middle as usize].0;
                (self.towards(here, middle, true), lower)
            }
            Way::Ugal { is_drawn, is_apart } => {
                let lowest_first = !is_drawn || if place.enters { numbers.upto(1) > 0 } else { is_lower };
                self.ugal((place, wiring), (packet, numbers), (is_drawn, is_apart), lowest_first)
            }
        };
        Ways::one(port, first, last)
    }

    fn entry_channels(
        &self,
        wiring: &Wiring,
        to: u32,
        (_all, channels): (usize, (u32, u32)),
        _numbers: &mut dyn Numbers,
    ) -> (u32, u32) {
        match self.way {
            Way::Ugal { is_apart: true, .. } => {
                part(channels, self.radix, self.coordinate(wiring.exits[to as usize].0, 0))
            }
            _ => channels,
        }
    }

    fn draws(&self) -> bool {
        true
    }

    fn goes_by_load(&self) -> bool {
        matches!(self.way, Way::AdaptiveXyYx | Way::Ugal { .. })
    }

    fn narrowest_way(&self, channels: u32) -> u32 {
        let half = channels.div_ceil(2);
        match self.way {
            Way::DimensionOrder => channels,
            Way::Ugal { is_drawn: true, .. } => half - channels / 4,
            Way::Ugal { is_apart: true, .. } => half / self.radix,
            _ => half,
        }
    }

    fn least_channels(&self) -> u32 {
        match self.way {
            Way::DimensionOrder => 1,
            Way::XyYx | Way::AdaptiveXyYx | Way::Valiant | Way::Ugal { is_drawn: false, is_apart: false } => {
                2
            }
            Way::Ugal { is_drawn: true, .. } => 4,
            Way::Ugal { is_apart: true, .. } => 2 * self.radix - 1,
        }
    }
}
