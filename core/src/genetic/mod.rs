//! The cup-stacking papers' genetic search for injection times and arbitration orders
//! (cup-stacking-2022, 4.3; cup-stacking-extended-2023, 5.3 and A.3).
//!
//! A [`Case`] is what is to be sent over which network. [`search`] runs one genetic search with
//! given [`Settings`]; its outcome is a function of the case, the settings and the seed alone.
//! [`replay`] simulates a found [`Chromosome`] again, and [`extrapolate`] stacks its slices at the
//! best interval (6.1), which is also what the rough estimation and post-stacking methods end with.

mod case;
mod chromosome;
mod evaluation;
mod evaluator;
mod operators;
mod population;
mod record;
mod search;
mod settings;
mod stacking;

pub use case::{Case, Groups, Limits};
pub use chromosome::Chromosome;
pub use evaluation::{Evaluation, Objective, SortKey};
pub use record::{Generation, Record};
pub use search::{Search, SearchOutcome, search};
pub use settings::{Acceptance, Beginning, GeneticError, IntervalLimit, Settings, Ties};
pub use stacking::{Extrapolation, extrapolate, replay};
