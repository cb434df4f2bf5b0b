use super::{
    Bound, Choices, GeneticSettings, Program, Quality, SsspCalls, System, Table, TableError, balanced, bfs,
    coherent, dimension_order, genetic, share, sssp,
};

use crate::fabric::NodeId;

/// How a table is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Rip-up and re-route against convex costs, until the bound is met or nothing improves.
    Balanced,
    /// Single-source shortest paths (angara-routing-2021, Algorithms 3 and 4).
    Sssp,
    /// Breadth-first search (angara-routing-2021, Algorithms 1 and 2).
    Bfs,
    /// Genetic search (angara-routing-2021, Section 4.2).
    Genetic,
    /// Ordered routes without first and last steps, ties fixed.
    DimensionOrder,
    /// Balanced under the condition that routes can be followed by destination alone.
    Coherent,
}

impl Method {
    /// All methods with their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("balanced", Self::Balanced),
        ("sssp", Self::Sssp),
        ("bfs", Self::Bfs),
        ("genetic", Self::Genetic),
        ("dor", Self::DimensionOrder),
        ("coherent", Self::Coherent),
    ];
}

/// What table is wanted.
#[derive(Clone, Debug)]
pub struct Request {
    /// How it is made.
    pub method: Method,
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

impl Request {
    /// A request with all defaults.
    pub fn new(method: Method) -> Self {
        Self {
            method,
            traffic: None,
            seed: 1,
            effort: 1,
            genetic: GeneticSettings::default(),
            unique_first: true,
            bound_rounds: 400,
        }
    }
}

/// A table with what is known about it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The table.
    pub table: Table,
    /// Its balance.
    pub quality: Quality,
    /// A lower bound on the largest load of any table of legal shortest routes.
    pub bound: Bound,
    /// Calls of the single-source search, if the method makes them.
    pub calls: Option<SsspCalls>,
}

/// Makes a table.
///
/// `keep_going` is told the fraction done now and then and stops the search by returning false.
///
/// # Errors
/// The traffic is not valid, a pair cannot be served, or the search was interrupted.
pub fn route(
    system: System,
    request: &Request,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<Answer, TableError> {
    let traffic = request.traffic.as_deref();
    check_traffic(&system, traffic)?;
    let mut calls = None;
    let mut bound = None;
    let headers = match request.method {
        Method::Balanced => {
            let (headers, found) =
                balanced::headers(&system, traffic, request.seed, request.effort, keep_going)?;
            bound = Some(found);
            headers
        }
        Method::Sssp => {
            let (headers, count) =
                sssp::headers(&system, traffic, request.unique_first, None, keep_going)?.unwrap_or_default();
            calls = Some(count);
            headers
        }
        Method::Bfs => bfs::headers(&system, traffic, keep_going)?,
        Method::Genetic => genetic::headers(&system, traffic, request.seed, &request.genetic, keep_going)?,
        Method::DimensionOrder => dimension_order::headers(&system, &mut share(keep_going, 0.0, 0.2))?,
        Method::Coherent => coherent::headers(&system, traffic, keep_going)?,
    };
    let quality = Quality::of(&system, &headers, traffic);
    let bound = match bound {
        Some(bound) => bound,
        None => {
            let choices = Choices::found(&system, &mut share(keep_going, 0.2, 0.6))?;
            let keep_going = &mut share(keep_going, 0.6, 1.0);
            lower_bound(&system, &choices, traffic, &quality, request.bound_rounds, keep_going)?.0
        }
    };
    Ok(Answer { table: Table::new(system, headers), quality, bound, calls })
}

/// The pairs that tables of a method leave without a route; at most 1000 where the method itself says so.
///
/// # Errors
/// The traffic is not valid, or `keep_going` stopped the work.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{Rules, TurnPolicy};
/// use flitloom_core::routes::by_source::{Method, System, left_out};
/// let mut fabric = Fabric::new(Shape::torus(&[4])?);
/// fabric.fail_cable(0, 1)?;
/// let system = System::new(fabric, Rules::angara(1), TurnPolicy::None)?;
/// assert!(left_out(&system, Method::Balanced, None, &mut |_| true)?.is_empty(), "around the other way");
/// assert!(!left_out(&system, Method::DimensionOrder, None, &mut |_| true)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn left_out(
    system: &System,
    method: Method,
    traffic: Option<&[u64]>,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<(NodeId, NodeId)>, TableError> {
    check_traffic(system, traffic)?;
    let made = match method {
        Method::Bfs => bfs::headers(system, traffic, keep_going),
        Method::DimensionOrder => dimension_order::headers(system, keep_going),
        Method::Coherent => coherent::headers(system, traffic, keep_going),
        Method::Balanced | Method::Sssp | Method::Genetic => {
            return Ok(Choices::found(system, keep_going)?.unserved().to_vec());
        }
    };
    match made {
        Ok(_) => Ok(Vec::new()),
        Err(TableError::Unserved { pairs, .. }) => Ok(pairs),
        Err(error) => Err(error),
    }
}

/// A bound proven anew for tables that came from elsewhere, and the prices of all links that prove it: every pair on
/// its cheapest legal shortest route pays so much, over the sum of the prices. They start from the loads of the links.
///
/// # Errors
/// The traffic is not valid; a pair has no legal route, so that there are no tables to bound; or `keep_going` stopped
/// the work.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{Rules, TurnPolicy};
/// use flitloom_core::routes::by_source::{System, prove_bound};
/// let system = System::new(Fabric::new(Shape::torus(&[4])?), Rules::angara(1), TurnPolicy::None)?;
/// let (bound, prices) = prove_bound(&system, None, vec![2; 8], &mut |_| true)?;
/// assert_eq!((bound.ceil(), prices), (2, vec![1; 8]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prove_bound(
    system: &System,
    traffic: Option<&[u64]>,
    loads: Vec<u64>,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<(Bound, Vec<u64>), TableError> {
    check_traffic(system, traffic)?;
    let choices = Choices::found(system, &mut share(keep_going, 0.0, 0.5))?.all_served()?;
    let rounds = Request::new(Method::Balanced).bound_rounds;
    let quality = Quality::new(system, loads, 0);
    lower_bound(system, &choices, traffic, &quality, rounds, &mut share(keep_going, 0.5, 1.0))
}

/// The bound of a system and the prices of its links, which start from the loads of a table.
fn lower_bound(
    system: &System,
    choices: &Choices,
    traffic: Option<&[u64]>,
    quality: &Quality,
    rounds: u32,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<(Bound, Vec<u64>), TableError> {
    let plain = choices.uniform && traffic.is_none();
    let none = Bound { numerator: 0, denominator: 1, proof: "dual" };
    let closed = if plain { Bound::closed_form(system) } else { none };
    let closed_prices = || if plain { Bound::closed_form_prices(system) } else { Vec::new() };
    if closed.ceil() >= quality.max_load {
        return Ok((closed, closed_prices()));
    }
    let program = Program::new(system, choices, traffic);
    let row_loads = Program::row_loads(system, plain, &quality.loads);
    let (dual, prices) = Bound::dual_with_prices(&program, &row_loads, rounds, quality.max_load, keep_going)?;
    let better = dual.value() > closed.value();
    let prices = if better { Program::link_prices(system, plain, &prices) } else { closed_prices() };
    Ok((closed.max(dual), prices))
}

fn check_traffic(system: &System, traffic: Option<&[u64]>) -> Result<(), TableError> {
    let Some(traffic) = traffic else { return Ok(()) };
    let needed = system.nodes() * system.nodes();
    if traffic.len() != needed {
        return Err(TableError::TrafficSize { given: traffic.len(), needed });
    }
    let sum: u128 = traffic.iter().map(|&weight| u128::from(weight)).sum();
    let longest: u32 = system.fabric().shape().sizes().iter().sum();
    // Costs of a whole table at prices up to 2^24 must fit 128 bits, costs of a route 64.
    if sum * u128::from(longest) >= 1 << 63 { Err(TableError::TrafficRange) } else { Ok(()) }
}
