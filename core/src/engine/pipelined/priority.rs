//! Priorities of flits and of queues.

use super::flit::Flit;

/// What goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Nothing.
    None,
    /// What has the highest priority of its class.
    Class,
    /// What was made first.
    Age,
    /// What was sent by its source first.
    NetworkAge,
    /// What came to the router first.
    LocalAge,
    /// What is in the longest queue.
    QueueLength,
    /// What has passed most routers.
    HopCount,
    /// What its source made first, by its number.
    Sequence,
}

impl Priority {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("none", Self::None),
        ("class", Self::Class),
        ("age", Self::Age),
        ("network_age", Self::NetworkAge),
        ("local_age", Self::LocalAge),
        ("queue_length", Self::QueueLength),
        ("hop_count", Self::HopCount),
        ("sequence", Self::Sequence),
    ];

    /// What a flit gets when its packet is made.
    pub(super) fn at_creation(self, class: i32, created: u32, sequence: u32) -> i32 {
        match self {
            Self::Class => class,
            Self::Age => i32::MAX - created as i32,
            Self::Sequence => i32::MAX - sequence as i32,
            _ => 0,
        }
    }

    /// When a flit is sent by its source.
    pub(super) fn on_sending(self, flit: &mut Flit, now: u32) {
        if self == Self::NetworkAge {
            flit.priority = i32::MAX - now as i32;
        }
    }
}
