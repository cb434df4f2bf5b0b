//! Exact simulation, scheduling and routing on torus and mesh interconnection networks.
//!
//! The rooms of the house, ground floor first; a room only knows those before it:
//! [`save`] (how state is written down), [`names`] (what users call things), [`fault`] (what is wrong with a description), [`bits`] (one bit per router), [`fabric`] (what exists), [`traffic`] (who sends what to whom, when), [`routing`] (which way),
//! [`flow`] (demands, cuts, prices as proofs), [`router`] (the rules of one router in one cycle), [`probe`] (what was seen), [`engine`] (the
//! network in motion), [`booksim`] (files of BookSim2), [`schedule`] and [`genetic`] (when to send), [`collective`] (who forwards what to whom), [`routes`] (tables of routes) and [`placement`] (where each rank sits).

#![warn(clippy::unwrap_used, unreachable_pub)]

#[macro_use]
pub mod names;

pub mod bits;
pub mod booksim;
pub mod collective;
#[cfg(test)]
#[path = "../tests/common/drawn.rs"]
mod drawn;
pub mod engine;
pub mod fabric;
pub mod fault;
pub mod flow;
pub mod genetic;
pub mod placement;
mod power;
pub mod probe;
pub mod router;
pub mod routes;
pub mod routing;
pub mod save;
pub mod schedule;
pub mod throttle;
pub mod traffic;
mod visit;
