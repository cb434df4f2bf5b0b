//! One subnet: routers, the links between them, and what sources know of their routers.

use super::{
    breach::Breach,
    buffers::Behind,
    flit::{Flit, Packets},
    meeting::Hub,
    numbers::Numbers,
    plain::{Around, Desk, Piece, Plain, Worker},
    router::{Input, LAST, Router, World},
    rules::Rules,
    seen::{Seen, SeenInput, SeenOutput},
    wiring::End,
    words::{self, AnyWords},
};
use crate::{
    fabric::LinkId,
    probe::{Film, LinkOccupation, LinkTime, PacketRecords, Probe, SavedProbe},
    save::{Archive, SaveError},
    visit::{Visited, below},
};
use std::sync::Arc;

/// Records of packets, and all that moves.
pub(super) type Watch = (Option<PacketRecords>, Option<Film>);

/// What is on its way and arrives in some cycle.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Flits for routers, with ports; credits for routers, with output ports and channels.
    flits: Vec<(u32, u16, Flit)>,
    credits: Vec<(u32, u16, u16)>,
    /// Flits for sinks, credits for sources.
    sinks: Vec<(u32, Flit)>,
    sources: Vec<(u32, u16)>,
}

impl Slot {
    fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { flits, credits, sinks, sources } = self;
        archive.list("flits on links", flits)?;
        archive.list("credits on links", credits)?;
        archive.list("flits for nodes", sinks)?;
        archive.list("credits for nodes", sources)
    }

    /// Nothing restored may lead outside the network.
    fn check(&self, rules: &Rules, packets: &Packets) -> Visited {
        let Self { flits, credits, sinks, sources } = self;
        let all = flits.iter().map(|(.., flit)| flit).chain(sinks.iter().map(|(_, flit)| flit));
        packets.check("flits on links", rules.channels, all)?;
        let (routers, nodes) = (rules.wiring.routers(), rules.wiring.nodes());
        let flits_at = || flits.iter().map(|&(router, port, _)| (router, port));
        let credits_at = || credits.iter().map(|&(router, port, _)| (router, port));
        below("flits on links", routers, flits_at().chain(credits_at()).map(|at| at.0))?;
        below("flits for nodes", nodes, sinks.iter().map(|at| at.0).chain(sources.iter().map(|at| at.0)))?;
        let channels = credits.iter().map(|at| at.2).chain(sources.iter().map(|at| at.1));
        below("credits on links", rules.channels, channels.map(u32::from))?;
        let wiring = &rules.wiring;
        let strays = flits_at().any(|(router, port)| usize::from(port) >= wiring.inputs(router).len())
            || credits_at().any(|(router, port)| usize::from(port) >= wiring.outputs(router).len());
        if strays { Err(SaveError::Value { field: "ports", value: 0 }) } else { Ok(()) }
    }
}

/// Routers and links.
#[derive(Clone, Debug)]
pub(super) struct Subnet {
    /// All routers, if they are planes, or plain, else none.
    words: Option<Box<dyn AnyWords>>,
    plain: Option<Box<Plain>>,
    /// Plain routers while they are in pieces, and the nodes' side of them.
    desk: Option<Box<Desk>>,
    pub routers: Vec<Router>,
    /// A bit per router that has something to do.
    at_work: Vec<u64>,
    /// Per output port of all routers the flits known behind it.
    pub load: Vec<u32>,
    /// What sources know of the queues of their routers.
    pub sources: Behind,
    wheel: Vec<Slot>,
    credits_under_way: usize,
    steps: f64,
    /// When flits left by every output port of all routers, if that is kept.
    pub links: Option<LinkOccupation>,
    /// What they carried in every cycle, if that is kept.
    pub link_time: Option<LinkTime>,
    /// What sees every flit, if anything does.
    pub watch: Option<Box<Watch>>,
}

impl Subnet {
    /// A network without flits.
    pub(super) fn new(rules: &Rules) -> Self {
        match words::new(rules) {
            Some(words) => Self::of_words(rules, words),
            None => Self::with(rules, Plain::new(rules).map(Box::new)),
        }
    }

    /// A network of routers that are planes.
    pub(super) fn of_words(rules: &Rules, words: Box<dyn AnyWords>) -> Self {
        Self { words: Some(words), routers: Vec::new(), ..Self::with(rules, None) }
    }

    /// A network of plain routers, or of others if there are none.
    pub(super) fn with(rules: &Rules, plain: Option<Box<Plain>>) -> Self {
        let (nodes, routers) = (rules.wiring.nodes(), rules.wiring.routers());
        let others = if plain.is_some() { 0 } else { routers };
        let slots = rules.wiring.longest() + 2 + rules.credit_delay;
        Self {
            words: None,
            plain,
            desk: None,
            routers: (0..others as u32).map(|number| Router::new(number, rules)).collect(),
            at_work: vec![0; routers.div_ceil(64)],
            load: vec![0; rules.wiring.all_outputs()],
            sources: Behind::new(&rules.policy, nodes, rules.channels, rules.waits_for_tail, |node| {
                let (router, port) = rules.wiring.entries[node];
                rules.least_round_trip_of_source(rules.wiring.inputs(router)[usize::from(port)].latency)
            }),
            wheel: vec![Slot::default(); slots as usize],
            credits_under_way: 0,
            steps: 0.0,
            links: None,
            link_time: None,
            watch: None,
        }
    }

    /// Whether the routers can be run in pieces.
    pub(super) fn is_divisible(&self, rules: &Rules) -> bool {
        self.plain.as_ref().is_some_and(|plain| plain.is_divisible(rules)) && self.links.is_some()
    }

    /// Cuts the routers into pieces, the work `beside` them being such a fraction of theirs; what is run by threads of their own. Nothing but cycles may happen until they are
    /// joined.
    pub(super) fn part(
        &mut self,
        at: (u32, &Rules, &Packets),
        pieces: usize,
        beside: f64,
    ) -> Option<(Arc<Hub>, Vec<Worker>)> {
        let (plain, links) = (self.plain.take()?, self.links.take()?);
        let borders = plain.borders(pieces, at.1, beside);
        let (desk, workers) = Desk::new(*plain, links, at, borders);
        let hub = desk.hub().clone();
        self.desk = Some(Box::new(desk));
        Some((hub, workers))
    }

    /// Joins the routers again.
    pub(super) fn join(&mut self, pieces: Vec<Piece>, now: u32, packets: &mut Packets) {
        if let Some(desk) = self.desk.take() {
            let (plain, links) = desk.join(pieces, now, packets);
            (self.plain, self.links) = (Some(Box::new(plain)), Some(links));
        }
    }

    /// What routers hold; planes do not tell.
    pub(super) fn seen(&self, rules: &Rules) -> Seen {
        if let Some(plain) = &self.plain {
            return plain.seen(rules);
        }
        let input = |input: &Input| SeenInput {
            state: input.state,
            has_flits: !input.queue.is_empty(),
            ways: input.ways,
            port: input.port,
            channel: input.channel,
        };
        let outputs = |router: &Router| {
            let each = (0..router.output.len())
                .flat_map(|port| (0..rules.channels).map(move |channel| (port, channel)));
            let seen = |(port, channel)| SeenOutput {
                is_owned: router.behind.channel(port, channel).is_owned,
                is_full: router.behind.is_full(&rules.policy, port, channel),
            };
            each.map(seen).collect()
        };
        Seen {
            inputs: self.routers.iter().map(|router| router.inputs.iter().map(input).collect()).collect(),
            outputs: self.routers.iter().map(outputs).collect(),
        }
    }

    /// Flits in the queue of a channel behind an input port of a router.
    pub(super) fn queued(&self, router: usize, port: usize, channel: usize, rules: &Rules) -> usize {
        if let Some(words) = &self.words {
            return words.queued(router, port, channel, rules.wiring.inputs(router as u32).len());
        }
        match &self.plain {
            Some(plain) => plain.queued(router, port, channel),
            None => self.routers[router].inputs[port * rules.channels + channel].queue.len(),
        }
    }

    /// All that outlives a cycle.
    pub(super) fn fields(&mut self, rules: &Rules, packets: &Packets, archive: &mut Archive) -> Visited {
        let Self {
            // Runs that are saved have no planes.
            words: _,
            // Pieces are joined before.
            desk: _,
            plain,
            routers,
            at_work,
            load,
            sources,
            wheel,
            credits_under_way,
            steps,
            links,
            link_time,
            watch,
        } = self;
        plain.as_mut().map_or(Ok(()), |plain| plain.fields(rules.wiring.nodes(), packets, archive))?;
        routers.iter_mut().try_for_each(|router| router.fields(rules, packets, archive))?;
        archive.slice("routers at work", at_work)?;
        archive.slice("flits behind ports", load)?;
        sources.fields(archive)?;
        for slot in wheel {
            slot.fields(archive)?;
            if archive.is_reading() {
                slot.check(rules, packets)?;
            }
        }
        if archive.is_reading() {
            let beyond = |word: usize| routers.len().saturating_sub(64 * word).min(64) as u32;
            let strays =
                at_work.iter().enumerate().map(|(word, &set)| set.checked_shr(beyond(word)).unwrap_or(0));
            if let Some(value) = strays.into_iter().find(|&stray| stray != 0) {
                return Err(SaveError::Value { field: "routers at work", value });
            }
        }
        archive.number("credits under way", credits_under_way)?;
        archive.number("steps to be done", steps)?;
        links.as_mut().map_or(Ok(()), |links| links.fields(archive))?;
        link_time.as_mut().map_or(Ok(()), |record| record.fields(archive))?;
        watch.as_mut().map_or(Ok(()), |watch| watch.0.fields(archive))
    }

    /// By place of a packet how many of its flits are in queues and on links, where flits do not say which they are.
    pub(super) fn under_way(&self, packets: usize) -> Option<Vec<u32>> {
        self.plain.as_ref().map(|plain| plain.under_way(packets))
    }

    fn slot(&mut self, time: u32) -> &mut Slot {
        let at = time as usize % self.wheel.len();
        &mut self.wheel[at]
    }

    /// Takes the flits that reach sinks, with their nodes, and gives sources and routers what arrives for them.
    pub(super) fn receive(
        &mut self,
        now: u32,
        rules: &Rules,
        packets: &mut Packets,
        arrived: &mut Vec<(u32, Flit)>,
    ) {
        self.sources.set_time(now);
        if let Some(words) = &mut self.words {
            words.receive(rules, packets, &mut self.sources, arrived);
            return;
        }
        if let Some(plain) = &mut self.plain {
            plain.receive(now, rules, packets, &mut self.sources, &mut self.load, arrived);
            return;
        }
        if let Some(desk) = &mut self.desk {
            desk.receive(rules, packets, &mut self.sources, arrived);
            return;
        }
        let at = now as usize % self.wheel.len();
        let slot = &mut self.wheel[at];
        self.credits_under_way -= slot.credits.len() + slot.sources.len();
        // Sinks retire in the order of their nodes.
        slot.sinks.sort_unstable_by_key(|&(node, _)| node);
        arrived.append(&mut slot.sinks);
        for (node, channel) in slot.sources.drain(..) {
            self.sources.credit(&rules.policy, node as usize, usize::from(channel));
        }
        for (router, port, flit) in slot.flits.drain(..) {
            self.routers[router as usize].flits_arriving.push((port, flit));
            self.at_work[router as usize / 64] |= 1 << (router % 64);
        }
        for (router, port, channel) in slot.credits.drain(..) {
            self.routers[router as usize].credits_arriving.push((port, channel));
            self.at_work[router as usize / 64] |= 1 << (router % 64);
        }
    }

    /// Whether no credit waits or is on its way.
    pub(super) fn has_no_credits(&self) -> bool {
        self.words.as_ref().is_none_or(|words| words.has_no_credits())
            && self.plain.as_ref().is_none_or(|plain| plain.has_no_credits())
            && self.desk.as_ref().is_none_or(|desk| desk.hub().balance() == 0)
            && self.credits_under_way == 0
            && self.routers.iter().all(|router| router.busy_credits.is_empty())
    }

    /// A source sends a flit.
    pub(super) fn inject(&mut self, node: u32, flit: Flit, now: u32, rules: &Rules, packets: &mut Packets) {
        if let Some(words) = &mut self.words {
            words.inject(node, &flit, now, packets);
            return;
        }
        if let Some(plain) = &mut self.plain {
            plain.inject(node, &flit, now, rules, packets);
            return;
        }
        if let Some(desk) = &mut self.desk {
            desk.inject(node, &flit, now, rules, packets);
            return;
        }
        if let Some(watch) = &mut self.watch
            && flit.is_head()
        {
            watch.packet_injected(now.into(), packets.seen(&flit));
        }
        let (router, port) = rules.wiring.entries[node as usize];
        let latency = rules.wiring.inputs(router)[usize::from(port)].latency;
        self.slot(now + latency + 1).flits.push((router, port, flit));
    }

    /// A node sends a flit that is no header to routers that are planes.
    #[inline]
    pub(super) fn inject_more(&mut self, node: usize, channel: usize) {
        if let Some(words) = &mut self.words {
            words.inject_more(node, channel);
        }
    }

    /// A packet has arrived at a node.
    #[inline]
    pub(super) fn retire(&mut self, node: usize, channel: usize) {
        if let Some(words) = &mut self.words {
            words.retire(node, channel);
        }
    }

    /// Whether routers are planes.
    pub(super) fn is_words(&self) -> bool {
        self.words.is_some()
    }

    /// A sink gives a place back.
    pub(super) fn give_back(&mut self, node: u32, channel: u16, now: u32, rules: &Rules) {
        if self.words.is_some() {
            // Planes know it from the arrival.
            return;
        }
        if let Some(plain) = &mut self.plain {
            plain.give_back(node, channel, now, rules);
            return;
        }
        if let Some(desk) = &mut self.desk {
            desk.give_back(node, channel, now, rules);
            return;
        }
        let (router, port) = rules.wiring.exits[node as usize];
        let latency = rules.wiring.outputs(router)[usize::from(port)].latency;
        self.credits_under_way += 1;
        self.slot(now + latency + 1 + rules.credit_delay).credits.push((router, port, channel));
    }

    /// All routers do their steps of a cycle; tells what BookSim2 does not survive.
    pub(super) fn work(
        &mut self,
        now: u32,
        rules: &Rules,
        packets: &mut Packets,
        numbers: &mut Numbers,
    ) -> Option<Breach> {
        if let Some(words) = &mut self.words {
            if words.must_tell(now) {
                self.tell_links(rules);
            }
            self.words.iter_mut().for_each(|words| words.work(now));
            return None;
        }
        self.steps += rules.internal_speedup;
        let mut steps = 0;
        while self.steps >= 1.0 {
            self.steps -= 1.0;
            steps += 1;
        }
        if let Some(plain) = &mut self.plain {
            if let Some(links) = &mut self.links {
                plain.leaving().for_each(|output| links.add(output as usize, now.into()));
            }
            plain.work(&mut Around::new((now, steps), rules, packets, numbers, &mut self.load));
            return None;
        }
        if let Some(desk) = &mut self.desk {
            desk.work(now, rules, packets);
            return None;
        }
        let mut breach = None;
        let mut world = World { now, rules, packets, numbers, load: &mut self.load, breach: &mut breach };
        for (word, &set) in self.at_work.iter().enumerate() {
            let mut left = set;
            while left > 0 {
                let router = &mut self.routers[word * 64 + left.trailing_zeros() as usize];
                left &= left - 1;
                router.arrive(&mut world);
                for _ in 0..steps {
                    router.step(&mut world);
                }
            }
        }
        breach
    }

    /// Brings the record of links up to date, which planes keep in part.
    pub(super) fn tell_links(&mut self, rules: &Rules) {
        if let (Some(words), Some(links)) = (&mut self.words, &mut self.links) {
            words.tell(rules.wiring.outputs(0).len(), links);
        }
    }

    /// Keeps when flits leave by every output port of all routers.
    pub(super) fn count_links(&mut self, rules: &Rules) {
        self.links = Some(LinkOccupation::new(rules.wiring.all_outputs()));
        self.words.iter_mut().for_each(|words| words.count_links());
    }

    /// Puts what routers send on the links.
    pub(super) fn send(&mut self, now: u32, rules: &Rules, packets: &Packets) {
        for word in 0..self.at_work.len() {
            let mut left = self.at_work[word];
            while left > 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                self.send_from(word * 64 + bit as usize, now, rules, packets);
                if self.routers[word * 64 + bit as usize].is_at_rest() {
                    self.at_work[word] &= !(1 << bit);
                }
            }
        }
    }

    fn send_from(&mut self, number: usize, now: u32, rules: &Rules, packets: &Packets) {
        let Self { routers, wheel, credits_under_way, links, link_time, watch, .. } = self;
        let router = &mut routers[number];
        let first_output = router.first_output as usize;
        // Records of packets need no blocked links.
        if link_time.is_some() || watch.as_ref().is_some_and(|watch| watch.1.is_some()) {
            for port in router.stopped_outputs(rules) {
                let link = (first_output + usize::from(port)) as LinkId;
                link_time.iter_mut().for_each(|record| record.link_blocked(now.into(), link));
                watch.iter_mut().for_each(|watch| watch.link_blocked(now.into(), link));
            }
        }
        let slots = wheel.len() as u32;
        let (inputs, outputs) = (rules.wiring.inputs(number as u32), rules.wiring.outputs(number as u32));
        let Router { busy_outputs, busy_credits, output, credits, .. } = router;
        busy_outputs.retain(|&port| {
            let queue = &mut output[usize::from(port)];
            let Some(flit) = queue.pop_front() else { return false };
            let link = &outputs[usize::from(port)];
            let at = first_output + usize::from(port);
            if let Some(links) = links {
                links.add(at, now.into());
            }
            if let Some(record) = link_time {
                record.carry(now.into(), at as LinkId, packets[flit.packet].slice);
            }
            if let (Some(watch), End::Router(..)) = (&mut *watch, link.end) {
                watch.flit_crosses(now.into(), at as LinkId, flit.channel as u8, packets.seen(&flit));
            }
            let slot = &mut wheel[((now + link.latency + 1) % slots) as usize];
            match link.end {
                End::Router(there, port) => slot.flits.push((there, port, flit)),
                End::Node(node) => slot.sinks.push((node, flit)),
                End::Nothing => {}
            }
            !queue.is_empty()
        });
        busy_credits.retain(|&port| {
            let queue = &mut credits[usize::from(port)];
            let link = &inputs[usize::from(port)];
            while let Some(channel) = queue.pop_front() {
                *credits_under_way += 1;
                match link.end {
                    End::Router(there, port) => {
                        let late = now + link.latency + 1 + rules.credit_delay;
                        wheel[(late % slots) as usize].credits.push((there, port, channel & !LAST));
                    }
                    End::Node(node) => {
                        let late = now + link.latency + 1;
                        wheel[(late % slots) as usize].sources.push((node, channel & !LAST));
                    }
                    End::Nothing => *credits_under_way -= 1,
                }
                if channel & LAST != 0 {
                    break;
                }
            }
            !queue.is_empty()
        });
    }
}
