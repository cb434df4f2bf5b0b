//! What `make test` leaves to `make test-all`: of long lists it runs a sample.

/// Whether a sample will do: `FLITLOOM_TESTS=quick`.
pub fn is_quick() -> bool {
    std::env::var("FLITLOOM_TESTS").is_ok_and(|how| how == "quick")
}

/// All of them, or every `step`-th where a sample will do.
pub fn sampled<T>(all: impl IntoIterator<Item = T>, step: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_quick() { step } else { 1 })
}
