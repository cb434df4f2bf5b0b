use super::{Arbitration, ArbitrationError, North, Variant};
use crate::{
    fabric::Shape,
    fault::Fault,
    routing::{ChannelRule, Datelines, Freedom, Place, RoutingFunction},
};

/// Largest number of virtual channels per port.
pub const MAX_CHANNELS: u8 = 8;
/// Largest buffer depth in flits.
pub const MAX_BUFFER: u16 = 1024;
/// Places for queues in the records of a router: those of all links, and for the processor as many as it has
/// queues or a link channels.
pub const MAX_QUEUES: usize = 112;
/// Largest link latency in cycles.
pub const MAX_LATENCY: u16 = 1024;

named! {
    /// When a header may enter the next buffer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum FlowControl {
        /// As soon as one flit fits.
        #[default]
        Wormhole = "wormhole",
        /// Only when its whole packet fits.
        CutThrough = "cut-through",
        /// As cut-through, and a packet that enters a ring (a direction of a dimension that wraps, from
        /// the processor or another direction) must leave room for one more packet of the longest kind:
        /// the bubble that keeps the ring moving (Puente et al. 1999). Needs no datelines, so there are
        /// none: one channel suffices.
        Bubble = "bubble",
    }
}

impl FlowControl {
    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |&(name, _)| name)
    }
}

named! {
    /// Queues of a router's processor, with an unbounded source queue behind each.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum ProcessorQueues {
        /// One for all packets.
        #[default]
        One = "one",
        /// One for every direction of the first hop; that of the first direction for packets to the own node
        /// (state-propagation-throttling-2015).
        PerDirection = "per-direction",
    }
}

impl ProcessorQueues {
    /// How many there are at a router.
    pub fn count(self, shape: &Shape) -> usize {
        match self {
            Self::One => 1,
            Self::PerDirection => shape.directions(),
        }
    }
}

/// Parameters of every router. The default is the papers' router: three virtual channels, buffers
/// of four flits, latency of one cycle, wormhole, scheme C00 (cup-stacking-2022, 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterConfig {
    /// Virtual channels per link.
    pub channels: u8,
    /// Buffer depth of every input queue in flits.
    pub buffer: u16,
    /// Cycles from one router to the next.
    pub latency: u16,
    /// When a header may advance.
    pub flow_control: FlowControl,
    /// Which datelines count; none do with bubbles.
    pub datelines: Datelines,
    /// VC allocation grants an output channel of a link only to a header whose whole packet fits behind
    /// it at the start of the cycle; else its port list stays as it is (state-propagation-throttling-2015).
    pub grant_needs_room: bool,
    /// Queues of the processor.
    pub processor_queues: ProcessorQueues,
    /// Where flits wait.
    pub variant: Variant,
    /// Where the lists of input ports begin that `arbitration` does not give.
    pub north: North,
    /// Order among channels and input ports.
    pub arbitration: Arbitration,
    /// Which way packets go that bring no route.
    pub routing: RoutingFunction,
}

impl Default for RouterConfig {
    fn default() -> Self {
        Self {
            channels: 3,
            buffer: 4,
            latency: 1,
            flow_control: FlowControl::Wormhole,
            datelines: Datelines::BOTH,
            grant_needs_room: false,
            processor_queues: ProcessorQueues::One,
            variant: Variant::Queues,
            north: North::Plus,
            arbitration: Arbitration::default(),
            routing: RoutingFunction::default(),
        }
    }
}

impl RouterConfig {
    /// Virtual channels that keep dimension-order routing free of deadlock without bubbles: one per wrapping
    /// dimension or ring of a circulant and one more, since every dimension or ring crosses at most one dateline.
    pub fn channels_needed(shape: &Shape) -> u8 {
        1 + shape.rings() as u8
    }

    /// The papers' router with as many channels as the shape needs (at least three, where there is room for
    /// their queues).
    pub fn for_shape(shape: &Shape) -> Self {
        let fits = |&channels: &u8| Self::queues(shape, channels, ProcessorQueues::One) <= MAX_QUEUES;
        let usual = (1..=3).rev().find(fits).unwrap_or(1);
        Self { channels: Self::channels_needed(shape).max(usual), ..Self::default() }
    }

    /// Places for queues in the records of a router.
    fn queues(shape: &Shape, channels: u8, processor: ProcessorQueues) -> usize {
        shape.directions() * usize::from(channels) + processor.count(shape).max(channels.into())
    }

    /// The papers' router with a routing function, with as many channels as that needs (at least three)
    /// and the flow control it asks for.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, router::{FlowControl, RouterConfig}, routing::RoutingFunction};
    /// let router = RouterConfig::for_routing(&Shape::torus(&[8, 8])?, RoutingFunction::O1Turn);
    /// assert_eq!((router.channels, router.flow_control), (6, FlowControl::Wormhole));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn for_routing(shape: &Shape, routing: RoutingFunction) -> Self {
        let usual = Self { routing, ..Self::for_shape(shape) };
        let claims = routing.claims(usual.place(shape), false);
        let flow_control = match claims.freedom {
            Some(Freedom::Escape(_)) => FlowControl::CutThrough,
            _ => usual.flow_control,
        };
        Self { channels: usual.channels.max(claims.channels), flow_control, ..usual }
    }

    /// Where its routing function is used.
    pub fn place<'a>(&self, shape: &'a Shape) -> Place<'a> {
        Place { shape, rule: self.channel_rule() }
    }

    /// Which channel a packet uses after a hop. With bubbles there are no datelines.
    pub fn channel_rule(&self) -> ChannelRule {
        let bubble = self.flow_control == FlowControl::Bubble;
        ChannelRule::new(self.channels, if bubble { Datelines::NONE } else { self.datelines })
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn check(&self, shape: &Shape) -> Result<(), RouterError> {
        if self.channels == 0 || self.channels > MAX_CHANNELS {
            return Err(RouterError::Channels(self.channels));
        }
        if self.buffer == 0 || self.buffer > MAX_BUFFER {
            return Err(RouterError::Buffer(self.buffer));
        }
        if self.latency == 0 || self.latency > MAX_LATENCY {
            return Err(RouterError::Latency(self.latency));
        }
        let queues = Self::queues(shape, self.channels, self.processor_queues);
        if queues > MAX_QUEUES {
            let (links, channels) = (shape.directions(), self.channels);
            return Err(RouterError::Queues { links, channels, needed: queues });
        }
        self.check_routing(shape)?;
        self.check_variant(shape)?;
        Ok(self.arbitration.check(shape, self.channels)?)
    }

    fn check_variant(&self, shape: &Shape) -> Result<(), RouterError> {
        let variant = self.variant;
        if !variant.facts().plain {
            return Ok(());
        }
        let plain = self.flow_control == FlowControl::Wormhole && !self.grant_needs_room && self.latency == 1;
        let claims = self.routing.claims(self.place(shape), false);
        if !plain || !claims.oblivious || self.buffer <= variant.behind_queue() {
            return Err(RouterError::Variant(variant));
        }
        if claims.freedom.is_none() || claims.channels > self.channels {
            let (needed, given) = (claims.channels, self.channels);
            return Err(RouterError::VariantChannels { variant, needed, given });
        }
        Ok(())
    }

    /// Dimension order may run in circles that are then found; any other function keeps out of them.
    fn check_routing(&self, shape: &Shape) -> Result<(), RouterError> {
        let routing = self.routing;
        if routing == RoutingFunction::DimensionOrder {
            return Ok(());
        }
        if shape.is_twisted() {
            return Err(RouterError::Twist(routing));
        }
        if shape.has_steps() && routing.claims(self.place(shape), false).watches.is_some() {
            return Err(RouterError::Lines(routing));
        }
        if !routing.is_of_routers() {
            return Err(RouterError::GivenRoutes);
        }
        let claims = routing.claims(self.place(shape), self.flow_control == FlowControl::Bubble);
        match claims.freedom {
            _ if claims.channels > self.channels => {
                Err(RouterError::RoutingChannels { routing, needed: claims.channels, given: self.channels })
            }
            Some(Freedom::Escape(_)) if self.flow_control == FlowControl::Wormhole => {
                Err(RouterError::Wormhole(routing))
            }
            None => Err(RouterError::NoDatelines(routing)),
            Some(_) => Ok(()),
        }
    }
}

/// What can be wrong with router parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouterError {
    /// Number of channels out of range.
    Channels(u8),
    /// Buffer depth out of range.
    Buffer(u16),
    /// Latency out of range.
    Latency(u16),
    /// More channels needed by the routing function.
    RoutingChannels {
        /// The function.
        routing: RoutingFunction,
        /// Channels it needs.
        needed: u8,
        /// Channels of the router.
        given: u8,
    },
    /// A routing function that takes every dimension by itself, on a twisted torus.
    Twist(RoutingFunction),
    /// A routing function that goes by whole lines of routers, among full meshes or circulants.
    Lines(RoutingFunction),
    /// More queues in a router than the engines have room for.
    Queues {
        /// Its links.
        links: usize,
        /// Channels of each.
        channels: u8,
        /// Queues that are needed.
        needed: usize,
    },
    /// Escape channels with wormhole flow control.
    Wormhole(RoutingFunction),
    /// Rings that nothing opens.
    NoDatelines(RoutingFunction),
    /// A variant beside rules it is not defined for.
    Variant(Variant),
    /// A variant with too few channels.
    VariantChannels {
        /// The variant.
        variant: Variant,
        /// Channels needed.
        needed: u8,
        /// Channels of the router.
        given: u8,
    },
    /// Routes that nobody gives.
    GivenRoutes,
    /// Arbitration settings do not fit.
    Arbitration(ArbitrationError),
}

crate::fault::displays_fault!(RouterError);

impl RouterError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Channels(given) => {
                Fault::of("router.channels", format!("is {given}"), format!("it must be 1 to {MAX_CHANNELS}"))
            }
            Self::Buffer(given) => Fault::of(
                "router.buffer",
                format!("is {given} flits"),
                format!("it must be 1 to {MAX_BUFFER}"),
            ),
            Self::Latency(given) => Fault::of(
                "router.latency",
                format!("is {given} cycles"),
                format!("it must be 1 to {MAX_LATENCY}"),
            ),
            Self::RoutingChannels { routing, needed, given } => {
                let more = if *needed > MAX_CHANNELS { ", more than a router can have" } else { "" };
                let advice = format!("routing {routing} needs {needed} on this shape{more}");
                Fault::of("router.channels", format!("is {given}"), advice)
            }
            Self::Twist(routing) => Fault::of(
                "router.routing",
                format!(
                    "is {routing}, which takes every dimension by itself, but steps over an edge of a twisted torus \
                     lead along two"
                ),
                "dimension order (do) is defined there",
            ),
            Self::Lines(routing) => Fault::of(
                "router.routing",
                format!("is {routing}, which goes by the routers of a line ahead"),
                "full meshes and circulants have none; take do, o1turn, valiant, ugal, sa or ma",
            ),
            Self::Queues { links, channels, needed } => Fault::at(
                "router.channels",
                format!("{channels} on each of {links} links per router take places for {needed} queues"),
                format!("there are {MAX_QUEUES}, so take fewer channels or smaller full meshes"),
            ),
            Self::Wormhole(routing) => Fault::of(
                "router.flow_control",
                "is wormhole",
                format!(
                    "routing {routing} needs cut-through: packets that wait in adaptive channels must fit in one \
                     queue, or they could wait for each other in a circle"
                ),
            ),
            Self::NoDatelines(routing) => Fault::of(
                "router.routing",
                format!("is {routing}, whose channels rely on datelines, and none counts here"),
                "with wormhole or cut-through flow control they do",
            ),
            Self::Variant(variant) => Fault::of(
                "router.variant",
                format!("is {}", variant.facts().name),
                format!(
                    "that router has wormhole flow control, buffers of at least {} flits, links of one cycle, grants \
                     that need no room and routing that does not go by the traffic",
                    1 + variant.behind_queue()
                ),
            ),
            Self::VariantChannels { variant, needed, given } => Fault::of(
                "router.channels",
                format!("is {given}"),
                format!("with variant {} the routing needs {needed} on this shape", variant.facts().name),
            ),
            Self::GivenRoutes => Fault::of(
                "router.routing",
                "is given",
                "routes come with the packets (tables, plans), not with the router",
            ),
            Self::Arbitration(error) => error.fault().or_at("router.arbitration"),
        }
    }
}

impl From<ArbitrationError> for RouterError {
    fn from(error: ArbitrationError) -> Self {
        Self::Arbitration(error)
    }
}
