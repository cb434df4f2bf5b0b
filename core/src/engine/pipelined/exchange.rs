//! Where the threads of a run meet: what they give each other, and which cycles they may run.

use super::flit::Packet;
use crate::{
    engine::{
        bell::{Bell, Lost},
        letterbox::{Letterbox, Watch},
        sync::{AtomicBool, AtomicU64, MutexGuard, Ordering},
    },
    save::Archive,
    visit::Visited,
};
use std::sync::Arc;

/// What one gives another in a cycle: flits and credits that arrive two cycles later, with their places there, and
/// what is known of packets whose headers are among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub flits: Vec<u64>,
    pub credits: Vec<u64>,
    pub packets: Vec<(u32, Packet)>,
}

impl Message {
    /// What it says.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { flits, credits, packets } = self;
        archive.list("flits", flits)?;
        archive.list("credits", credits)?;
        archive.list("packets", packets)
    }

    /// Says nothing any more.
    pub(super) fn clear(&mut self) {
        let Self { flits, credits, packets } = self;
        flits.clear();
        credits.clear();
        packets.clear();
    }
}

/// Where all meet: the parts of the routers, the first of which has the thread of the nodes, and the nodes.
#[derive(Debug)]
pub(super) struct Exchange {
    /// By who takes and who gives.
    boxes: Vec<Vec<Letterbox<Message, 4>>>,
    /// How many cycles may be run, and for all but the first part how many have been.
    begun: Bell,
    done: Vec<Bell>,
    /// How many are to be run, once that is known.
    last: AtomicU64,
    /// What is to be added to the number of a cycle to have its time.
    offset: AtomicU64,
    /// By part, and of nodes, credits that were sent less those that arrived.
    balances: Vec<AtomicU64>,
    failed: Arc<AtomicBool>,
}

impl Exchange {
    /// For so many parts.
    pub(super) fn new(parts: usize) -> Arc<Self> {
        let boxes = |_| (0..=parts).map(|_| Letterbox::default()).collect();
        Arc::new(Self {
            boxes: (0..=parts).map(boxes).collect(),
            begun: Bell::default(),
            done: (1..parts).map(|_| Bell::default()).collect(),
            last: AtomicU64::new(u64::MAX),
            offset: AtomicU64::new(0),
            balances: (0..=parts).map(|_| AtomicU64::new(0)).collect(),
            failed: Arc::default(),
        })
    }

    /// Waits until the other parts have run so many cycles.
    ///
    /// # Errors
    /// One of them has failed.
    pub(super) fn wait(&self, cycles: u64) -> Result<(), Lost> {
        self.done.iter().try_for_each(|done| done.wait(cycles, &self.failed))
    }

    /// Lets the others run a cycle, which has this time; all before have the same offset, or nothing is under way.
    pub(super) fn begin(&self, cycle: u64, time: u32) {
        self.offset.store(u64::from(time) - cycle, Ordering::Relaxed);
        self.begun.ring();
    }

    /// Ends the others after so many cycles.
    pub(super) fn end(&self, cycles: u64) {
        self.last.store(cycles, Ordering::Release);
        self.begun.ring();
    }

    /// Waits for a cycle and for what the others give for it: its time, or that there is none.
    pub(super) fn time(&self, cycle: u64) -> Option<u32> {
        self.begun.wait(cycle + 1, &self.failed).ok()?;
        if cycle >= self.last.load(Ordering::Acquire) {
            return None;
        }
        self.wait(cycle.saturating_sub(1)).ok()?;
        Some((cycle + self.offset.load(Ordering::Relaxed)) as u32)
    }

    /// A part that is not the first has run its next cycle.
    pub(super) fn ring(&self, part: usize) {
        self.done[part - 1].ring();
    }

    /// Tells the balance of the credits of a part, or of nodes.
    pub(super) fn report(&self, part: usize, balance: usize) {
        self.balances[part].store(balance as u64, Ordering::Relaxed);
    }

    /// What a part told.
    pub(super) fn balance_of(&self, part: usize) -> usize {
        self.balances[part].load(Ordering::Relaxed) as usize
    }

    /// What one gives another in a cycle.
    pub(super) fn slot(&self, to: usize, from: usize, cycle: u64) -> MutexGuard<'_, Message> {
        self.boxes[to][from].of(cycle)
    }

    /// Visits what was given to one and has not been read after so many cycles.
    pub(super) fn unread(
        &self,
        to: usize,
        cycles: u64,
        mut visit: impl FnMut(&mut Message) -> Visited,
    ) -> Visited {
        for from in 0..self.boxes.len() {
            for ahead in 2..4 {
                visit(&mut self.slot(to, from, cycles + ahead))?;
            }
        }
        Ok(())
    }

    /// The sum of what all told; it wraps around.
    pub(super) fn balance(&self) -> usize {
        let add = |sum: u64, one: &AtomicU64| sum.wrapping_add(one.load(Ordering::Relaxed));
        self.balances.iter().fold(0, add) as usize
    }

    /// Puts a message by which it arrives in one of the first two cycles.
    pub(super) fn put(&self, to: usize, cycle: usize, message: Message) {
        *self.slot(to, 0, cycle as u64 + 2) = message;
    }

    /// Takes all messages that nobody has read after so many cycles: in how many cycles they arrive, and for whom.
    pub(super) fn left(&self, cycles: u64) -> Vec<(u32, usize, Message)> {
        let mut left = Vec::new();
        for (to, boxes) in self.boxes.iter().enumerate() {
            for letterbox in boxes {
                for ahead in 0..2 {
                    let message = std::mem::take(&mut *letterbox.of(cycles + u64::from(ahead) + 2));
                    left.push((ahead, to, message));
                }
            }
        }
        left
    }

    /// Ends the others when this thread panics.
    pub(super) fn watch(&self) -> Watch {
        Watch(self.failed.clone())
    }
}

/// One of those that meet. Its messages go round, so that nothing is allocated in a cycle.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    number: usize,
    pub come: Vec<Message>,
    pub gone: Vec<Message>,
}

impl Messages {
    /// A part, or the nodes behind them.
    pub(super) fn new(number: usize, parts: usize) -> Self {
        let messages = || (0..=parts).map(|_| Message::default()).collect();
        Self { number, come: messages(), gone: messages() }
    }

    /// Takes what was given two cycles ago for the messages that came before, which have been read.
    pub(super) fn take(&mut self, exchange: &Exchange, cycle: u64) {
        for (come, letterbox) in self.come.iter_mut().zip(&exchange.boxes[self.number]) {
            std::mem::swap(come, &mut *letterbox.of(cycle + 2));
        }
    }

    /// Gives away what leaves in a cycle.
    pub(super) fn give(&mut self, exchange: &Exchange, cycle: u64) {
        for (gone, boxes) in self.gone.iter_mut().zip(&exchange.boxes) {
            std::mem::swap(gone, &mut *boxes[self.number].of(cycle));
        }
    }
}
