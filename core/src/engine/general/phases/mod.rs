//! The phases of a cycle, in their order. They hold no state of their own.

mod account;
mod adaptive_requests;
mod arrive;
mod inject;
mod injection_control;
mod route_computation;
mod vc_allocation;
