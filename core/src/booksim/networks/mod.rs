//! The networks that BookSim2 knows, with its numbers of routers and ports. What routing functions draw and when, their
//! thresholds and the order of their ports were found by comparing with the binary.

mod any;
mod cube;
mod dragonfly;
mod flat;
mod shape;
mod staged;

use super::options::{OptionError, Options};
use crate::engine::pipelined::{Config, Network, Rules, Wiring};

/// The names of all topologies.
const NAMES: [&str; 8] = ["mesh", "torus", "fly", "fattree", "cmesh", "flatfly", "dragonflynew", "anynet"];

/// The rules of routers on the network that options describe.
pub(super) fn rules(options: &Options, config: Config) -> Result<Rules, OptionError> {
    match options.text("topology") {
        "mesh" | "torus" => on(config, cube::Cube::new(options)?),
        "fly" | "fattree" => on(config, staged::Staged::new(options)?),
        "cmesh" | "flatfly" => on(config, flat::Flat::new(options)?),
        "dragonflynew" => on(config, dragonfly::Dragonfly::new(options)?),
        "anynet" => on(config, any::Any::new(options)?),
        other => Err(OptionError {
            option: "topology",
            text: format!("{other:?} is not known here; there are {}", NAMES.join(", ")),
        }),
    }
}

/// Those on a network.
fn on(config: Config, (network, wiring): (impl Network + 'static, Wiring)) -> Result<Rules, OptionError> {
    Rules::new(config, network, wiring).map_err(OptionError::of)
}

/// The routing function of a name, or a refusal that lists all of a kind of network.
fn named<T: Copy>(options: &Options, known: &[(&str, T)], what: &str) -> Result<T, OptionError> {
    let text = options.text("routing_function");
    known.iter().find(|(name, _)| *name == text).map(|&(_, one)| one).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        OptionError {
            option: "routing_function",
            text: format!("{text:?} is not known on {what} here; there are {}", names.join(", ")),
        }
    })
}

/// Refuses networks of too many nodes.
fn bounded(nodes: Option<u64>) -> Result<usize, OptionError> {
    nodes
        .filter(|&nodes| nodes <= 1 << 16)
        .map(|nodes| nodes as usize)
        .ok_or_else(|| OptionError { option: "k", text: format!("there are more than {} nodes", 1 << 16) })
}
