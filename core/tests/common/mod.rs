//! What the property tests of all engines share: random cases, the record of what an engine did, and
//! its comparison with the reference model. A test that uses it declares `mod reference` too.

mod case;
mod compare;
mod drawn;
mod recorder;
mod sample;
mod twin;

pub use case::{Case, CaseSpace, Router, THROTTLES, Traffic, cases};
pub use compare::{compare, last_move, reference, totals};
pub(crate) use drawn::is_quick;
pub use recorder::Recorder;
pub use sample::sampled;
pub use twin::twin;
