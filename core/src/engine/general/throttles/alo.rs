//! `alo` in words.

use super::{
    busy_registers::{BusyRegisters, Shown, first_channels},
    in_words::{Around, InWords, Made},
    owners::Owners,
};
use crate::{
    bits::Vector,
    engine::general::layout::{Layout, Place},
    throttle::{self, AtWork as _},
    visit::{State, Visited, Visitor},
};
use std::marker::PhantomData;

type AloState = <throttle::Alo as throttle::Rule>::AtWork;

/// Headers wait while no useful channel is without owner and empty behind its link.
#[derive(Clone)]
pub(in crate::engine::general) struct UsefulChannels<V> {
    alo: AloState,
    /// Queues that hold a flit.
    held: BusyRegisters,
    /// Whether it is asked in words.
    in_words: bool,
    second: Vec<Vec<u64>>,
    vectors: PhantomData<V>,
}

impl<V: Vector> UsefulChannels<V> {
    /// Nodes one of whose output channels is without owner and empty behind its link.
    #[inline(always)]
    fn free(
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

impl<V: Vector> InWords<V> for UsefulChannels<V> {
    fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self> {
        let throttle::State::Alo(alo) = state else { return None };
        let layout = made.layout;
        let shown = Shown { margin: layout.buffer - 1, length: 1, apart: true, following: false };
        Some(Self {
            alo: alo.clone(),
            held: BusyRegisters::new(layout, shown),
            in_words: made.by_direction,
            second: first_channels(layout),
            vectors: PhantomData,
        })
    }

    #[inline(always)]
    fn observe(&mut self, around: &impl Around<V>) {
        self.held.look_all(around.layout(), around.flits());
    }

    #[inline(always)]
    fn may(&self, around: &impl Around<V>, pending: V, block: usize, queue: usize) -> Option<V> {
        if !self.in_words {
            return None;
        }
        let (layout, owners, word) = (around.layout(), around.owners(block), block * V::WORDS);
        let mut free = self.free(layout, word, queue, 0, &owners);
        if self.alo.is_own() {
            let second = V::load(&self.second[queue][word..]);
            if second.any() {
                free = second.select(self.free(layout, word, queue, 1, &owners), free);
            }
        } else {
            for channel in 1..layout.channels {
                free = free | self.free(layout, word, queue, channel, &owners);
            }
        }
        Some(pending & free)
    }

    fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool {
        self.alo.may_begin(around.cycle(), &around.first_hop(place, output), around)
    }
}

impl<V> State for UsefulChannels<V> {
    fn visit(&mut self, _visitor: &mut impl Visitor) -> Visited {
        // It goes by what it sees alone.
        let Self { alo: _, held: _, in_words: _, second: _, vectors: _ } = self;
        Ok(())
    }
}
