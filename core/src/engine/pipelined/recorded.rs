//! What is recorded of a run.

/// What is recorded of single packets and flits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded {
    /// What every link carries in every cycle.
    pub link_time: bool,
    /// When every packet was where.
    pub packets: bool,
    /// All that moves.
    pub film: bool,
}
