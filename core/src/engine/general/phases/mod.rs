//! The phases of a cycle, in their order. They hold no state of their own.

mod adaptive_requests;
mod arrive;
mod inject;
mod injection_control;
mod output_registers;
mod route_computation;
mod switch_allocation;
mod traverse;
mod vc_allocation;
