//! Which way a packet may go, asked at every router: the closed list of routing functions.

use super::{
    At, Header, Output, Place, Seen,
    claims::{About, Claims, Function},
};
use crate::names::UnknownName;
use std::{fmt, str::FromStr};

macro_rules! functions {
    ($($(#[cfg($condition:meta)])? $module:ident::$name:ident: $doc:literal,)+) => {
        /// A routing function.
        ///
        /// What packets carry ([`Header`]) never changes on their way; everything else a function goes
        /// by is where the packet is and how it came there ([`At`]), and what its router sees ([`Seen`]).
        ///
        /// ```
        /// use flitloom_core::fabric::Shape;
        /// use flitloom_core::routing::{At, ChannelRule, Datelines, Header, Place, RoutingFunction};
        /// let place = Place { shape: &Shape::torus(&[8, 8])?, rule: ChannelRule::new(3, Datelines::BOTH) };
        /// let header = Header::new(0, 18, 8);
        /// let ways = |function: RoutingFunction| -> Vec<String> {
        ///     let options = function.options(place, At::source(0), &header);
        ///     options.iter().map(|output| output.to_string()).collect()
        /// };
        /// assert_eq!(ways(RoutingFunction::DimensionOrder), ["+x vc0"]);
        /// assert_eq!(ways("sa".parse()?), ["+x vc2", "+y vc2", "+x vc0"]);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RoutingFunction {
            $(#[doc = $doc] $(#[cfg($condition)])? $name,)+
        }

        impl RoutingFunction {
            /// All functions.
            pub const ALL: &'static [Self] = &[$($(#[cfg($condition)])? Self::$name,)+];

            /// Names in the order of [`ALL`](Self::ALL).
            pub const NAMES: &'static [&'static str] =
                &[$($(#[cfg($condition)])? super::$module::$name::NAME,)+];

            /// Its short name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name => super::$module::$name::NAME,)+
                }
            }

            /// Its name written out.
            pub const fn long_name(self) -> &'static str {
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name => super::$module::$name::LONG_NAME,)+
                }
            }

            /// What it does, in a line.
            pub const fn summary(self) -> &'static str {
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name => super::$module::$name::SUMMARY,)+
                }
            }

            /// What it claims where it is used; `bubble` says whether the bubble rule is in force.
            pub fn claims(self, place: Place, bubble: bool) -> Claims {
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name => super::$module::$name::claims(place, bubble),)+
                }
            }

            /// Every output a header may ask for in some state of the network, in the order of
            /// preference; the processor's alone when it has arrived.
            pub fn options(self, place: Place, at: At, header: &Header) -> Vec<Output> {
                let mut outputs = Vec::new();
                let may = |output| outputs.push(output);
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name => super::$module::$name::options(place, at, header, may),)+
                }
                outputs
            }

            /// The output a header asks for in this cycle, given what its router sees; `None` for
            /// nothing this time.
            #[inline(always)]
            pub fn choice(self, place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output> {
                match self {
                    $($(#[cfg($condition)])?
                    Self::$name => super::$module::$name::choice(place, at, header, seen),)+
                }
            }
        }
    };
}

functions! {
    in_order::DimensionOrder: "`do`: one dimension after the other \
                                      ([`dimension_order`](super::dimension_order)).",
    given::Given: "`given`: every packet brings its route.",
    simple_adaptive::SimpleAdaptive: "`sa`: an adaptive channel in the direction with more space, else an \
                                      escape channel in dimension order (simple adaptive; \
                                      scaling-effects-2007).",
    cross_line::CrossLine: "`cl`: as `sa`, in the direction with fewer full buffers on the whole line ahead \
                            (cross line; scaling-effects-2007).",
    o1turn::O1Turn: "`o1turn`: every packet draws whether it takes the dimensions in ascending or descending \
                     order (Seo et al. 2005).",
    valiant::Valiant: "`valiant`: in dimension order to a node drawn for the packet, and on from there \
                       (Valiant and Brebner 1981).",
    minimal_adaptive::MinimalAdaptive: "`ma`: any number of adaptive channels, the one with the most space in \
                                        any direction that leads nearer (Duato 1993).",
    #[cfg(test)]
    reverse_order::ReverseOrder: "`reverse`: dimension order from the last dimension to the first.",
    ugal::Ugal: "`ugal`: at its source a packet chooses the short way or one by a node drawn for it, by what \
                 waits ahead times the hops (Singh 2005).",
}

#[expect(clippy::derivable_impls, reason = "a macro writes the variants")]
impl Default for RoutingFunction {
    fn default() -> Self {
        Self::DimensionOrder
    }
}

impl RoutingFunction {
    /// Whether a router can be given it by name: all but [`Given`](Self::Given), which comes with the
    /// packets.
    pub fn is_of_routers(self) -> bool {
        self != Self::Given
    }

    /// Whether it is free of deadlock where it is used, so that no run has to look for one.
    pub fn is_deadlock_free(self, place: Place, bubble: bool) -> bool {
        let claims = self.claims(place, bubble);
        claims.freedom.is_some() && place.rule.channels() >= claims.channels
    }
}

impl fmt::Display for RoutingFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for RoutingFunction {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |function: &&Self| text == function.name() || text == function.long_name();
        Self::ALL
            .iter()
            .find(named)
            .copied()
            .ok_or_else(|| UnknownName::of("routing function", "the functions are", text, Self::NAMES))
    }
}
