//! The phases of a run in batches: every node sends its packets, and the next batch begins when all have arrived.

use super::phases::{Event, Phase, Phases};
use crate::engine::pipelined::Counting;

impl Phases {
    /// A batch begins, or all are over.
    pub(super) fn begin_batch(&mut self) {
        let Some(batch) = &self.run.source.batch else { return };
        self.run.terminals.counting = Counting::Measured;
        let number = batch.durations.len() as u32 + 1;
        if number > batch.count {
            self.run.source.drains_after = Some(self.run.terminals.now);
            self.begin_to_empty();
            return;
        }
        self.events.push_back(Event::BatchBegins { number, size: batch.size });
        self.run.terminals.sequence.fill(0);
        self.batch_began_at = self.run.terminals.now;
        self.steps = 0;
        self.phase = Phase::SendingBatch;
    }

    /// Every node has made all of its packets.
    pub(super) fn end_sending(&mut self) {
        self.events.push_back(Event::BatchSent { cycles: self.run.terminals.now - self.batch_began_at });
        self.steps = 0;
        self.batch_sent_at = self.run.terminals.now;
        self.phase = Phase::CompletingBatch;
    }

    /// Whatever was under way has arrived.
    pub(super) fn end_batch(&mut self) {
        let now = self.run.terminals.now;
        let Some(batch) = &mut self.run.source.batch else { return };
        batch.durations.push(now - self.batch_began_at);
        let durations = batch.durations.clone();
        let last = self.run.source.last_retired;
        self.events.push_back(Event::BatchArrived { cycles: now - self.batch_sent_at, last });
        let classes =
            self.measured().into_iter().map(|class| (class, self.run.terminals.facts[class].clone()));
        self.events.push_back(Event::BatchCounted {
            cycles: now - self.cleared_at,
            classes: classes.collect(),
            durations,
        });
        self.begin_batch();
    }
}
