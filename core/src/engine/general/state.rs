use super::layout::{Layout, NONE};
use crate::traffic::Sources;
use std::{cmp::Reverse, collections::BinaryHeap};

/// A flit in a buffer: the slot of its packet, and whether it is the first or last one.
pub(super) type BufferedFlit = u32;
pub(super) const HEAD: BufferedFlit = 1;
pub(super) const TAIL: BufferedFlit = 2;
pub(super) const SLOT_SHIFT: u32 = 2;

/// Marks a processor queue in [`Queue::upstream`]; the rest is its node.
pub(super) const PROCESSOR: u32 = 1 << 31;

/// One input queue (a virtual channel of an input port).
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// Output channel its front packet wants or owns; [`NONE`] without a front packet.
    pub target: u32,
    /// Output channel that feeds it, or [`PROCESSOR`] and the node.
    pub upstream: u32,
    /// Place of the front flit in the ring.
    pub head: u16,
    /// Flits in the queue.
    pub ready: u16,
    /// Flits in the queue or on their way to it.
    pub held: u16,
    /// Whether it owns its target.
    pub granted: bool,
    /// Its virtual channel.
    pub channel: u8,
}

/// One output port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    /// First queue of the input port behind its link; [`NONE`] for the processor port.
    pub downstream: u32,
    pub node: u32,
    /// Link index; [`NONE`] for the processor port.
    pub link: u32,
    pub choice_base: u16,
    /// Channels that can send now: owned, a flit ready, space behind the link.
    pub sendable: u8,
    /// Channel used last.
    pub last: u8,
}

/// A packet somewhere in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketState {
    pub destination: u32,
    pub source: u32,
    pub length: u32,
    pub slice: u32,
    pub number: u64,
    pub start: u64,
}

/// The packet a node is feeding into its processor queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feed {
    pub slot: u32,
    /// Flits still to be fed.
    pub left: u32,
}

/// Everything that changes while a network runs.
pub(super) struct State<'a> {
    pub queues: Vec<Queue>,
    /// `buffer` flits per queue.
    pub rings: Vec<BufferedFlit>,
    /// Owner of every output channel.
    pub owners: Vec<u32>,
    /// Input ports that request an output channel.
    pub requests: Vec<u16>,
    /// Where the evaluation of its port list begins.
    pub rotation: Vec<u8>,
    pub ports: Vec<Port>,
    /// Output ports that can send, as a bit set.
    pub active: Vec<u64>,
    /// Output channels without owner that are requested.
    pub requested: Vec<u32>,
    pub packets: Vec<PacketState>,
    pub free_slots: Vec<u32>,
    pub feeds: Vec<Feed>,
    /// Nodes whose processor queue may be topped up, as a bit set.
    pub feeding: Vec<u64>,
    /// Nodes that wait for the start of their next packet.
    pub wakes: BinaryHeap<Reverse<(u64, u32)>>,
    pub sources: Sources<'a>,
    /// Flits on links of a latency above one, by arrival cycle modulo the latency.
    pub wheel: Vec<Vec<(u32, BufferedFlit)>>,
    pub on_links: u64,
    /// Flits in queues or on links.
    pub inside: u64,
    /// Scratch: output channels that send in this cycle, and their flits.
    pub moves: Vec<u32>,
    pub moving: Vec<BufferedFlit>,
}

impl<'a> State<'a> {
    pub fn new(layout: &Layout, sources: Sources<'a>) -> Self {
        let directions = layout.ports - 1;
        let mut queues = Vec::with_capacity(layout.nodes * layout.queues);
        let mut ports = Vec::with_capacity(layout.nodes * layout.ports);
        for node in 0..layout.nodes {
            for (port, channel) in
                (0..directions).flat_map(|port| (0..layout.channels).map(move |c| (port, c)))
            {
                let upstream = match layout.upstream[node * directions + port] {
                    NONE => NONE,
                    output => output << layout.channel_shift | channel as u32,
                };
                queues.push(Queue { upstream, channel: channel as u8, ..EMPTY_QUEUE });
            }
            queues.push(Queue { upstream: PROCESSOR | node as u32, ..EMPTY_QUEUE });
            for port in 0..layout.ports {
                let link = if port < directions { (node * directions + port) as u32 } else { NONE };
                ports.push(Port {
                    downstream: if link == NONE { NONE } else { layout.downstream[link as usize] },
                    node: node as u32,
                    link,
                    choice_base: layout.choice_base[node * layout.ports + port],
                    sendable: 0,
                    last: 0,
                });
            }
        }
        let outputs = ports.len() << layout.channel_shift;
        let mut state = Self {
            rings: vec![0; queues.len() * layout.buffer as usize],
            owners: vec![NONE; outputs],
            requests: vec![0; outputs],
            rotation: vec![0; outputs],
            active: vec![0; ports.len().div_ceil(64)],
            requested: Vec::new(),
            packets: Vec::new(),
            free_slots: Vec::new(),
            feeds: vec![Feed { slot: NONE, left: 0 }; layout.nodes],
            feeding: vec![0; layout.nodes.div_ceil(64)],
            wakes: BinaryHeap::new(),
            sources,
            wheel: vec![Vec::new(); layout.latency],
            on_links: 0,
            inside: 0,
            moves: Vec::with_capacity(ports.len()),
            moving: Vec::with_capacity(ports.len()),
            queues,
            ports,
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

const EMPTY_QUEUE: Queue =
    Queue { target: NONE, upstream: NONE, head: 0, ready: 0, held: 0, granted: false, channel: 0 };
