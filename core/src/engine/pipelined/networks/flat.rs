//! Grids of routers with several nodes each: concentrated meshes, and flattened butterflies (Kim et al., ISCA 2007)
//! whose routers are linked with all others in the same row and column.

use super::super::{
    flit::{Packet, Ways},
    numbers::Numbers,
    options::{OptionError, Options},
    routing::Place,
    wiring::Wiring,
};
use super::{bounded, named};

/// How a packet finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The lowest dimension first.
    DimensionOrder,
    /// The same, with the long links along the edges of a concentrated mesh.
    Express,
    /// A drawn order.
    XyYx,
    /// To a drawn node first.
    Valiant,
}

/// A concentrated mesh or a flattened butterfly.
#[derive(Clone, Debug)]
pub(in super::super) struct Flat {
    radix: u32,
    dimensions: u32,
    /// Nodes per router.
    nodes: u32,
    is_mesh: bool,
    way: Way,
}

impl Flat {
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        let is_mesh = options.text("topology") == "cmesh";
        let way = if is_mesh {
            named(options, &[("dor_no_express", Way::DimensionOrder), ("dor", Way::Express)])?
        } else {
            named(
                options,
                &[("ran_min", Way::DimensionOrder), ("xyyx", Way::XyYx), ("valiant", Way::Valiant)],
            )?
        };
        let size = |name, most| options.within(name, 1, most).map(|value| value as u32);
        let (radix, nodes) = (size("k", 256)?, size("c", 256)?);
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
        if way == Way::Express && !radix.is_multiple_of(2) {
            return refuse("k", "BookSim2 does not survive dor on a cmesh of an odd k; give dor_no_express");
        }
        if size("x", 4096)? != radix || size("y", 4096)? != radix {
            return refuse("x", "x and y are not k, which BookSim2 needs");
        }
        let all = bounded(Some(u64::from(radix * radix) * u64::from(nodes)))?;
        let made = Self { radix, dimensions: 2, nodes, is_mesh, way };
        let stretch = if options.flag("use_noc_latency")? { side } else { 0 };
        let mut wiring = if is_mesh { made.mesh(all, stretch) } else { made.butterfly(all, stretch) };
        // Nodes are numbered row by row over the whole grid of nodes.
        let row = radix * side;
        for node in 0..all as u32 {
            let (x, y) = (node % row, node / row);
            let at = (y / side * radix + x / side, (y % side * side + x % side) as usize);
            wiring.attach(node, at, at, 1);
        }
        Ok((made, wiring))
    }

    pub(super) fn least_channels(&self) -> usize {
        if matches!(self.way, Way::XyYx | Way::Valiant) { 2 } else { 1 }
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
        if self.way == Way::Express && x.abs_diff(y) >= self.radix / 2 {
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

    pub(super) fn ways(
        &self,
        wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut Numbers,
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
        let (port, (first, last)) = match self.way {
            Way::DimensionOrder | Way::Express => (self.towards(here, there, true), (a, b)),
            Way::XyYx => {
                if place.enters {
                    packet.phase = u8::from(numbers.upto(1) == 0);
                }
                (self.towards(here, there, packet.phase == 0), if packet.phase == 0 { lower } else { upper })
            }
            Way::Valiant if packet.phase == 1 => (self.towards(here, there, true), upper),
            Way::Valiant => {
                let middle = wiring.exits[packet.middle as usize].0;
                (self.towards(here, middle, true), lower)
            }
        };
        Ways::one(port, first, last)
    }
}
