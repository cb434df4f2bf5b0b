//! The options of a run, read from words `name=value`.

use std::collections::HashMap;

/// What all routers, links and sources of a network have in common.
pub struct Settings {
    pub radix: usize,
    pub dimensions: usize,
    pub routing: String,
    pub traffic: String,
    pub channels: usize,
    pub places: usize,
    pub packet_size: usize,
    pub rate: f64,
    pub seed: u64,
    pub latency: usize,
    pub routing_delay: usize,
    pub crossbar_delay: usize,
    pub credit_delay: usize,
    pub vc_allocator: String,
    pub sw_allocator: String,
    pub spec_allocator: String,
    pub speculative: bool,
    pub check_eligible: bool,
    pub check_credit: bool,
    pub mask_by_requests: bool,
    pub input_speedup: usize,
    pub output_speedup: usize,
    pub internal_speedup: f64,
    pub output_places: Option<usize>,
    pub wait_for_tail_credit: bool,
    pub busy_when_full: bool,
    pub prefers_empty: bool,
    pub shuffles: bool,
    pub donates: bool,
    pub holds: bool,
    pub priority: String,
}

impl Settings {
    pub fn read(words: &str) -> Self {
        let given: HashMap<&str, &str> =
            words.split_whitespace().map(|word| word.split_once('=').expect("name=value")).collect();
        let text = |name: &str, default: &str| given.get(name).unwrap_or(&default).to_string();
        let whole =
            |name: &str, default: i64| given.get(name).map_or(default, |value| value.parse().unwrap());
        let size = |name: &str, default: i64| whole(name, default) as usize;
        let flag = |name: &str, default: i64| whole(name, default) > 0;
        let wraps = text("topology", "torus") == "torus";
        let output = whole("output_buffer_size", -1);
        Self {
            radix: size("k", 8),
            dimensions: size("n", 2),
            routing: text("routing_function", ""),
            traffic: text("traffic", "uniform"),
            channels: size("num_vcs", 16),
            places: size("vc_buf_size", 8),
            packet_size: size("packet_size", 1),
            rate: text("injection_rate", "0.1").parse().unwrap(),
            seed: size("seed", 0) as u64,
            latency: if wraps { 2 } else { 1 },
            routing_delay: size("routing_delay", 1),
            crossbar_delay: size("st_prepare_delay", 0) + size("st_final_delay", 1),
            credit_delay: size("credit_delay", 0),
            vc_allocator: text("vc_allocator", "islip"),
            sw_allocator: text("sw_allocator", "islip"),
            spec_allocator: text("spec_sw_allocator", "prio"),
            speculative: flag("speculative", 0),
            check_eligible: flag("spec_check_elig", 1),
            check_credit: flag("spec_check_cred", 1),
            mask_by_requests: flag("spec_mask_by_reqs", 0),
            input_speedup: size("input_speedup", 1),
            output_speedup: size("output_speedup", 1),
            internal_speedup: text("internal_speedup", "1.0").parse().unwrap(),
            output_places: usize::try_from(output).ok(),
            wait_for_tail_credit: flag("wait_for_tail_credit", 0),
            busy_when_full: flag("vc_busy_when_full", 0),
            prefers_empty: flag("vc_prioritize_empty", 0),
            shuffles: flag("vc_shuffle_requests", 0),
            donates: flag("vc_priority_donation", 0),
            holds: flag("hold_switch_for_packet", 0),
            priority: text("priority", "none"),
        }
    }

    pub fn nodes(&self) -> usize {
        self.radix.pow(self.dimensions as u32)
    }

    /// Ports of a router: two per dimension, the last one for the processor.
    pub fn ports(&self) -> usize {
        2 * self.dimensions + 1
    }

    /// The coordinates of a node, dimension 0 first.
    pub fn coordinates(&self, node: usize) -> Vec<usize> {
        (0..self.dimensions).map(|d| node / self.radix.pow(d as u32) % self.radix).collect()
    }

    pub fn node(&self, coordinates: &[usize]) -> usize {
        coordinates.iter().rev().fold(0, |node, &c| node * self.radix + c)
    }

    /// The router behind an output port.
    pub fn neighbour(&self, router: usize, port: usize) -> usize {
        let mut at = self.coordinates(router);
        let step = if port.is_multiple_of(2) { 1 } else { self.radix - 1 };
        at[port / 2] = (at[port / 2] + step) % self.radix;
        self.node(&at)
    }

    /// The port by which what left by a port enters the neighbour.
    pub fn opposite(port: usize) -> usize {
        if port.is_multiple_of(2) { port + 1 } else { port - 1 }
    }
}
