//! The rules of one router in one cycle: ports, virtual channels, buffers, VC
//! allocation, switch allocation and flow control.
//!
//! A router has one port per link direction, numbered by [`Direction::index`](crate::fabric::Direction::index),
//! and after them the processor port P.

mod arbitration;
mod config;
mod scheme;
mod variant;

pub use arbitration::{Arbitration, ArbitrationError, North};
pub use config::{
    FlowControl, MAX_BUFFER, MAX_CHANNELS, MAX_LATENCY, MAX_QUEUES, ProcessorQueues, RouterConfig,
    RouterError,
};
pub use scheme::{ChannelScheme, Start, Turn};
pub use variant::{Variant, VariantFacts};
