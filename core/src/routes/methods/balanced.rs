//! By destination, dimension order where switches have coordinates, else shortest ways over the channels with fewest
//! pairs, then balanced. By source, rip-up and re-route against convex costs, until the bound is met or nothing improves.

use super::sssp::{self, Limit};
use super::{BySource, DimensionOrder, Forwarding, Graph, Method, Start};
use crate::power::power_of;
use crate::routes::by_source::{
    Bound, Choices, Fold, KeepGoing, Made, Program, Prover, Quality, Request, Search, System, TableError,
    rings, share,
};

pub(super) const METHOD: Method = Method {
    by_source: Some(BySource { headers, searches: true }),
    by_destination: Some(|graph, order, roots| Some(begin(graph, order, roots))),
    ..Method::any(
        "balanced",
        "all pairs of hosts evenly on any fabric: dimension order or shortest routes, balanced",
    )
};

pub(super) fn begin(graph: &Graph, order: Option<&DimensionOrder>, roots: &[u32]) -> Start {
    let roots = roots.to_vec();
    let table = match order {
        Some(order) => order.start(graph, roots),
        None => Forwarding::spread(graph, roots),
    };
    Start { table, gently: false, rising: None }
}

/// Systems with more pairs that have a choice are balanced by classes of pairs first, others only if
/// that does not meet the bound pair by pair.
const FOLDED_PAIRS: usize = 1000;
/// Systems with fewer such pairs are evened out pair by pair even if the bound is met before.
const EVENED_PAIRS: usize = 20_000;
/// Periods of the rings within which they choose.
const PERIODS: [u32; 4] = [1, 2, 3, 4];

/// A balanced table: every pair picks, against a convex cost of the loads, the best of its legal
/// shortest routes; pairs are ripped up and routed again until the largest load meets the bound or
/// the work is spent. Returns the headers and the bound.
///
/// The cost of a load l is `l^p`: p = 8 first, then 32 and 128, which press on the largest load
/// alone; when that stalls a few pairs are re-routed at random. A last pass lowers the fourth moment
/// at unchanged largest load. On large healthy systems all translates of a pair first choose alike, on
/// small ones last.
///
/// If the bound is not met, the table of the shortest-path generator is made too, as far as it can
/// still be as good, and the better one kept: by largest load, then by fourth moment. So no largest
/// load is above that generator's: where the bound is met, by its proof.
fn headers(system: &System, request: &Request, keep_going: KeepGoing<'_>) -> Result<Made, TableError> {
    let (traffic, seed, effort) = (request.traffic.as_deref(), request.seed, request.effort);
    let made = |headers, bound| Ok(Made { headers, bound: Some(bound), calls: None });
    if traffic.is_none()
        && let Some(headers) = rings::headers(system)
    {
        return made(headers, Bound::closed_form(system));
    }
    let mut choices = Choices::found(system, &mut share(keep_going, 0.0, 0.1))?.all_served()?;
    let keep_going = &mut share(keep_going, 0.1, 1.0);
    let effort = u64::from(effort.max(1));
    let fixed = Quality::of(system, &choices.headers, traffic).loads;
    let mut prover = LoadProver::new(system, &choices, traffic);
    let large = choices.pairs.len() > FOLDED_PAIRS;
    let setting = (&fixed[..], seed, effort);
    if large && folded(system, &mut choices, setting, &mut prover, keep_going)? {
        return made(choices.chosen_headers(), prover.bound);
    }
    let mut search = Search::new(system, &mut choices, traffic, (&fixed, None), seed, effort);
    search.place_all();
    let reached = finish(search, &mut prover, keep_going)?;
    let headers = choices.chosen_headers();
    if reached.0 <= prover.bound.ceil() {
        return made(headers, prover.bound);
    }
    if !large && folded(system, &mut choices, setting, &mut prover, keep_going)? {
        return made(choices.chosen_headers(), prover.bound);
    }
    let limit = Limit { max_load: reached.0, ..prover.limit };
    let Some(Made { headers: rival, .. }) = sssp::headers(system, traffic, true, Some(&limit), keep_going)?
    else {
        return made(headers, prover.bound);
    };
    let quality = Quality::of(system, &rival, traffic);
    let moment = power_of(quality.sigma4, 4) * system.channels() as f64;
    let better = (quality.max_load, moment) < reached;
    made(if better { rival } else { headers }, prover.bound)
}

/// Balances a healthy system by classes of pairs that choose alike; says whether that meets the bound.
fn folded(
    system: &System,
    choices: &mut Choices,
    (fixed, seed, effort): (&[u64], u64, u64),
    prover: &mut LoadProver,
    keep_going: KeepGoing<'_>,
) -> Result<bool, TableError> {
    let mut tried: Vec<Fold> = Vec::new();
    for period in PERIODS {
        let fold = Fold::new(system, period);
        // Without rings, or with periods as long as they are, nothing is folded.
        if !prover.plain || fold.translates() == 1 || tried.contains(&fold) {
            continue;
        }
        let all = fold.representatives(choices);
        let mut search = Search::new(system, choices, None, (fixed, Some(&fold)), seed, effort);
        search.place_all();
        let reached = finish(search, prover, keep_going)?;
        fold.spread(choices, all);
        if reached.0 <= prover.bound.ceil() {
            if choices.pairs.len() < EVENED_PAIRS {
                let mut search = Search::new(system, choices, None, (fixed, None), seed, effort);
                search.adopt();
                search.polish(reached.0, keep_going)?;
            }
            return Ok(true);
        }
        tried.push(fold);
    }
    Ok(false)
}

/// Runs a search to its end; returns the largest load and the fourth moment.
fn finish(
    mut search: Search,
    prover: &mut LoadProver,
    keep_going: KeepGoing<'_>,
) -> Result<(u64, f64), TableError> {
    search.sweep_at(8, 1, prover.bound.ceil(), keep_going)?;
    if search.max_load() > prover.bound.ceil() {
        search.improve(prover, keep_going)?;
    }
    search.polish(prover.bound.ceil(), keep_going)?;
    Ok((search.max_load(), search.fourth_moment()))
}

/// Raises the bound from the loads of ever better tables.
struct LoadProver {
    program: Option<Program>,
    plain: bool,
    bound: Bound,
    /// What the best prices say about other tables.
    limit: Limit,
}

impl LoadProver {
    fn new(system: &System, choices: &Choices, traffic: Option<&[u64]>) -> Self {
        let plain = choices.uniform && traffic.is_none();
        let none = Bound { numerator: 0, denominator: 1, proof: "dual" };
        let bound = if plain { Bound::closed_form(system) } else { none };
        let prices = vec![0; system.nodes() * system.fabric().shape().directions()];
        Self { program: None, plain, bound, limit: Limit { max_load: 0, prices, cheapest: 0 } }
    }
}

impl Prover for LoadProver {
    fn proven(&self) -> u64 {
        self.bound.ceil()
    }

    fn target(&mut self, search: &Search, keep_going: KeepGoing<'_>) -> Result<u64, TableError> {
        let max_load = search.max_load();
        if max_load > self.bound.ceil() {
            let program = self.program.get_or_insert_with(|| search.program());
            let row_loads = search.row_loads(self.plain);
            let rounds = (4_000_000 / (program.rows.len() as u32 + 1)).clamp(10, 400);
            let done = search.done();
            let (bound, prices) =
                Bound::dual(program, &row_loads, rounds, max_load, &mut share(keep_going, done, done))?;
            if self.limit.cheapest == 0 || bound.value() > self.bound.value() {
                self.limit.prices = search.link_prices(self.plain, &prices);
                self.limit.cheapest = bound.numerator;
            }
            self.bound = self.bound.max(bound);
        }
        Ok(self.bound.ceil())
    }
}
