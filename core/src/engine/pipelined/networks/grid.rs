//! Tori and meshes of any sizes, with flitloom's own routing functions.

use super::super::{
    flit::{Packet, Ways},
    network::{MOST_IN_LINE, Network, Place},
    numbers::Numbers,
    wiring::Wiring,
};
use crate::{
    fabric::{Direction, NodeId, Shape},
    routing::{self, At, Came, ChannelRule, Header, RoutingFunction},
    traffic::{Purpose, draw},
};

/// A torus or a mesh with a routing function whose ways depend on the packet alone.
///
/// Port 2d leads plus in dimension d, port 2d + 1 minus, the last one to the node. The channels of a packet are
/// cut into as many classes as the function needs against deadlock; a packet may take any channel of its class.
#[derive(Clone, Debug)]
pub(in super::super) struct Grid {
    shape: Shape,
    function: RoutingFunction,
    rule: ChannelRule,
    seed: u64,
}

impl Grid {
    /// Links between routers have the given latency, those between routers and nodes one of 1.
    pub(in super::super) fn new(
        shape: &Shape,
        function: RoutingFunction,
        rule: ChannelRule,
        seed: u64,
        latency: u32,
    ) -> (Self, Wiring) {
        let (nodes, directions) = (shape.nodes(), shape.directions());
        let ports = directions + 1;
        let mut wiring = Wiring::new(nodes, std::iter::repeat_n((ports, ports), nodes));
        for node in 0..nodes as NodeId {
            for port in 0..directions {
                if let Some(there) = shape.neighbour(node, Direction::from_index(port)) {
                    wiring.connect((node, port), (there, port ^ 1), latency);
                }
            }
            wiring.attach(node, (node, directions), (node, directions), 1);
        }
        (Self { shape: shape.clone(), function, rule, seed }, wiring)
    }

    /// How many classes of channels there are.
    fn classes(&self) -> u32 {
        self.rule.channels().into()
    }
}

impl Network for Grid {
    fn draws(&self) -> bool {
        // Ways are functions of the packet.
        false
    }

    fn least_channels(&self) -> u32 {
        self.classes()
    }

    fn line_of_plain_mesh(&self, wiring: &Wiring) -> Option<usize> {
        let Self { shape, function, rule, .. } = self;
        let sizes = shape.sizes();
        let is_plain = (0..sizes.len()).all(|dimension| !shape.wraps(dimension))
            && sizes.len() <= 2
            && sizes.iter().all(|&size| size as usize <= MOST_IN_LINE)
            && *function == RoutingFunction::DimensionOrder
            && rule.channels() == 1
            && wiring.longest() == 1;
        is_plain.then_some(sizes[0] as usize)
    }

    fn ways(
        &self,
        _wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        _numbers: &mut dyn Numbers,
    ) -> Ways {
        let (first, last) = place.channels;
        let width = (last - first + 1) / self.classes();
        // What is left over belongs to the last class.
        let class = ((place.channel - first) / width).min(self.classes() - 1) as u8;
        let at = if place.enters {
            At::source(place.router)
        } else {
            At { node: place.router, along: Some(Direction::from_index(place.port ^ 1)), channel: class }
        };
        let drawn = draw(self.seed, packet.source, Purpose::Route, packet.number.into());
        let header = Header { drawn, ..Header::new(packet.source, packet.destination, packet.size) };
        let here = routing::Place { shape: &self.shape, rule: self.rule };
        let Some(&output) = self.function.options(here, at, &header).first() else {
            return Ways::default();
        };
        let Some(direction) = output.direction else {
            return Ways::one(self.shape.directions(), first, last);
        };
        debug_assert!(Came::of(at.along) == Came::Injected || output.channel >= class);
        let from = first + u32::from(output.channel) * width;
        let to = if u32::from(output.channel) + 1 == self.classes() { last } else { from + width - 1 };
        Ways::one(direction.index(), from, to)
    }
}
