//! What routers remember beside, where every router does a whole step before the next one.

use super::{
    super::{allocators::Allocator, breach::Breach, flit::Ways, rules::Rules, stage::Stage},
    layout::Layout,
};
use crate::bits::ones;
use std::collections::VecDeque;

/// A set of numbers.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Bits(Vec<u64>);

impl Bits {
    /// Puts a number in.
    #[inline]
    pub(super) fn insert(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    /// Takes all numbers out.
    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Takes a number out.
    #[inline]
    pub(super) fn remove(&mut self, at: u32) {
        self.0[at as usize / 64] &= !(1 << (at % 64));
    }

    /// The numbers from one on and below another.
    #[inline]
    pub(super) fn within(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        let words = from / 64..to.div_ceil(64);
        words.flat_map(move |word| {
            let start = 64 * word;
            let set = self.0[word as usize] & u64::MAX << from.saturating_sub(start).min(63);
            let set = if to < start + 64 { set & !(u64::MAX << (to - start)) } else { set };
            ones(set).map(move |bit| start + bit as u32)
        })
    }
}

/// What a router has beside.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Beside {
    /// Input channels that hold a connection.
    pub holders: Vec<u32>,
    /// How many input channels ask for the switch, whether they may have it or not.
    pub asking: u32,
    /// Flits in the crossbar, with output ports and channels.
    pub crossbar: Stage<(u32, u32, u32)>,
    /// Output ports with flits, input ports with credits.
    pub busy_outputs: Vec<u32>,
    pub busy_inputs: Vec<u32>,
}

/// What all routers have beside.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct InTurn {
    pub routers: Vec<Beside>,
    /// By output port its router.
    pub router_of: Vec<u32>,
    /// By input channel its ways, where there may be two.
    pub ways: Vec<Ways>,
    /// Input ports with outputs for which channels are ready.
    pub pairs: Bits,
    /// By sub-port whether a connection is held there.
    pub held_inputs: Vec<bool>,
    pub held_outputs: Vec<bool>,
    /// With piggyback, by output port and class the channel whose turn it is.
    pub turns: Vec<i32>,
    pub speculative_allocators: Vec<Allocator>,
    /// By output port flits behind the crossbar, with channels; by input port credits, the last one of each message marked,
    /// and the step of the last message.
    pub outputs: Vec<VecDeque<(u32, u32)>>,
    pub credits: Vec<VecDeque<u16>>,
    pub credited: Vec<u32>,
    /// Flits and credits that arrive in this cycle, and how many routers have taken.
    pub arriving: [Vec<u64>; 2],
    pub taken: [usize; 2],
    /// The place in the order of those that ask for the switch of the next one to ask.
    pub next: i64,
    /// What must not happen, if it has.
    pub breach: Option<Breach>,
    /// By input channel that waits the output channel that it is given in this step.
    pub given: Vec<u32>,
    pub step: OfStep,
}

/// What is used within a step only.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct OfStep {
    /// By input port and output of a router the channels that ask for the switch while they wait; those of one list.
    pub ahead: Vec<u64>,
    pub asked_ahead: Vec<u32>,
    /// Headers one of whose ways is not eligible.
    pub barred: Vec<u32>,
    /// By request who is put forward.
    pub lanes: Vec<u32>,
    pub held: Vec<(u32, bool)>,
}

impl InTurn {
    /// Flits in and behind crossbars, with their channels.
    pub(super) fn crossing(&self) -> impl Iterator<Item = (u32, u32)> {
        let inside =
            self.routers.iter().flat_map(|one| one.crossbar.waiting.iter().chain(&one.crossbar.inside));
        inside.map(|&(_, channel, flit)| (channel, flit)).chain(self.outputs.iter().flatten().copied())
    }

    /// Whether a flit may go into the queue behind the crossbar of an output port.
    #[inline]
    pub(super) fn has_room(&self, output: u32, rules: &Rules) -> bool {
        let queued = || self.outputs.get(output as usize).map_or(0, VecDeque::len);
        rules.output_places.is_none_or(|places| queued() < places)
    }

    /// What routers without flits have beside, with so many input and output ports each.
    pub(super) fn new(
        rules: &Rules,
        layout: &Layout,
        ports: &[(u32, u32)],
        speculative_allocators: Vec<Allocator>,
    ) -> Self {
        let inputs = ports.iter().map(|one| one.0 as usize).sum::<usize>();
        let outputs = ports.iter().map(|one| one.1 as usize).sum::<usize>();
        let lanes = inputs << layout.channel_bits;
        let router_of = |(number, &(_, outputs))| std::iter::repeat_n(number, outputs as usize);
        let if_any = |is_any: bool, many: usize| if is_any { many } else { 0 };
        Self {
            routers: vec![Beside::default(); ports.len()],
            router_of: (0..).zip(ports).flat_map(router_of).collect(),
            ways: vec![Ways::default(); if_any(layout.has_escapes, lanes)],
            pairs: Bits(vec![0; (inputs << layout.output_bits).div_ceil(64)]),
            held_inputs: vec![false; inputs * rules.input_speedup],
            held_outputs: vec![false; outputs * rules.output_speedup],
            turns: vec![rules.channels as i32 - 1; if_any(rules.is_piggyback, outputs * rules.classes)],
            speculative_allocators,
            outputs: vec![VecDeque::new(); if_any(layout.is_staged, outputs)],
            credits: vec![VecDeque::new(); if_any(layout.is_staged, inputs)],
            credited: vec![u32::MAX; if_any(layout.is_staged, inputs)],
            given: vec![u32::MAX; if_any(rules.is_speculative, lanes)],
            step: OfStep {
                ahead: vec![0; if_any(rules.is_speculative, rules.wiring.most_ports() << layout.output_bits)],
                ..OfStep::default()
            },
            ..Self::default()
        }
    }
}
