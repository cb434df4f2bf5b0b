//! What a router or a source knows of the queue behind a link.

/// One channel behind a link.
#[derive(Clone, Default)]
pub struct Behind {
    /// Flits in the queue or on their way to it.
    pub used: usize,
    pub owned: bool,
    tail_sent: bool,
}

impl Behind {
    pub fn take(&mut self) {
        assert!(!self.owned, "a channel is given twice");
        (self.owned, self.tail_sent) = (true, false);
    }

    pub fn send(&mut self, is_tail: bool, waits_for_credit: bool) {
        self.used += 1;
        self.tail_sent |= is_tail;
        if is_tail && !waits_for_credit {
            self.owned = false;
        }
    }

    pub fn credit(&mut self, waits_for_credit: bool) {
        self.used -= 1;
        if waits_for_credit && self.tail_sent && self.used == 0 {
            self.owned = false;
        }
    }
}
