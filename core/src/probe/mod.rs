//! What was seen: probes listen to the engine's events. Engines are compiled once, whoever listens, and look for
//! what the probe wants only.

mod arbitration;
mod film;
mod histogram;
mod link_occupation;
mod link_time;
mod packet_record;
mod quantile;
mod source_queues;
mod utilisation;
mod windows;

pub use arbitration::{ArbitrationCounts, ArbitrationUse};
pub use film::{Film, FilmedPacket, Hop};
pub use histogram::Histogram;
pub use link_occupation::LinkOccupation;
pub use link_time::{BLOCKED, IDLE, LinkTime};
pub use packet_record::{PacketRecord, PacketRecords};
pub use source_queues::{Departure, SourceQueues};
pub use utilisation::{QueueCounts, Utilisation, Verdict, utilisation};
pub use windows::{Counted, Delivery, Window, Windows};

use crate::{
    fabric::{LinkId, NodeId},
    save::{Archive, SaveError},
};

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

/// One virtual channel of one output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputChannel {
    /// The router.
    pub node: NodeId,
    /// Output port: a direction's index, or the number of directions for the processor.
    pub port: u8,
    /// Virtual channel.
    pub channel: u8,
}

/// Which events are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Those of flits.
    pub flits: bool,
    /// Blocked links; finding them takes a pass over all owned channels.
    pub blocked: bool,
    /// Lost arbitrations; finding them takes a look at every decision.
    pub arbitration: bool,
}

impl Events {
    /// None.
    pub const NONE: Self = Self { flits: false, blocked: false, arbitration: false };
    /// Those of flits.
    pub const FLITS: Self = Self { flits: true, ..Self::NONE };
    /// All.
    pub const ALL: Self = Self { flits: true, blocked: true, arbitration: true };

    /// Those of either.
    fn or(self, other: Self) -> Self {
        Self {
            flits: self.flits || other.flits,
            blocked: self.blocked || other.blocked,
            arbitration: self.arbitration || other.arbitration,
        }
    }
}

/// Listens to the events of a simulation.
pub trait Probe {
    /// Which of them it wants; the same during a run.
    fn wants(&self) -> Events {
        Events::FLITS
    }

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

    /// VC allocation granted an output channel to `granted` while `blocked`, the header at the
    /// front of another queue of the router, requested it too. Once for every such queue and cycle
    /// in which the channel is granted; cycles in which it has an owner do not count.
    fn queue_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        let _ = (cycle, output, granted, blocked);
    }

    /// Switch allocation let `granted` leave through `output` while `blocked`, in another channel
    /// of the port, could have left too. Once for every such channel and cycle; channels without
    /// space behind the link do not count.
    fn channel_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        let _ = (cycle, output, granted, blocked);
    }

    /// A flit leaves the network at `node`.
    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        let _ = (cycle, node, flit);
    }
}

/// A probe whose record is saved with the simulation.
pub trait SavedProbe: Probe {
    /// The record as fields.
    ///
    /// # Errors
    /// What is restored does not fit.
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError>;
}

impl SavedProbe for NoProbe {
    fn fields(&mut self, _archive: &mut Archive) -> Result<(), SaveError> {
        Ok(())
    }
}

impl<A: SavedProbe, B: SavedProbe> SavedProbe for (A, B) {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        self.0.fields(archive)?;
        self.1.fields(archive)
    }
}

impl<P: SavedProbe> SavedProbe for Option<P> {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        self.as_mut().map_or(Ok(()), |probe| probe.fields(archive))
    }
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn wants(&self) -> Events {
        Events::NONE
    }
}

impl<A: Probe, B: Probe> Probe for (A, B) {
    fn wants(&self) -> Events {
        self.0.wants().or(self.1.wants())
    }

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

    fn queue_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        self.0.queue_blocked(cycle, output, granted, blocked);
        self.1.queue_blocked(cycle, output, granted, blocked);
    }

    fn channel_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        self.0.channel_blocked(cycle, output, granted, blocked);
        self.1.channel_blocked(cycle, output, granted, blocked);
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        self.0.flit_ejected(cycle, node, flit);
        self.1.flit_ejected(cycle, node, flit);
    }
}

/// An optional probe: absent, it wants nothing.
impl<P: Probe> Probe for Option<P> {
    fn wants(&self) -> Events {
        self.as_ref().map_or(Events::NONE, Probe::wants)
    }

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

    fn queue_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        if let Some(probe) = self {
            probe.queue_blocked(cycle, output, granted, blocked);
        }
    }

    fn channel_blocked(&mut self, cycle: u64, output: OutputChannel, granted: Flit, blocked: Flit) {
        if let Some(probe) = self {
            probe.channel_blocked(cycle, output, granted, blocked);
        }
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        if let Some(probe) = self {
            probe.flit_ejected(cycle, node, flit);
        }
    }
}
