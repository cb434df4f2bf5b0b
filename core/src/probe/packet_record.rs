use super::{Flit, Probe};
use crate::fabric::{LinkId, NodeId};
use std::collections::HashMap;

/// What happened to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Node that sent it.
    pub source: NodeId,
    /// Node at which it was delivered.
    pub destination: NodeId,
    /// Its number among the packets of its source, from 0.
    pub number: u64,
    /// Slice of its message.
    pub slice: u32,
    /// Cycle in which it became available to the router.
    pub generated: u64,
    /// Cycle in which its header left the processor queue.
    pub injected: u64,
    /// Cycle in which its header was ejected.
    pub head_arrival: u64,
    /// Cycle in which its tail was ejected.
    pub tail_arrival: u64,
    /// Links it crossed.
    pub hops: u32,
}

/// Records of all delivered packets, in the order of their delivery (packets delivered in one
/// cycle in the order of their nodes).
#[derive(Clone, Debug, Default)]
pub struct PacketRecords {
    open: HashMap<(NodeId, u64), PacketRecord>,
    done: Vec<PacketRecord>,
}

impl PacketRecords {
    /// The records, sorted by source and number.
    pub fn into_sorted(mut self) -> Vec<PacketRecord> {
        self.done.sort_unstable_by_key(|record| (record.source, record.number));
        self.done
    }
}

impl Probe for PacketRecords {
    fn flit_crosses(&mut self, _cycle: u64, _link: LinkId, _channel: u8, flit: Flit) {
        if flit.head
            && let Some(record) = self.open.get_mut(&(flit.source, flit.number))
        {
            record.hops += 1;
        }
    }

    fn packet_injected(&mut self, cycle: u64, flit: Flit) {
        let record = PacketRecord {
            source: flit.source,
            destination: flit.source,
            number: flit.number,
            slice: flit.slice,
            generated: flit.start,
            injected: cycle,
            head_arrival: 0,
            tail_arrival: 0,
            hops: 0,
        };
        self.open.insert((flit.source, flit.number), record);
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        let key = (flit.source, flit.number);
        if flit.head
            && let Some(record) = self.open.get_mut(&key)
        {
            record.head_arrival = cycle;
            record.destination = node;
        }
        if flit.tail
            && let Some(mut record) = self.open.remove(&key)
        {
            record.tail_arrival = cycle;
            self.done.push(record);
        }
    }
}
