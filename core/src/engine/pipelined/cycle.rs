//! What nodes and routers work with in a cycle.

use super::{
    buffers::Behind,
    flit::{Flit, Packets},
    numbers::Numbers,
    rules::Rules,
};
use crate::{
    fabric::{LinkId, NodeId},
    probe::{self, Events, LinkOccupation, Probe},
};

/// What a probe is told of a cycle; links are output ports of all routers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Injected(probe::Flit),
    Crosses(LinkId, u8, probe::Flit),
    /// A flit waits because the queue behind a link is full.
    Blocked(LinkId),
    Ejected(NodeId, probe::Flit),
}

/// What is kept of what happens on links, if anything is.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// When flits left by every output port of all routers.
    pub links: Option<LinkOccupation>,
    /// What a probe wants to be told, and what it is told after this cycle.
    pub wants: Events,
    pub events: Vec<Event>,
}

impl Records {
    /// Tells a probe of a cycle. Flits are ejected when they leave their last router, two cycles before nodes have them.
    pub(super) fn show_probe(&mut self, cycle: u64, probe: &mut dyn Probe) {
        for event in self.events.drain(..) {
            match event {
                Event::Injected(flit) => probe.packet_injected(cycle, flit),
                Event::Crosses(link, channel, flit) => probe.flit_crosses(cycle, link, channel, flit),
                Event::Blocked(link) => probe.link_blocked(cycle, link),
                Event::Ejected(node, flit) => probe.flit_ejected(cycle.saturating_sub(2), node, flit),
            }
        }
    }
}

/// What nodes and routers of a subnet have in common.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// Per output port of all routers the flits known behind it.
    pub load: Vec<u32>,
    /// What sources know of the queues of their routers.
    pub sources: Behind,
    pub records: Records,
}

/// What routers work with in a cycle.
pub(super) struct Cycle<'a> {
    pub now: u32,
    pub rules: &'a Rules,
    pub packets: &'a mut Packets,
    pub numbers: &'a mut dyn Numbers,
    pub shared: &'a mut Shared,
}

/// Where nodes give flits to routers and take them: what is done for single flits.
pub(super) trait NodePorts {
    /// Whether a flit behind the first of a packet is nothing but a bit, for [`inject_body`](Self::inject_body).
    const BODIES_ARE_BITS: bool = false;

    /// A node sends a flit.
    fn inject_flit(&mut self, node: u32, flit: &Flit, cycle: &mut Cycle<'_>);

    /// A node sends a flit that is no header.
    fn inject_body(&mut self, _node: usize, _channel: usize) {}

    /// A node takes a flit, whose place becomes a credit.
    fn eject_flit(&mut self, node: u32, flit: &Flit, cycle: &Cycle<'_>);
}
