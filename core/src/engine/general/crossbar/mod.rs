//! How flits cross a router, from its queues to its links: a file per router variant.
//!
//! A variant is a file with a type and the trait [`Crosses`], its `mod` line and a line in the list; what the rest of
//! the router has to know of it are its facts (`router/variant.rs`). It works on the state of the router: the
//! queues, who owns which output channel, and the registers behind output channels, if the variant has any.

mod crosses;
mod direct;
#[cfg(test)]
mod half_clock;
mod list;
mod registered;
mod registers;
mod taken;

use crosses::Crosses;
pub(super) use registers::Registers;
