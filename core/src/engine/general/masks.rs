//! Throttles that hold headers without telling anybody, in words: who rests after a grant, and where no
//! useful channel is free.

use super::{
    layout::Layout,
    pairs::Pairs,
    signals::{Shown, Signals},
};
use crate::{
    bits::{Blocks, Planes, Vector},
    fabric::NodeId,
    throttle::{self, AtWork as _},
    visit::{State, Visited, Visitor},
};
use std::collections::VecDeque;

type PaceState = <throttle::Pace as throttle::Rule>::AtWork;
type AloState = <throttle::Alo as throttle::Rule>::AtWork;

/// `pace`: nodes that had a grant rest for a while.
#[derive(Clone)]
pub(super) struct Pauses<V> {
    pace: PaceState,
    /// Nodes that rest.
    resting: Blocks<V>,
    /// When they do no longer.
    due: VecDeque<(u64, u32)>,
}

impl<V: Vector> Pauses<V> {
    pub(super) fn new(pace: PaceState, blocks: usize) -> Self {
        let mut pauses = Self { pace, resting: Blocks::new(blocks, 1, V::zero()), due: VecDeque::new() };
        pauses.derive();
        pauses
    }

    /// Who rests, from when everybody may begin.
    fn derive(&mut self) {
        let mut due: Vec<(u64, u32)> =
            (0..).zip(self.pace.next()).map(|(node, &next)| (next, node)).collect();
        due.retain(|&(next, _)| next > 0);
        due.sort_unstable();
        due.iter().for_each(|&(_, node)| self.resting.set(0, node as usize, true));
        self.due = due.into();
    }

    /// Nodes that have rested long enough by a cycle.
    #[inline(always)]
    pub(super) fn wake(&mut self, cycle: u64) {
        while let Some(&(due, node)) = self.due.front() {
            if due > cycle {
                break;
            }
            self.due.pop_front();
            // It may have been granted another one since, which is due later.
            if self.pace.next()[node as usize] <= cycle {
                self.resting.set(0, node as usize, false);
            }
        }
    }

    /// A header was granted its first output.
    pub(super) fn granted(&mut self, cycle: u64, node: NodeId) {
        self.pace.granted(cycle, node);
        self.resting.set(0, node as usize, true);
        self.due.push_back((self.pace.next()[node as usize], node));
    }

    /// Of pending headers those that may begin.
    #[inline(always)]
    pub(super) fn may(&self, pending: V, block: usize) -> V {
        pending & !self.resting.block(block)[0]
    }

    /// Whether a node may begin a packet.
    pub(super) fn may_begin(&self, node: usize) -> bool {
        !self.resting.bit(0, node)
    }
}

impl<V: Vector> State for Pauses<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // Who rests follows.
        let Self { pace, resting: _, due: _ } = self;
        pace.visit(visitor)?;
        if visitor.changes() {
            self.derive();
        }
        Ok(())
    }
}

/// Who owns the output channels of a block.
pub(super) struct Owners<'a, V> {
    pub pairs: &'a Pairs,
    /// Per pair of a queue and an output, where the queue owns the output.
    pub own: &'a [V],
    /// Per output, where its register holds a flit, and where that is a tail.
    pub registers: Option<(&'a [V], &'a [V])>,
}

impl<V: Vector> Owners<'_, V> {
    /// Where an output channel has an owner: until its tail has left, the register as well.
    #[inline(always)]
    fn of(&self, output: usize) -> V {
        let mut taken = match self.registers {
            Some((full, tail)) => full[output] & tail[output],
            None => V::zero(),
        };
        for &(plane, _) in self.pairs.of_output(output) {
            taken = taken | self.own[usize::from(plane)];
        }
        taken
    }
}

/// `alo`: headers wait while no useful channel is without owner and empty behind its link.
#[derive(Clone)]
pub(super) struct Useful {
    pub alo: AloState,
    /// Queues that hold a flit.
    held: Signals,
    second: Vec<Vec<u64>>,
}

impl Useful {
    pub(super) fn new(alo: AloState, layout: &Layout, second: Vec<Vec<u64>>) -> Self {
        let shown = Shown { margin: layout.buffer - 1, length: 1, apart: true, following: false };
        Self { alo, held: Signals::new(layout, shown), second }
    }

    /// Looks which queues hold a flit.
    #[inline(always)]
    pub(super) fn look<V: Vector>(
        &mut self,
        layout: &Layout,
        held: &Blocks<V>,
        levels: &Planes,
        blocks: usize,
        count_bits: usize,
    ) {
        self.held.look_all(layout, held, levels, blocks, count_bits);
    }

    /// Of pending headers whose first hop is in a direction, those that may begin, given the owners of the
    /// output channels of their block.
    #[inline(always)]
    pub(super) fn may<V: Vector>(
        &self,
        layout: &Layout,
        pending: V,
        block: usize,
        direction: usize,
        owners: &Owners<'_, V>,
    ) -> V {
        let word = block * V::WORDS;
        let mut free = self.free(layout, word, direction, 0, owners);
        if self.alo.is_own() {
            let second = V::load(&self.second[direction][word..]);
            if second.any() {
                free = second.select(self.free(layout, word, direction, 1, owners), free);
            }
        } else {
            for channel in 1..layout.channels {
                free = free | self.free(layout, word, direction, channel, owners);
            }
        }
        pending & free
    }

    /// Nodes one of whose output channels is without owner and empty behind its link.
    #[inline(always)]
    fn free<V: Vector>(
        &self,
        layout: &Layout,
        word: usize,
        direction: usize,
        channel: usize,
        owners: &Owners<'_, V>,
    ) -> V {
        let busy: V = self.held.busy_behind(layout, direction, channel, word);
        !(busy | owners.of(direction * layout.channels + channel))
    }
}
