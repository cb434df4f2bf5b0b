//! The closed list of router variants, as the engine runs them.

use super::Crosses;
use crate::{
    bits::Vector,
    engine::general::{layout::Layout, record::Record, state::State},
    router::Variant,
};

macro_rules! crossbars {
    ($($(#[cfg($condition:meta)])? $variant:ident: $module:ident::$name:ident,)+) => {
        impl<V: Vector, R: Record> State<V, R> {
            /// Flits leave their queues; see [`Crosses::cross`].
            #[inline(always)]
            pub(in crate::engine::general) fn cross(&mut self, layout: &Layout, cycle: u64) -> bool {
                match layout.variant {
                    $($(#[cfg($condition)])?
                    Variant::$variant => super::$module::$name::cross(self, layout, cycle),)+
                }
            }

            /// Whether links send by the room that is made in the same cycle.
            pub(in crate::engine::general) fn sends_late(layout: &Layout) -> bool {
                match layout.variant {
                    $($(#[cfg($condition)])? Variant::$variant => super::$module::$name::SENDS_LATE,)+
                }
            }

            /// What is sent then; see [`Crosses::send_late`].
            #[inline(always)]
            pub(in crate::engine::general) fn send_late(&mut self, layout: &Layout) -> bool {
                match layout.variant {
                    $($(#[cfg($condition)])? Variant::$variant => super::$module::$name::send_late(self, layout),)+
                }
            }

            /// Headers and tails leave; see [`Crosses::depart`].
            #[inline(always)]
            pub(in crate::engine::general) fn depart(&mut self, layout: &Layout, cycle: u64) {
                match layout.variant {
                    $($(#[cfg($condition)])? Variant::$variant => super::$module::$name::depart(self, layout, cycle),)+
                }
            }
        }
    };
}

// With the names of `router/variant.rs`; the compiler asks for all of them.
crossbars! {
    Queues: direct::Direct,
    Registers: registered::Registered,
    #[cfg(test)]
    HalfClock: half_clock::HalfClock,
}
