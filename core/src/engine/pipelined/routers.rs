//! What every form of routers does in a cycle.

use super::{
    breach::Breach,
    exchange::Exchange,
    flit::{Flit, Packets},
    rules::Rules,
    seen::Seen,
    sets::{Part, Sets, Worker},
    source::Source,
    terminals::Terminals,
    waiting::Waiting,
};
use crate::{save::Archive, visit::Visited};
use std::{fmt, sync::Arc};

pub(super) use super::cycle::{Cycle, Event, NodePorts, Records, Shared};

/// What is wanted of the routers of a run beside its rules.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// Single flits are recorded where they leave.
    pub records: bool,
    /// Flits are more than bits: nodes do not take them at once, or they are very many.
    pub single_flits: bool,
    /// When flits leave by links is counted.
    pub links: bool,
}

/// What has become of the parts that did not stay, in their order.
pub(super) type Others<'a> = dyn FnMut(&mut Part) -> Option<Vec<Part>> + 'a;

/// Routers divided into parts: where they meet, and those that do not stay.
pub(super) type Parts<S> = (AnyRouters<S>, Arc<Exchange>, Vec<Worker>);

/// Routers in whatever form.
pub(super) type AnyRouters<S> = Box<dyn Routers<S>>;

/// What is compiled for every form of routers and a source of packets.
pub(super) trait WithNodes<S> {
    /// Every node with a packet for a subnet of this number sends at most one flit.
    fn inject(&mut self, source: &mut S, terminals: &mut Terminals, shared: &mut Shared, subnet: usize);

    /// Nodes take the flits that reached them.
    fn retire(
        &mut self,
        source: &mut S,
        terminals: &mut Terminals,
        shared: &mut Shared,
        arrived: &[(u32, Flit)],
    );

    /// The same once more.
    fn copy(&self) -> AnyRouters<S>;
}

impl<S: Source, R: Routers<S> + NodePorts + Clone + 'static> WithNodes<S> for R {
    fn inject(&mut self, source: &mut S, terminals: &mut Terminals, shared: &mut Shared, subnet: usize) {
        terminals.inject(source, self, shared, subnet);
    }

    fn retire(
        &mut self,
        source: &mut S,
        terminals: &mut Terminals,
        shared: &mut Shared,
        arrived: &[(u32, Flit)],
    ) {
        terminals.retire(source, self, shared, arrived);
    }

    fn copy(&self) -> AnyRouters<S> {
        Box::new(self.clone())
    }
}

/// All routers of a subnet in one form, with nodes and a source of their packets. A cycle calls `receive`, `inject`, `retire`, `step` and `send`
/// in this order, each once.
pub(super) trait Routers<S>: WithNodes<S> + fmt::Debug + Send + Sync {
    /// Takes the flits that reach nodes, with their nodes, and gives sources and routers what arrives for them.
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>);

    /// Input queuing, route computation, allocation and switch traversal, so many times; tells what must not
    /// happen.
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

    /// Divides them into so many parts, one of which stays with the nodes, whose work is such a fraction of theirs; `None`
    /// if they cannot be divided. Nothing but cycles may happen until they are joined.
    fn divide(
        &mut self,
        _cycle: &mut Cycle<'_>,
        (_parts, _own): (usize, usize),
        _of_nodes: f64,
    ) -> Option<Parts<S>> {
        None
    }

    /// Joins the parts again; given the one that stayed, it is told what has become of the others. `None` if that is not
    /// known.
    fn join(&mut self, _others: &mut Others<'_>, _cycle: &mut Cycle<'_>) -> Option<AnyRouters<S>> {
        None
    }

    /// The name of the form.
    fn form(&self) -> &'static str;
}

impl<S> Clone for AnyRouters<S> {
    fn clone(&self) -> Self {
        self.copy()
    }
}
