/// What a search may spend, and how it is told to stop.
pub struct Budget<'a> {
    /// Placements it may try; results for a given number are deterministic.
    pub moves: u64,
    /// Polled now and then; `true` ends the search with the best found so far.
    pub should_stop: &'a dyn Fn() -> bool,
}

impl Budget<'_> {
    /// Takes one move; false when there is none left or the search was told to stop.
    pub(crate) fn take(&mut self) -> bool {
        if self.moves == 0 || (self.moves.is_multiple_of(64) && (self.should_stop)()) {
            self.moves = 0;
            return false;
        }
        self.moves -= 1;
        true
    }
}
