//! What `make test` leaves to `make test-all`: of long lists it runs a sample.

use super::drawn::is_quick;

/// All of them, or every `step`-th where a sample will do.
pub fn sampled<T>(all: impl IntoIterator<Item = T>, step: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_quick() { step } else { 1 })
}
