/// One chunk over one link in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// Step in which the link carries it, from 0.
    pub step: u32,
    /// Index of the link.
    pub link: u32,
    /// Index of the chunk among those of the operation.
    pub item: u32,
    /// Whether the receiver adds it to its own partial sum instead of keeping it as it is.
    pub adds: bool,
}

/// Steps until the last chunk has arrived.
pub(super) fn steps_of(moves: &[Move], latency: u32) -> u32 {
    moves.iter().map(|moved| moved.step + 1 + latency).max().unwrap_or(0)
}

/// The same moves backwards in time, over links the other way round: copies become sums.
pub(super) fn reversed(moves: &[Move], latency: u32, adds: bool) -> Vec<Move> {
    let steps = steps_of(moves, latency);
    let back = |moved: &Move| Move { step: steps - 1 - latency - moved.step, adds, ..*moved };
    let mut moves: Vec<Move> = moves.iter().map(back).collect();
    moves.sort_unstable();
    moves
}
