//! Message graphs as workloads, with the routes of tables.

use crate::{errors::spec_error, network::Network, route::RoutingTable, traffic::Workload};
use flitloom_core::traffic::{self, MessageGraph, Routes, parse_goal};
use pyo3::prelude::*;
use std::collections::HashMap;

/// A GOAL text as a workload: rank r on node `nodes[r]`, over the routes of a table if one is given.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the units of a text")]
pub fn goal_workload(
    py: Python<'_>,
    network: &Network,
    text: &str,
    flit_bytes: u64,
    calc_cycles: u64,
    packet_payload: u32,
    nodes: Vec<u32>,
    table: Option<&RoutingTable>,
) -> PyResult<Workload> {
    let ranks =
        parse_goal(text, flit_bytes, calc_cycles).map_err(|error| spec_error(py, "messages", error))?;
    let graph =
        MessageGraph::new(ranks, nodes, packet_payload).map_err(|error| spec_error(py, "messages", error))?;
    let shape = network.inner.fabric().shape();
    if let Some(table) = table
        && table.inner.system().fabric().shape() != shape
    {
        return Err(spec_error(py, "tables", "they are for another network"));
    }
    let graph = match table {
        None => graph,
        Some(table) => {
            let mut routes = Routes::default();
            let mut pairs = HashMap::new();
            for (source, destination) in graph.pairs() {
                let known = (source.max(destination) as usize) < shape.nodes();
                if let Some(hops) = known.then(|| table.inner.hops(source, destination)).flatten() {
                    pairs.insert((source, destination), routes.len());
                    routes.push(hops, 0);
                }
            }
            graph.with_routes(routes, pairs)
        }
    };
    Ok(Workload { inner: traffic::Workload::Graph(graph) })
}
