//! Processes that run a part of the routers each, and all nodes: after every cycle what crosses the borders goes to the
//! other parts, and what reaches nodes goes to all. Between two calls every process has the whole network.

use super::{
    exchange::Exchange,
    feed::Feed,
    routers::{Cycle, Routers},
    run::Run,
    sets::{Part, Worker},
};
use crate::{
    engine::{Rank, bell::Lost, regions},
    save::{Archive, SaveError},
};
use std::sync::Arc;

/// The side of this process.
#[derive(Debug)]
pub(super) struct OneRank {
    rank: Rank,
    /// While the routers are divided.
    divided: Option<Divided>,
}

/// Where parts meet, and those of the other processes as they were when the routers were divided.
#[derive(Debug)]
struct Divided {
    exchange: Arc<Exchange>,
    others: Vec<Worker>,
    messages: Vec<regions::Message>,
    /// Cycles that were run.
    cycles: u64,
}

/// Bytes that something writes, as words of which the last one is filled up.
fn words(write: impl FnOnce(&mut Archive) -> Result<(), SaveError>) -> Vec<u64> {
    let bytes = Archive::written(write);
    let word = |some: &[u8]| some.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(8).map(word).collect()
}

impl OneRank {
    /// A process that has the whole network.
    pub(super) fn new(rank: Rank) -> Self {
        Self { rank, divided: None }
    }

    /// The process.
    pub(super) fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Divides the routers, unless they are divided.
    pub(super) fn begin(&mut self, run: &mut Run<Feed>) {
        let Rank { rank, ranks, .. } = self.rank;
        if self.divided.is_some() {
            return;
        }
        let divided = run.on_routers(|routers, cycle| routers.divide(cycle, (ranks, rank), 0.0));
        let Some((routers, exchange, others)) = divided.into_iter().flatten().next() else { return };
        run.subnets[0].routers = routers;
        // Among the messages of another there is none to itself.
        let to = |other: usize| regions::Message::new(other, if rank < other { rank } else { rank - 1 });
        let messages = (0..ranks).filter(|&other| other != rank).map(to).collect();
        self.divided = Some(Divided { exchange, others, messages, cycles: 0 });
    }

    /// After a cycle what was given to the other parts and to nodes goes to the others, and theirs comes.
    ///
    /// # Errors
    /// Another process has failed.
    pub(super) fn exchange(&mut self) -> Result<(), Lost> {
        let Some(Divided { exchange, messages, cycles, .. }) = &mut self.divided else { return Ok(()) };
        let (own, nodes, cycle) = (self.rank.rank, self.rank.ranks, *cycles);
        *cycles += 1;
        let mut balance = exchange.balance_of(own);
        for regions::Message { part, out, .. } in messages.iter_mut() {
            // The nodes of the others give their routers the same.
            exchange.slot(*part, nodes, cycle).clear();
            *out = words(|archive| {
                exchange.slot(*part, own, cycle).fields(archive)?;
                exchange.slot(nodes, own, cycle).fields(archive)?;
                archive.number("balance", &mut balance)
            });
            exchange.slot(*part, own, cycle).clear();
        }
        self.rank.transport().exchange(messages)?;
        for regions::Message { part, come, .. } in messages {
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

    /// Every process has the whole network again.
    ///
    /// # Errors
    /// Another process has failed, or has done so in a cycle before.
    pub(super) fn join(&mut self, run: &mut Run<Feed>) -> Result<(), Lost> {
        let Some(Divided { exchange, mut others, cycles, .. }) = self.divided.take() else { return Ok(()) };
        let (own, rules) = (self.rank.rank, run.terminals.rules.clone());
        let mut collect = |part: &mut Part| {
            let state = Archive::written(|archive| {
                part.fields(&rules, archive)?;
                exchange.unread(own, cycles, |message| message.fields(archive))
            });
            let states = self.rank.transport().collect(state).ok()?;
            for Worker { number, part, .. } in &mut others {
                let mut archive = Archive::reading(states.get(*number)?.clone());
                part.fields(&rules, &mut archive).ok()?;
                exchange.unread(*number, cycles, |message| message.fields(&mut archive)).ok()?;
            }
            Some(std::mem::take(&mut others).into_iter().map(|worker| worker.part).collect())
        };
        let join = |routers: &mut dyn Routers<Feed>, cycle: &mut Cycle<'_>| routers.join(&mut collect, cycle);
        run.subnets[0].routers = run.on_routers(join).pop().flatten().ok_or(Lost)?;
        Ok(())
    }

    /// Forgets the parts of the others, after one of them has failed.
    pub(super) fn give_up(&mut self) {
        self.divided = None;
    }
}
