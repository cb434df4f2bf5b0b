//! What a router or a source knows of the queues behind a link, and when they are full.

/// How the places of a port are shared by its channels.
#[derive(Clone, Debug)]
pub(super) enum Policy {
    /// So many places per channel.
    Private(u32),
    /// Common places beside those that groups of channels own.
    Shared(Sharing),
}

/// How places are shared.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    pub places: u32,
    /// Group of every channel, places that every group owns.
    pub group: Vec<u16>,
    pub owned: Vec<u32>,
    pub limit: Limit,
}

/// How many places one channel may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// No limit.
    None,
    /// A fixed number.
    Fixed(u32),
    /// The places divided by the channels that have an owner.
    Dynamic,
    /// The places halved until they cover the channels that have an owner.
    Shifting,
}

/// The queues behind one link as they are known in front of it.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    /// Flits of every channel in the queue or on their way.
    pub used: Vec<u32>,
    pub is_owned: Vec<bool>,
    tail_sent: Vec<bool>,
    /// Flits of all channels.
    pub all: u32,
    owned_channels: u32,
    limit: u32,
    /// Flits by group, places kept for owners, common places in use.
    group_used: Vec<u32>,
    reserved: Vec<u32>,
    common: u32,
    waits_for_tail: bool,
}

impl Behind {
    /// Empty queues without owners.
    pub(super) fn new(policy: &Policy, channels: usize, waits_for_tail: bool) -> Self {
        let (groups, limit) = match policy {
            Policy::Private(_) => (0, 0),
            Policy::Shared(sharing) => (
                sharing.owned.len(),
                match sharing.limit {
                    Limit::Fixed(most) => most,
                    _ => sharing.places,
                },
            ),
        };
        Self {
            used: vec![0; channels],
            is_owned: vec![false; channels],
            tail_sent: vec![false; channels],
            all: 0,
            owned_channels: 0,
            limit,
            group_used: vec![0; groups],
            reserved: vec![0; channels],
            common: 0,
            waits_for_tail,
        }
    }

    /// Whether a flit of this channel may not be sent.
    #[inline]
    pub(super) fn is_full(&self, policy: &Policy, channel: usize) -> bool {
        match policy {
            Policy::Private(places) => self.used[channel] >= *places,
            Policy::Shared(sharing) => {
                if self.reserved[channel] > 0 {
                    return false;
                }
                self.has_no_place(sharing, channel)
                    || (sharing.limit != Limit::None && self.used[channel] >= self.limit)
            }
        }
    }

    fn has_no_place(&self, sharing: &Sharing, channel: usize) -> bool {
        let group = usize::from(sharing.group[channel]);
        let owned: u32 = sharing.owned.iter().sum();
        self.group_used[group] >= sharing.owned[group] && self.common >= sharing.places - owned
    }

    /// Whether a flit of this channel would have no place: somebody else took the last shared one in this step.
    pub(super) fn overflows(&self, policy: &Policy, channel: usize) -> bool {
        match policy {
            Policy::Private(_) => false,
            Policy::Shared(sharing) => self.reserved[channel] == 0 && self.has_no_place(sharing, channel),
        }
    }

    /// A channel gets an owner.
    pub(super) fn take(&mut self, policy: &Policy, channel: usize) {
        self.is_owned[channel] = true;
        self.tail_sent[channel] = false;
        self.owned_channels += 1;
        self.set_limit(policy);
    }

    fn set_limit(&mut self, policy: &Policy) {
        let Policy::Shared(sharing) = policy else { return };
        let owned = self.owned_channels;
        match sharing.limit {
            Limit::None | Limit::Fixed(_) => {}
            Limit::Dynamic => {
                self.limit = sharing.places.checked_div(owned).unwrap_or(self.limit);
            }
            Limit::Shifting => {
                let mut cover = 1;
                self.limit = sharing.places;
                while cover < owned {
                    cover *= 2;
                    self.limit /= 2;
                }
            }
        }
    }

    /// A flit is sent; after a tail the channel is given up, or once its last flit has left the queue.
    #[inline]
    pub(super) fn send(&mut self, policy: &Policy, channel: usize, is_tail: bool) {
        self.used[channel] += 1;
        self.all += 1;
        if let Policy::Shared(sharing) = policy {
            if self.reserved[channel] > 0 {
                self.reserved[channel] -= 1;
            } else {
                self.count(sharing, channel, true);
            }
            if is_tail {
                for _ in 0..std::mem::take(&mut self.reserved[channel]) {
                    self.count(sharing, channel, false);
                }
            }
        }
        if is_tail {
            self.tail_sent[channel] = true;
            self.is_owned[channel] = self.waits_for_tail;
            // The limits of the other channels do not wait.
            self.owned_channels -= 1;
            self.set_limit(policy);
        }
    }

    /// A place of a channel has become free.
    #[inline]
    pub(super) fn credit(&mut self, policy: &Policy, channel: usize) {
        self.used[channel] -= 1;
        self.all -= 1;
        if let Policy::Shared(sharing) = policy {
            if self.is_owned[channel] && self.used[channel] == 0 && !self.tail_sent[channel] {
                self.reserved[channel] += 1;
            } else {
                self.count(sharing, channel, false);
            }
        }
        if self.waits_for_tail && self.tail_sent[channel] && self.used[channel] == 0 {
            self.is_owned[channel] = false;
        }
    }

    /// Counts a place for its group, and for the common part while the group has more than it owns.
    fn count(&mut self, sharing: &Sharing, channel: usize, more: bool) {
        let group = usize::from(sharing.group[channel]);
        if more {
            self.group_used[group] += 1;
            if self.group_used[group] > sharing.owned[group] {
                self.common += 1;
            }
        } else {
            if self.group_used[group] > sharing.owned[group] {
                self.common -= 1;
            }
            self.group_used[group] -= 1;
        }
    }
}
