use super::{
    Case, Chromosome, Evaluation, GeneticError, Settings,
    evaluator::{Wanted, evaluator, load},
};
use crate::engine::{Options, SimulationError};
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// A chromosome whose slices were stacked at the best interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extrapolation {
    /// The chromosome with the best interval, the smallest of equal ones.
    pub chromosome: Chromosome,
    /// The duration it gives in cycles.
    pub duration: u64,
    /// Effective thickness of its single slice in cycles.
    pub thickness: u64,
    /// Durations at all intervals tried, from the slice length on.
    pub durations: Vec<u64>,
}

/// Simulates a chromosome again (cup-stacking-extended-2023, A.4) and shows everything about it.
///
/// # Errors
/// The chromosome does not fit the network, or the simulation fails.
pub fn replay(case: &Case, chromosome: &Chromosome, settings: &Settings) -> Result<Evaluation, GeneticError> {
    check(case, chromosome)?;
    replay_with(case, chromosome, settings)
}

pub(super) fn replay_with(
    case: &Case,
    chromosome: &Chromosome,
    settings: &Settings,
) -> Result<Evaluation, GeneticError> {
    let mut evaluator = evaluator(case, Wanted::all(settings))?;
    load(evaluator.as_mut(), case, chromosome);
    evaluator.run(&Options::default())?;
    Ok(evaluator.seen(0))
}

/// Slice extrapolation (cup-stacking-extended-2023, 6.1): stacks slices shaped by a chromosome at
/// every interval from the slice length to the effective thickness of one of them, and keeps the
/// best.
///
/// The chromosome may come from a search with any number of slices of the same length. With those of
/// single-slice searches this is extrapolation S1, after a search by [`Objective::Estimate`] the rough
/// estimation method (6.2), over all [`Record`](super::Record)s the post-stacking method (6.3).
///
/// [`Objective::Estimate`]: super::Objective::Estimate
///
/// # Errors
/// The chromosome does not fit the network, or a simulation fails or is interrupted.
pub fn extrapolate(
    case: &Case,
    chromosome: &Chromosome,
    settings: &Settings,
    interrupt: Option<&AtomicBool>,
) -> Result<Extrapolation, GeneticError> {
    check(case, chromosome)?;
    let options = Options { interrupt, ..Options::default() };
    let single = case.with_slices(1)?;
    let thickness = replay_with(&single, chromosome, settings)?.thickness;
    let length = u64::from(case.collective.slice_length());
    let intervals: Vec<u64> = (length..=thickness.max(length)).collect();
    let wanted = Wanted { thickness: false, used: false, ..Wanted::by(settings) };
    // Few chunks, since preparing an evaluator costs as much as many simulations.
    let chunk = intervals.len().div_ceil(rayon::current_num_threads()).max(8);
    let durations: Result<Vec<Vec<u64>>, SimulationError> = intervals
        .par_chunks(chunk)
        .map(|intervals| {
            let mut evaluator = evaluator(case, wanted)?;
            load(evaluator.as_mut(), case, chromosome);
            let lanes = evaluator.lanes();
            let mut durations = Vec::with_capacity(intervals.len());
            for side_by_side in intervals.chunks(lanes) {
                for (lane, &interval) in side_by_side.iter().enumerate() {
                    evaluator.set_interval(lane, interval);
                }
                evaluator.run(&options)?;
                durations.extend((0..side_by_side.len()).map(|lane| evaluator.seen(lane).duration));
            }
            Ok(durations)
        })
        .collect();
    let durations = durations?.concat();
    let best = (0..durations.len()).min_by_key(|&place| durations[place]).unwrap_or(0);
    let chromosome = Chromosome { interval: intervals[best], ..chromosome.clone() };
    Ok(Extrapolation { chromosome, duration: durations[best], thickness, durations })
}

fn check(case: &Case, chromosome: &Chromosome) -> Result<(), GeneticError> {
    let (given, needed) = (chromosome.delays.len(), case.nodes());
    if given != needed {
        return Err(GeneticError::Delays { given, needed });
    }
    let router = case.network.router();
    chromosome
        .arbitration
        .check(case.network.fabric().shape(), router.channels)
        .map_err(|error| GeneticError::Simulation(SimulationError::Router(error.into())))
}
