//! Bits of many routers at once: vectors of words, planes with one bit per router, numbers as planes, lists
//! and walks. The ground that engines and searches stand on; it knows nothing of networks.

#![warn(unreachable_pub)]

mod blocks;
mod counter;
mod instruction_set;
mod iter;
mod list;
mod plane;
#[allow(unsafe_code, reason = "vectors of the processor")]
mod vector;

pub use instruction_set::InstructionSet;

pub(crate) use blocks::Blocks;
pub(crate) use counter::{
    above, above_with, count_down, count_up, count_up_long, full_add, half_add, half_subtract, number_at,
};
pub(crate) use instruction_set::{OnVectors, VectorWork, with_longest};
pub(crate) use iter::ones;
pub(crate) use list::List;
pub(crate) use plane::{Extent, Planes, bits, set_bits, spans};
pub(crate) use vector::{Available, Task, Vector, Words, count_ones, words, words_mut};
#[cfg(all(target_arch = "x86_64", feature = "vectors"))]
pub(crate) use vector::{Avx2, Avx512};
