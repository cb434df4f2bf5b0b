//! Runs of routers in parts, one of which stays with the nodes; threads or processes run the others.
//!
//! A process runs a part of the routers, and all nodes. After every cycle what crosses the borders goes to the other
//! parts, and what reaches nodes goes to all. Between two calls every process has the whole network.

use super::{
    breach::Breach,
    exchange::Exchange,
    rules::Rules,
    run::Run,
    sets::{Part, Worker},
    source::Source,
    terminals::Terminals,
};
use crate::{
    engine::{Rank, SimulationError, bell::Lost, letterbox::Watch, regions::Message},
    save::{Archive, SaveError},
};
use std::{
    panic::resume_unwind,
    sync::Arc,
    thread::{self, JoinHandle},
};

/// Fewer cycles are not worth cutting the routers into parts.
const BRIEF: u64 = 64;
/// The cycle from which on parts of threads are cut with what is known of the ways of packets.
const FIRST: u32 = 1 << 10;
/// What the work of nodes costs, in hops of a packet: making, sending and taking it.
const NODE_HOPS: f64 = 3.0;
/// Parts in which sets of channels are not faster than planes in one.
const PARTS_OF_SETS: usize = 4;
/// Input ports of routers from which on a thread of their own is worth it.
const PORTS_OF_A_PART: usize = 320;

/// In how many parts a run is, and who runs them.
#[derive(Debug)]
pub(crate) struct Division {
    parts: usize,
    /// The process, if there are others.
    rank: Option<Rank>,
    /// While the routers are divided.
    divided: Option<Divided>,
}

/// Parts that are run apart.
#[derive(Debug)]
struct Divided {
    exchange: Arc<Exchange>,
    others: Others,
    /// Cycles that were begun.
    cycles: u64,
    /// The parts were cut before [`FIRST`].
    is_first: bool,
}

/// Who runs the parts that do not stay with the nodes.
#[derive(Debug)]
enum Others {
    Threads(Vec<JoinHandle<Part>>),
    /// The parts as they were when the routers were divided, and what goes to each and comes from there.
    Processes(Vec<Worker>, Vec<Message>),
}

/// Bytes that something writes, as words of which the last one is filled up.
fn words(write: impl FnOnce(&mut Archive) -> Result<(), SaveError>) -> Vec<u64> {
    let bytes = Archive::written(write);
    let word = |some: &[u8]| some.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(8).map(word).collect()
}

impl Division {
    /// A run on so many threads at most, with at least so many input ports of routers each, or on processes that begin
    /// the same. Routers that are to be divided become sets where no other form can be.
    ///
    /// # Errors
    /// They are not divided among so many processes.
    pub(crate) fn new<S: Source>(
        run: &mut Run<S>,
        (threads, ports): (usize, Option<usize>),
        rank: Option<Rank>,
    ) -> Result<Self, SimulationError> {
        let (rules, rank) = (run.terminals.rules.clone(), rank.filter(|rank| rank.ranks > 1));
        let (wiring, ranks) = (&rules.wiring, rank.as_ref().map_or(1, |rank| rank.ranks));
        let most = (wiring.all_inputs() / ports.unwrap_or(PORTS_OF_A_PART).max(1)).min(wiring.routers());
        let parts = if ranks > 1 { ranks } else { threads.clamp(1, most.max(1)) };
        let is_one = run.subnets.len() == 1;
        if is_one && (ranks > 1 || parts > PARTS_OF_SETS) {
            run.become_sets();
        }
        let is_divisible = is_one && run.subnets[0].routers.is_divisible(&rules);
        if ranks > wiring.routers() || ranks > 1 && !is_divisible {
            return Err(SimulationError::Undivided { ranks, routers: wiring.routers() });
        }
        Ok(Self { parts: if is_divisible { parts } else { 1 }, rank, divided: None })
    }

    /// In how many parts the routers are while cycles are run.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Divides the routers, if that is worth it for so many cycles. After some cycles the parts of threads are cut anew.
    ///
    /// # Errors
    /// Another process has failed.
    pub(crate) fn begin<S: Source>(&mut self, run: &mut Run<S>, cycles: u64) -> Result<(), Lost> {
        let is_first = run.terminals.now < FIRST;
        if self.rank.is_none() && !is_first && self.divided.as_ref().is_some_and(|divided| divided.is_first) {
            self.join(run)?;
        }
        if self.parts < 2 || self.divided.is_some() || cycles < BRIEF {
            return Ok(());
        }
        let Terminals { rules, facts, .. } = &run.terminals;
        let (hops, count) =
            facts.iter().fold((0, 0), |all, one| (all.0 + one.hops.sum, all.1 + one.hops.count));
        let unknown = (rules.wiring.routers() as f64).sqrt() / 2.0;
        let mean = if count > 0 { hops as f64 / count as f64 } else { unknown };
        let (rules, mut met) = (rules.clone(), None);
        // All processes have all nodes.
        let (own, of_nodes) =
            self.rank.as_ref().map_or((0, NODE_HOPS / mean.max(1.0)), |one| (one.rank, 0.0));
        run.change(|routers, cycle| {
            let (divided, exchange, workers) = routers.divide(cycle, (self.parts, own), of_nodes)?;
            met = Some((exchange, workers));
            Some(divided)
        });
        let Some((exchange, workers)) = met else { return Ok(()) };
        let spawn = |worker: Worker| {
            let rules = rules.clone();
            thread::spawn(move || worker.run(&rules))
        };
        let others = if self.rank.is_none() {
            Others::Threads(workers.into_iter().map(spawn).collect())
        } else {
            // Among the messages of another there is none to itself.
            let to = |other: usize| Message::new(other, if own < other { own } else { own - 1 });
            Others::Processes(workers, (0..self.parts).filter(|&other| other != own).map(to).collect())
        };
        self.divided = Some(Divided { exchange, others, cycles: 0, is_first });
        Ok(())
    }

    /// Ends the threads when this one panics.
    pub(crate) fn watch(&self) -> Option<Watch> {
        self.divided.as_ref().map(|divided| divided.exchange.watch())
    }

    /// Waits until a cycle may be begun. Whether credits are under way is known once all threads have run the same
    /// cycles, which is asked if no flit moves.
    pub(crate) fn wait<S: Source>(&mut self, run: &mut Run<S>) {
        let moves = run.terminals.in_flight() > 0;
        if let Some(Divided { exchange, others: Others::Threads(_), cycles, .. }) = &self.divided
            && exchange.wait(if moves { cycles.saturating_sub(1) } else { *cycles }).is_err()
        {
            // One of them has panicked, and its panic goes on.
            self.join(run).unwrap_or_default();
        }
    }

    /// A cycle of the run; a process that has failed is a breach.
    pub(crate) fn cycle<S: Source>(&mut self, run: &mut Run<S>) {
        if let Some(Divided { exchange, others: Others::Threads(_), cycles, .. }) = &mut self.divided {
            exchange.begin(*cycles, run.terminals.now);
            *cycles += 1;
        }
        run.cycle();
        if let Some((rank, divided)) = self.rank.as_ref().zip(self.divided.as_mut())
            && divided.exchange_with(rank).is_err()
        {
            self.divided = None;
            run.terminals.breach = Some(Breach::Lost);
        }
    }

    /// Whether any process was told something.
    ///
    /// # Errors
    /// Another process has failed.
    pub(crate) fn any(&self, told: bool) -> Result<bool, Lost> {
        self.rank.as_ref().map_or(Ok(told), |rank| rank.any(told))
    }

    /// Joins the routers again.
    ///
    /// # Errors
    /// Another process has failed, or has done so in a cycle before.
    pub(crate) fn join<S: Source>(&mut self, run: &mut Run<S>) -> Result<(), Lost> {
        let Some(mut divided) = self.divided.take() else { return Ok(()) };
        let (rules, mut joins) = (run.terminals.rules.clone(), false);
        run.change(|routers, cycle| {
            let all = routers.join(&mut |part| divided.collect(self.rank.as_ref(), &rules, part), cycle);
            joins |= all.is_some();
            all
        });
        if joins { Ok(()) } else { Err(Lost) }
    }
}

impl Divided {
    /// After a cycle what was given to the other parts and to nodes goes to the other processes, and theirs comes.
    fn exchange_with(&mut self, rank: &Rank) -> Result<(), Lost> {
        let Self { exchange, others: Others::Processes(_, messages), cycles, .. } = self else {
            return Ok(());
        };
        let (&Rank { rank: own, ranks: nodes, .. }, cycle) = (rank, *cycles);
        *cycles += 1;
        let mut balance = exchange.balance_of(own);
        for Message { part, out, .. } in messages.iter_mut() {
            // The nodes of the others give their routers the same.
            exchange.slot(*part, nodes, cycle).clear();
            *out = words(|archive| {
                exchange.slot(*part, own, cycle).fields(archive)?;
                exchange.slot(nodes, own, cycle).fields(archive)?;
                archive.number("balance", &mut balance)
            });
            exchange.slot(*part, own, cycle).clear();
        }
        rank.transport().exchange(messages)?;
        for Message { part, come, .. } in messages {
            let bytes = come.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (mut archive, mut balance) = (Archive::reading(bytes), 0);
            exchange
                .slot(own, *part, cycle)
                .fields(&mut archive)
                .and_then(|()| exchange.slot(nodes, *part, cycle).fields(&mut archive))
                .and_then(|()| archive.number("balance", &mut balance))
                .map_err(|_| Lost)?;
            exchange.report(*part, balance);
        }
        Ok(())
    }

    /// What has become of the other parts, given that of this process.
    fn collect(&mut self, rank: Option<&Rank>, rules: &Rules, own: &mut Part) -> Option<Vec<Part>> {
        let (exchange, cycles) = (&self.exchange, self.cycles);
        match (&mut self.others, rank) {
            (Others::Processes(others, _), Some(rank)) => {
                let state = Archive::written(|archive| {
                    own.fields(rules, archive)?;
                    exchange.unread(rank.rank, cycles, |message| message.fields(archive))
                });
                let states = rank.transport().collect(state).ok()?;
                for Worker { number, part, .. } in &mut *others {
                    let mut archive = Archive::reading(states.get(*number)?.clone());
                    part.fields(rules, &mut archive).ok()?;
                    exchange.unread(*number, cycles, |message| message.fields(&mut archive)).ok()?;
                }
                Some(others.drain(..).map(|worker| worker.part).collect())
            }
            (Others::Threads(threads), _) => {
                exchange.end(cycles);
                let joined = threads.drain(..).map(JoinHandle::join);
                Some(joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect())
            }
            _ => None,
        }
    }
}

impl Clone for Division {
    fn clone(&self) -> Self {
        debug_assert!(self.divided.is_none(), "between two calls all is joined");
        Self { parts: self.parts, rank: self.rank.clone(), divided: None }
    }
}
