use super::{Arbitration, ArbitrationError};
use crate::{
    fabric::Shape,
    routing::{ChannelRule, Datelines},
};
use thiserror::Error;

/// Largest number of virtual channels per port.
pub const MAX_CHANNELS: u8 = 8;
/// Largest buffer depth in flits.
pub const MAX_BUFFER: u16 = 1024;
/// Largest link latency in cycles.
pub const MAX_LATENCY: u16 = 1024;

/// When a header may enter the next buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FlowControl {
    /// As soon as one flit fits.
    #[default]
    Wormhole,
    /// Only when its whole packet fits.
    CutThrough,
    /// As cut-through, and a packet that enters a ring (a direction of a dimension that wraps, from
    /// the processor or another direction) must leave room for one more packet of the longest kind:
    /// the bubble that keeps the ring moving (Puente et al. 1999). Needs no datelines, so there are
    /// none: one channel suffices.
    Bubble,
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
    /// Queue selection grants an output channel of a link only to a header whose whole packet fits behind
    /// it at the start of the cycle; else its port list stays as it is (state-propagation-throttling-2015).
    pub grant_needs_room: bool,
    /// Order among channels and input ports.
    pub arbitration: Arbitration,
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
            arbitration: Arbitration::default(),
        }
    }
}

impl RouterConfig {
    /// Virtual channels that keep dimension-order routing free of deadlock without bubbles: one per
    /// wrapping dimension and one more, since every dimension crosses at most one dateline.
    pub fn channels_needed(shape: &Shape) -> u8 {
        1 + (0..shape.dimensions()).filter(|&dimension| shape.wraps(dimension)).count() as u8
    }

    /// The papers' router with as many channels as the shape needs (at least three).
    pub fn for_shape(shape: &Shape) -> Self {
        Self { channels: Self::channels_needed(shape).max(3), ..Self::default() }
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
        Ok(self.arbitration.check(shape, self.channels)?)
    }
}

/// What can be wrong with router parameters.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RouterError {
    /// Number of channels out of range.
    #[error("router.channels is {0}; it must be 1 to {MAX_CHANNELS}")]
    Channels(u8),
    /// Buffer depth out of range.
    #[error("router.buffer is {0} flits; it must be 1 to {MAX_BUFFER}")]
    Buffer(u16),
    /// Latency out of range.
    #[error("router.latency is {0} cycles; it must be 1 to {MAX_LATENCY}")]
    Latency(u16),
    /// Arbitration settings do not fit.
    #[error("router.arbitration: {0}")]
    Arbitration(#[from] ArbitrationError),
}
