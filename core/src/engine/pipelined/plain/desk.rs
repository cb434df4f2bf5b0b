//! Plain routers in several threads: the nodes with the first piece in one, every further piece in one of its own.
//!
//! Nodes and pieces give each other in a cycle what arrives two cycles later, as nothing is under way for less. So a
//! thread may be a cycle ahead of the others.

use super::{
    super::{
        breach::Breach,
        flit::{Flit, Packets},
        meeting::{Hub, Letter, Post},
        routers::{Cycle, NodePorts, Routers, Shared},
        rules::Rules,
        run::Run,
        seen::Seen,
    },
    links::{reach_sinks, reach_sources, way_back, way_in},
    pieces::{AHEAD, Borders, Piece, join, part},
    state::{Plain, marked},
    wheel::Wheel,
};
use crate::{probe::LinkOccupation, save::Archive, visit::Visited};
use std::sync::Arc;

/// The nodes' side of routers in pieces, with the first piece.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    hub: Arc<Hub>,
    borders: Arc<Borders>,
    channel_bits: u32,
    piece: Piece,
    post: Post,
    /// What nodes send, by the cycle in which it is given away.
    post_of_nodes: Post,
    flits: Wheel,
    credits: Wheel,
    /// What leaves or arrives in a cycle.
    passing: (Vec<u64>, Vec<u64>),
    /// Credits that nodes sent less those that they got; it wraps around.
    balance: usize,
    /// How many cycles were run.
    cycle: u64,
}

/// A piece that has a thread of its own.
#[derive(Debug)]
pub(in super::super) struct Worker {
    hub: Arc<Hub>,
    borders: Arc<Borders>,
    number: usize,
    piece: Piece,
    post: Post,
}

impl Worker {
    /// Runs its cycles, until there are no more.
    pub(in super::super) fn run(mut self, rules: &Rules) -> Piece {
        let _watch = self.hub.watch();
        let Self { hub, borders, number, piece, post } = &mut self;
        for cycle in 0.. {
            let Some(now) = hub.time(cycle) else { break };
            post.take(hub, cycle);
            piece.cycle(now, rules, borders, (&mut post.come, &mut post.gone));
            post.give(hub, cycle);
            hub.tell(*number, piece.balance());
            hub.ring(*number);
        }
        self.piece
    }
}

impl Desk {
    /// Parts routers into pieces.
    pub(super) fn new(
        plain: Plain,
        links: LinkOccupation,
        at: (u32, &Rules, &Packets),
        borders: Borders,
    ) -> (Self, Vec<Worker>) {
        let (cycles, channel_bits, balance) =
            (plain.flits.cycles(), plain.channel_bits, plain.credits_under_way);
        let (pieces, soon) = part(plain, links, at, &borders);
        let (count, nodes) = (pieces.len(), at.1.wiring.nodes());
        let (hub, borders) = (Hub::new(count), Arc::new(borders));
        for (cycle, (flits, credits)) in soon.into_iter().enumerate() {
            hub.put(count, cycle, Letter { flits, credits, packets: Vec::new() });
        }
        let mut workers: Vec<Worker> = pieces
            .into_iter()
            .enumerate()
            .map(|(number, piece)| Worker {
                hub: hub.clone(),
                borders: borders.clone(),
                number,
                piece,
                post: Post::new(number, count),
            })
            .collect();
        let Worker { piece, post, .. } = workers.remove(0);
        hub.tell(0, balance);
        let desk = Self {
            hub,
            borders,
            channel_bits,
            piece,
            post,
            post_of_nodes: Post::new(count, count),
            flits: Wheel::new(cycles, nodes),
            credits: Wheel::new(cycles, nodes),
            passing: (Vec::new(), Vec::new()),
            balance,
            cycle: 0,
        };
        (desk, workers)
    }

    /// Where the threads meet.
    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}

impl NodePorts for Desk {
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
impl Routers for Desk {
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>) {
        let Cycle { rules, packets, shared, .. } = cycle;
        self.post_of_nodes.take(&self.hub, self.cycle);
        let flits = &mut self.passing.0;
        flits.clear();
        for letter in &mut self.post_of_nodes.come {
            flits.append(&mut letter.flits);
            for (place, packet) in letter.packets.drain(..) {
                packets.learn(place, &packet);
            }
            self.balance = self.balance.wrapping_sub(letter.credits.len());
            reach_sources(&letter.credits, self.channel_bits, rules, &mut shared.sources);
            letter.credits.clear();
        }
        reach_sinks(flits, self.channel_bits, packets, arrived);
    }

    fn inject(&mut self, run: &mut Run, shared: &mut Shared, subnet: usize) {
        run.inject(self, shared, subnet);
    }

    fn retire(&mut self, run: &mut Run, shared: &mut Shared, arrived: &[(u32, Flit)]) {
        run.retire(self, shared, arrived);
    }

    /// Gives away what nodes send, and runs the first piece.
    fn step(&mut self, cycle: &mut Cycle<'_>, _steps: u32) -> Option<Breach> {
        let Cycle { now, rules, packets, .. } = cycle;
        let Self { hub, borders, piece, post, post_of_nodes, passing: (flits, credits), .. } = self;
        self.flits.take(*now, true, flits);
        self.credits.take(*now, true, credits);
        borders.share_out((flits, credits), packets, &mut post_of_nodes.gone);
        post_of_nodes.give(hub, self.cycle);
        post.take(hub, self.cycle);
        piece.cycle(*now, rules, borders, (&mut post.come, &mut post.gone));
        post.give(hub, self.cycle);
        hub.tell(0, piece.balance().wrapping_add(self.balance));
        self.cycle += 1;
        None
    }

    fn is_quiet(&self) -> bool {
        self.hub.balance() == 0
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

    fn join(&mut self, further: Vec<Piece>, cycle: &mut Cycle<'_>) -> Option<Box<dyn Routers>> {
        let now = cycle.now;
        let left = self.hub.left(self.cycle).into_iter();
        let given = left.map(|(ahead, to, letter)| (now + ahead, to, letter)).collect();
        let under_way = further.iter().fold(self.balance, |sum, one| sum.wrapping_add(one.balance()));
        let under_way = under_way.wrapping_add(self.piece.balance());
        let pieces = std::iter::once(std::mem::take(&mut self.piece)).chain(further).collect();
        let of_nodes = (std::mem::take(&mut self.flits), std::mem::take(&mut self.credits));
        let (mut plain, links) = join(pieces, of_nodes, given, (now, cycle.packets), &self.borders);
        plain.credits_under_way = under_way;
        cycle.shared.records.links = Some(links);
        Some(Box::new(plain))
    }

    fn copy(&self) -> Box<dyn Routers> {
        Box::new(self.clone())
    }

    fn form(&self) -> &'static str {
        "sets in parts"
    }
}
