//! What threads wait with. The model check (`model/`) puts its own in place of these.

pub(super) use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::{
    thread,
    time::{Duration, Instant},
};

/// How long to spin for a neighbour before offering the core to others.
const SPIN: Duration = Duration::from_micros(50);
/// How long to wait for a neighbour before sleeping. Whoever sleeps is late for the next cycles, so that
/// its neighbours sleep too.
const PATIENCE: Duration = Duration::from_millis(5);
/// How often a sleeper looks whether the others still run.
pub(super) const NAP: Duration = Duration::from_millis(20);

/// Looks again and again, for some time.
#[derive(Debug, Default)]
pub(super) struct Patience {
    begun: Option<Instant>,
}

impl Patience {
    /// Whether `done` holds at last; false when patience is over.
    pub(super) fn until(&mut self, done: impl Fn() -> bool) -> bool {
        loop {
            for _ in 0..64 {
                if done() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let waited = self.begun.get_or_insert_with(Instant::now).elapsed();
            if waited > PATIENCE {
                return false;
            }
            if waited > SPIN {
                thread::yield_now();
            }
        }
    }
}
