use super::{Bound, TableError};
use crate::fabric::NodeId;

/// Parameters of the genetic generator; the defaults are those of angara-routing-2021, Section 4.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneticSettings {
    /// Chromosomes kept from one generation to the next, at least 2.
    pub population: usize,
    /// Probability that a gene of a child is drawn anew.
    pub mutation: f64,
    /// Generations without progress after which the search ends.
    pub patience: u32,
    /// Progress smaller than this fraction of the best fitness counts as none.
    pub threshold: f64,
}

impl Default for GeneticSettings {
    fn default() -> Self {
        Self { population: 100, mutation: 0.02, patience: 30, threshold: 0.05 }
    }
}

/// What is asked of a method of making tables.
#[derive(Clone, Debug)]
pub struct Request {
    /// Weight of every ordered pair, source-major; `None` counts each pair once.
    pub traffic: Option<Vec<u64>>,
    /// Seed of searches that draw.
    pub seed: u64,
    /// Factor on the work the balanced method may spend, at least 1.
    pub effort: u32,
    /// Parameters of the genetic method.
    pub genetic: GeneticSettings,
    /// Whether the shortest-path method routes pairs without a choice first.
    pub unique_first: bool,
    /// Rounds spent on the dual bound of methods that do not need it themselves.
    pub bound_rounds: u32,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            traffic: None,
            seed: 1,
            effort: 1,
            genetic: GeneticSettings::default(),
            unique_first: true,
            bound_rounds: 400,
        }
    }
}

/// What a method makes.
#[derive(Clone, Debug)]
pub struct Made {
    /// The header of every pair, source-major.
    pub headers: Vec<u32>,
    /// A lower bound that it found by the way.
    pub bound: Option<Bound>,
    /// Calls of the single-source search.
    pub calls: Option<u64>,
}

impl Made {
    /// Headers of all pairs, unless some are not served.
    pub(crate) fn of(headers: Vec<u32>, unserved: &[(NodeId, NodeId)]) -> Result<Self, TableError> {
        if unserved.is_empty() { Ok(headers.into()) } else { Err(TableError::unserved(unserved)) }
    }
}

impl From<Vec<u32>> for Made {
    fn from(headers: Vec<u32>) -> Self {
        Self { headers, bound: None, calls: None }
    }
}
