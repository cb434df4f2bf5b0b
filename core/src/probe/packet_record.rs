use super::{Flit, Probe, SavedProbe};
use crate::{
    fabric::{LinkId, NodeId},
    save::{Archive, SaveError},
};
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

fn columns(records: &mut Vec<PacketRecord>, archive: &mut Archive) -> Result<(), SaveError> {
    let empty = PacketRecord {
        source: 0,
        destination: 0,
        number: 0,
        slice: 0,
        generated: 0,
        injected: 0,
        head_arrival: 0,
        tail_arrival: 0,
        hops: 0,
    };
    archive.column("record sources", records, &empty, |record| &mut record.source)?;
    archive.column("record destinations", records, &empty, |record| &mut record.destination)?;
    archive.column("record numbers", records, &empty, |record| &mut record.number)?;
    archive.column("record slices", records, &empty, |record| &mut record.slice)?;
    archive.column("record generations", records, &empty, |record| &mut record.generated)?;
    archive.column("record injections", records, &empty, |record| &mut record.injected)?;
    archive.column("record heads", records, &empty, |record| &mut record.head_arrival)?;
    archive.column("record tails", records, &empty, |record| &mut record.tail_arrival)?;
    archive.column("record hops", records, &empty, |record| &mut record.hops)
}

impl SavedProbe for PacketRecords {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        columns(&mut self.done, archive)?;
        let mut open: Vec<PacketRecord> = self.open.values().copied().collect();
        open.sort_unstable_by_key(|record| (record.source, record.number));
        columns(&mut open, archive)?;
        self.open = open.into_iter().map(|record| ((record.source, record.number), record)).collect();
        Ok(())
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
