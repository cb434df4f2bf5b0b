//! A crossbar that works in even cycles only. It exists in tests only, as the example of a variant that is this file, a
//! line in the list and its facts.

use super::{Crosses, direct::Direct};
use crate::{
    bits::Vector,
    engine::general::{
        layout::Layout,
        record::{Any, Record},
        state::State,
    },
};

/// `half-clock`.
pub(super) struct HalfClock;

impl Crosses for HalfClock {
    fn cross<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, cycle: u64) -> bool {
        if cycle.is_multiple_of(2) {
            return Direct::cross(state, layout, cycle);
        }
        // Nothing leaves and nothing is sent.
        state.moving.sent_any = R::Set::default();
        for block in 0..state.blocks {
            let Any { owned, full, parked, .. } = state.any[block];
            state.sent_are(block, Any { owned, full, parked, ..Any::default() }, 0);
        }
        // What waits may go in the next cycle.
        state.packets.inside() > 0
    }

    fn depart<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, cycle: u64) {
        Direct::depart(state, layout, cycle);
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        engine::{
            Network, Options, general,
            planes::{self, Unsupported},
        },
        fabric::{Fabric, LinkId, NodeId, Shape},
        probe::{Flit, Probe},
        router::{FlowControl, RouterConfig, RouterError, Variant},
        traffic::{Packet, PacketList, Workload},
    };

    /// What moves, and when.
    #[derive(Default)]
    struct Moves(Vec<(u64, LinkId, u8, NodeId, u64)>);

    impl Probe for Moves {
        fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
            self.0.push((cycle, link, channel, flit.source, flit.number));
        }
    }

    /// Packets of several lengths to everywhere, one every four cycles.
    fn moves(variant: Variant, start: fn(u64) -> u64) -> Moves {
        let shape = Shape::torus(&[6, 5]).unwrap();
        let packet = |node: u32, turn: u32| Packet {
            destination: (7 * node + 11 * turn + 3) % 30,
            length: 1 + (node + turn) % 9,
            start: start(u64::from(4 * turn)),
            slice: 0,
        };
        let list = (0..30).map(|node| (0..12).map(|turn| packet(node, turn)).collect::<Vec<_>>());
        let router = RouterConfig { variant, ..RouterConfig::for_shape(&shape) };
        let network = Network::new(Fabric::new(shape), router).unwrap();
        let workload = Workload::Packets(PacketList::from_nodes(list).unwrap());
        assert_eq!(
            planes::supports(&network, &workload),
            Err(match variant {
                Variant::HalfClock => Unsupported::Variant("half-clock"),
                _ => Unsupported::Lengths,
            })
        );
        let mut moves = Moves::default();
        let outcome = general::simulate(&network, &workload, &Options::default(), &mut moves).unwrap();
        assert_eq!(outcome.packets_delivered, 360);
        moves
    }

    /// At half the clock everything happens as it does otherwise, in twice the time, if packets start in odd cycles:
    /// those grant what is granted otherwise in the cycle that the even one after them stands for.
    #[test]
    fn a_variant_is_one_file_and_one_line() {
        assert!(Variant::NAMES.contains(&("half-clock", Variant::HalfClock)));
        let (usual, mut half) = (
            moves(Variant::Queues, |start| start),
            moves(Variant::HalfClock, |start| (2 * start).saturating_sub(1)),
        );
        assert!(usual.0.len() > 4000, "{}", usual.0.len());
        half.0.iter_mut().for_each(|(cycle, ..)| *cycle /= 2);
        assert_eq!(half.0, usual.0);
        let shape = Shape::torus(&[6, 5]).unwrap();
        let router = RouterConfig {
            variant: Variant::HalfClock,
            flow_control: FlowControl::CutThrough,
            ..RouterConfig::for_shape(&shape)
        };
        assert_eq!(router.check(&shape), Err(RouterError::Variant(Variant::HalfClock)));
    }
}
