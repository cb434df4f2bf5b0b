//! Sets routers in parts, each of which has the arrays of some routers and can be run by a thread of its own.
//!
//! What leaves a part, for the router of another or for a node, is under way for two cycles at least. So a part puts
//! it on lists two cycles before it arrives, and at the end of every cycle gives the list of that cycle away.

use super::{
    super::{
        exchange::Message, flit::Packets, numbers::NotDrawn, priority::Priority, rules::Rules, wiring::End,
    },
    state::{Far, HEAD, Leaving, NOBODY, PACKET, Router, Sets},
    step::Around,
    wheel::Wheel,
};
use crate::{
    bits::ones,
    probe::{LinkOccupation, SavedProbe},
    save::Archive,
    visit::Visited,
};
use std::ops::Range;

/// Cycles from being given away to arriving.
pub(in super::super) const AHEAD: u32 = 2;

/// The first router of a part, and its first ports among all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct First {
    pub router: u32,
    pub input: u32,
    pub output: u32,
}

/// Where parts end: the first router and ports of each, and those behind the last; what is for routers is numbered
/// behind what is for nodes.
#[derive(Clone, Debug)]
pub(in super::super) struct Borders {
    firsts: Vec<First>,
    channel_bits: u32,
    behind_nodes: u32,
}

impl Borders {
    /// How many parts there are.
    pub(in super::super) fn parts(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The part of a router.
    pub(in super::super) fn part_of(&self, router: u32) -> usize {
        self.firsts.partition_point(|first| first.router <= router) - 1
    }

    /// Where an input channel of any router is told to those that give it something, or an output channel.
    pub(in super::super) fn of_router(&self, channel: u32) -> u32 {
        self.behind_nodes + channel
    }

    /// What a list says of where something arrives: a place of a node, or a channel among all.
    fn place(&self, item: u64) -> (bool, u32) {
        let place = (item >> 32) as u32;
        if place < self.behind_nodes { (true, place) } else { (false, place - self.behind_nodes) }
    }

    /// Divides what leaves: to the parts, and to the nodes, which are behind them. Headers take along what is known of
    /// their packets.
    pub(in super::super) fn share_out(
        &self,
        (flits, credits): (&[u64], &[u64]),
        packets: &Packets,
        messages: &mut [Message],
    ) {
        let to = |item: u64, first: fn(&First) -> u32| match self.place(item) {
            (true, _) => (self.parts(), item),
            (false, channel) => {
                let port = channel >> self.channel_bits;
                let part = self.firsts.partition_point(|one| first(one) <= port) - 1;
                let channel = channel - (first(&self.firsts[part]) << self.channel_bits);
                (part, u64::from(channel) << 32 | item & u64::from(u32::MAX))
            }
        };
        for &item in flits {
            let (part, arriving) = to(item, |first| first.input);
            messages[part].flits.push(arriving);
            if item as u32 & HEAD != 0 {
                let place = item as u32 & PACKET;
                messages[part].packets.push((place, packets[place]));
            }
        }
        for &item in credits {
            let (part, arriving) = to(item, |first| first.output);
            messages[part].credits.push(arriving);
        }
    }
}

/// How lists of a part are parted from those of the parts before it, and joined to them again.
#[derive(Clone, Copy)]
enum Move {
    Part,
    Join,
}

impl Move {
    fn list<T>(self, all: &mut Vec<T>, part: &mut Vec<T>, at: u32) {
        match self {
            // Lists that these routers have no use for are empty.
            Self::Part => *part = all.split_off((at as usize).min(all.len())),
            Self::Join => all.append(part),
        }
    }
}

/// Routers that can be run apart.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Part {
    sets: Sets,
    first: First,
    /// What is known of packets whose headers are or were here.
    packets: Packets,
    /// What left by their links.
    links: LinkOccupation,
    /// Flits and credits that leave.
    leaving: (Vec<u64>, Vec<u64>),
    /// Credits that arrived.
    credits: usize,
}

impl Sets {
    /// Whether routers with these rules can be divided: each does what it does without knowing the others.
    pub(super) fn has_parts(&self, rules: &Rules) -> bool {
        let wiring = &rules.wiring;
        let links = |router| wiring.outputs(router).iter().chain(wiring.inputs(router));
        let mut links = (0..wiring.routers() as u32).flat_map(links);
        let places = (wiring.nodes() as u64) << self.layout.channel_bits;
        !self.layout.in_turn
            && !self.layout.draws
            && !self.layout.goes_by_load
            && !self.layout.queues_up
            // Flits do not take along when they were sent.
            && rules.priority != Priority::NetworkAge
            && links.all(|link| link.latency > 0 || link.end == End::Nothing)
            && places + self.lanes.len().max(self.known.len()) as u64 <= u64::from(u32::MAX)
    }

    /// Where parts of about the same work end; the first one has less, as its thread also does that of the nodes,
    /// which is given as a fraction of that of all routers.
    pub(in super::super) fn borders(&self, parts: usize, rules: &Rules, beside: f64) -> Borders {
        let ports = self.inputs.len() as f64;
        let beside = beside * ports;
        let each = (ports + beside) / parts as f64;
        let mut firsts = vec![First::default()];
        for part in 1..parts {
            let least = (each * part as f64 - beside).max(0.0) as u32;
            let before = firsts[part - 1].router as usize;
            let range = before + 1..self.routers.len() - (parts - 1 - part);
            let router = range.clone().find(|&router| self.routers[router].first_input >= least);
            let router = router.unwrap_or(range.end - 1);
            let Router { first_input: input, first_output: output, .. } = self.routers[router];
            firsts.push(First { router: router as u32, input, output });
        }
        let (routers, inputs, outputs) = (self.routers.len(), self.inputs.len(), self.outputs.len());
        firsts.push(First { router: routers as u32, input: inputs as u32, output: outputs as u32 });
        let behind_nodes = (rules.wiring.nodes() as u32) << self.layout.channel_bits;
        Borders { firsts, channel_bits: self.layout.channel_bits, behind_nodes }
    }

    /// Every list by router or port, here and in a part whose first router this is.
    fn lists(&mut self, part: &mut Self, first: First, how: Move) {
        let First { router, input, output } = first;
        let (inner, outer) = (self.layout.input_speedup * input, self.layout.output_speedup * output);
        let block = router * self.layout.output_speedup;
        let (lane, known) = (input << self.layout.channel_bits, output << self.layout.channel_bits);
        how.list(&mut self.routers, &mut part.routers, router);
        how.list(&mut self.asks, &mut part.asks, if self.layout.is_small { block } else { router });
        how.list(&mut self.grant_bytes, &mut part.grant_bytes, block);
        how.list(&mut self.accept_bytes, &mut part.accept_bytes, block);
        how.list(&mut self.ready, &mut part.ready, input << self.layout.output_bits);
        how.list(&mut self.inputs, &mut part.inputs, input);
        how.list(&mut self.outputs, &mut part.outputs, output);
        how.list(&mut self.asked_by, &mut part.asked_by, outer);
        how.list(&mut self.lanes, &mut part.lanes, lane);
        how.list(&mut self.queues, &mut part.queues, lane << self.layout.place_bits);
        how.list(&mut self.known, &mut part.known, known);
        how.list(&mut self.stamps, &mut part.stamps, lane << self.layout.place_bits);
        how.list(&mut self.priorities, &mut part.priorities, lane);
        how.list(&mut self.latest, &mut part.latest, lane);
        how.list(&mut self.accepts, &mut part.accepts, lane);
        how.list(&mut self.grants, &mut part.grants, known);
        how.list(&mut self.switch_accepts, &mut part.switch_accepts, inner);
        how.list(&mut self.switch_grants, &mut part.switch_grants, outer);
        how.list(&mut self.turns, &mut part.turns, inner);
        how.list(&mut self.channel_allocators, &mut part.channel_allocators, router);
        how.list(&mut self.switch_allocators, &mut part.switch_allocators, router);
        how.list(&mut self.order, &mut part.order, lane);
        how.list(&mut self.leaving.flits, &mut part.leaving.flits, output);
        how.list(&mut self.leaving.credits, &mut part.leaving.credits, input);
        match how {
            Move::Part => part.shared = self.shared.as_mut().map(|all| all.split_off(output as usize)),
            Move::Join => {
                let shared = self.shared.as_mut().zip(part.shared.as_mut());
                shared.into_iter().for_each(|(all, shared)| all.append(shared));
            }
        }
    }

    /// The same rules without routers, from a router on.
    fn empty(&self, first_router: u32) -> Self {
        Self {
            layout: self.layout,
            subs: self.subs.clone(),
            sub_of: self.sub_of.clone(),
            input_of: self.input_of.clone(),
            output_of: self.output_of.clone(),
            first_router,
            common: self.common.clone(),
            leaving: Leaving { cycle: self.leaving.cycle, step: self.leaving.step, ..Leaving::default() },
            leaves_next: self.leaves_next.is_some().then(Vec::new),
            scratch: self.scratch.clone(),
            ..Self::default()
        }
    }

    /// Numbers routers, ports and channels from the first ones of a part on, or as they are among all again.
    fn renumber(&mut self, first: First, borders: &Borders, how: Move) {
        let moved = |number: u32, by: u32| match how {
            Move::Part => number - by,
            Move::Join => number + by,
        };
        let (lanes, known) =
            (first.input << self.layout.channel_bits, first.output << self.layout.channel_bits);
        for router in &mut self.routers {
            router.first_input = moved(router.first_input, first.input);
            router.first_output = moved(router.first_output, first.output);
            let Router { to_be_routed, routing, waiting, .. } = router;
            for lane in to_be_routed.iter_mut().chain(routing).chain(waiting) {
                *lane = moved(*lane, lanes);
            }
        }
        for known in self.known.iter_mut().filter(|known| known.owner != NOBODY) {
            known.owner = moved(known.owner, lanes);
        }
        self.leaves_next.iter_mut().flatten().for_each(|output| *output = moved(*output, first.output));
        let outputs = known..known + self.known.len() as u32;
        let inputs = lanes..lanes + self.lanes.len() as u32;
        for input in &mut self.inputs {
            input.router = moved(input.router, first.router);
            input.block = moved(input.block, first.router * self.layout.output_speedup);
            input.first_output = moved(input.first_output, first.output);
            input.far.renumber(&outputs, borders, how);
        }
        self.outputs.iter_mut().for_each(|output| output.far.renumber(&inputs, borders, how));
    }

    /// Wheels for so many ports.
    fn wheels(&self, cycles: u32) -> (Wheel, Wheel) {
        let most = self.inputs.len().max(self.outputs.len());
        (Wheel::new(cycles, most), Wheel::new(cycles, most * self.layout.input_speedup as usize))
    }
}

impl Far {
    /// `own` are the channels of the part among which that at the far end may be.
    fn renumber(&mut self, own: &Range<u32>, borders: &Borders, how: Move) {
        match how {
            _ if !self.is_wired => {}
            Move::Part if self.is_node => self.delay -= AHEAD,
            Move::Part if own.contains(&self.first) => self.first -= own.start,
            Move::Part => {
                self.first = borders.of_router(self.first);
                self.delay -= AHEAD;
                self.leaves = true;
            }
            Move::Join if self.is_node => self.delay += AHEAD,
            Move::Join if !self.leaves => self.first += own.start,
            Move::Join => {
                self.first -= borders.behind_nodes;
                self.delay += AHEAD;
                self.leaves = false;
            }
        }
    }
}

/// What reaches nodes so soon that it has been given away: by cycle flits and credits.
pub(in super::super) type Soon = [(Vec<u64>, Vec<u64>); AHEAD as usize];

/// Parts routers, of which nothing is left, and links.
pub(in super::super) fn part(
    mut sets: Sets,
    mut links: LinkOccupation,
    (now, rules, packets): (u32, &Rules, &Packets),
    borders: &Borders,
) -> (Vec<Part>, Soon) {
    let cycles = sets.flits.cycles();
    let (flits, credits) = (sets.flits.take_all(now), sets.credits.take_all(now));
    let at_work: Vec<u64> = std::mem::take(&mut sets.at_work);
    let leaves_next: Vec<u32> = sets.leaves_next.iter_mut().flat_map(std::mem::take).collect();
    let mut parts = Vec::new();
    for part in (0..borders.parts()).rev() {
        let (first, end) = (borders.firsts[part], borders.firsts[part + 1]);
        let mut own = sets.empty(first.router);
        sets.lists(&mut own, first, Move::Part);
        let routers = first.router as usize..end.router as usize;
        own.at_work = vec![0; routers.len().div_ceil(64)];
        let is_at_work = |&router: &usize| at_work[router / 64] >> (router % 64) & 1 != 0;
        for router in routers.clone().filter(is_at_work) {
            own.at_work[(router - routers.start) / 64] |= 1 << ((router - routers.start) % 64);
        }
        let outputs = first.output..end.output;
        own.leaves_next = own.leaves_next.take().map(|mut list| {
            list.extend(leaves_next.iter().filter(|output| outputs.contains(output)));
            list
        });
        own.renumber(first, borders, Move::Part);
        (own.flits, own.credits) = own.wheels(cycles);
        let start = outputs.start as usize;
        parts.push(Part {
            sets: own,
            first,
            packets: packets.without_cycles(),
            links: LinkOccupation {
                first: links.first.split_off(start),
                last: links.last.split_off(start),
                flits: links.flits.split_off(start),
            },
            leaving: (Vec::new(), Vec::new()),
            credits: 0,
        });
    }
    parts.reverse();
    let mut soon = Soon::default();
    for (time, is_node, item) in flits {
        match borders.dealt((time, is_node, item), now, &rules.wiring.exits, |first| first.input) {
            Dealt::Soon(cycle) => soon[cycle].0.push(item),
            Dealt::To(part, time, place) => {
                parts[part].sets.flits.view().push(time, is_node, place, item as u32);
            }
        }
    }
    for (time, is_node, item) in credits {
        match borders.dealt((time, is_node, item), now, &rules.wiring.entries, |first| first.output) {
            Dealt::Soon(cycle) => soon[cycle].1.push(item),
            Dealt::To(part, time, place) => {
                parts[part].sets.credits.view().push(time, is_node, place, 0);
            }
        }
    }
    (parts, soon)
}

/// Where something on its way goes when routers are parted: it reaches a node so many cycles from now; or it goes to a
/// part, for a cycle and a place.
enum Dealt {
    Soon(usize),
    To(usize, u32, u32),
}

impl Borders {
    fn dealt(
        &self,
        (time, is_node, item): (u32, bool, u64),
        now: u32,
        ends: &[(u32, u16)],
        first: fn(&First) -> u32,
    ) -> Dealt {
        let place = (item >> 32) as u32;
        let port = place >> self.channel_bits;
        if !is_node {
            let part = self.firsts.partition_point(|one| first(one) <= port) - 1;
            return Dealt::To(part, time, place - (first(&self.firsts[part]) << self.channel_bits));
        }
        match time - now {
            soon @ 0..AHEAD => Dealt::Soon(soon as usize),
            _ => Dealt::To(self.part_of(ends[port as usize].0), time - AHEAD, place),
        }
    }
}

impl Part {
    /// All that changes in a cycle.
    pub(in super::super) fn fields(&mut self, rules: &Rules, archive: &mut Archive) -> Visited {
        let Self {
            sets,
            packets,
            links,
            credits,
            // Where it is, and what does not outlive a cycle.
            first: _,
            leaving: _,
        } = self;
        sets.every_field(rules, archive)?;
        packets.fields(rules.wiring.nodes(), rules.classes, archive)?;
        links.fields(archive)?;
        archive.number("credits that arrived", credits)
    }

    /// A cycle: what others gave away for it arrives, routers do their step, and what leaves is given away.
    pub(in super::super) fn cycle(
        &mut self,
        now: u32,
        rules: &Rules,
        borders: &Borders,
        (come, gone): (&mut [Message], &mut [Message]),
    ) {
        let Self { sets, packets, links, leaving: (flits, credits), .. } = self;
        let known = come.iter_mut().flat_map(|message| message.packets.drain(..));
        known.for_each(|(place, packet)| packets.put(place, packet));
        sets.flits.take(now, false, flits);
        sets.take_flits(flits, now, rules, packets);
        for message in &mut *come {
            sets.take_flits(&message.flits, now, rules, packets);
            message.flits.clear();
        }
        sets.credits.take(now, false, credits);
        self.credits += credits.len();
        sets.take_credits(credits, rules, &mut []);
        for message in come {
            sets.take_credits(&message.credits, rules, &mut []);
            self.credits += message.credits.len();
            message.credits.clear();
        }
        sets.leaving().for_each(|output| links.add(output as usize, now.into()));
        sets.work(&mut Around::new((now, 1), rules, packets, &mut NotDrawn, &mut []));
        sets.flits.take(now, true, flits);
        sets.credits.take(now, true, credits);
        borders.share_out((flits, credits), packets, gone);
    }

    /// Credits that were sent here less those that arrived; it wraps around.
    pub(in super::super) fn balance(&self) -> usize {
        self.sets.credits_under_way.wrapping_sub(self.credits)
    }

    /// What is known of a packet where its header is goes to all packets.
    fn learn_from_headers(&self, on_their_way: &[(u32, bool, u64)], packets: &mut Packets) {
        let sets = &self.sets;
        let mask = (1 << sets.layout.place_bits) - 1;
        let queued = sets.lanes.iter().enumerate().flat_map(|(at, lane)| {
            let place = move |flit| (lane.head + flit) & mask;
            (0..lane.count)
                .map(move |flit| sets.queues[(at << sets.layout.place_bits) + place(flit) as usize])
        });
        let flits = queued.chain(on_their_way.iter().map(|&(_, _, item)| item as u32));
        for place in flits.filter(|flit| flit & HEAD != 0).map(|flit| flit & PACKET) {
            packets.learn(place, &self.packets[place]);
        }
    }
}

/// What was given away and has not arrived: for which cycle and which part, the nodes being behind them.
pub(in super::super) type Given = Vec<(u32, usize, Message)>;

/// Joins all parts, with what nodes were to give away.
pub(in super::super) fn join(
    parts: Vec<Part>,
    (mut flits_of_nodes, mut credits_of_nodes): (Wheel, Wheel),
    given: Given,
    (now, packets): (u32, &mut Packets),
    borders: &Borders,
) -> (Sets, LinkOccupation) {
    let (cycles, mut links) = (flits_of_nodes.cycles(), LinkOccupation::new(0));
    let bits = borders.channel_bits;
    let (mut flits, mut credits) = (Vec::new(), Vec::new());
    let leaves = |(time, _, item): (u32, bool, u64)| {
        let (is_node, place) = borders.place(item);
        (time + AHEAD, is_node, place, item as u32)
    };
    flits.extend(flits_of_nodes.take_all(now).into_iter().map(leaves));
    credits.extend(credits_of_nodes.take_all(now).into_iter().map(leaves));
    for (time, to, message) in given {
        message.packets.iter().for_each(|(place, packet)| packets.learn(*place, packet));
        let is_node = to == borders.parts();
        let (first, what) = (borders.firsts[to], |item: u64| ((item >> 32) as u32, item as u32));
        let by = |first: u32| if is_node { 0 } else { first << bits };
        flits.extend(
            message.flits.into_iter().map(what).map(|(at, flit)| (time, is_node, at + by(first.input), flit)),
        );
        credits.extend(
            message.credits.into_iter().map(what).map(|(at, _)| (time, is_node, at + by(first.output), 0)),
        );
    }
    let mut all: Option<Sets> = None;
    let mut at_work = vec![0; (borders.firsts[borders.parts()].router as usize).div_ceil(64)];
    for mut part in parts {
        let (own_flits, own_credits) = (part.sets.flits.take_all(now), part.sets.credits.take_all(now));
        part.learn_from_headers(&own_flits, packets);
        let Part { mut sets, first, links: mut own, .. } = part;
        let stays = |(time, by, item): (u32, u32, u64)| {
            (time, false, (item >> 32) as u32 + (by << bits), item as u32)
        };
        let of = |by: u32| {
            move |item: (u32, bool, u64)| if item.1 { leaves(item) } else { stays((item.0, by, item.2)) }
        };
        flits.extend(own_flits.into_iter().map(of(first.input)));
        credits.extend(own_credits.into_iter().map(of(first.output)));
        for (word, &bits) in sets.at_work.iter().enumerate() {
            for bit in ones(bits) {
                let router = first.router as usize + 64 * word + bit;
                at_work[router / 64] |= 1 << (router % 64);
            }
        }
        links.first.append(&mut own.first);
        links.last.append(&mut own.last);
        links.flits.append(&mut own.flits);
        sets.renumber(first, borders, Move::Join);
        match &mut all {
            None => all = Some(sets),
            Some(all) => {
                all.lists(&mut sets, first, Move::Join);
                let further = sets.leaves_next.into_iter().flatten();
                all.leaves_next.iter_mut().for_each(|list| list.extend(further.clone()));
            }
        }
    }
    let mut all = all.unwrap_or_default();
    (all.flits, all.credits) = all.wheels(cycles);
    for (time, is_node, place, what) in flits {
        all.flits.view().push(time, is_node, place, what);
    }
    for (time, is_node, place, what) in credits {
        all.credits.view().push(time, is_node, place, what);
    }
    all.at_work = at_work;
    (all, links)
}
