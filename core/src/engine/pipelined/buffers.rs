//! What a router or a source knows of the queues behind its links, and when they are full.

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
    /// Group of every channel, places that every group owns, places that none owns.
    pub group: Vec<u16>,
    pub owned: Vec<u32>,
    pub common: u32,
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

/// One queue behind a link as it is known in front of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Channel {
    /// Flits in the queue or on their way.
    pub used: u32,
    /// Places kept for the owner.
    reserved: u32,
    pub is_owned: bool,
    tail_sent: bool,
}

/// All queues behind one link.
#[derive(Clone, Copy, Debug)]
struct Port {
    owned_channels: u32,
    limit: u32,
    /// Common places in use.
    common: u32,
}

/// The queues behind several links as they are known in front of them.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    count: usize,
    waits_for_tail: bool,
    /// By link and channel.
    channels: Vec<Channel>,
    /// By link: a bit per channel without owner, of the first 64.
    free: Vec<u64>,
    ports: Vec<Port>,
    /// Flits by link and group.
    groups: Vec<u32>,
}

impl Behind {
    /// Empty queues without owners.
    pub(super) fn new(policy: &Policy, links: usize, channels: usize, waits_for_tail: bool) -> Self {
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
            count: channels,
            waits_for_tail,
            channels: vec![Channel::default(); links * channels],
            free: vec![if channels >= 64 { u64::MAX } else { (1 << channels) - 1 }; links],
            ports: vec![Port { owned_channels: 0, limit, common: 0 }; links],
            groups: vec![0; links * groups],
        }
    }

    /// A queue.
    #[inline]
    pub(super) fn channel(&self, link: usize, channel: usize) -> &Channel {
        &self.channels[link * self.count + channel]
    }

    /// A bit per channel without owner, of the first 64.
    #[inline]
    pub(super) fn free(&self, link: usize) -> u64 {
        self.free[link]
    }

    /// Whether a flit of this channel may not be sent.
    #[inline]
    pub(super) fn is_full(&self, policy: &Policy, link: usize, channel: usize) -> bool {
        let known = &self.channels[link * self.count + channel];
        match policy {
            Policy::Private(places) => known.used >= *places,
            Policy::Shared(sharing) => {
                known.reserved == 0
                    && (self.has_no_place(sharing, link, channel)
                        || (sharing.limit != Limit::None && known.used >= self.ports[link].limit))
            }
        }
    }

    fn has_no_place(&self, sharing: &Sharing, link: usize, channel: usize) -> bool {
        let group = usize::from(sharing.group[channel]);
        self.groups[link * sharing.owned.len() + group] >= sharing.owned[group]
            && self.ports[link].common >= sharing.common
    }

    /// Whether a flit of this channel would have no place: somebody else took the last shared one in this step.
    #[inline]
    pub(super) fn overflows(&self, policy: &Policy, link: usize, channel: usize) -> bool {
        match policy {
            Policy::Private(_) => false,
            Policy::Shared(sharing) => {
                self.channel(link, channel).reserved == 0 && self.has_no_place(sharing, link, channel)
            }
        }
    }

    /// A channel gets an owner.
    #[inline]
    pub(super) fn take(&mut self, policy: &Policy, link: usize, channel: usize) {
        let known = &mut self.channels[link * self.count + channel];
        known.is_owned = true;
        known.tail_sent = false;
        if channel < 64 {
            self.free[link] &= !(1 << channel);
        }
        self.ports[link].owned_channels += 1;
        self.set_limit(policy, link);
    }

    #[inline]
    fn set_limit(&mut self, policy: &Policy, link: usize) {
        let Policy::Shared(sharing) = policy else { return };
        let port = &mut self.ports[link];
        let owned = port.owned_channels;
        match sharing.limit {
            Limit::None | Limit::Fixed(_) => {}
            Limit::Dynamic => {
                port.limit = sharing.places.checked_div(owned).unwrap_or(port.limit);
            }
            Limit::Shifting => {
                let mut cover = 1;
                port.limit = sharing.places;
                while cover < owned {
                    cover *= 2;
                    port.limit /= 2;
                }
            }
        }
    }

    /// A flit is sent; after a tail the channel is given up, or once its last flit has left the queue.
    #[inline]
    pub(super) fn send(&mut self, policy: &Policy, link: usize, channel: usize, is_tail: bool) {
        let at = link * self.count + channel;
        self.channels[at].used += 1;
        if let Policy::Shared(sharing) = policy {
            if self.channels[at].reserved > 0 {
                self.channels[at].reserved -= 1;
            } else {
                self.count(sharing, link, channel, true);
            }
            if is_tail {
                for _ in 0..std::mem::take(&mut self.channels[at].reserved) {
                    self.count(sharing, link, channel, false);
                }
            }
        }
        if is_tail {
            self.channels[at].tail_sent = true;
            if !self.waits_for_tail {
                self.release(link, channel);
            }
            // The limits of the other channels do not wait.
            self.ports[link].owned_channels -= 1;
            self.set_limit(policy, link);
        }
    }

    fn release(&mut self, link: usize, channel: usize) {
        self.channels[link * self.count + channel].is_owned = false;
        if channel < 64 {
            self.free[link] |= 1 << channel;
        }
    }

    /// A place of a channel has become free.
    #[inline]
    pub(super) fn credit(&mut self, policy: &Policy, link: usize, channel: usize) {
        let at = link * self.count + channel;
        self.channels[at].used -= 1;
        let known = self.channels[at];
        if let Policy::Shared(sharing) = policy {
            if known.is_owned && known.used == 0 && !known.tail_sent {
                self.channels[at].reserved += 1;
            } else {
                self.count(sharing, link, channel, false);
            }
        }
        if self.waits_for_tail && known.tail_sent && known.used == 0 {
            self.release(link, channel);
        }
    }

    /// Counts a place for its group, and for the common part while the group has more than it owns.
    fn count(&mut self, sharing: &Sharing, link: usize, channel: usize, more: bool) {
        let group = usize::from(sharing.group[channel]);
        let filled = &mut self.groups[link * sharing.owned.len() + group];
        if more {
            *filled += 1;
            self.ports[link].common += u32::from(*filled > sharing.owned[group]);
        } else {
            self.ports[link].common -= u32::from(*filled > sharing.owned[group]);
            *filled -= 1;
        }
    }
}
