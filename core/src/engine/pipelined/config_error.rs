//! What is wrong with the options of pipelined routers.

use crate::fault::{Fault, displays_fault};

/// What is wrong with a field of pipelined routers, as `vc_allocator`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(Box<Fault>);

displays_fault!(ConfigError);

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault))
    }
}

impl ConfigError {
    /// What is wrong, in parts; without a field where only who asked knows it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        (*self.0).clone()
    }

    /// The same at a field, unless it knows its own.
    #[must_use]
    pub fn or_at(self, field: &'static str) -> Self {
        self.0.or_at(field).into()
    }
}
