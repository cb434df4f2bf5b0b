//! What threads give each other, and how they learn that one of them has failed.

use super::{
    bell::held,
    sync::{AtomicBool, Mutex, MutexGuard, Ordering},
};
use std::{array, sync::Arc};

/// What is given in a cycle, in as many cycles as can be between giving and taking it.
#[derive(Debug)]
pub(super) struct Letterbox<M, const CYCLES: usize>([Mutex<M>; CYCLES]);

impl<M, const CYCLES: usize> Letterbox<M, CYCLES> {
    /// That of a cycle.
    pub(super) fn of(&self, cycle: u64) -> MutexGuard<'_, M> {
        held(&self.0[(cycle % CYCLES as u64) as usize])
    }
}

impl<M: Default, const CYCLES: usize> Default for Letterbox<M, CYCLES> {
    fn default() -> Self {
        Self(array::from_fn(|_| Mutex::default()))
    }
}

/// Tells the others when this thread panics.
pub(crate) struct Watch(pub(super) Arc<AtomicBool>);

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
