//! Plain routers in several threads: the nodes with the first piece in one, every further piece in one of its own.
//!
//! Nodes and pieces give each other in a cycle what arrives two cycles later, as nothing is under way for less. So a
//! thread may be a cycle ahead of the others.

use super::{
    super::{
        buffers::Behind,
        flit::{Flit, Packets},
        meeting::{Hub, Letter, Post},
        rules::Rules,
    },
    links::{reach_sinks, reach_sources, way_back, way_in},
    pieces::{AHEAD, Borders, Piece, join, part},
    state::{Plain, marked},
    wheel::Wheel,
};
use crate::probe::LinkOccupation;
use std::sync::Arc;

/// The nodes' side of routers in pieces, with the first piece.
#[derive(Clone, Debug)]
pub(in super::super) struct Desk {
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
    pub(in super::super) fn new(
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

    /// Joins the pieces again.
    pub(in super::super) fn join(
        self,
        further: Vec<Piece>,
        now: u32,
        packets: &mut Packets,
    ) -> (Plain, LinkOccupation) {
        let left = self.hub.left(self.cycle).into_iter();
        let given = left.map(|(ahead, to, letter)| (now + ahead, to, letter)).collect();
        let under_way = further.iter().fold(self.balance, |sum, one| sum.wrapping_add(one.balance()));
        let under_way = under_way.wrapping_add(self.piece.balance());
        let pieces = std::iter::once(self.piece).chain(further).collect();
        let (mut plain, links) =
            join(pieces, (self.flits, self.credits), given, (now, packets), &self.borders);
        plain.credits_under_way = under_way;
        (plain, links)
    }

    /// Where the threads meet.
    pub(in super::super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Takes the flits that reach sinks, with their nodes, and gives sources what arrives for them.
    pub(in super::super) fn receive(
        &mut self,
        rules: &Rules,
        packets: &mut Packets,
        sources: &mut Behind,
        arrived: &mut Vec<(u32, Flit)>,
    ) {
        self.post_of_nodes.take(&self.hub, self.cycle);
        let flits = &mut self.passing.0;
        flits.clear();
        for letter in &mut self.post_of_nodes.come {
            flits.append(&mut letter.flits);
            for (place, packet) in letter.packets.drain(..) {
                packets.learn(place, &packet);
            }
            self.balance = self.balance.wrapping_sub(letter.credits.len());
            reach_sources(&letter.credits, self.channel_bits, rules, sources);
            letter.credits.clear();
        }
        reach_sinks(flits, self.channel_bits, packets, arrived);
    }

    /// A source sends a flit.
    pub(in super::super) fn inject(
        &mut self,
        node: u32,
        flit: &Flit,
        now: u32,
        rules: &Rules,
        packets: &mut Packets,
    ) {
        let (lane, delay) = way_in(rules, node, flit.channel, self.channel_bits);
        packets.note_sent(flit, now);
        self.flits.view().push(now + delay - AHEAD, true, self.borders.of_router(lane), marked(flit));
    }

    /// A sink gives a place back.
    pub(in super::super) fn give_back(&mut self, node: u32, channel: u16, now: u32, rules: &Rules) {
        let (place, delay) = way_back(rules, node, channel, self.channel_bits);
        self.balance = self.balance.wrapping_add(1);
        self.credits.view().push(now + delay - AHEAD, true, self.borders.of_router(place), 0);
    }

    /// Gives away what nodes send, and runs the first piece.
    pub(in super::super) fn work(&mut self, now: u32, rules: &Rules, packets: &Packets) {
        let Self { hub, borders, piece, post, post_of_nodes, passing: (flits, credits), .. } = self;
        self.flits.take(now, true, flits);
        self.credits.take(now, true, credits);
        borders.share_out((flits, credits), packets, &mut post_of_nodes.gone);
        post_of_nodes.give(hub, self.cycle);
        post.take(hub, self.cycle);
        piece.cycle(now, rules, borders, (&mut post.come, &mut post.gone));
        post.give(hub, self.cycle);
        hub.tell(0, piece.balance().wrapping_add(self.balance));
        self.cycle += 1;
    }
}
