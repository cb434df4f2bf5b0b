use super::{Ask, Seen};

/// "At least one": a useful channel of the packet's direction must be free, that is, have no owner
/// and an empty buffer behind it (Baydal, Lopez and Duato 2005).
#[derive(Clone, Debug)]
pub struct Alo {
    channels: u8,
    own: bool,
}

impl Alo {
    /// The throttle on links of so many channels; with `own` only the channel of the first hop is
    /// useful.
    pub fn new(channels: u8, own: bool) -> Self {
        Self { channels, own }
    }

    /// Whether a useful channel is free.
    pub fn may_begin(&self, ask: &Ask, seen: &impl Seen) -> bool {
        let free = |channel| {
            !seen.owned(ask.node, ask.direction, channel) && seen.is_empty(ask.node, ask.direction, channel)
        };
        if self.own { free(ask.channel) } else { (0..self.channels).any(free) }
    }
}
