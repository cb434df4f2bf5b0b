//! The Python extension module `flitloom._core`: converts, releases the GIL and maps errors; no logic.

use flitloom_core::traffic::Pattern;
use pyo3::prelude::*;

/// Rust core of flitloom.
#[pymodule]
mod _core {
    use super::*;

    /// Version of the crate, and the commit it was built from ("" if unknown).
    #[pyfunction]
    fn build() -> (&'static str, &'static str) {
        (env!("CARGO_PKG_VERSION"), env!("FLITLOOM_COMMIT"))
    }

    /// Short names of all patterns.
    #[pyfunction]
    fn pattern_names() -> [&'static str; 10] {
        Pattern::NAMES
    }
}
