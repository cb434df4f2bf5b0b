//! What was seen: probes listen to the engine's events. A probe that is off costs nothing, since
//! engines are compiled for the probes they serve.

mod link_occupation;
mod link_time;
mod packet_record;

pub use link_occupation::LinkOccupation;
pub use link_time::{BLOCKED, IDLE, LinkTime};
pub use packet_record::{PacketRecord, PacketRecords};

use crate::fabric::{LinkId, NodeId};

/// A flit as a probe sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flit {
    /// Node that sends its packet.
    pub source: NodeId,
    /// Number of the packet among those of its source, from 0.
    pub number: u64,
    /// Cycle from which the packet was available to the router.
    pub start: u64,
    /// Slice of its message.
    pub slice: u32,
    /// First flit of the packet.
    pub head: bool,
    /// Last flit of the packet.
    pub tail: bool,
}

/// Listens to the events of a simulation.
pub trait Probe {
    /// Whether flit events are wanted.
    const ACTIVE: bool = true;
    /// Whether blocked links are wanted; finding them takes a pass over all owned channels.
    const BLOCKED: bool = false;

    /// A flit crosses a network link in virtual channel `channel`.
    fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
        let _ = (cycle, link, channel, flit);
    }

    /// A header leaves the processor queue of its source.
    fn packet_injected(&mut self, cycle: u64, flit: Flit) {
        let _ = (cycle, flit);
    }

    /// A link carries nothing although an owner of one of its channels has a flit to send.
    fn link_blocked(&mut self, cycle: u64, link: LinkId) {
        let _ = (cycle, link);
    }

    /// A flit leaves the network at `node`.
    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        let _ = (cycle, node, flit);
    }
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    const ACTIVE: bool = false;
}

impl<A: Probe, B: Probe> Probe for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;
    const BLOCKED: bool = A::BLOCKED || B::BLOCKED;

    fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
        self.0.flit_crosses(cycle, link, channel, flit);
        self.1.flit_crosses(cycle, link, channel, flit);
    }

    fn packet_injected(&mut self, cycle: u64, flit: Flit) {
        self.0.packet_injected(cycle, flit);
        self.1.packet_injected(cycle, flit);
    }

    fn link_blocked(&mut self, cycle: u64, link: LinkId) {
        self.0.link_blocked(cycle, link);
        self.1.link_blocked(cycle, link);
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        self.0.flit_ejected(cycle, node, flit);
        self.1.flit_ejected(cycle, node, flit);
    }
}

/// An optional probe: absent, it still costs its calls, but records nothing.
impl<P: Probe> Probe for Option<P> {
    const ACTIVE: bool = P::ACTIVE;
    const BLOCKED: bool = P::BLOCKED;

    fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
        if let Some(probe) = self {
            probe.flit_crosses(cycle, link, channel, flit);
        }
    }

    fn packet_injected(&mut self, cycle: u64, flit: Flit) {
        if let Some(probe) = self {
            probe.packet_injected(cycle, flit);
        }
    }

    fn link_blocked(&mut self, cycle: u64, link: LinkId) {
        if let Some(probe) = self {
            probe.link_blocked(cycle, link);
        }
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        if let Some(probe) = self {
            probe.flit_ejected(cycle, node, flit);
        }
    }
}
