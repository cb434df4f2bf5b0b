//! What every form of routers does in a cycle, and what it does it with.

use super::{
    breach::Breach,
    buffers::Behind,
    exchange::Exchange,
    flit::{Flit, Packets},
    numbers::Numbers,
    rules::Rules,
    seen::Seen,
    sets::{Part, Sets, Worker},
    waiting::Waiting,
};
use crate::{
    probe::{Film, LinkOccupation, LinkTime, PacketRecords, SavedProbe},
    save::Archive,
    visit::Visited,
};
use std::{fmt, sync::Arc};

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
    pub numbers: &'a mut Numbers,
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

/// What is wanted of the routers of a run beside its rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// Single flits are recorded, or nodes do not take them at once.
    pub single_flits: bool,
    /// When flits leave by links is counted.
    pub links: bool,
}

/// Nodes, whose loops over flits are compiled for every form of routers.
pub(super) trait Nodes: 'static {
    /// Every source with a packet for a subnet of this number sends at most one flit.
    fn inject<R: NodePorts>(&mut self, routers: &mut R, shared: &mut Shared, subnet: usize);

    /// Nodes take the flits that reached them, and give their places back.
    fn retire<R: NodePorts>(&mut self, routers: &mut R, shared: &mut Shared, arrived: &[(u32, Flit)]);
}

/// Routers divided into parts: where their threads meet, and the further threads.
pub(super) type Parts<N> = (AnyRouters<N>, Arc<Exchange>, Vec<Worker>);

/// Routers in whatever form.
pub(super) type AnyRouters<N> = Box<dyn Routers<N>>;

/// What is compiled for every form of routers and such nodes.
pub(super) trait WithNodes<N> {
    /// Every source with a packet for a subnet of this number sends at most one flit.
    fn inject(&mut self, nodes: &mut N, shared: &mut Shared, subnet: usize);

    /// Nodes take the flits that reached them.
    fn retire(&mut self, nodes: &mut N, shared: &mut Shared, arrived: &[(u32, Flit)]);

    /// The same once more.
    fn copy(&self) -> AnyRouters<N>;
}

impl<N: Nodes, R: Routers<N> + NodePorts + Clone + 'static> WithNodes<N> for R {
    fn inject(&mut self, nodes: &mut N, shared: &mut Shared, subnet: usize) {
        nodes.inject(self, shared, subnet);
    }

    fn retire(&mut self, nodes: &mut N, shared: &mut Shared, arrived: &[(u32, Flit)]) {
        nodes.retire(self, shared, arrived);
    }

    fn copy(&self) -> AnyRouters<N> {
        Box::new(self.clone())
    }
}

/// All routers of a subnet in one form, with such nodes. A cycle calls `receive`, `inject`, `retire`, `step` and `send`
/// in this order, each once.
pub(super) trait Routers<N>: WithNodes<N> + fmt::Debug + Send + Sync {
    /// Takes the flits that reach nodes, with their nodes, and gives sources and routers what arrives for them.
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>);

    /// Input queuing, route computation, allocation and switch traversal, so many times; tells what BookSim2 does not
    /// survive.
    fn step(&mut self, cycle: &mut Cycle<'_>, steps: u32) -> Option<Breach>;

    /// Puts what routers send on the links, where a step has not done so.
    fn send(&mut self, _cycle: &mut Cycle<'_>) {}

    /// Whether no credit waits or is on its way.
    fn is_quiet(&self) -> bool;

    /// What routers hold; `None` if packets in them cannot wait for each other in a circle.
    fn see(&self, rules: &Rules) -> Option<Seen>;

    /// Flits in the queue of a channel behind an input port of a router.
    fn queued(&self, router: usize, port: usize, channel: usize, rules: &Rules) -> usize;

    /// By place of a packet how many of its flits are in queues and on links, where flits do not say which they are.
    fn under_way(&self, _packets: usize) -> Option<Vec<u32>> {
        None
    }

    /// Counts what leaves by every output port from now on.
    fn count_links(&mut self) {}

    /// Brings the record of links up to date.
    fn settle(&mut self, _shared: &mut Shared, _rules: &Rules) {}

    /// All that outlives a cycle.
    ///
    /// # Errors
    /// What is restored is not of these routers.
    fn visit(&mut self, rules: &Rules, packets: &Packets, archive: &mut Archive) -> Visited;

    /// The same routers as sets, in which form they are saved; `None` if they are saved as they are. What packets know is
    /// changed to what it would be with sets.
    fn as_sets(&mut self, _cycle: &mut Cycle<'_>) -> Option<Sets> {
        None
    }

    /// Takes up the state of sets; `waiting` are the packets at sources.
    fn take_sets(&mut self, _sets: &Sets, _waiting: &[Waiting], _cycle: &mut Cycle<'_>) {}

    /// Whether they can be divided into parts.
    fn is_divisible(&self, _rules: &Rules) -> bool {
        false
    }

    /// Divides them into parts, of which there are none any more here, the work of nodes being such a fraction of theirs;
    /// `None` if they cannot be divided. Nothing but cycles may happen until they are joined.
    fn divide(&mut self, _cycle: &mut Cycle<'_>, _parts: usize, _of_nodes: f64) -> Option<Parts<N>> {
        None
    }

    /// Joins the parts again, those of further threads with what is left here.
    fn join(&mut self, _further: Vec<Part>, _cycle: &mut Cycle<'_>) -> Option<AnyRouters<N>> {
        None
    }

    /// The name of the form.
    fn form(&self) -> &'static str;
}

impl<N> Clone for AnyRouters<N> {
    fn clone(&self) -> Self {
        self.copy()
    }
}
