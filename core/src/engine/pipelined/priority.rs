//! Priorities of flits and of queues.

use super::flit::Flit;

named! {
    /// What goes first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Priority {
        /// Nothing.
        None = "none",
        /// What has the highest priority of its class.
        Class = "class",
        /// What was made first.
        Age = "age",
        /// What was sent by its source first.
        NetworkAge = "network_age",
        /// What came to the router first.
        LocalAge = "local_age",
        /// What is in the longest queue.
        QueueLength = "queue_length",
        /// What has passed most routers.
        HopCount = "hop_count",
        /// What its source made first, by its number.
        Sequence = "sequence",
    }
}

impl Priority {
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
