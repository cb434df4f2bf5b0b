//! How much memory a run takes, known before it begins: that of a state of some of the nodes.

use super::{demands::Demands, layout::Layout, record::Record, state::State};
use crate::{
    bits::Words,
    engine::Network,
    traffic::{Packet, PacketList, Sources, Workload},
    visit::{Bytes, State as _},
};

/// Nodes that are looked at, as the bits of a word.
const SOME: usize = 64;

/// Bytes that the general engine needs per router, packets not counted: what a run takes at most, since
/// the planes take less.
///
/// ```
/// use flitloom_core::{engine::{Network, general::bytes_per_router}, fabric::{Fabric, Shape}, router::RouterConfig};
/// let network = Network::new(Fabric::new(Shape::torus(&[8, 8])?), RouterConfig::default())?;
/// assert!((150..400).contains(&bytes_per_router(&network, 8, false)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bytes_per_router(network: &Network, longest: u32, links: bool) -> u64 {
    let layout = Layout::of_first(network, network.fabric().shape().nodes().min(SOME));
    let demands = Demands { links, ..Demands::plain(longest.max(1)) };
    of_nodes(&layout, demands).div_ceil(layout.nodes as u64)
}

/// Bytes of all nodes of a layout.
fn of_nodes(layout: &Layout, demands: Demands) -> u64 {
    let of_state = if layout.fits::<u32>() {
        of_state::<u32>
    } else if layout.fits::<u64>() {
        of_state::<u64>
    } else {
        of_state::<u128>
    };
    of_state(layout, demands) + layout.bytes() as u64
}

/// Bytes of an empty state.
fn of_state<R: Record>(layout: &Layout, demands: Demands) -> u64 {
    // Nodes that wait for the start of a packet are counted, too.
    let waits = |node| [Packet { destination: node, length: 1, start: 1, slice: 0 }];
    let list = PacketList::from_nodes((0..layout.nodes as u32).map(waits)).unwrap_or_default();
    let sources = Sources::new(&Workload::Packets(list), layout.nodes);
    let mut state = State::<Words<1>, R>::new(Words::PROOF, layout, sources, demands, None);
    let mut visitor = Bytes { bytes: 0, nodes: layout.nodes };
    // Nothing can go wrong where nothing is restored.
    let visited = state.visit(&mut visitor);
    debug_assert_eq!(visited, Ok(()));
    visitor.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        router::{FlowControl, RouterConfig, Variant},
    };

    #[test]
    fn some_nodes_take_what_all_do() {
        for (sizes, latency, flow_control, variant, links, longest) in [
            (&[32, 32][..], 1, FlowControl::Wormhole, Variant::Queues, false, 8),
            (&[32, 32][..], 1, FlowControl::Wormhole, Variant::Registers, true, 8),
            (&[16, 16, 16], 3, FlowControl::Bubble, Variant::Queues, true, 2),
            (&[1600], 2, FlowControl::CutThrough, Variant::Queues, false, 4),
        ] {
            let shape = Shape::torus(sizes).unwrap();
            let router =
                RouterConfig { latency, flow_control, variant, buffer: 9, ..RouterConfig::for_shape(&shape) };
            let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
            let layout = Layout::new(&network);
            let all = of_nodes(&layout, Demands { links, ..Demands::plain(longest) }) / layout.nodes as u64;
            // Totals, which do not depend on the nodes, are no more than some tens of bytes of each.
            let told = bytes_per_router(&network, longest, links);
            assert!((all..all + 40).contains(&told), "{sizes:?}: {told} of {all}");
        }
    }

    #[test]
    fn what_routers_have_of_their_own_is_counted() {
        let shape = Shape::torus(&[8, 8]).unwrap();
        let told = |variant| {
            let router = RouterConfig { variant, ..RouterConfig::for_shape(&shape) };
            bytes_per_router(&Network::new(Fabric::new(shape.clone()), router).unwrap(), 8, false)
        };
        // Three planes for every output channel, and the packet of each.
        let outputs = 5 * 3;
        assert!(told(Variant::Registers) >= told(Variant::Queues) + outputs * 4 + outputs * 3 / 8);
    }
}
