//! A run on several processes, each with a part of the network; this one's.
//!
//! Whatever is looked at is the whole: all send their states to all.

use super::{
    parts::{Common, Part, divide},
    record::Record,
    run::Run,
    state::State,
};
use crate::{
    engine::{
        Options, Outcome, Rank, SimulationError,
        planes::vector::{Available, Vector},
        protocol::{Clock, Engine, Rest},
        regions::{self, Lost, Mails, Transport},
    },
    probe::{LinkOccupation, Probe},
    save::{Archive, SaveError},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// The part of this process.
pub(super) struct OneRank<V: Vector, R: Record> {
    common: Common,
    proof: Available<V>,
    part: Part<V, R>,
    ranges: Vec<Range<usize>>,
    rank: usize,
    transport: Arc<Mutex<Box<dyn Transport>>>,
    mails: Mails,
}

impl<V: Vector, R: Record> OneRank<V, R> {
    /// A part of an empty network.
    pub fn new(proof: Available<V>, common: Common, rank: Rank) -> Self {
        let Rank { rank, ranks, transport } = rank;
        let ranges = divide(&common.general.layout, ranks);
        // More ranks than rows: the last ones have the last row, which the callers refuse.
        let rank = rank.min(ranges.len() - 1);
        let part = Part::new(proof, &common, ranges[rank].clone());
        let transport = Arc::new(Mutex::new(transport));
        Self { common, proof, part, ranges, rank, transport, mails: Mails::default() }
    }

    fn collect(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        self.transport.lock().unwrap_or_else(PoisonError::into_inner).collect(own)
    }

    /// The whole network as it is.
    fn gather(&self) -> Result<State<V, R>, SimulationError> {
        let Part { layout, state } = &self.part;
        let mut archive = Archive::writing();
        // Nothing can go wrong while writing.
        let written = state.clone().archive(layout, &mut archive);
        debug_assert_eq!(written, Ok(()));
        let all = self.collect(archive.into_bytes()).map_err(|Lost| SimulationError::Lost)?;
        let mut parts = Vec::new();
        for (nodes, bytes) in self.ranges.iter().zip(all) {
            let mut part = Part::<V, R>::new(self.proof, &self.common, nodes.clone());
            let read = part.state.archive(&part.layout, &mut Archive::reading(bytes));
            read.map_err(|_| SimulationError::Lost)?;
            parts.push(part);
        }
        let Common { general, workload, demands, .. } = &self.common;
        let states = parts.iter().map(|part| (&*part.layout, &part.state));
        Ok(State::gather(self.proof, &general.layout, workload, *demands, states))
    }

    fn whole(&self) -> Result<Run, SimulationError> {
        Ok(self.common.whole(self.gather()?))
    }
}

impl<P: Probe, V: Vector, R: Record> Engine<P> for OneRank<V, R> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut P,
    ) -> Result<Option<Rest>, SimulationError> {
        let mut transport = self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = regions::advance(&mut self.part, &mut **transport, &mut self.mails, cycle, until);
        rest.map_err(|Lost| SimulationError::Lost)
    }

    fn routers(&self) -> usize {
        // The same for all, so that all do the same.
        self.common.general.layout.nodes / self.ranges.len()
    }

    fn parts(&self) -> usize {
        self.ranges.len()
    }

    fn delivered(&self) -> u64 {
        let own = self.part.state.outcome.packets_delivered.to_le_bytes().to_vec();
        let number = |bytes: Vec<u8>| bytes.try_into().map_or(0, u64::from_le_bytes);
        self.collect(own).map_or(0, |all| all.into_iter().map(number).sum())
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        if self.common.may_deadlock { Engine::<P>::check(&self.whole()?, cycle) } else { Ok(()) }
    }

    fn finished(&self, cycle: u64) -> Result<(), SimulationError> {
        Engine::<P>::finished(&self.whole()?, cycle)
    }

    fn stuck(&self, cycle: u64, options: &Options) -> SimulationError {
        self.whole().map_or_else(|error| error, |whole| Engine::<P>::stuck(&whole, cycle, options))
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        Engine::<P>::totals(&mut self.whole()?, clock)
    }

    fn links(&self) -> Option<LinkOccupation> {
        Engine::<P>::links(&self.whole().ok()?)
    }

    fn occupancy(&self) -> Vec<u16> {
        self.whole().map_or_else(|_| Vec::new(), |whole| Engine::<P>::occupancy(&whole))
    }

    fn copy(&self) -> Box<dyn Engine<P>> {
        Box::new(Self {
            common: self.common.clone(),
            proof: self.proof,
            part: self.part.clone(),
            ranges: self.ranges.clone(),
            rank: self.rank,
            transport: self.transport.clone(),
            mails: Mails::default(),
        })
    }

    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Common { general, workload, demands, .. } = &self.common;
        let layout = &general.layout;
        if !archive.is_reading() {
            let lost = |_| SaveError::Short { field: "states of other ranks" };
            return self.gather().map_err(lost)?.archive(layout, archive);
        }
        let sources = crate::traffic::Sources::new(workload, layout.nodes);
        let mut whole = State::new(self.proof, layout, sources, *demands, None);
        whole.archive(layout, archive)?;
        let layouts: Vec<_> = self.ranges.iter().map(|nodes| layout.part(nodes.clone())).collect();
        let mut states = whole.scatter(layout, &layouts.iter().collect::<Vec<_>>());
        self.part.state = states.swap_remove(self.rank);
        Ok(())
    }
}
