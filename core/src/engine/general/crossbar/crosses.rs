//! What a router variant does in a cycle.

use crate::{
    bits::Vector,
    engine::general::{layout::Layout, record::Record, state::State},
};

/// How flits cross a router.
pub(super) trait Crosses {
    /// Whether links send by the room that is made in the same cycle. Parts of a network then wait for their
    /// neighbours twice.
    const SENDS_LATE: bool = false;

    /// After VC allocation: flits leave their queues. What is sent in this cycle (`sent`, `heads`, `tails`) follows
    /// from the state at its beginning, unless it is sent late. True if anything happens, or may in the next cycle
    /// though nothing comes.
    fn cross<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, cycle: u64) -> bool;

    /// What is sent late; true if anything is.
    fn send_late<V: Vector, R: Record>(_state: &mut State<V, R>, _layout: &Layout) -> bool {
        false
    }

    /// Finds where the headers that are sent go (`crossings`), frees what their tails leave, and lists the packets
    /// whose tail is ejected (`delivered`).
    fn depart<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, cycle: u64);
}
