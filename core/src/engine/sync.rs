//! What threads wait with. The model check (`model/`) puts its own in place of these.

pub(super) use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::{thread, time::Duration};

/// Looks for a neighbour before the core is offered to others: some 50 microseconds.
const SPINS: u32 = 1 << 10;
/// Times that it is offered before sleeping: some milliseconds. Whoever sleeps is late for the next cycles, so that
/// its neighbours sleep too.
const OFFERS: u32 = 1 << 12;
/// How often a sleeper looks whether the others still run.
pub(super) const NAP: Duration = Duration::from_millis(20);

/// Looks again and again, for some time.
#[derive(Debug, Default)]
pub(super) struct Patience {
    looks: u32,
    offers: u32,
}

impl Patience {
    /// Whether `done` holds at last; false when patience is over.
    pub(super) fn until(&mut self, done: impl Fn() -> bool) -> bool {
        while !done() {
            if self.looks < SPINS {
                self.looks += 1;
                std::hint::spin_loop();
            } else if self.offers < OFFERS {
                self.offers += 1;
                thread::yield_now();
            } else {
                return false;
            }
        }
        true
    }
}
