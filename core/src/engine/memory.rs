//! How much memory a run takes, known before it begins.

use super::Network;
use crate::{probe::LinkOccupation, router::FlowControl};

/// Bytes of a queue's list of packets, of a record of an output channel with few and with many queues, of
/// where a router is and what it takes from its source, and of a link's place in the table of links.
const FIFO: u64 = 8;
const RECORDS: [u64; 2] = [4, 16];
const PLACE: u64 = 48;
/// Queues that the short record tells apart.
const SHORT: u64 = 24;
/// Bytes of the packet whose flits pass an output register.
const PASSING: u64 = 4;
/// Planes per link in which flits are counted.
const COUNTED: u64 = 20;
/// Output channels that a queue behind a link uses, on average, of those of a channel.
const PAIRS_PER_QUEUE: u64 = 4;

/// Bytes that the general engine needs per router, packets not counted: what a run takes at most, since
/// the planes take less.
///
/// ```
/// use flitloom_core::{engine::{Network, bytes_per_router}, fabric::{Fabric, Shape}, router::RouterConfig};
/// let network = Network::new(Fabric::new(Shape::torus(&[8, 8])?), RouterConfig::default())?;
/// assert!((150..400).contains(&bytes_per_router(&network, 8, false)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bytes_per_router(network: &Network, longest: u32, links: bool) -> u64 {
    let (shape, router) = (network.fabric().shape(), network.router());
    let (directions, channels) = (shape.directions() as u64, u64::from(router.channels));
    let (link_queues, processor) = (directions * channels, router.processor_queues.count(shape) as u64);
    let (queues, outputs) = (link_queues + processor, (directions + 1) * channels);
    let bits = |most: u32| u64::from(32 - most.leading_zeros());
    let counted = bits(router.buffer.into()) * link_queues;
    let twice = router.latency > 1;
    let waits = router.flow_control != FlowControl::Wormhole && !router.grant_needs_room;
    let registers = if router.variant.facts().registers { outputs } else { 0 };
    let planes = counted * (1 + u64::from(twice) + u64::from(waits))
        + link_queues * PAIRS_PER_QUEUE
        + outputs * (bits(longest.saturating_sub(1)) + 4)
        + (directions + 1) * channels
        + queues * 2
        + link_queues
        + 4 * registers
        + if links { directions * COUNTED } else { 0 };
    let own = router.arbitration.port_lists.len() + router.arbitration.schemes.len();
    outputs * RECORDS[usize::from(queues > SHORT)]
        + queues * FIFO
        + registers * PASSING
        + PLACE
        + planes.div_ceil(8)
        + if links { directions * LinkOccupation::BYTES } else { 0 }
        + (2 * own as u64) / shape.nodes() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        router::{RouterConfig, Variant},
    };

    /// Three planes and the packet of each.
    #[test]
    fn output_registers_are_counted_with_their_packets() {
        let shape = Shape::torus(&[8, 8]).unwrap();
        let told = |variant| {
            let router = RouterConfig { variant, ..RouterConfig::for_shape(&shape) };
            bytes_per_router(&Network::new(Fabric::new(shape.clone()), router).unwrap(), 8, false)
        };
        let outputs = 5 * 3;
        assert!(told(Variant::Registers) >= told(Variant::Queues) + outputs * 4 + outputs * 3 / 8);
    }
}
