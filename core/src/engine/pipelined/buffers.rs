//! What a router or a source knows of the queues behind its links, and when they are full.

use crate::{
    save::{Archive, plain_record},
    visit::Visited,
};
use std::collections::VecDeque;

/// How the places of a port are shared by its channels.
#[derive(Clone, Debug)]
pub(crate) enum Policy {
    /// So many places per channel.
    Private(u32),
    /// Common places beside those that groups of channels own.
    Shared(Sharing),
}

impl Policy {
    /// Places of a channel, or of a port whose channels share them.
    pub(crate) fn places(&self) -> u32 {
        match self {
            Self::Private(places) => *places,
            Self::Shared(sharing) => sharing.places,
        }
    }

    /// Whether round trips limit the places of a channel.
    pub(crate) fn goes_by_round_trips(&self) -> bool {
        matches!(self, Self::Shared(Sharing { limit: Limit::RoundTrips(_), .. }))
    }

    /// Whether so many channels with an owner can leave no place for each.
    pub(crate) fn can_run_out(&self, channels: usize) -> bool {
        let Self::Shared(sharing) = self else { return false };
        sharing.most_of_each(channels as u32) == Some(0)
    }
}

/// How places are shared.
#[derive(Clone, Debug)]
pub(crate) struct Sharing {
    pub places: u32,
    /// Group of every channel, places that every group owns, places that none owns.
    pub group: Vec<u16>,
    pub owned: Vec<u32>,
    pub common: u32,
    pub limit: Limit,
}

impl Sharing {
    /// So many places of which every channel owns one.
    pub(crate) fn with_a_place_each(channels: usize, places: u32, limit: Limit) -> Self {
        Self {
            places,
            group: (0..channels as u16).collect(),
            owned: vec![1; channels],
            common: places.saturating_sub(channels as u32),
            limit,
        }
    }

    /// How many places each of so many channels with an owner may fill, if that depends on their number.
    fn most_of_each(&self, owned: u32) -> Option<u32> {
        match self.limit {
            Limit::None | Limit::Fixed(_) | Limit::RoundTrips(_) => None,
            Limit::Dynamic => self.places.checked_div(owned),
            Limit::Shifting => Some(self.places / owned.max(1).next_power_of_two()),
        }
    }
}

/// How many places one channel may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// No limit.
    None,
    /// A fixed number.
    Fixed(u32),
    /// The places divided by the channels that have an owner.
    Dynamic,
    /// The places halved until they cover the channels that have an owner.
    Shifting,
    /// So many as keep the round trips of flits and credits short.
    RoundTrips(RoundTrips),
}

/// How round trips limit the places of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    /// Whether one flit at a time is followed, not all.
    pub one_by_one: bool,
    /// The weight of a new round trip in the mean is 1 to 2 to the power of this.
    pub scale: u32,
    /// Added to the limit.
    pub offset: i64,
}

/// One queue behind a link as it is known in front of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Channel {
    /// Flits in the queue or on their way.
    pub used: u32,
    /// Places kept for the owner.
    reserved: u32,
    pub is_owned: bool,
    tail_sent: bool,
}

plain_record!(Channel { used: u32, reserved: u32, is_owned: bool, tail_sent: bool });

/// All queues behind one link.
#[derive(Clone, Copy, Debug)]
struct Port {
    owned_channels: u32,
    limit: u32,
    /// Common places in use.
    common: u32,
}

plain_record!(Port { owned_channels: u32, limit: u32, common: u32 });

/// The queues behind several links as they are known in front of them.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    count: usize,
    waits_for_tail: bool,
    /// Whether several channels may be one group.
    has_groups: bool,
    /// By link and channel.
    channels: Vec<Channel>,
    /// By link: a bit per channel without owner, of the first 64.
    free: Vec<u64>,
    ports: Vec<Port>,
    /// Flits by link and group.
    groups: Vec<u32>,
    /// Where round trips limit: those of every channel, and the cycle.
    trips: Vec<Trips>,
    now: u32,
}

/// The round trips of one channel.
#[derive(Clone, Debug)]
struct Trips {
    /// The shortest there can be.
    least: u32,
    mean: Option<u32>,
    /// Flits that are out and timed, with the cycles in which they were sent; how many flits were sent and came back.
    timed: VecDeque<(u32, u32)>,
    sent: u32,
    received: u32,
}

impl Behind {
    /// Empty queues without owners.
    ///
    /// `least` is the shortest round trip over a link.
    pub(crate) fn new(
        policy: &Policy,
        links: usize,
        channels: usize,
        waits_for_tail: bool,
        least: impl Fn(usize) -> u32,
    ) -> Self {
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
            has_groups: match policy {
                Policy::Private(_) => false,
                Policy::Shared(sharing) => !(0..channels as u16).eq(sharing.group.iter().copied()),
            },
            channels: vec![Channel::default(); links * channels],
            free: vec![if channels >= 64 { u64::MAX } else { (1 << channels) - 1 }; links],
            ports: vec![Port { owned_channels: 0, limit, common: 0 }; links],
            groups: vec![0; links * groups],
            trips: match policy {
                Policy::Shared(Sharing { limit: Limit::RoundTrips(_), .. }) => (0..links * channels)
                    .map(|at| {
                        let least = least(at / channels);
                        Trips { least, mean: None, timed: VecDeque::new(), sent: 0, received: 0 }
                    })
                    .collect(),
                _ => Vec::new(),
            },
            now: 0,
        }
    }

    /// What is known.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { count: _, waits_for_tail: _, has_groups: _, channels, free, ports, groups, trips, now } =
            self;
        archive.slice("channels behind", channels)?;
        archive.slice("channels without owner", free)?;
        archive.slice("links", ports)?;
        archive.slice("places of groups", groups)?;
        trips.iter_mut().try_for_each(|trips| trips.fields(archive))?;
        archive.number("cycle of what is behind", now)
    }

    /// Takes out what is known of all links from one on; links stay as they are numbered.
    pub(crate) fn split_off(&mut self, link: usize) -> Self {
        let all = self.free.len().max(1);
        let (groups, trips) = (self.groups.len() / all, self.trips.len() / all);
        Self {
            count: self.count,
            waits_for_tail: self.waits_for_tail,
            has_groups: self.has_groups,
            channels: self.channels.split_off(link * self.count),
            free: self.free.split_off(link),
            ports: self.ports.split_off(link),
            groups: self.groups.split_off(link * groups),
            trips: self.trips.split_off(link * trips),
            now: self.now,
        }
    }

    /// Adds what is known of further links.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.channels.append(&mut other.channels);
        self.free.append(&mut other.free);
        self.ports.append(&mut other.ports);
        self.groups.append(&mut other.groups);
        self.trips.append(&mut other.trips);
    }

    /// A cycle begins.
    #[inline]
    pub(crate) fn set_time(&mut self, now: u32) {
        self.now = now;
    }

    /// A queue.
    #[inline]
    pub(crate) fn channel(&self, link: usize, channel: usize) -> &Channel {
        &self.channels[link * self.count + channel]
    }

    /// A bit per channel without owner, of the first 64.
    #[inline]
    pub(crate) fn free(&self, link: usize) -> u64 {
        self.free[link]
    }

    /// Whether a flit of this channel may not be sent.
    #[inline]
    pub(crate) fn is_full(&self, policy: &Policy, link: usize, channel: usize) -> bool {
        let known = &self.channels[link * self.count + channel];
        match policy {
            Policy::Private(places) => known.used >= *places,
            Policy::Shared(sharing) => {
                known.reserved == 0
                    && (self.has_no_place(sharing, link, channel)
                        || match sharing.limit {
                            Limit::None => false,
                            Limit::RoundTrips(rule) => {
                                known.used >= self.trips[link * self.count + channel].limit(rule, self.now)
                            }
                            _ => known.used >= self.ports[link].limit,
                        })
            }
        }
    }

    /// What decides whether a channel is full and others have in common with it: the limit, whether the common places
    /// are in use, and those of its group.
    #[inline(always)]
    pub(crate) fn in_common(&self, policy: &Policy, link: usize, channel: usize) -> (u32, bool, bool) {
        let Policy::Shared(sharing) = policy else { return (0, false, false) };
        let Port { limit, common, .. } = self.ports[link];
        let is_short = common >= sharing.common;
        let has_no_place = self.has_groups && self.has_no_place(sharing, link, channel);
        (limit, is_short, has_no_place)
    }

    #[inline(always)]
    fn has_no_place(&self, sharing: &Sharing, link: usize, channel: usize) -> bool {
        let group = usize::from(sharing.group[channel]);
        self.groups[link * sharing.owned.len() + group] >= sharing.owned[group]
            && self.ports[link].common >= sharing.common
    }

    /// Whether a flit of this channel would have no place: somebody else took the last shared one in this step.
    #[inline]
    pub(crate) fn overflows(&self, policy: &Policy, link: usize, channel: usize) -> bool {
        match policy {
            Policy::Private(_) => false,
            Policy::Shared(sharing) => {
                self.channel(link, channel).reserved == 0 && self.has_no_place(sharing, link, channel)
            }
        }
    }

    /// A channel gets an owner.
    #[inline]
    pub(crate) fn take(&mut self, policy: &Policy, link: usize, channel: usize) {
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
        port.limit = sharing.most_of_each(port.owned_channels).unwrap_or(port.limit);
    }

    /// Whether the channels that have an owner have a place each.
    pub(crate) fn has_limit(&self, policy: &Policy, link: usize) -> bool {
        !policy.can_run_out(self.ports[link].owned_channels as usize)
    }

    /// A flit is sent; after a tail the channel is given up, or once its last flit has left the queue.
    #[inline]
    pub(crate) fn send(&mut self, policy: &Policy, link: usize, channel: usize, is_tail: bool) {
        let at = link * self.count + channel;
        self.channels[at].used += 1;
        if let Policy::Private(_) = policy
            && !is_tail
        {
            return;
        }
        self.send_from(policy, link, channel, is_tail);
    }

    #[inline(always)]
    fn send_from(&mut self, policy: &Policy, link: usize, channel: usize, is_tail: bool) {
        let at = link * self.count + channel;
        if let (Some(trips), Policy::Shared(Sharing { limit: Limit::RoundTrips(rule), .. })) =
            (self.trips.get_mut(at), policy)
        {
            trips.send(*rule, self.now);
        }
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

    #[inline(always)]
    fn release(&mut self, link: usize, channel: usize) {
        self.channels[link * self.count + channel].is_owned = false;
        if channel < 64 {
            self.free[link] |= 1 << channel;
        }
    }

    /// A place of a channel has become free.
    #[inline]
    pub(crate) fn credit(&mut self, policy: &Policy, link: usize, channel: usize) {
        let at = link * self.count + channel;
        self.channels[at].used -= 1;
        if let Policy::Private(_) = policy
            && !self.waits_for_tail
        {
            return;
        }
        self.credit_to(policy, link, channel);
    }

    #[inline(always)]
    fn credit_to(&mut self, policy: &Policy, link: usize, channel: usize) {
        let at = link * self.count + channel;
        if let (Some(trips), Policy::Shared(Sharing { limit: Limit::RoundTrips(rule), .. })) =
            (self.trips.get_mut(at), policy)
        {
            trips.receive(*rule, self.now);
        }
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
    #[inline(always)]
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

impl Trips {
    fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { least: _, mean, timed, sent, received } = self;
        archive.number("mean round trip", mean)?;
        archive.lists("flits timed", [timed])?;
        archive.number("flits sent", sent)?;
        archive.number("flits received", received)
    }

    /// A flit is sent.
    fn send(&mut self, rule: RoundTrips, now: u32) {
        let is_timed = !rule.one_by_one || self.timed.is_empty();
        if is_timed {
            self.timed.push_back((self.sent, now));
        }
        self.sent += 1;
    }

    /// The credit of the first flit that is out has come back.
    fn receive(&mut self, rule: RoundTrips, now: u32) {
        if let Some(&(_, sent)) = self.timed.front().filter(|timed| timed.0 == self.received) {
            self.timed.pop_front();
            self.mean = Some(self.after(rule, now - sent));
        }
        self.received += 1;
    }

    /// The mean with one more.
    fn after(&self, rule: RoundTrips, new: u32) -> u32 {
        self.mean.map_or(new, |mean| ((mean << rule.scale) + new - mean) >> rule.scale)
    }

    /// How many places the channel may fill. The first flit that is out counts with the time that it has taken
    /// so far.
    fn limit(&self, rule: RoundTrips, now: u32) -> u32 {
        let so_far = self.timed.front().map(|&(_, sent)| self.after(rule, now - sent));
        let mean = self.mean.unwrap_or(0).max(so_far.unwrap_or(0));
        (2 * i64::from(self.least) - i64::from(mean) + rule.offset).max(1) as u32
    }
}
