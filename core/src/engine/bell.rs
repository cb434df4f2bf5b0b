//! A count that threads wait for: they spin for a while, then sleep.
//!
//! Whoever rings looks for sleepers after it has counted, and whoever goes to sleep says so before it looks at the
//! count. So one of the two sees the other. `model/` checks this in every order of the steps of some threads.

use super::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, NAP, Ordering, Patience, PoisonError};

/// Another part has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// Counts up, and wakes whoever waits for it.
#[derive(Debug, Default)]
pub(super) struct Bell {
    count: AtomicU64,
    sleepers: AtomicU64,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// Adds one to the count.
    pub(super) fn ring(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // A sleeper has not seen the count yet, or it sleeps when the lock is had.
            drop(held(&self.lock));
            self.rung.notify_all();
        }
    }

    /// Waits until it has rung `count` times.
    ///
    /// # Errors
    /// It has not, and another part has `failed`.
    pub(super) fn wait(&self, count: u64, failed: &AtomicBool) -> Result<(), Lost> {
        if Patience::default().until(|| self.count.load(Ordering::Acquire) >= count) {
            return Ok(());
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut guard = held(&self.lock);
        while self.count.load(Ordering::SeqCst) < count && !failed.load(Ordering::Relaxed) {
            guard = self.rung.wait_timeout(guard, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) < count { Err(Lost) } else { Ok(()) }
    }
}

/// What is behind a lock; whoever panics ends the run, so nothing is left half-done.
pub(super) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
