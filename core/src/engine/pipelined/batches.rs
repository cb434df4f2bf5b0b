//! The phases of a run in batches: every node sends its packets, and the next batch begins when all have arrived.

use super::phases::{Event, Phase, Phases};
use std::sync::atomic::{AtomicBool, Ordering};

impl Phases {
    /// A batch begins, or all are over.
    pub(super) fn begin_batch(&mut self) {
        let Some(batch) = &self.run.batch else { return };
        (self.run.warms_up, self.run.measures) = (false, true);
        let number = batch.durations.len() as u32 + 1;
        if number > batch.count {
            self.run.drains_after = Some(self.run.now);
            self.begin_to_empty();
            return;
        }
        self.events.push_back(Event::BatchBegins { number, size: batch.size });
        self.run.sequence.fill(0);
        self.batch_began_at = self.run.now;
        self.phase = Phase::SendingBatch;
    }

    /// Nodes send until every one of them has made all of its packets.
    pub(super) fn send_batch(&mut self, interrupt: &AtomicBool) {
        loop {
            if self.run.breach.is_some() || interrupt.load(Ordering::Relaxed) {
                return;
            }
            self.run.cycle();
            let Some(batch) = &self.run.batch else { return };
            if self.run.sequence.iter().all(|&made| made >= batch.size) {
                break;
            }
        }
        self.events.push_back(Event::BatchSent { cycles: self.run.now - self.batch_began_at });
        self.steps = 0;
        self.batch_sent_at = self.run.now;
        self.phase = Phase::CompletingBatch;
    }

    /// Whatever is under way arrives.
    pub(super) fn complete_batch(&mut self, interrupt: &AtomicBool) {
        while self.run.in_flight() > 0 {
            if self.run.breach.is_some() || interrupt.load(Ordering::Relaxed) {
                return;
            }
            self.run.cycle();
            self.steps += 1;
            if self.steps.is_multiple_of(1000) {
                self.events.push_back(self.remaining());
                return;
            }
        }
        let now = self.run.now;
        let Some(batch) = &mut self.run.batch else { return };
        batch.durations.push(now - self.batch_began_at);
        let durations = batch.durations.clone();
        let last = self.run.last_retired;
        self.events.push_back(Event::BatchArrived { cycles: now - self.batch_sent_at, last });
        let classes = self.measured().into_iter().map(|class| (class, self.run.facts[class].clone()));
        self.events.push_back(Event::BatchCounted {
            cycles: now - self.cleared_at,
            classes: classes.collect(),
            durations,
        });
        self.begin_batch();
    }
}
