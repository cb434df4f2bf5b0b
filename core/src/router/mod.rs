//! The rules of one router in one cycle: ports, virtual channels, buffers, VC
//! allocation, switch allocation and flow control.
//!
//! A router has one port per link direction, numbered by [`Direction::index`](crate::fabric::Direction::index),
//! and after them the processor port P.

mod arbitration;
mod config;

pub use arbitration::{Arbitration, ArbitrationError, ChannelScheme, North};
pub use config::{
    FlowControl, MAX_BUFFER, MAX_CHANNELS, MAX_LATENCY, MAX_QUEUES, ProcessorQueues, RouterConfig,
    RouterError, Variant,
};
