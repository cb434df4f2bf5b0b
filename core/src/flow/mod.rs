//! What flows over a network whichever way it goes: who sends how much to whom, cuts and prices of channels as proofs
//! of how full some channel must be, and orders of channels without a circle.

pub(crate) mod balance;
pub mod bounds;
pub mod cuts;
pub mod demands;
mod distances;
pub mod loads;
#[cfg(test)]
mod one_switch;
pub mod order;
pub mod prices;
pub mod proof;
