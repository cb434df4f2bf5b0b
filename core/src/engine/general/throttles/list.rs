//! The closed list of throttles in words.

use super::in_words::{Around, InWords, Made};
use crate::{
    bits::Vector,
    engine::general::layout::{Layout, Place},
    fabric::NodeId,
    throttle::{self, Ask},
    visit::{State, Visited, Visitor},
};

macro_rules! throttles {
    ($($(#[cfg($condition:meta)])? $module:ident::$name:ident,)+) => {
        /// How a throttle is asked.
        #[derive(Clone)]
        pub(in crate::engine::general) enum Throttle<V: Vector> {
            $($(#[cfg($condition)])? $name(Box<super::$module::$name<V>>),)+
        }

        impl<V: Vector> State for Throttle<V> {
            fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.visit(visitor),)+
                }
            }
        }

        impl<V: Vector> InWords<V> for Throttle<V> {
            fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self> {
                $(
                    $(#[cfg($condition)])?
                    if let Some(throttle) = super::$module::$name::of(state, made) {
                        return Some(Self::$name(Box::new(throttle)));
                    }
                )+
                None
            }

            #[inline(always)]
            fn observe(&mut self, around: &impl Around<V>) {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.observe(around),)+
                }
            }

            #[inline(always)]
            fn may(&self, around: &impl Around<V>, pending: V, block: usize, queue: usize) -> Option<V> {
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name(throttle) => throttle.may(around, pending, block, queue),)+
                }
            }

            fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.may_begin(around, place, output),)+
                }
            }

            #[inline(always)]
            fn holds_everything(&self, cycle: u64, node: usize) -> bool {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.holds_everything(cycle, node),)+
                }
            }

            fn keeps_headers(&self) -> bool {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.keeps_headers(),)+
                }
            }

            fn wait(&mut self, layout: &Layout, place: Place, ask: &Ask) {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.wait(layout, place, ask),)+
                }
            }

            fn granted(&mut self, cycle: u64, node: NodeId) {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.granted(cycle, node),)+
                }
            }

            fn at_rest(&self) -> bool {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.at_rest(),)+
                }
            }

            fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.send_halo(direction, first, row, words),)+
                }
            }

            fn receive_halo(&mut self, side: usize, words: &[u64]) {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.receive_halo(side, words),)+
                }
            }

            fn asks_for_sums(&self, cycle: u64) -> Option<bool> {
                match self {
                    $($(#[cfg($condition)])? Self::$name(throttle) => throttle.asks_for_sums(cycle),)+
                }
            }
        }
    };
}

// The first that has a form for a throttle takes it; the last one takes all.
throttles! {
    spth::LineAhead,
    path_turn::PathInOrder,
    path_turn_any::AnyPath,
    pace::Resting,
    alo::UsefulChannels,
    #[cfg(test)]
    even_cycles::EvenCycles,
    by_header::ByHeader,
}
