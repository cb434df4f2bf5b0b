//! Message graphs as workloads.

use crate::{errors::spec_error, traffic::Workload};
use flitloom_core::traffic::{self, MessageGraph, parse_goal};
use pyo3::prelude::*;

/// A GOAL text as a workload: rank r on node `nodes[r]`.
#[pyfunction]
pub fn goal_workload(
    py: Python<'_>,
    text: &str,
    flit_bytes: u64,
    calc_cycles: u64,
    packet_payload: u32,
    nodes: Vec<u32>,
) -> PyResult<Workload> {
    let ranks =
        parse_goal(text, flit_bytes, calc_cycles).map_err(|error| spec_error(py, "traffic.graph", error))?;
    let graph = MessageGraph::new(ranks, nodes, packet_payload)
        .map_err(|error| spec_error(py, "traffic.graph", error))?;
    Ok(Workload { inner: traffic::Workload::Graph(graph) })
}
