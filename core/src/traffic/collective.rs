use super::{Destinations, Packet, PacketList, WorkloadError};
use crate::fabric::NodeId;

/// A collective communication: every node sends `packets` messages of `payload` flits, each cut
/// into `slices` (cup-stacking-2022, Section 3).
///
/// Slice number `k` of a node, counted over all its packets, is available to its router at cycle
/// `k * interval + delay`. An interval of 0 sends them back to back.
///
/// ```
/// use flitloom_core::{fabric::Shape, traffic::{Collective, Pattern}};
/// let shape = Shape::torus(&[16, 16])?;
/// let shuffle = Pattern::PerfectShuffle.destinations(&shape, 0)?;
/// let collective = Collective { payload: 14, slices: 2, interval: 76, ..Collective::default() };
/// assert_eq!(collective.slice_length(), 8);
/// assert_eq!(collective.packet_list(shape.nodes(), &shuffle)?.len(), 512);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Payload of one packet in flits, without headers.
    pub payload: u32,
    /// Slices per packet.
    pub slices: u32,
    /// Cycles between the starts of consecutive slices.
    pub interval: u64,
    /// Injection delay per node in cycles; empty for none.
    pub delays: Vec<u64>,
    /// Packets per node.
    pub packets: u32,
}

impl Default for Collective {
    fn default() -> Self {
        Self { payload: 7, slices: 1, interval: 0, delays: Vec::new(), packets: 1 }
    }
}

impl Collective {
    /// Flits of one slice: `floor(payload / slices) + 1`, the header included.
    pub fn slice_length(&self) -> u32 {
        self.payload / self.slices.max(1) + 1
    }

    /// Packets (slices) sent by every node.
    pub fn sequence_length(&self) -> u64 {
        u64::from(self.slices) * u64::from(self.packets)
    }

    /// The packets of all nodes.
    ///
    /// # Errors
    /// A parameter is out of range, or the delays do not fit the number of nodes.
    pub fn packet_list(
        &self,
        nodes: usize,
        destinations: &Destinations,
    ) -> Result<PacketList, WorkloadError> {
        self.check(nodes)?;
        let length = self.slice_length();
        PacketList::from_nodes((0..nodes).map(|node| {
            let delay = self.delays.get(node).copied().unwrap_or(0);
            (0..self.sequence_length()).map(move |number| Packet {
                destination: destinations.of(node as NodeId, number / u64::from(self.slices)),
                length,
                start: number * self.interval + delay,
                slice: (number % u64::from(self.slices)) as u32,
            })
        }))
    }

    fn check(&self, nodes: usize) -> Result<(), WorkloadError> {
        if self.slices == 0 || self.slices > self.payload.max(1) {
            return Err(WorkloadError::Slices { slices: self.slices, payload: self.payload });
        }
        if self.packets == 0 {
            return Err(WorkloadError::NoPackets);
        }
        if self.payload > PacketList::MAX_LENGTH {
            return Err(WorkloadError::Payload(self.payload));
        }
        if !self.delays.is_empty() && self.delays.len() != nodes {
            return Err(WorkloadError::Delays { given: self.delays.len(), needed: nodes });
        }
        let total = self.sequence_length().saturating_mul(nodes as u64);
        if total > PacketList::MAX_PACKETS {
            return Err(WorkloadError::TooManyPackets(total));
        }
        let latest = self.delays.iter().copied().max().unwrap_or(0);
        let last = (self.sequence_length() - 1).saturating_mul(self.interval).saturating_add(latest);
        if last > PacketList::MAX_START {
            return Err(WorkloadError::Start(last));
        }
        Ok(())
    }
}
