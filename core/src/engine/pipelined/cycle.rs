//! What nodes and routers work with in a cycle.

use super::{
    buffers::Behind,
    flit::{Flit, Packets},
    numbers::Numbers,
    rules::Rules,
};
use crate::{
    probe::{Film, LinkOccupation, LinkTime, PacketRecords, SavedProbe},
    save::Archive,
    visit::Visited,
};

/// Records of packets, and all that moves.
pub(super) type Watch = (Option<PacketRecords>, Option<Film>);

/// What is kept of what happens on links, if anything is.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// When flits left by every output port of all routers.
    pub links: Option<LinkOccupation>,
    /// What they carried in every cycle.
    pub link_time: Option<LinkTime>,
    /// What sees every flit.
    pub watch: Option<Box<Watch>>,
}

impl Records {
    /// All that outlives a cycle; a film is not saved.
    pub(super) fn visit(&mut self, archive: &mut Archive) -> Visited {
        let Self { links, link_time, watch } = self;
        links.as_mut().map_or(Ok(()), |links| links.fields(archive))?;
        link_time.as_mut().map_or(Ok(()), |record| record.fields(archive))?;
        watch.as_mut().map_or(Ok(()), |watch| watch.0.fields(archive))
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
