//! Dimension order from the last dimension to the first. It exists in tests only, as the example of a
//! function that is this file and a line in the list.

use super::{
    At, Header, Output, Place,
    claims::{About, Claims, Oblivious},
};

/// `reverse`.
pub(super) struct ReverseOrder;

impl About for ReverseOrder {
    const NAME: &'static str = "reverse";
    const LONG_NAME: &'static str = "reverse-order";
    const SUMMARY: &'static str = "one dimension after the other, the last one first";

    fn claims(place: Place, bubble: bool) -> Claims {
        Claims::in_layers(place, bubble, 1)
    }
}

impl Oblivious for ReverseOrder {
    fn next(place: Place, at: At, header: &Header) -> Output {
        let mut dimensions = (0..place.shape.dimensions()).rev();
        let direction = dimensions.find_map(|dimension| place.way(dimension, at.node, header.destination));
        place.follow(at, at.channel, direction)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        engine::{Network, Options, general},
        fabric::{Direction, Fabric, NodeId, Shape},
        probe::PacketRecords,
        router::RouterConfig,
        routing::{At, Header, RoutingFunction},
        traffic::{Packet, PacketList, Workload},
    };

    /// The ways of dimension order with the dimensions exchanged, walked and simulated.
    #[test]
    fn a_function_is_one_file_and_one_line() {
        let function: RoutingFunction = "reverse".parse().unwrap();
        assert_eq!("reverse-order".parse(), Ok(function));
        let (shape, turned) = (Shape::torus(&[6, 5]).unwrap(), Shape::torus(&[5, 6]).unwrap());
        let router = RouterConfig::for_routing(&shape, function);
        let place = router.place(&shape);
        let swap = |node: NodeId| node / 6 + node % 6 * 5;
        let mut packets = vec![Vec::new(); 30];
        for (from, to) in (0..30).flat_map(|from| (0..30).map(move |to| (from, to))) {
            let mut at = At::source(from);
            let mut way = Vec::new();
            while let Some(direction) = function.options(place, at, &Header::new(from, to, 4))[0].direction {
                at.node = shape.neighbour(at.node, direction).unwrap();
                way.push(direction.index() ^ 2);
            }
            let fabric = Fabric::new(turned.clone());
            let path = crate::routing::dimension_order::path(&fabric, swap(from), swap(to));
            let expected: Vec<usize> = path.map(|link| fabric.link_ends(link).1.index()).collect();
            assert_eq!(way, expected);
            packets[from as usize].push(Packet { destination: to, length: 4, start: 0, slice: 0 });
        }
        let list = PacketList::from_nodes(packets).unwrap();
        let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
        let mut records = PacketRecords::default();
        let workload = Workload::Packets(list);
        let outcome = general::simulate(&network, &workload, &Options::default(), &mut records).unwrap();
        assert_eq!(outcome.packets_delivered, 900);
        for record in records.into_sorted() {
            assert_eq!(record.hops, shape.distance(record.source, record.destination));
        }
        // The first hop of a packet with both is along y.
        let north = function.options(place, At::source(0), &Header::new(0, 7, 4))[0].direction;
        assert_eq!(north, Some(Direction::from_index(2)));
    }
}
