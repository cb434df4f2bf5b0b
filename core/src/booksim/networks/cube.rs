//! Meshes and tori: k-ary n-cubes, with their routing functions.

use super::{
    super::options::{OptionError, Options, refuse},
    named,
    shape::Shape,
};
use crate::{
    engine::pipelined::{
        Config, ConfigError, End, HeaderPlace as Place, Link, MOST_IN_LINE, Network, Numbers, Packet, Ways,
        Wiring, part,
    },
    fault::Fault,
};

/// The routing functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Routing {
    DimensionOrder,
    DimensionOrderBalanced,
    XyYx,
    AdaptiveXyYx,
    Romm,
    Valiant,
    MinimalAdaptive,
    PlanarAdaptive,
    /// Dimension order with channels of its own for every destination, or for every coordinate of it.
    PerNode,
    PerCoordinate,
    RommPerNode,
}

impl Routing {
    /// The names on meshes, and what they stand for.
    const MESH: [(&str, Self); 11] = [
        ("dor", Self::DimensionOrder),
        ("dim_order", Self::DimensionOrder),
        ("xy_yx", Self::XyYx),
        ("adaptive_xy_yx", Self::AdaptiveXyYx),
        ("romm", Self::Romm),
        ("valiant", Self::Valiant),
        ("min_adapt", Self::MinimalAdaptive),
        ("planar_adapt", Self::PlanarAdaptive),
        ("dim_order_ni", Self::PerNode),
        ("dim_order_pni", Self::PerCoordinate),
        ("romm_ni", Self::RommPerNode),
    ];

    /// The names on tori, and what they stand for.
    const TORUS: [(&str, Self); 4] = [
        ("dim_order", Self::DimensionOrder),
        ("dim_order_bal", Self::DimensionOrderBalanced),
        ("min_adapt", Self::MinimalAdaptive),
        ("dim_order_ni", Self::PerNode),
    ];

    /// Into how many parts channels are cut for destinations.
    fn parts(self, shape: &Shape) -> u32 {
        match self {
            Self::PerNode | Self::RommPerNode => shape.nodes() as u32,
            Self::PerCoordinate => shape.radix,
            _ => 1,
        }
    }

    /// The channels of a packet on its way out of a router along a dimension, of those given.
    fn part(self, shape: &Shape, to: u32, along: u32, channels: (u32, u32)) -> (u32, u32) {
        let number = match self {
            Self::PerNode | Self::RommPerNode => to,
            Self::PerCoordinate => shape.coordinate(to, along),
            _ => return channels,
        };
        part(channels, self.parts(shape), number)
    }
}

/// A mesh or a torus with a routing function.
#[derive(Clone, Debug)]
pub(super) struct Cube {
    shape: Shape,
    routing: Routing,
    /// Whether it is dimension order on a mesh, in all channels of a packet.
    is_straight: bool,
}

impl Cube {
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        let wraps = options.text("topology") == "torus";
        let (radix, dimensions) = (options.within("k", 1..=4096)?, options.within("n", 1..=8)?);
        let fits = (radix as u64).checked_pow(dimensions as u32).is_some_and(|nodes| nodes <= 1 << 16);
        if !fits {
            return refuse("k", format!("{radix}^{dimensions} nodes are more than {}", 1 << 16));
        }
        if options.whole("c")? != 1 {
            return refuse("c", "several nodes per router are not known on meshes and tori; 1 is");
        }
        let shape = Shape::new(radix as u32, dimensions as u32, wraps);
        let latency = if wraps && options.whole("use_noc_latency")? == 1 { 2 } else { 1 };
        if wraps && options.text("routing_function") == "valiant" {
            return refuse(
                "routing_function",
                "valiant on a torus reads a variable that BookSim2 never sets, so there is nothing to reproduce",
            );
        }
        let known: &[(&str, Routing)] = if wraps { &Routing::TORUS } else { &Routing::MESH };
        let routing = named(options, known, if wraps { "tori" } else { "meshes" })?;
        let wiring = shape.wiring(latency);
        let is_straight = !wraps && routing == Routing::DimensionOrder;
        Ok((Self { shape, routing, is_straight }, wiring))
    }

    /// Whether the routing function cuts the channels of a packet in halves.
    fn needs_halves(&self) -> bool {
        match self.routing {
            Routing::DimensionOrder | Routing::DimensionOrderBalanced => self.shape.wraps,
            Routing::PlanarAdaptive | Routing::PerNode | Routing::PerCoordinate => false,
            Routing::MinimalAdaptive => !self.shape.wraps,
            _ => true,
        }
    }
}

/// A field of the routers is refused.
fn fault<T>(field: &'static str, problem: &'static str, advice: &'static str) -> Result<T, ConfigError> {
    Err(Fault::at(field, problem, advice).into())
}

impl Network for Cube {
    fn ways(
        &self,
        _wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
    ) -> Ways {
        if self.is_straight {
            let (shape, (first, last)) = (&self.shape, place.channels);
            let along = shape.lowest(place.router, packet.destination);
            let port = along
                .map_or(shape.processor(), |along| shape.towards(place.router, packet.destination, along));
            return Ways::one(port, first, last);
        }
        self.routing.ways(&self.shape, place, packet, numbers)
    }

    fn entry_channels(
        &self,
        _wiring: &Wiring,
        to: u32,
        (_all, channels): (usize, (u32, u32)),
        _numbers: &mut dyn Numbers,
    ) -> (u32, u32) {
        if self.shape.wraps || self.is_straight {
            channels
        } else {
            self.routing.part(&self.shape, to, 0, channels)
        }
    }

    fn draws(&self) -> bool {
        self.shape.wraps || !matches!(self.routing, Routing::DimensionOrder | Routing::PlanarAdaptive)
    }

    fn goes_by_load(&self) -> bool {
        self.routing == Routing::AdaptiveXyYx
    }

    fn has_escapes(&self) -> bool {
        self.routing == Routing::MinimalAdaptive
    }

    fn least_channels(&self) -> u32 {
        self.routing.parts(&self.shape)
    }

    fn narrowest_way(&self, channels: u32) -> u32 {
        match self.routing {
            Routing::MinimalAdaptive => 1,
            Routing::PlanarAdaptive => channels - 2 * (channels / 3),
            _ if self.least_channels() > 1 => channels / self.least_channels(),
            _ if self.needs_halves() => channels.div_ceil(2),
            _ => channels,
        }
    }

    fn line_of_plain_mesh(&self, _wiring: &Wiring) -> Option<usize> {
        let Shape { radix, dimensions, .. } = self.shape;
        let is_plain = self.is_straight && dimensions <= 2;
        (is_plain && radix as usize <= MOST_IN_LINE).then_some(radix as usize)
    }

    /// BookSim2 asks for the latency of a link before it gives one to links that lead to routers made later.
    fn latency_of(&self, router: u32, link: Link) -> u32 {
        if matches!(link.end, End::Router(there, _) if there > router) { 1 } else { link.latency }
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let used = &config.ranges[config.kinds.clone()];
        let has_reads = config.kinds.start == 0;
        if has_reads && self.has_escapes() && config.ranges.iter().any(|&(a, _)| a > 0) {
            let problem = "is min_adapt with channels of messages that do not begin at 0, which its escape \
                           channels leave";
            return fault("routing", problem, "let all kinds begin at channel 0");
        }
        if self.has_escapes() && self.shape.wraps && used.iter().any(|(a, b)| b - a < 3) {
            return fault("channels", "there are too few", "min_adapt on a torus needs at least 4");
        }
        if self.needs_halves() && used.iter().any(|(a, b)| a == b) {
            let problem = "there are too few: this routing function divides those of a packet";
            return fault("channels", problem, "it needs at least 2");
        }
        if config.output_speedup > self.shape.ports() {
            return fault("output_speedup", "is more than the ports of a router", "give less");
        }
        Ok(())
    }
}

impl Routing {
    /// The ways of a header at a router.
    fn ways(self, shape: &Shape, place: &Place<'_>, packet: &mut Packet, numbers: &mut dyn Numbers) -> Ways {
        let here = place.router;
        let (a, b) = match shape.lowest(here, packet.destination) {
            Some(along) => self.part(shape, packet.destination, along, place.channels),
            None => place.channels,
        };
        let half = (b - a).div_ceil(2);
        let (lower, upper) =
            if self.parts(shape) > 1 { ((a, b), (a, b)) } else { ((a, b - half), (a + half, b)) };
        let there = packet.destination;
        if matches!(self, Self::Romm | Self::Valiant | Self::RommPerNode) {
            return self.by_a_middle(shape, place, packet, numbers, lower, upper);
        }
        if here == there {
            return Ways::one(shape.processor(), a, b);
        }
        let (Some(lowest), Some(highest)) = (shape.lowest(here, there), shape.highest(here, there)) else {
            return Ways::default();
        };
        let port = shape.towards(here, there, lowest);
        match self {
            Self::DimensionOrder | Self::DimensionOrderBalanced | Self::PerNode if shape.wraps => {
                let port = self.around(shape, place, packet, numbers, lowest);
                let (first, last) = if packet.phase == 1 { upper } else { lower };
                Ways::one(port, first, last)
            }
            Self::DimensionOrder | Self::DimensionOrderBalanced | Self::PerNode | Self::PerCoordinate => {
                Ways::one(port, a, b)
            }
            Self::XyYx | Self::AdaptiveXyYx => {
                let last_port = shape.towards(here, there, highest);
                let lowest_first = if !place.enters {
                    place.channel < a + half
                } else if self == Self::AdaptiveXyYx {
                    let load = |port: usize| place.load[here as usize * shape.ports() + port];
                    match load(port).cmp(&load(last_port)) {
                        std::cmp::Ordering::Less => true,
                        std::cmp::Ordering::Greater => false,
                        std::cmp::Ordering::Equal => numbers.upto(1) == 1,
                    }
                } else {
                    numbers.upto(1) == 1
                };
                let (port, (first, last)) = if lowest_first { (port, lower) } else { (last_port, upper) };
                Ways::one(port, first, last)
            }
            Self::PlanarAdaptive => {
                let third = (b - a + 1) / 3;
                Ways::one(port, a + 2 * third, b)
            }
            Self::MinimalAdaptive if shape.wraps => {
                let (x, y) = (shape.coordinate(here, lowest), shape.coordinate(there, lowest));
                let port = self.around(shape, place, packet, numbers, lowest);
                let escape = a + u32::from(packet.phase);
                let mut ways = Ways::one(port, escape, escape);
                if place.enters || place.channel > a + 1 {
                    // At half the way round it is always down.
                    let up = 2 * ((y + shape.radix - x) % shape.radix) < shape.radix;
                    ways.add(2 * lowest as usize + usize::from(!up), a + 3, a + 3, 1);
                }
                ways
            }
            Self::MinimalAdaptive => {
                let mut ways = Ways::one(port, a, a);
                if place.enters || place.channel != a {
                    ways.add(port, a + 1, b, 1);
                }
                ways
            }
            Self::Romm | Self::Valiant | Self::RommPerNode => Ways::default(),
        }
    }

    /// The port along the lowest dimension of a torus that differs; the half that a packet uses along it is
    /// chosen where it enters the dimension.
    fn around(
        self,
        shape: &Shape,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
        dimension: u32,
    ) -> usize {
        let first = 2 * dimension as usize;
        // Who is not in an escape channel chooses anew.
        let is_free = self == Self::MinimalAdaptive && place.channel > place.channels.0 + 1;
        if !place.enters && !is_free && place.port / 2 == dimension as usize {
            return place.port ^ 1;
        }
        let radix = shape.radix;
        let x = shape.coordinate(place.router, dimension);
        let y = shape.coordinate(packet.destination, dimension);
        let forward = (y + radix - x) % radix;
        let plus = match (2 * forward).cmp(&radix) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => numbers.upto(1) == 1,
        };
        let half = (radix - 1) / 2;
        let is_upper = if self != Self::DimensionOrderBalanced {
            x > y
        } else if plus == (x > y) {
            true
        } else if (plus && x <= half && y > half) || (!plus && y <= half && x > half) {
            false
        } else {
            numbers.upto(1) == 1
        };
        packet.phase = u8::from(is_upper);
        first + usize::from(!plus)
    }

    /// Dimension order to an intermediate node in the lower half of the channels, then on in the upper one.
    fn by_a_middle(
        self,
        shape: &Shape,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
        lower: (u32, u32),
        upper: (u32, u32),
    ) -> Ways {
        let here = place.router;
        if place.enters {
            packet.phase = 0;
            packet.middle = if self == Self::Valiant {
                numbers.upto(shape.nodes() as u32 - 1)
            } else {
                let mut middle = 0;
                for dimension in 0..shape.dimensions {
                    let x = shape.coordinate(here, dimension);
                    let y = shape.coordinate(packet.destination, dimension);
                    let at = x.min(y) + numbers.upto(x.abs_diff(y));
                    middle += at * shape.radix.pow(dimension);
                }
                middle
            };
        }
        if packet.phase == 0 && here == packet.middle {
            packet.phase = 1;
        }
        if here == packet.destination && packet.phase == 1 {
            return Ways::one(shape.processor(), place.channels.0, place.channels.1);
        }
        let (to, (first, last)) =
            if packet.phase == 0 { (packet.middle, lower) } else { (packet.destination, upper) };
        // Whoever passes its destination on the way to the intermediate node may use all channels there.
        let (first, last) = if here == packet.destination { place.channels } else { (first, last) };
        let dimension = shape.lowest(here, to).unwrap_or(0);
        Ways::one(shape.towards(here, to, dimension), first, last)
    }
}
