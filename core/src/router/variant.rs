//! How flits cross a router: the facts of all variants. What they do in a cycle is in
//! `engine/general/crossbar/`.

/// What the rest of the router has to know of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantFacts {
    /// Its name.
    pub name: &'static str,
    /// Behind every output channel there is a register of one flit, which is one of the flits of a buffer. An
    /// output channel keeps its owner until the tail has left the register.
    pub registers: bool,
    /// It is defined for wormhole flow control, links of one cycle, grants that need no room, and routing free of
    /// deadlock that does not go by the traffic, only.
    pub plain: bool,
    /// The plane engine has it, too.
    pub in_planes: bool,
}

macro_rules! variants {
    ($($(#[doc = $doc:literal])+ $(#[cfg($condition:meta)])? $variant:ident = $facts:expr;)+) => {
        /// Where flits wait in a router.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Variant {
            $($(#[doc = $doc])+ $(#[cfg($condition)])? $variant,)+
        }

        impl Variant {
            /// All of them by name.
            pub const NAMES: &'static [(&'static str, Self)] =
                &[$($(#[cfg($condition)])? (Self::$variant.facts().name, Self::$variant),)+];

            /// Its facts.
            pub const fn facts(self) -> VariantFacts {
                match self {
                    $($(#[cfg($condition)])? Self::$variant => $facts,)+
                }
            }
        }
    };
}

// The first one is the default.
variants! {
    /// In input queues alone.
    Queues = VariantFacts { name: "queues", registers: false, plain: false, in_planes: true };
    /// In input queues one flit shorter, and in a register of one flit behind every output channel, filled
    /// by the crossbar and emptied by the link; an output channel gets a new owner after the tail has left
    /// its register.
    Registers = VariantFacts { name: "registers", registers: true, plain: true, in_planes: true };
    /// In input queues alone; the crossbar works in even cycles only. It exists in tests only.
    #[cfg(test)]
    HalfClock = VariantFacts { name: "half-clock", registers: false, plain: true, in_planes: false };
}

impl Variant {
    /// Flits of a buffer that have no place in its queue.
    pub const fn behind_queue(self) -> u16 {
        if self.facts().registers { 1 } else { 0 }
    }
}

impl Default for Variant {
    fn default() -> Self {
        Self::NAMES[0].1
    }
}
