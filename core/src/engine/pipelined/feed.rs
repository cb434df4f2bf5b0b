//! Packets from a workload, and what came of them.

use super::{
    config::Replies,
    flit::{Flit, Kind, Packet, Packets},
    numbers::{Counter, Numbers},
    source::Source,
    terminals::Terminals,
};
use crate::{
    engine::{Outcome, fingerprint, lateness},
    probe::{Counted, Delivery, Departure, Windows},
    save::{Archive, SaveError},
    traffic::{GraphError, Sources, Workload},
    visit::{Saved, Visited},
};
use std::collections::VecDeque;

/// The number of the first reply of a node, which tells replies from its other packets.
const FIRST_REPLY: u32 = 1 << 31;

/// What a workload still has, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    sources: Sources,
    nodes: usize,
    pub replies: Option<Replies>,
    /// By node: requests that it holds, and whether it is sending a reply.
    pub owed: Vec<u32>,
    is_replying: Vec<bool>,
    /// Replies that it has begun.
    replied: Vec<u32>,
    pub injected: u64,
    pub totals: Outcome,
    pub windows: Option<Windows>,
    pub numbers: Counter,
    /// By node and channel the flits that a node has not taken yet, where it does not take all at once.
    pub exits: Vec<VecDeque<Flit>>,
}

impl Feed {
    /// All packets of a workload, whose nodes were checked.
    pub(super) fn new(
        workload: &Workload,
        (nodes, channels): (usize, usize),
        windows: Option<u64>,
        replies: Option<Replies>,
        seed: u64,
    ) -> Self {
        let holds = replies.is_some_and(|replies| replies.places.is_some());
        Self {
            sources: Sources::new(workload, nodes),
            nodes,
            replies,
            owed: vec![0; nodes],
            is_replying: vec![false; nodes],
            replied: vec![0; nodes],
            injected: 0,
            totals: Outcome::default(),
            windows: windows.map(|cycles| {
                // Replies for which a node has a number of places do not grow.
                let grows = replies.is_some_and(|replies| replies.places.is_none());
                Windows::of_part(workload, nodes, 0..nodes, cycles, 1 + usize::from(grows))
                    .with_room_told()
                    .with_first_queues()
            }),
            numbers: Counter::new(seed),
            exits: vec![VecDeque::new(); if holds { nodes * channels } else { 0 }],
        }
    }

    /// What of the workload has been sent, and what came of it.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self {
            sources,
            nodes,
            replies: _,
            owed,
            is_replying,
            replied,
            injected,
            totals,
            windows,
            // It is at the beginning of a saved run.
            numbers: _,
            exits,
        } = self;
        // Packets carry no routes.
        sources.visit(&mut None, &mut Saved::new(archive, *nodes))?;
        archive.slice("requests held", owed)?;
        archive.slice("nodes that reply", is_replying)?;
        archive.slice("replies begun", replied)?;
        archive.number("packets begun", injected)?;
        totals.fields(archive)?;
        if let Some(windows) = windows {
            windows.count_messages(sources);
            windows.fields(archive)?;
        }
        archive.lists("flits not taken yet", exits)
    }

    /// The start of the next packet of any node; `None` if there is none.
    pub(super) fn next_start(&self) -> Option<u64> {
        let starts = (0..self.nodes as u32).map(|node| self.sources.next_start(node));
        starts.min().filter(|&start| start < u64::MAX)
    }

    /// The next packet of a node, if it has started by now.
    fn take(&mut self, node: usize, now: u32) -> Option<Packet> {
        let start = self.sources.next_start(node as u32);
        if start > u64::from(now) {
            return None;
        }
        let (number, given) = self.sources.take(node as u32, now.into())?;
        let kind = if self.replies.is_some() { Kind::ReadRequest } else { Kind::Any };
        // Taking the last packet of a message may let others of its node start.
        self.sources.refresh(&mut |_, _| ());
        let ends = (number as u32, node as u32, given.destination);
        Some(Packet { slice: given.slice, ..Packet::new(ends, (0, kind), given.length, start as u32) })
    }

    /// A reply of a node.
    fn reply(&mut self, node: usize, to: u32, created: u32) -> Option<Packet> {
        let length = self.replies?.length;
        self.is_replying[node] = true;
        let number = FIRST_REPLY | self.replied[node];
        self.replied[node] += 1;
        Some(Packet::new((number, node as u32, to), (1, Kind::ReadReply), length, created))
    }

    /// A node sends no reply any more.
    fn has_replied(&mut self, node: usize) {
        if std::mem::take(&mut self.is_replying[node]) {
            self.owed[node] = self.owed[node].saturating_sub(1);
        }
    }

    /// Whether a node takes a header from the network; if it does and is a request, a reply is owed.
    pub(super) fn accepts(&self, node: usize, kind: Kind) -> bool {
        let places = self.replies.and_then(|replies| replies.places);
        kind != Kind::ReadRequest || places.is_none_or(|places| self.owed[node] < places)
    }

    /// The cycle in which the last operation of a message graph was complete; `None` for other workloads.
    ///
    /// # Errors
    /// Operations are left that wait for each other.
    pub(super) fn makespan(&self) -> Result<Option<u64>, GraphError> {
        self.sources.makespan()
    }

    /// Packets that were restored may belong only to messages that there are.
    pub(super) fn check_restored(&self, packets: &Packets) -> Visited {
        let requests = packets.iter().filter(|packet| !packet.kind.is_reply());
        let mut slices = requests.map(|packet| packet.slice);
        match slices.find(|&slice| !self.sources.may_deliver(slice)) {
            None => Ok(()),
            Some(slice) => Err(SaveError::Value { field: "packets", value: slice.into() }),
        }
    }

    /// A node, if it is a closed source, knows that one of its packets has arrived, or the reply to it.
    fn make_room(&mut self, now: u32, node: u32) {
        self.sources.make_room(node, now.into());
        if let Some(windows) = &mut self.windows {
            windows.make_room(node, now.into());
        }
    }

    /// What happened in windows, if they are kept; by node the time of the reply that waits to be sent first.
    pub(super) fn windows(&mut self, reply: impl Fn(usize) -> Option<u32>) -> Option<&mut Windows> {
        let windows = self.windows.as_mut()?;
        windows.count_messages(&self.sources);
        if windows.queues().queues() > 1 {
            let fronts = (0..self.nodes)
                .flat_map(|node| [windows.front(node), reply(node).map_or(u64::MAX, u64::from)]);
            let fronts = fronts.collect();
            windows.set_fronts(fronts);
        }
        Some(windows)
    }

    /// Closes all windows that end at a cycle or before.
    pub(super) fn close(&mut self, cycle: u64) {
        if let Some(windows) = &mut self.windows
            && windows.end() <= cycle
        {
            windows.close(
                cycle,
                Counted {
                    injected_packets: self.injected,
                    ejected_flits: self.totals.flits_delivered,
                    delivered_packets: self.totals.packets_delivered,
                },
            );
        }
    }
}

impl Source for Feed {
    #[inline]
    fn numbers(&mut self) -> &mut dyn Numbers {
        &mut self.numbers
    }

    /// Nodes whose last packet has left take the next one of the workload, or a reply that they owe.
    fn make(&mut self, terminals: &mut Terminals) {
        let classes = terminals.classes;
        for node in 0..terminals.nodes {
            for class in 0..classes {
                if terminals.waiting[node * classes + class].size > 0 {
                    continue;
                }
                let taken = if class == 0 {
                    self.take(node, terminals.now)
                } else {
                    self.has_replied(node);
                    let reply = terminals.replies[node].pop_front();
                    reply.and_then(|reply| self.reply(node, reply.to, reply.time))
                };
                if let Some(packet) = taken {
                    terminals.put(packet, 0, 0);
                }
            }
        }
    }

    #[inline]
    fn leave(&mut self, node: usize, class: usize, packet: &Packet) {
        self.injected += u64::from(class == 0);
        let Some(windows) = &mut self.windows else { return };
        let queues = windows.queues().queues();
        if class < queues {
            let (number, cycle) = (packet.number.into(), packet.injected.into());
            let departure = Departure { number, cycle, start: packet.created.into(), length: packet.size };
            windows.leave(node * queues + class, departure);
        }
    }

    /// Of the flits that reach nodes each node takes one.
    fn accept(&mut self, terminals: &Terminals, arrived: &mut Vec<(u32, Flit)>) {
        if self.exits.is_empty() {
            return;
        }
        let channels = terminals.rules.channels;
        for (node, flit) in arrived.drain(..) {
            self.exits[node as usize * channels + usize::from(flit.channel)].push_back(flit);
        }
        for node in 0..self.nodes {
            let first = terminals.now as usize % channels;
            for turn in 0..channels {
                let at = node * channels + (first + turn) % channels;
                let Some(flit) = self.exits[at].front() else { continue };
                let flit = terminals.packets.taken(flit);
                let (is_head, kind) = (flit.is_head(), terminals.packets[flit.packet].kind);
                if is_head && !self.accepts(node, kind) {
                    continue;
                }
                self.owed[node] += u32::from(is_head && kind == Kind::ReadRequest);
                self.exits[at].pop_front();
                arrived.push((node as u32, flit));
                break;
            }
        }
    }

    #[inline]
    fn arrived(&mut self, now: u32, node: u32, packet: &Packet, flit: &Flit) {
        if packet.kind.is_reply() {
            if flit.is_tail() {
                self.make_room(now, node);
            }
            return;
        }
        let cycle = u64::from(now).saturating_sub(2);
        let totals = &mut self.totals;
        totals.flits_delivered += 1;
        totals.duration = now.into();
        if !flit.is_tail() {
            return;
        }
        totals.packets_delivered += 1;
        totals.latency_sum += cycle - u64::from(packet.created);
        totals.fingerprint = totals.fingerprint.wrapping_add(fingerprint(cycle, node));
        totals.lateness = totals.lateness.saturating_add(lateness(cycle, 1));
        if let Some(windows) = &mut self.windows {
            let (source, start) = (packet.source, packet.created.into());
            windows.deliver(Delivery { cycle, source, start, injected: packet.injected.into() });
            if let Some(replies) = self.replies {
                windows.add_for(source as usize, now.into(), replies.length);
                if windows.queues().queues() > 1 {
                    windows.add(node as usize * 2 + 1, now.into());
                }
            }
        }
        if self.replies.is_none() {
            self.make_room(now, packet.source);
        }
        if !self.sources.are_closed() {
            // What waits for the message may start in the next cycle.
            let sent = (packet.source, packet.number.into(), packet.slice);
            self.sources.delivered(sent, now.into(), |_, _| ());
        }
    }
}
