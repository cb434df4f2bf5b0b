/// What a method may spend, and how it is told to stop.
///
/// When it is told to stop, or all its moves are spent, it is over: nothing is left of it, nor of what it
/// is a share of. A method then ends with what it has, which is a complete schedule.
pub struct Budget<'a> {
    /// Placements that may be tried; results for a given number are deterministic.
    pub moves: u64,
    /// The part of the time that may be over, from 0 to 1.
    pub until: f64,
    /// Whether so large a part of the time is over, or somebody wants an end; polled now and then.
    pub should_stop: &'a dyn Fn(f64) -> bool,
}

impl Budget<'static> {
    /// So many moves, however long they take.
    pub fn of_moves(moves: u64) -> Self {
        Self { moves, until: 1.0, should_stop: &|_| false }
    }
}

impl<'a> Budget<'a> {
    /// So many moves, until `should_stop` says that a part of the time is over.
    pub fn new(moves: u64, should_stop: &'a dyn Fn(f64) -> bool) -> Self {
        Self { moves, until: 1.0, should_stop }
    }

    /// Whether nothing is left.
    pub fn is_over(&mut self) -> bool {
        if self.moves > 0 && (self.should_stop)(self.until) {
            self.moves = 0;
        }
        self.moves == 0
    }

    /// Takes one move; false when there is none left.
    pub(crate) fn take(&mut self) -> bool {
        if self.moves == 0 || (self.moves.is_multiple_of(64) && self.is_over()) {
            return false;
        }
        self.moves -= 1;
        true
    }

    /// Takes so many moves, or all that are left.
    pub(crate) fn spend(&mut self, moves: u64) {
        self.moves = self.moves.saturating_sub(moves);
    }

    /// Lets a search spend up to so many moves of it.
    pub(crate) fn share<T>(&mut self, moves: u64, search: impl FnOnce(&mut Budget<'a>) -> T) -> T {
        self.share_until(moves, self.until, search)
    }

    /// Lets a search spend up to so many moves of it until such a part of the time is over.
    pub(crate) fn share_until<T>(
        &mut self,
        moves: u64,
        until: f64,
        search: impl FnOnce(&mut Budget<'a>) -> T,
    ) -> T {
        let given = moves.min(self.moves);
        let mut part = Budget { moves: given, until, ..*self };
        let outcome = search(&mut part);
        self.moves -= given - part.moves;
        self.is_over();
        outcome
    }
}
