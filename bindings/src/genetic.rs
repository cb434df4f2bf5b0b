use crate::{
    errors::{simulation_error, spec_error},
    lists::named,
    network::Routers,
    running::{interruptible, keeping, on_threads, was_interrupted},
    traffic::Destinations,
};
use flitloom_core::{
    genetic::{
        Acceptance, Beginning, Case, Chromosome, Evaluation, GeneticError, Groups, IntervalLimit, Objective,
        Record, Settings, SortKey, Ties, extrapolate, replay, search,
    },
    router::Arbitration,
    traffic::Collective,
};
use pyo3::{prelude::*, types::PyDict};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering},
};

/// A collective whose slices are to be scheduled.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct CaseFields {
    payload: u32,
    slices: u32,
    packets: u32,
    interval: u64,
    delays: Vec<u64>,
    /// Groups of genes that vary: interval, delays, schemes, port_lists.
    genes: Vec<String>,
}

impl CaseFields {
    fn collective(&self) -> Collective {
        Collective {
            payload: self.payload,
            slices: self.slices,
            interval: self.interval,
            delays: self.delays.clone(),
            packets: self.packets,
        }
    }

    fn groups(&self) -> Groups {
        let has = |name: &str| self.genes.iter().any(|group| group == name);
        Groups {
            interval: has("interval"),
            delays: has("delays"),
            schemes: has("schemes"),
            port_lists: has("port_lists"),
        }
    }
}

/// The fields of a genetic search.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SettingsFields {
    chromosomes: usize,
    generations: u32,
    training: u32,
    mutation_rate: f64,
    mutation_levels: u32,
    crossover_interval: u32,
    crossover_rate: f64,
    pairs: usize,
    ties: String,
    lifetime: u32,
    watchdog: u32,
    beginning: String,
    timing_step: u64,
    acceptance: String,
    interval_limit: String,
    objective: String,
    estimated_slices: u32,
    sort_key: String,
    perturbation: u64,
    reinitialise_slices: bool,
    interlock_slices: bool,
    synonyms: bool,
    averages: bool,
    seed: u64,
}

impl SettingsFields {
    fn settings(&self, py: Python<'_>) -> PyResult<Settings> {
        Ok(Settings {
            chromosomes: self.chromosomes,
            generations: self.generations,
            training: self.training,
            mutation_rate: self.mutation_rate,
            mutation_levels: self.mutation_levels,
            crossover_interval: self.crossover_interval,
            crossover_rate: self.crossover_rate,
            pairs: self.pairs,
            ties: named(py, "genetic.ties", &Ties::NAMES, &self.ties)?,
            lifetime: self.lifetime,
            watchdog: self.watchdog,
            beginning: named(py, "genetic.beginning", &Beginning::NAMES, &self.beginning)?,
            timing_step: self.timing_step,
            acceptance: named(py, "genetic.acceptance", &Acceptance::NAMES, &self.acceptance)?,
            interval_limit: named(py, "genetic.interval_limit", &IntervalLimit::NAMES, &self.interval_limit)?,
            objective: match named(py, "genetic.objective", &Objective::NAMES, &self.objective)? {
                Objective::Estimate { .. } => Objective::Estimate { slices: self.estimated_slices },
                other => other,
            },
            sort_key: named(py, "genetic.sort_key", &SortKey::NAMES, &self.sort_key)?,
            perturbation: self.perturbation,
            reinitialise_slices: self.reinitialise_slices,
            interlock_slices: self.interlock_slices,
            synonyms: self.synonyms,
            averages: self.averages,
            seed: self.seed,
            ..Settings::default()
        })
    }
}

/// A chromosome in plain fields.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ChromosomeFields {
    interval: u64,
    delays: Vec<u64>,
    schemes: Vec<String>,
    port_lists: Vec<u8>,
}

impl ChromosomeFields {
    fn chromosome(self, py: Python<'_>) -> PyResult<Chromosome> {
        let schemes: Result<Vec<_>, _> = self.schemes.iter().map(|scheme| scheme.parse()).collect();
        let schemes = schemes.map_err(|error| spec_error(py, "chromosome.schemes", error))?;
        let arbitration = Arbitration { schemes, port_lists: self.port_lists };
        Ok(Chromosome { interval: self.interval, delays: self.delays, arbitration })
    }
}

fn genetic_error(py: Python<'_>, error: GeneticError) -> PyErr {
    match error {
        GeneticError::Simulation(error) => simulation_error(py, error),
        other => spec_error(py, "genetic", other.fault()),
    }
}

fn chromosome_dict<'py>(py: Python<'py>, chromosome: &Chromosome) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("interval", chromosome.interval)?;
    entry.set_item("delays", &chromosome.delays)?;
    let schemes: Vec<String> = chromosome.arbitration.schemes.iter().map(ToString::to_string).collect();
    entry.set_item("schemes", schemes)?;
    let lists: Vec<u32> = chromosome.arbitration.port_lists.iter().map(|&port| port.into()).collect();
    entry.set_item("port_lists", lists)?;
    Ok(entry)
}

fn evaluation_dict<'py>(py: Python<'py>, evaluation: &Evaluation) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    let counts = evaluation.counts.unwrap_or_default();
    for (name, value) in [
        ("duration", evaluation.duration),
        ("thickness", evaluation.thickness),
        ("ir", counts.queue_in_order),
        ("or", counts.queue_out_of_order),
        ("ib", counts.channel_in_order),
        ("ob", counts.channel_out_of_order),
        ("lb", counts.link_blocked),
    ] {
        entry.set_item(name, value)?;
    }
    Ok(entry)
}

fn record_dict<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("generation", record.generation)?;
    entry.set_item("score", record.score)?;
    entry.set_item("evaluation", evaluation_dict(py, &record.evaluation)?)?;
    entry.set_item("chromosome", chromosome_dict(py, &record.chromosome)?)?;
    Ok(entry)
}

const RINGED: &str = "genetic search is";

/// One genetic search; after Ctrl-C what it found so far, with `stopped` set.
#[pyfunction]
pub fn genetic_search<'py>(
    py: Python<'py>,
    network: &Routers,
    destinations: &Destinations,
    case: CaseFields,
    settings: SettingsFields,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings.settings(py)?;
    let ringed = network.ringed(py, RINGED)?;
    let generations = AtomicUsize::new(0);
    let (outcome, failure) = keeping(
        py,
        |interrupt| {
            on_threads(threads, || {
                let case = Case::new(ringed, &destinations.inner, case.collective(), case.groups())?;
                search(&case, &settings, Some(interrupt), &mut |_| {
                    generations.fetch_add(1, Ordering::Relaxed);
                    ControlFlow::Continue(())
                })
            })
        },
        |py| match &progress {
            Some(progress) => progress.call1(py, (generations.load(Ordering::Relaxed),)).map(|_| ()),
            None => Ok(()),
        },
    );
    was_interrupted(py, failure)?;
    let outcome = outcome?.map_err(|error| genetic_error(py, error))?;
    let result = PyDict::new(py);
    let records: PyResult<Vec<_>> = outcome.records.iter().map(|record| record_dict(py, record)).collect();
    result.set_item("records", records?)?;
    result.set_item("best", outcome.history.iter().map(|entry| entry.best).collect::<Vec<_>>())?;
    let average: Option<Vec<f64>> = outcome.history.iter().map(|entry| entry.average).collect();
    result.set_item("average", average)?;
    result.set_item("height", outcome.limits.height)?;
    result.set_item("thickness", outcome.limits.thickness)?;
    result.set_item("genes", outcome.genes)?;
    result.set_item("evaluations", outcome.evaluations)?;
    result.set_item("simulations", outcome.simulations)?;
    result.set_item("stopped", outcome.stopped)?;
    Ok(result)
}

/// Simulates a chromosome again.
#[pyfunction]
pub fn genetic_replay<'py>(
    py: Python<'py>,
    network: &Routers,
    destinations: &Destinations,
    case: CaseFields,
    settings: SettingsFields,
    chromosome: ChromosomeFields,
) -> PyResult<Bound<'py, PyDict>> {
    let (settings, chromosome) = (settings.settings(py)?, chromosome.chromosome(py)?);
    let ringed = network.ringed(py, RINGED)?;
    let result = py.detach(|| {
        let case = Case::new(ringed, &destinations.inner, case.collective(), case.groups())?;
        replay(&case, &chromosome, &settings)
    });
    evaluation_dict(py, &result.map_err(|error| genetic_error(py, error))?)
}

/// Stacks slices shaped by a chromosome at the best interval.
#[pyfunction]
pub fn genetic_extrapolate<'py>(
    py: Python<'py>,
    network: &Routers,
    destinations: &Destinations,
    case: CaseFields,
    settings: SettingsFields,
    chromosome: ChromosomeFields,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (settings, chromosome) = (settings.settings(py)?, chromosome.chromosome(py)?);
    let ringed = network.ringed(py, RINGED)?;
    let result = interruptible(
        py,
        |interrupt| {
            on_threads(threads, || {
                let case = Case::new(ringed, &destinations.inner, case.collective(), case.groups())?;
                extrapolate(&case, &chromosome, &settings, Some(interrupt))
            })
        },
        |_| Ok(()),
    )??;
    let stacked = result.map_err(|error| genetic_error(py, error))?;
    let entry = PyDict::new(py);
    entry.set_item("chromosome", chromosome_dict(py, &stacked.chromosome)?)?;
    entry.set_item("duration", stacked.duration)?;
    entry.set_item("thickness", stacked.thickness)?;
    entry.set_item("durations", stacked.durations)?;
    Ok(entry)
}
