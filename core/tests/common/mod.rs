//! What the property tests of all engines share: random cases and the record of what an engine did.

pub mod case;

pub use case::{Case, CaseSpace, Traffic};
