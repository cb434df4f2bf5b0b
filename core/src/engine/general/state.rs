use super::{
    channels::{BufferedFlit, Channels, HEAD, TAIL},
    layout::{Layout, NONE},
};
use crate::{
    fabric::NodeId,
    probe::Flit,
    throttle::Interlock,
    traffic::{Routes, Sources},
};
use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

/// A packet somewhere in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketState {
    pub destination: u32,
    pub source: u32,
    pub length: u32,
    pub slice: u32,
    pub number: u64,
    pub start: u64,
    /// Where the rest of its given route begins; [`NONE`] for dimension order.
    pub route: u32,
    /// Virtual channel of its first link, before a dateline.
    pub first_channel: u8,
}

impl PacketState {
    /// A flit of the packet as probes see it.
    pub fn describe(&self, flit: BufferedFlit) -> Flit {
        Flit {
            source: self.source,
            number: self.number,
            start: self.start,
            slice: self.slice,
            head: flit & HEAD != 0,
            tail: flit & TAIL != 0,
        }
    }
}

/// The packet a node is feeding into its processor queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feed {
    pub slot: u32,
    /// Flits still to be fed.
    pub left: u32,
}

/// Everything that changes while a network runs.
#[derive(Clone)]
pub(super) struct State {
    pub channels: Channels,
    /// Per output port: row of [`Layout::choices`] that stands for the channel used last.
    pub rows: Vec<u16>,
    pub packets: Vec<PacketState>,
    pub free_slots: Vec<u32>,
    pub feeds: Vec<Feed>,
    /// Nodes whose processor queue may be topped up, as a bit set.
    pub feeding: Vec<u64>,
    /// Nodes that wait for the start of their next packet.
    pub wakes: BinaryHeap<Reverse<(u64, u32)>>,
    pub sources: Sources,
    /// All given routes.
    pub routes: Option<Arc<Routes>>,
    /// Flits on links of a latency above one, by arrival cycle modulo the latency.
    pub wheel: Vec<Vec<(u32, BufferedFlit)>>,
    pub on_links: u64,
    /// Flits in queues or on links.
    pub inside: u64,
    /// Scratch: output channels that send in this cycle.
    pub moves: Vec<u32>,
    /// Scratch: nodes that receive the end of a packet in this cycle.
    pub receivers: Vec<NodeId>,
    /// What interlocked nodes have received.
    pub interlock: Interlock,
}

impl State {
    pub fn new(layout: &Layout, sources: Sources, longest: u32) -> Self {
        let ports = layout.nodes * layout.ports;
        let mut state = Self {
            channels: Channels::new(layout, longest),
            rows: layout.first_rows.clone(),
            packets: Vec::new(),
            free_slots: Vec::new(),
            feeds: vec![Feed { slot: NONE, left: 0 }; layout.nodes],
            feeding: vec![0; layout.nodes.div_ceil(64)],
            wakes: BinaryHeap::new(),
            routes: sources.routes(),
            sources,
            wheel: vec![Vec::new(); layout.latency],
            on_links: 0,
            inside: 0,
            moves: Vec::with_capacity(ports),
            receivers: Vec::new(),
            interlock: Interlock::default(),
        };
        for node in 0..layout.nodes as u32 {
            let start = state.sources.next_start(node);
            if start != u64::MAX {
                state.wakes.push(Reverse((start, node)));
            }
        }
        state
    }

    /// A free slot for a packet.
    pub fn place(&mut self, packet: PacketState) -> u32 {
        if let Some(slot) = self.free_slots.pop() {
            self.packets[slot as usize] = packet;
            slot
        } else {
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        }
    }
}
