//! Networks with routing functions of their own. Those beside meshes and tori that BookSim2 knows have its numbers
//! of routers and ports; what they draw and when, their thresholds and the order of their ports were found by
//! comparing with the binary. Tori and meshes of any sizes, and graphs with tables, are flitloom's own.

mod any;
mod dragonfly;
mod flat;
mod grid;
mod staged;
mod switched;

pub(super) use grid::Grid;
pub use switched::{Lanes, Switched};

use super::{
    flit::{Packet, Ways},
    numbers::Numbers,
    options::{OptionError, Options},
    routing::Place,
    wiring::Wiring,
};

/// A network with its routing function.
#[derive(Clone, Debug)]
pub(super) enum Network {
    /// A k-ary n-fly or a fat tree.
    Staged(staged::Staged),
    /// Concentrated meshes and flattened butterflies.
    Flat(flat::Flat),
    Dragonfly(dragonfly::Dragonfly),
    /// Any graph with a table.
    Any(any::Any),
    /// A torus or a mesh with a routing function of flitloom's own.
    Grid(Grid),
    /// Any graph with tables by destination and lanes.
    Switched(Switched),
}

impl Network {
    /// The names of all topologies.
    pub(super) const NAMES: [&str; 6] = ["fly", "fattree", "cmesh", "flatfly", "dragonflynew", "anynet"];

    /// The network that options describe, and its wiring.
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        match options.text("topology") {
            "fly" | "fattree" => {
                staged::Staged::new(options).map(|(one, wiring)| (Self::Staged(one), wiring))
            }
            "cmesh" | "flatfly" => flat::Flat::new(options).map(|(one, wiring)| (Self::Flat(one), wiring)),
            "dragonflynew" => {
                dragonfly::Dragonfly::new(options).map(|(one, wiring)| (Self::Dragonfly(one), wiring))
            }
            "anynet" => any::Any::new(options).map(|(one, wiring)| (Self::Any(one), wiring)),
            other => Err(OptionError {
                option: "topology",
                text: format!(
                    "{other:?} is not known here; there are mesh, torus, {}",
                    Self::NAMES.join(", ")
                ),
            }),
        }
    }

    /// The ways of a header at a router.
    pub(super) fn ways(
        &self,
        wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut Numbers,
    ) -> Ways {
        match self {
            Self::Staged(one) => one.ways(wiring, place, packet, numbers),
            Self::Flat(one) => one.ways(wiring, place, packet, numbers),
            Self::Dragonfly(one) => one.ways(wiring, place, packet, numbers),
            Self::Any(one) => one.ways(place, packet),
            Self::Grid(one) => one.ways(place, packet),
            Self::Switched(one) => one.ways(place, packet),
        }
    }

    /// The channels that a header to a node may take from its source: one of all that is drawn, or some of those
    /// given.
    pub(super) fn entry_channels(
        &self,
        wiring: &Wiring,
        to: u32,
        (all, channels): (usize, (u32, u32)),
        numbers: &mut Numbers,
    ) -> (u32, u32) {
        match self {
            Self::Dragonfly(_) => {
                let one = numbers.upto(all as u32 - 1);
                (one, one)
            }
            Self::Flat(one) => one.entry_channels(wiring, to, channels),
            _ => channels,
        }
    }

    /// Whether ways draw numbers. Those of flitloom's own networks are functions of the packet.
    pub(super) fn draws(&self) -> bool {
        !matches!(self, Self::Grid(_) | Self::Switched(_))
    }

    /// Whether ways depend on the load.
    pub(super) fn goes_by_load(&self) -> bool {
        match self {
            Self::Staged(one) => one.goes_by_load(),
            Self::Flat(one) => one.goes_by_load(),
            Self::Dragonfly(one) => one.goes_by_load(),
            _ => false,
        }
    }

    /// The least number of channels that its routing function needs for a packet.
    pub(super) fn least_channels(&self) -> u32 {
        match self {
            Self::Flat(one) => one.least_channels(),
            Self::Grid(one) => one.classes(),
            Self::Switched(one) => one.lanes(),
            _ => 1,
        }
    }
}

/// The routing function of a name, or a refusal that lists all.
fn named<T: Copy>(options: &Options, known: &[(&str, T)]) -> Result<T, OptionError> {
    let text = options.text("routing_function");
    known.iter().find(|(name, _)| *name == text).map(|&(_, one)| one).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        let what = options.text("topology");
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
