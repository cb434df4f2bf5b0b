//! What probes see of a cycle, read from the state between its steps.

use super::{
    layout::{Layout, Place},
    record::Record,
    state::State,
};
use crate::{
    bits::{Blocks, Vector, ones},
    fabric::LinkId,
    probe::{Flit, OutputChannel},
};

/// A flit that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub output: OutputChannel,
    pub flit: Flit,
    /// Whether it leaves the processor queue.
    pub injected: bool,
}

/// A flit that lost against another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub output: OutputChannel,
    pub granted: Flit,
    pub blocked: Flit,
}

impl<V: Vector, R: Record> State<V, R> {
    fn channel(&self, layout: &Layout, place: Place) -> OutputChannel {
        OutputChannel {
            node: place.node() as u32,
            port: layout.port_of_output(place.index()) as u8,
            channel: (place.index() % layout.channels) as u8,
        }
    }

    /// The next flit of the owner of an output channel.
    fn next_flit(&self, layout: &Layout, place: Place) -> Flit {
        if let Some(registers) = &self.registers {
            let (slot, head, tail) = registers.flit(layout, place);
            return self.packets.packet(slot).describe(head, tail);
        }
        let (node, output, slot) = (place.node(), place.index(), self.passing(layout, place));
        let (left, sent) = (&self.left, self.moving.sent.plane(output)[node / 64] >> (node % 64) & 1 == 1);
        let (head, tail) = if sent {
            (self.moving.heads.bit(output, node), self.moving.tails.bit(output, node))
        } else {
            let last = (0..self.left_bits).all(|bit| !left.bit(output * self.left_bits + bit, node));
            (self.fresh.bit(output, node), last)
        };
        self.packets.packet(slot).describe(head, tail)
    }

    /// The flits that are sent, node by node, port by port.
    pub(super) fn list_moves(&self, layout: &Layout, moves: &mut Vec<Move>) {
        moves.clear();
        for word in 0..layout.words {
            let nodes =
                (0..layout.outputs).fold(0, |nodes, output| nodes | self.moving.sent.plane(output)[word]);
            for bit in ones(nodes) {
                for output in
                    (0..layout.outputs).filter(|&output| self.moving.sent.plane(output)[word] >> bit & 1 == 1)
                {
                    let place = Place::new(word * 64 + bit, output);
                    let injected = self.output(layout, place).owner() as usize > layout.link_queues;
                    moves.push(Move {
                        output: self.channel(layout, place),
                        flit: self.next_flit(layout, place),
                        injected,
                    });
                }
            }
        }
    }

    /// Links that carry nothing although an owner of one of their channels has a flit.
    pub(super) fn list_blocked(&self, layout: &Layout, links: &mut Vec<LinkId>) {
        links.clear();
        let any = |planes: &Blocks<V>, node: usize, port: usize| {
            (port * layout.channels..(port + 1) * layout.channels).any(|output| planes.bit(output, node))
        };
        for node in 0..layout.nodes {
            for port in 0..layout.directions {
                if any(&self.watched.ready, node, port) && !any(&self.watched.sendable, node, port) {
                    links.push((node * layout.directions + port) as LinkId);
                }
            }
        }
    }

    /// Headers that lost a VC allocation of this cycle.
    pub(super) fn list_queue_losses(&self, layout: &Layout, losses: &mut Vec<Loss>) {
        losses.clear();
        for &place in &self.watched.granted {
            let (node, record) = (place.node(), self.output(layout, place));
            let header = |slot: u32| {
                let packet = self.packets.packet(slot);
                packet.describe(true, packet.length == 1)
            };
            let granted = header(match &self.registers {
                // It has left its queue already.
                Some(registers) => registers.flit(layout, place).0,
                None => self.passing(layout, place),
            });
            for queue in 0..layout.queues {
                if record.requests(layout.bit_of_queue(node, place.index(), queue)) {
                    losses.push(Loss {
                        output: self.channel(layout, place),
                        granted,
                        blocked: header(self.fifo(layout, Place::new(node, queue)).front),
                    });
                }
            }
        }
    }

    /// Flits that lost a switch allocation of this cycle.
    pub(super) fn list_channel_losses(&self, layout: &Layout, moves: &[Move], losses: &mut Vec<Loss>) {
        losses.clear();
        for Move { output, flit, .. } in moves {
            let node = output.node as usize;
            for channel in 0..layout.channels {
                let other = usize::from(output.port) * layout.channels + channel;
                if channel != usize::from(output.channel) && self.watched.sendable.bit(other, node) {
                    let blocked = self.next_flit(layout, Place::new(node, other));
                    losses.push(Loss { output: *output, granted: *flit, blocked });
                }
            }
        }
    }
}
