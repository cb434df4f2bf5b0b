//! Priorities of flits and of input channels.

use super::{
    super::{flit::Packets, priority::Priority, rules::Rules},
    state::{HEAD, PACKET, View},
};

impl View<'_> {
    /// A flit enters a place of a queue: what it counts there.
    #[inline(always)]
    pub(super) fn stamp(&mut self, lane: u32, place: u32, now: u32, rules: &Rules, packets: &Packets) {
        let first = lane << self.layout.place_bits;
        let flit = self.queues[(first + place) as usize];
        let is_head = flit & HEAD != 0;
        let packet = &packets[flit & PACKET];
        let index = if is_head { 0 } else { self.latest[lane as usize] + 1 };
        self.latest[lane as usize] = index;
        // The flit before is the last one that came in.
        let before = first + (place.wrapping_sub(1) & ((1 << self.layout.place_bits) - 1));
        self.stamps[(first + place) as usize] = match rules.priority {
            Priority::NetworkAge => i32::MAX - packets.sent(flit & PACKET, index) as i32,
            Priority::LocalAge => i32::MAX - now as i32,
            // A header is counted where its ways are computed, which may be ahead.
            Priority::HopCount if is_head => {
                i32::from(packet.hops) + i32::from(rules.routing_delay > 0 || rules.cuts_by_next_port)
            }
            // The last one of a queue leaves its priority to the channel.
            Priority::HopCount if self.lanes[lane as usize].count == 1 => self.priorities[lane as usize],
            Priority::HopCount => self.stamps[before as usize],
            _ => packet.priority,
        };
        // Behind the first flit only these change it.
        if rules.donates || rules.priority == Priority::QueueLength || self.lanes[lane as usize].count == 1 {
            self.set_priority(lane, rules);
        }
    }

    /// Sets the priority of an input channel after its queue has changed; an empty one keeps what it has.
    #[inline(always)]
    pub(super) fn set_priority(&mut self, lane: u32, rules: &Rules) {
        let state = &self.lanes[lane as usize];
        if state.count == 0 {
            return;
        }
        let first = lane << self.layout.place_bits;
        let mask = (1 << self.layout.place_bits) - 1;
        let stamp = |at: u32| self.stamps[(first + ((state.head + at) & mask)) as usize];
        self.priorities[lane as usize] = match rules.priority {
            Priority::QueueLength => state.count as i32,
            Priority::LocalAge => stamp(0),
            _ if rules.donates => (0..state.count).map(stamp).fold(i32::MIN, i32::max),
            _ => stamp(0),
        };
    }
}
