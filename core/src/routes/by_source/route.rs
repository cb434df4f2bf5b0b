use super::{Bound, Choices, KeepGoing, Made, Program, Quality, Request, System, Table, TableError, share};
use crate::fabric::NodeId;
use crate::routes::methods::{BySource, Method};

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
    pub calls: Option<u64>,
}

/// Makes a table.
///
/// `keep_going` is told the fraction done now and then and stops the search by returning false.
///
/// # Errors
/// The traffic is not valid, a pair cannot be served, or the search was interrupted.
pub fn route(
    system: System,
    method: &Method,
    request: &Request,
    keep_going: KeepGoing<'_>,
) -> Result<Answer, TableError> {
    let traffic = request.traffic.as_deref();
    check_traffic(&system, traffic)?;
    let Made { headers, bound, calls } = (by_source(method)?.headers)(&system, request, keep_going)?;
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
/// use flitloom_core::routes::{by_source::{Request, System, left_out}, methods::Method};
/// let mut fabric = Fabric::new(Shape::torus(&[4])?);
/// fabric.fail_cable(0, 1)?;
/// let system = System::new(fabric, Rules::angara(1), TurnPolicy::None)?;
/// let left = Method::by_source().into_iter().map(|(name, method)| {
///     Ok((name, left_out(&system, method, &Request::default(), &mut |_| true)?.len()))
/// });
/// let left: Vec<(&str, usize)> = left.collect::<Result<_, Box<dyn std::error::Error>>>()?;
/// // The others go around the other way.
/// assert_eq!([left[0], left[4]], [("balanced", 0), ("dor", 4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn left_out(
    system: &System,
    method: &Method,
    request: &Request,
    keep_going: KeepGoing<'_>,
) -> Result<Vec<(NodeId, NodeId)>, TableError> {
    check_traffic(system, request.traffic.as_deref())?;
    let by_source = by_source(method)?;
    if by_source.searches {
        return Ok(Choices::found(system, keep_going)?.unserved().to_vec());
    }
    match (by_source.headers)(system, request, keep_going) {
        Ok(_) => Ok(Vec::new()),
        Err(TableError::Unserved { pairs, .. }) => Ok(pairs),
        Err(error) => Err(error),
    }
}

fn by_source(method: &Method) -> Result<&BySource, TableError> {
    method.by_source.as_ref().ok_or(TableError::Method(method.name))
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
    keep_going: KeepGoing<'_>,
) -> Result<(Bound, Vec<u64>), TableError> {
    check_traffic(system, traffic)?;
    let choices = Choices::found(system, &mut share(keep_going, 0.0, 0.5))?.all_served()?;
    let rounds = Request::default().bound_rounds;
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
    keep_going: KeepGoing<'_>,
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
    let (dual, prices) = Bound::dual(&program, &row_loads, rounds, quality.max_load, keep_going)?;
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
