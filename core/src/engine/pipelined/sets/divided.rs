//! Sets in several parts, one of which is run with the nodes, the others by threads or processes of their own.
//!
//! Nodes and parts give each other in a cycle what arrives two cycles later, as nothing is under way for less. So a
//! thread may be a cycle ahead of the others.

use super::{
    super::{
        breach::Breach,
        exchange::{Exchange, Message, Messages},
        flit::{Flit, Packets},
        routers::{AnyRouters, Cycle, NodePorts, Others, Routers},
        rules::Rules,
        seen::Seen,
        source::Source,
    },
    links::{reach_sinks, reach_sources, way_back, way_in},
    parts::{AHEAD, Borders, Part, join, part},
    state::{Sets, marked},
    wheel::Wheel,
    worker::Worker,
};
use crate::{probe::LinkOccupation, save::Archive, visit::Visited};
use std::sync::Arc;

/// The nodes' side of routers in parts, with one of them.
#[derive(Clone, Debug)]
pub(super) struct Divided {
    exchange: Arc<Exchange>,
    borders: Arc<Borders>,
    channel_bits: u32,
    /// The part that is run here, and its number.
    part: Part,
    own: usize,
    messages: Messages,
    /// What nodes send, by the cycle in which it is given away.
    messages_of_nodes: Messages,
    flits: Wheel,
    credits: Wheel,
    /// What leaves or arrives in a cycle.
    passing: (Vec<u64>, Vec<u64>),
    /// Credits that nodes sent less those that they got; it wraps around.
    balance: usize,
    /// How many cycles were run.
    cycle: u64,
}

impl Divided {
    /// Routers in parts, of which this one stays.
    pub(super) fn new(
        sets: Sets,
        links: LinkOccupation,
        at: (u32, &Rules, &Packets),
        borders: Borders,
        own: usize,
    ) -> (Self, Vec<Worker>) {
        let (cycles, channel_bits, balance) =
            (sets.flits.cycles(), sets.layout.channel_bits, sets.credits_under_way);
        let (parts, soon) = part(sets, links, at, &borders);
        let (count, nodes) = (parts.len(), at.1.wiring.nodes());
        let (exchange, borders) = (Exchange::new(count), Arc::new(borders));
        for (cycle, (flits, credits)) in soon.into_iter().enumerate() {
            exchange.put(count, cycle, Message { flits, credits, packets: Vec::new() });
        }
        let mut workers: Vec<Worker> = parts
            .into_iter()
            .enumerate()
            .map(|(number, part)| Worker {
                exchange: exchange.clone(),
                borders: borders.clone(),
                number,
                part,
                messages: Messages::new(number, count),
            })
            .collect();
        let Worker { part, messages, .. } = workers.remove(own);
        exchange.report(count, balance);
        let divided = Self {
            exchange,
            borders,
            channel_bits,
            part,
            own,
            messages,
            messages_of_nodes: Messages::new(count, count),
            flits: Wheel::new(cycles, nodes),
            credits: Wheel::new(cycles, nodes),
            passing: (Vec::new(), Vec::new()),
            balance,
            cycle: 0,
        };
        (divided, workers)
    }

    /// Where the threads meet.
    pub(super) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }
}

impl NodePorts for Divided {
    fn inject_flit(&mut self, node: u32, flit: &Flit, cycle: &mut Cycle<'_>) {
        let (lane, delay) = way_in(cycle.rules, node, flit.channel, self.channel_bits);
        cycle.packets.note_sent(flit, cycle.now);
        let time = cycle.now + delay - AHEAD;
        self.flits.view().push(time, true, self.borders.of_router(lane), marked(flit));
    }

    fn eject_flit(&mut self, node: u32, flit: &Flit, cycle: &Cycle<'_>) {
        let (place, delay) = way_back(cycle.rules, node, flit.channel, self.channel_bits);
        self.balance = self.balance.wrapping_add(1);
        self.credits.view().push(cycle.now + delay - AHEAD, true, self.borders.of_router(place), 0);
    }
}

/// What is not said of a part alone is asked once all are joined.
impl<S: Source> Routers<S> for Divided {
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>) {
        let Cycle { rules, packets, shared, .. } = cycle;
        self.messages_of_nodes.take(&self.exchange, self.cycle);
        let flits = &mut self.passing.0;
        flits.clear();
        for message in &mut self.messages_of_nodes.come {
            flits.append(&mut message.flits);
            for (place, packet) in message.packets.drain(..) {
                packets.learn(place, &packet);
            }
            self.balance = self.balance.wrapping_sub(message.credits.len());
            reach_sources(&message.credits, self.channel_bits, rules, &mut shared.sources);
            message.credits.clear();
        }
        reach_sinks(flits, self.channel_bits, packets, arrived);
    }

    /// Gives away what nodes send, and runs the part.
    fn step(&mut self, cycle: &mut Cycle<'_>, _steps: u32) -> Option<Breach> {
        let Cycle { now, rules, packets, .. } = cycle;
        let Self { exchange, borders, part, messages, messages_of_nodes, passing: (flits, credits), .. } =
            self;
        self.flits.take(*now, true, flits);
        self.credits.take(*now, true, credits);
        borders.share_out((flits, credits), packets, &mut messages_of_nodes.gone);
        messages_of_nodes.give(exchange, self.cycle);
        messages.take(exchange, self.cycle);
        part.cycle(*now, rules, borders, (&mut messages.come, &mut messages.gone));
        messages.give(exchange, self.cycle);
        exchange.report(self.own, part.balance());
        exchange.report(borders.parts(), self.balance);
        self.cycle += 1;
        None
    }

    fn is_quiet(&self) -> bool {
        self.exchange.balance() == 0
    }

    fn see(&self, _rules: &Rules) -> Option<Seen> {
        None
    }

    fn queued(&self, _router: usize, _port: usize, _channel: usize, _rules: &Rules) -> usize {
        0
    }

    fn visit(&mut self, _rules: &Rules, _packets: &Packets, _archive: &mut Archive) -> Visited {
        Ok(())
    }

    fn join(&mut self, others: &mut Others<'_>, cycle: &mut Cycle<'_>) -> Option<AnyRouters<S>> {
        let (now, mut parts) = (cycle.now, others(&mut self.part)?);
        parts.insert(self.own, std::mem::take(&mut self.part));
        let left = self.exchange.left(self.cycle).into_iter();
        let given = left.map(|(ahead, to, message)| (now + ahead, to, message)).collect();
        let under_way = parts.iter().fold(self.balance, |sum, one| sum.wrapping_add(one.balance()));
        let of_nodes = (std::mem::take(&mut self.flits), std::mem::take(&mut self.credits));
        let (mut sets, links) = join(parts, of_nodes, given, (now, cycle.packets), &self.borders);
        sets.credits_under_way = under_way;
        cycle.shared.records.links = Some(links);
        Some(Box::new(sets))
    }

    fn form(&self) -> &'static str {
        "sets in parts"
    }
}
