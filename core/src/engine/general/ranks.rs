//! A run on several processes, each with a part of the network; this one's.
//!
//! Whatever is looked at is the whole: all send their states to all.

use super::{
    record::Record,
    row_partition::{Common, Part, divide},
    run::Run,
    state::State,
    step::Step,
};
use crate::{
    bits::{Available, Vector},
    engine::{
        Options, Outcome, Rank, SimulationError,
        bell::Lost,
        protocol::{Clock, Cycles, Engine, Quiescence},
        regions::{self, Message, Transport},
    },
    probe::{LinkOccupation, Probe, Windows},
    save::{Archive, SaveError},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// Routers whose cycle takes about as long as an exchange between processes.
const EXCHANGE: usize = 2048;

/// The part of this process.
pub(super) struct OneRank<V: Vector, R: Record> {
    common: Common,
    proof: Available<V>,
    part: Part<V, R>,
    ranges: Vec<Range<usize>>,
    rank: usize,
    transport: Arc<Mutex<Box<dyn Transport>>>,
    messages: Vec<Message>,
    /// What happened in windows, if somebody looked at it since the parts ran: they go on from it.
    seen: Option<Box<Windows>>,
}

impl<V: Vector, R: Record> OneRank<V, R> {
    /// A part of an empty network.
    pub(super) fn new(proof: Available<V>, common: Common, rank: Rank) -> Self {
        let Rank { rank, ranks, transport } = rank;
        let ranges = divide(&common.layout, ranks);
        // More ranks than rows: the last ones have the last row, which the callers refuse.
        let rank = rank.min(ranges.len() - 1);
        let part = Part::new(proof, &common, &ranges, rank);
        let (messages, transport) = (part.messages(), Arc::new(Mutex::new(transport)));
        Self { common, proof, part, ranges, rank, transport, messages, seen: None }
    }

    fn collect(&self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        self.transport.lock().unwrap_or_else(PoisonError::into_inner).collect(own)
    }

    /// All parts as they are.
    fn parts(&self) -> Result<Vec<Part<V, R>>, SimulationError> {
        let Part { layout, state } = &self.part;
        let own = Archive::written(|archive| state.clone().archive(layout, archive));
        let all = self.collect(own).map_err(|Lost| SimulationError::Lost)?;
        let mut parts = Vec::new();
        for (number, bytes) in (0..self.ranges.len()).zip(all) {
            let mut part = Part::<V, R>::new(self.proof, &self.common, &self.ranges, number);
            let read = part.state.archive(&part.layout, &mut Archive::reading(bytes));
            read.map_err(|_| SimulationError::Lost)?;
            parts.push(part);
        }
        Ok(parts)
    }

    /// The whole network as it is.
    fn gather(&self) -> Result<State<V, R>, SimulationError> {
        let parts = self.parts()?;
        Ok(self.common.gather(self.proof, parts.iter().map(|part| (&*part.layout, &part.state))))
    }

    /// This part goes on from what somebody looked at.
    fn settle(&mut self) {
        if let Some(seen) = self.seen.take() {
            self.part.go_on_from(&seen);
        }
    }

    fn whole(&self) -> Result<Run, SimulationError> {
        Ok(self.common.whole(self.gather()?))
    }
}

impl<V: Vector, R: Record> Cycles for OneRank<V, R> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        self.settle();
        let mut transport = self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = regions::advance(&mut self.part, &mut **transport, &mut self.messages, cycle, until);
        rest.map_err(|Lost| SimulationError::Lost)
    }

    fn pauses(&self, told: bool) -> Result<bool, SimulationError> {
        let mut transport = self.transport.lock().unwrap_or_else(PoisonError::into_inner);
        let [told, ..] = transport.greatest([told.into(), 0, 0, 0]).map_err(|Lost| SimulationError::Lost)?;
        Ok(told > 0)
    }

    fn routers(&self) -> usize {
        // The same for all, so that all do the same.
        (self.common.layout.nodes / self.ranges.len()).max(EXCHANGE)
    }

    fn delivered(&self) -> u64 {
        let own = self.part.state.outcome.packets_delivered.to_le_bytes().to_vec();
        let number = |bytes: Vec<u8>| bytes.try_into().map_or(0, u64::from_le_bytes);
        self.collect(own).map_or(0, |all| all.into_iter().map(number).sum())
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        if self.common.may_stop() { Cycles::check(&self.whole()?, cycle) } else { Ok(()) }
    }

    fn finished(&self, cycle: u64) -> Result<(), SimulationError> {
        Cycles::finished(&self.whole()?, cycle)
    }

    fn stuck(&self, cycle: u64, options: &Options) -> SimulationError {
        self.whole().map_or_else(|error| error, |whole| Cycles::stuck(&whole, cycle, options))
    }
}

impl<V: Vector, R: Record> Engine for OneRank<V, R> {
    fn parts(&self) -> usize {
        self.ranges.len()
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        Engine::totals(&mut self.whole()?, clock)
    }

    fn links(&self) -> Option<LinkOccupation> {
        Engine::links(&self.whole().ok()?)
    }

    fn occupancy(&self) -> Vec<u16> {
        self.whole().map_or_else(|_| Vec::new(), |whole| Engine::occupancy(&whole))
    }

    fn windows(&mut self, cycle: u64) -> Option<&mut Windows> {
        self.settle();
        let Part { layout, state } = &mut self.part;
        state.windows(layout, cycle)?;
        let parts = self.parts().ok()?.into_iter();
        let of_part = |mut part: Part<V, R>| {
            let windows = part.state.windows(&part.layout, cycle)?.clone();
            Some((windows, part.state.counted()))
        };
        self.seen = self.common.windows(parts.filter_map(of_part).collect());
        self.seen.as_deref_mut()
    }

    fn copy(&self) -> Box<dyn Engine> {
        Box::new(Self {
            common: self.common.clone(),
            proof: self.proof,
            part: self.part.clone(),
            ranges: self.ranges.clone(),
            rank: self.rank,
            transport: self.transport.clone(),
            messages: self.part.messages(),
            seen: self.seen.clone(),
        })
    }

    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError> {
        clock.fields(archive)?;
        self.settle();
        let Common { layout, workload, demands, .. } = &self.common;
        let rule = self.common.rule();
        if !archive.is_reading() {
            let lost = |_| SaveError::Short { field: "states of other ranks" };
            return self.gather().map_err(lost)?.archive(layout, archive);
        }
        let sources = crate::traffic::Sources::new(workload, layout.nodes);
        let mut whole = State::new(self.proof, layout, sources, *demands, rule.clone());
        whole.archive(layout, archive)?;
        let layouts: Vec<_> =
            (0..self.ranges.len()).map(|number| layout.part(&self.ranges, number)).collect();
        let mut states = whole.scatter(layout, &layouts.iter().collect::<Vec<_>>(), rule.as_ref());
        self.part.state = states.swap_remove(self.rank);
        Ok(())
    }
}
