//! Injection throttles in words: which of the pending headers may begin, a vector of routers at a time.
//!
//! Every throttle works as the state machine that it is (`throttle::State`), asked header by header
//! ([`by_header`]). What is asked often has a form here that decides the same: a file with the trait
//! [`InWords`], its `mod` line, and a line in the list.

mod alo;
mod busy_registers;
mod by_header;
#[cfg(test)]
mod even_cycles;
mod in_words;
mod list;
mod owners;
mod pace;
mod path_turn;
mod path_turn_any;
mod spth;

pub(super) use in_words::{Around, Flits, InWords, Made};
pub(super) use list::Throttle;
pub(super) use owners::Owners;
