//! Which way: the routing functions.

pub mod dimension_order;
