//! Threads that run parts of the routers, while the nodes and the first part stay with whoever drives the run.

use super::{
    exchange::{Exchange, Watch},
    feed::Feed,
    routers::{Cycle, Routers},
    run::Run,
    sets::Part,
    terminals::Terminals,
};
use crate::engine::bell::Lost;
use std::{
    panic::resume_unwind,
    sync::Arc,
    thread::{self, JoinHandle},
};

/// The cycle from which on parts are cut with what is known of the ways of packets.
const FIRST: u32 = 1 << 10;
/// What the work of nodes costs, in hops of a packet: making, sending and taking it.
const NODE_HOPS: f64 = 3.0;

/// The threads of all parts but the first.
#[derive(Debug)]
pub(super) struct Threads {
    exchange: Arc<Exchange>,
    further: Vec<JoinHandle<Part>>,
    /// Cycles that were begun.
    cycles: u64,
    /// The parts were cut before [`FIRST`].
    is_first: bool,
}

impl Threads {
    /// Divides the routers of a run into parts, and runs all but the first; `None` if they cannot be divided.
    pub(super) fn begin(run: &mut Run<Feed>, parts: usize) -> Option<Self> {
        let Terminals { rules, facts, now, .. } = &run.terminals;
        let hops = facts.iter().fold((0, 0), |all, one| (all.0 + one.hops.sum, all.1 + one.hops.count));
        let routers = rules.wiring.routers() as f64;
        let mean = if hops.1 > 0 { hops.0 as f64 / hops.1 as f64 } else { routers.sqrt() / 2.0 };
        let (is_first, of_nodes, rules) = (*now < FIRST, NODE_HOPS / mean.max(1.0), rules.clone());
        let mut divided = run.on_routers(|routers, cycle| routers.divide(cycle, (parts, 0), of_nodes));
        let (divided, exchange, workers) = divided.pop()??;
        run.subnets[0].routers = divided;
        let spawn = |worker: super::sets::Worker| {
            let rules = rules.clone();
            thread::spawn(move || worker.run(&rules))
        };
        Some(Self { exchange, further: workers.into_iter().map(spawn).collect(), cycles: 0, is_first })
    }

    /// Whether the parts are to be cut anew, now that more is known.
    pub(super) fn are_outdated(&self, now: u32) -> bool {
        self.is_first && now >= FIRST
    }

    /// Ends the threads when this one panics.
    pub(super) fn watch(&self) -> Watch {
        self.exchange.watch()
    }

    /// Waits until a cycle may be begun. Whether credits are under way is known once all have run the same cycles,
    /// which is asked if no flit moves.
    ///
    /// # Errors
    /// One of the threads has failed.
    pub(super) fn wait(&self, moves: bool) -> Result<(), Lost> {
        self.exchange.wait(if moves { self.cycles.max(1) - 1 } else { self.cycles })
    }

    /// Lets the threads run a cycle, which has this time.
    pub(super) fn begin_cycle(&mut self, now: u32) {
        self.exchange.begin(self.cycles, now);
        self.cycles += 1;
    }

    /// Ends the threads, and joins their parts.
    pub(super) fn join(self, run: &mut Run<Feed>) {
        self.exchange.end(self.cycles);
        let joined = self.further.into_iter().map(JoinHandle::join);
        let parts: Vec<_> = joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect();
        let mut parts = Some(parts);
        let join = |routers: &mut dyn Routers<Feed>, cycle: &mut Cycle<'_>| {
            routers.join(&mut |_: &mut Part| parts.take(), cycle)
        };
        if let Some(Some(joined)) = run.on_routers(join).pop() {
            run.subnets[0].routers = joined;
        }
    }
}
