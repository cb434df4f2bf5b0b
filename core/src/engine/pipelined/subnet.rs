//! One subnet: routers, the links between them, and what sources know of their routers.

use super::{
    breach::Breach,
    buffers::Behind,
    flit::{Flit, Packets},
    forms,
    routers::{AnyRouters, Records, Routers, Shared, Wanted},
    rules::Rules,
    sets::Sets,
    source::Source,
    terminals::Terminals,
};
use crate::{
    probe::{LinkOccupation, SavedProbe},
    save::Archive,
    visit::Visited,
};

/// Routers and links, with such a source of packets.
#[derive(Clone, Debug)]
pub(crate) struct Subnet<S: Source> {
    pub(super) routers: AnyRouters<S>,
    pub(super) shared: Shared,
    steps: f64,
}

impl<S: Source> Subnet<S> {
    /// A network without flits, in the fastest form that covers its rules and what is wanted.
    pub(crate) fn new(rules: &Rules, wanted: Wanted) -> Self {
        let mut subnet = Self::of(rules, forms::choose(rules, wanted));
        if wanted.links {
            subnet.count_links(rules);
        }
        subnet
    }

    /// A network of routers without flits.
    pub(super) fn of(rules: &Rules, routers: AnyRouters<S>) -> Self {
        let sources =
            Behind::new(&rules.policy, rules.wiring.nodes(), rules.channels, rules.waits_for_tail, |node| {
                let (router, port) = rules.wiring.entries[node];
                rules.least_round_trip_of_source(rules.wiring.inputs(router)[usize::from(port)].latency)
            });
        let load = vec![0; rules.wiring.all_outputs()];
        Self { routers, shared: Shared { load, sources, records: Records::default() }, steps: 0.0 }
    }

    /// All that outlives a cycle, of routers that are `sets` while they are saved or restored, or saved as they are.
    pub(super) fn visit(
        &mut self,
        sets: Option<&mut Sets>,
        rules: &Rules,
        packets: &Packets,
        archive: &mut Archive,
    ) -> Visited {
        let Self { routers, shared: Shared { load, sources, records }, steps } = self;
        match sets {
            Some(sets) => Routers::<S>::visit(sets, rules, packets, archive)?,
            None => routers.visit(rules, packets, archive)?,
        }
        archive.slice("flits behind ports", load)?;
        sources.fields(archive)?;
        archive.number("steps to be done", steps)?;
        // What a probe is told of a cycle it has been told.
        let Records { links, wants: _, events: _ } = records;
        links.as_mut().map_or(Ok(()), |links| links.fields(archive))
    }

    /// Takes the flits that reach nodes, with their nodes, and gives nodes and routers what arrives for them.
    pub(super) fn receive(
        &mut self,
        source: &mut S,
        terminals: &mut Terminals,
        arrived: &mut Vec<(u32, Flit)>,
    ) {
        let Self { routers, shared, .. } = self;
        shared.sources.set_time(terminals.now);
        routers.receive(&mut terminals.at(source, shared), arrived);
    }

    /// All routers do their steps of a cycle; tells what must not happen.
    pub(super) fn step(&mut self, source: &mut S, terminals: &mut Terminals) -> Option<Breach> {
        let Self { routers, shared, steps } = self;
        *steps += terminals.rules.internal_speedup;
        let whole = steps.floor();
        *steps -= whole;
        routers.step(&mut terminals.at(source, shared), whole as u32)
    }

    /// Puts what routers send on the links.
    pub(super) fn send(&mut self, source: &mut S, terminals: &mut Terminals) {
        let Self { routers, shared, .. } = self;
        routers.send(&mut terminals.at(source, shared));
    }

    /// Keeps when flits leave by every output port of all routers.
    pub(super) fn count_links(&mut self, rules: &Rules) {
        self.shared.records.links = Some(LinkOccupation::new(rules.wiring.all_outputs()));
        self.routers.count_links();
    }

    /// Brings the record of links up to date.
    pub(super) fn settle(&mut self, rules: &Rules) {
        self.routers.settle(&mut self.shared, rules);
    }
}
