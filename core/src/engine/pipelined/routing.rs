//! Routing functions of meshes and tori.

use super::{
    flit::{Packet, Ways, part},
    numbers::Numbers,
    shape::Shape,
};

/// The routing functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routing {
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
    /// That of a network that is no grid.
    OfNetwork,
}

impl Routing {
    /// The names on meshes, and what they stand for.
    pub(super) const MESH: [(&str, Self); 11] = [
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
    pub(super) const TORUS: [(&str, Self); 4] = [
        ("dim_order", Self::DimensionOrder),
        ("dim_order_bal", Self::DimensionOrderBalanced),
        ("min_adapt", Self::MinimalAdaptive),
        ("dim_order_ni", Self::PerNode),
    ];

    /// Into how many parts channels are cut for destinations.
    pub(super) fn parts(self, shape: &Shape) -> u32 {
        match self {
            Self::PerNode | Self::RommPerNode => shape.nodes() as u32,
            Self::PerCoordinate => shape.radix,
            _ => 1,
        }
    }

    /// The channels of a packet on its way out of a router along a dimension, of those given.
    pub(super) fn part(self, shape: &Shape, to: u32, along: u32, channels: (u32, u32)) -> (u32, u32) {
        let number = match self {
            Self::PerNode | Self::RommPerNode => to,
            Self::PerCoordinate => shape.coordinate(to, along),
            _ => return channels,
        };
        part(channels, self.parts(shape), number)
    }
}

/// Where a header is when its ways are computed.
pub(super) struct Place<'a> {
    pub router: u32,
    /// The port it came in by, whether that is one of a node, and the channel it came in.
    pub port: usize,
    pub enters: bool,
    pub channel: u32,
    /// First and last channel it may use.
    pub channels: (u32, u32),
    /// Per output port of all routers the flits known behind it.
    pub load: &'a [u32],
}

impl Routing {
    /// The ways of a header at a router.
    pub(super) fn ways(
        self,
        shape: &Shape,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut Numbers,
    ) -> Ways {
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
            Self::Romm | Self::Valiant | Self::RommPerNode | Self::OfNetwork => Ways::default(),
        }
    }

    /// The port along the lowest dimension of a torus that differs; the half that a packet uses along it is
    /// chosen where it enters the dimension.
    fn around(
        self,
        shape: &Shape,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut Numbers,
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
        numbers: &mut Numbers,
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
