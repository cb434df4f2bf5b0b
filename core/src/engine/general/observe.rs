//! What the arbiters decided in a cycle, read from the state between its steps: only compiled for
//! probes that ask for it.

use super::{
    channels::{Channels, EJECTION, SLOT_SHIFT, TAIL},
    layout::{Layout, NONE},
    state::PacketState,
};
use crate::{
    fabric::NodeId,
    probe::{Flit, OutputChannel, Probe},
};

/// Reports who lost a queue selection; `asked` are the output channels that were granted.
pub(super) fn queue_selections<P: Probe>(
    layout: &Layout,
    channels: &Channels,
    packets: &[PacketState],
    asked: &[u32],
    cycle: u64,
    probe: &mut P,
) {
    for &output in asked {
        let owner = channels.outputs[output as usize].owner;
        if owner == NONE {
            continue;
        }
        let owner = owner as usize;
        let place = place_of(layout, output);
        let first = place.node as usize * layout.queues;
        for queue in first..first + layout.queues {
            if queue != owner && channels.queues[queue].target == output {
                let granted = flit_at_front(layout, channels, packets, owner);
                let blocked = flit_at_front(layout, channels, packets, queue);
                probe.queue_blocked(cycle, place, granted, blocked);
            }
        }
    }
}

/// Reports which channels lost a channel selection; `moves` are the output channels that send.
pub(super) fn channel_selections<P: Probe>(
    layout: &Layout,
    channels: &Channels,
    packets: &[PacketState],
    moves: &[u32],
    cycle: u64,
    probe: &mut P,
) {
    for &output in moves {
        let port = output >> layout.channel_shift;
        let chosen = 1 << (output & ((1 << layout.channel_shift) - 1));
        let (_, sendable) = channels.port_masks(layout, port as usize);
        let mut others = sendable & !chosen;
        while others != 0 {
            let other = port << layout.channel_shift | others.trailing_zeros();
            others &= others - 1;
            let front = |output: u32| {
                let owner = channels.outputs[output as usize].owner as usize;
                flit_at_front(layout, channels, packets, owner)
            };
            probe.channel_blocked(cycle, place_of(layout, output), front(output), front(other));
        }
    }
}

/// Nodes that receive the last flit of a packet by the given moves.
pub(super) fn receivers(layout: &Layout, channels: &Channels, moves: &[u32], nodes: &mut Vec<NodeId>) {
    nodes.clear();
    for &output in moves {
        let moved = channels.outputs[output as usize];
        if moved.behind & EJECTION != 0 && channels.front(layout, moved.owner as usize) & TAIL != 0 {
            nodes.push(moved.behind & !EJECTION);
        }
    }
}

fn place_of(layout: &Layout, output: u32) -> OutputChannel {
    let port = output as usize >> layout.channel_shift;
    OutputChannel {
        node: (port / layout.ports) as NodeId,
        port: (port % layout.ports) as u8,
        channel: (output & ((1 << layout.channel_shift) - 1)) as u8,
    }
}

fn flit_at_front(layout: &Layout, channels: &Channels, packets: &[PacketState], queue: usize) -> Flit {
    let flit = channels.front(layout, queue);
    packets[(flit >> SLOT_SHIFT) as usize].describe(flit)
}
