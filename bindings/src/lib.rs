//! The Python extension module `flitloom._core`: converts, releases the GIL and maps errors; no logic.

#![allow(missing_docs, reason = "the Python side documents what users see")]

mod benchmark;
mod collective;
mod errors;
mod fabric;
mod film;
mod genetic;
mod interrupts;
mod late;
mod lists;
mod message_graph;
mod mixed;
mod network;
mod operation;
mod pipelined;
mod pipelined_simulation;
mod place;
mod ranks;
mod route;
mod running;
mod schedule;
mod simulation;
mod stacking;
mod traffic;

use pyo3::prelude::*;

/// Rust core of flitloom.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{
        benchmark::{best_planes, engines, exchange_seconds, in_parts, repeat},
        collective::{nested_rounds, plan_collective, raises, spread_pieces},
        fabric::{
            check_forwarding, fabric_bound, fabric_distances, forward, multicast_tree, read_lfts,
            read_path_levels, recognise, recognise_fat_tree, recognise_groups, recognise_product,
            repair_forwarding, rising_lanes, survive_forwarding,
        },
        genetic::{genetic_extrapolate, genetic_replay, genetic_search},
        interrupts::{first_to_tell, hold_interrupts, watch_interrupts},
        late::{delays, plan_dependencies, separate_channels, spread_plan},
        lists::{routing_functions, throttle_variables, throttles},
        message_graph::goal_workload,
        mixed::{change_together, mixed_forwarding, patch_forwarding, unsafe_managers},
        network::{Network, Routers},
        operation::{operation_phases, phases_respected, tighten_phases},
        pipelined::{Judged, Pipelined, described_network, pipelined_options},
        place::{JobFloor, PlacementProblem},
        route::{RoutingRules, RoutingSystem, RoutingTable, resilience, route},
        schedule::{ScheduleProblem, check_plan, octant_pair, other_route, plan_workload},
        simulation::{Simulation, lower_bound, source_queue_verdict, throttle_text},
        stacking::stack,
        traffic::{Destinations, Workload},
    };
    use flitloom_core::{
        engine, fabric,
        probe::LinkTime,
        router,
        schedule::Problem,
        traffic::{CollectiveOperation, OpenLoad, PacketList},
    };
    use pyo3::{prelude::*, types::PyDict};

    /// Version of the crate, and the commit it was built from ("" if unknown).
    #[pyfunction]
    fn build() -> (&'static str, &'static str) {
        (env!("CARGO_PKG_VERSION"), env!("FLITLOOM_COMMIT"))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let limits = PyDict::new(module.py());
        limits.set_item("dimensions", fabric::MAX_DIMENSIONS)?;
        limits.set_item("directions", fabric::MAX_DIRECTIONS)?;
        limits.set_item("nodes", fabric::MAX_NODES)?;
        limits.set_item("table_nodes", flitloom_core::routes::by_source::MAX_TABLE_NODES)?;
        limits.set_item("channels", router::MAX_CHANNELS)?;
        limits.set_item("buffer", router::MAX_BUFFER)?;
        limits.set_item("latency", router::MAX_LATENCY)?;
        limits.set_item("length", PacketList::MAX_LENGTH)?;
        limits.set_item("packets", PacketList::MAX_PACKETS)?;
        limits.set_item("outstanding", OpenLoad::MOST_OUTSTANDING)?;
        limits.set_item("start", PacketList::MAX_START)?;
        limits.set_item("queues", engine::Network::MAX_QUEUES)?;
        limits.set_item("queued_flits", engine::Network::MAX_QUEUED_FLITS)?;
        limits.set_item("link_time_cells", LinkTime::MAX_CELLS)?;
        limits.set_item("messages", CollectiveOperation::MAX_MESSAGES)?;
        limits.set_item("uses", Problem::MAX_USES)?;
        limits.set_item("starts", Problem::MAX_STARTS)?;
        module.add("LIMITS", limits)?;
        module.add("LISTS", super::lists::lists(module.py())?)
    }
}
