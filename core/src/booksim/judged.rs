//! Runs at constant load, judged by how busy source queues are.

use super::{
    build::{self, Parts},
    classes::Class,
    options::{OptionError, Options, refuse},
    stretch::run_while,
    traffic_manager::TrafficManager,
};
use crate::{
    engine::pipelined::{Breach, Division, Run, Terminals},
    probe::{SourceQueues, Utilisation},
};
use std::sync::atomic::AtomicBool;

/// Cycles of a slot at first.
const SLOT: u64 = 100;

/// A run at constant load without phases: sources never stop.
///
/// ```
/// use flitloom_core::{
///     booksim::{Judged, Options},
///     probe::Verdict,
/// };
///
/// let mut options = Options::default();
/// for (name, value) in [("topology", "mesh"), ("routing_function", "dor"), ("injection_rate", "0.9")] {
///     assert!(options.set(name, value));
/// }
/// let mut run = Judged::new(&options)?;
/// let found = run.look(10_000, &false.into()).expect("nothing ends it");
/// assert_eq!(found[0].map(|found| found.verdict), Some(Verdict::Growing));
/// # Ok::<(), flitloom_core::booksim::OptionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Judged {
    run: Run<TrafficManager>,
    division: Division,
}

impl Judged {
    /// A run of some options from an empty network on.
    ///
    /// # Errors
    ///
    /// If an option has a value that is not known here, or the run has batches.
    pub fn new(options: &Options) -> Result<Self, OptionError> {
        if options.text("sim_type") == "batch" {
            return refuse("sim_type", "is batch, which has no rate; give latency or throughput");
        }
        let (mut run, division) = build::run(options, false, Parts::default())?;
        let queues =
            SourceQueues::new(run.terminals.nodes, run.source.classes.len(), run.terminals.nodes, SLOT);
        run.source.queues = Some(Box::new(queues));
        Ok(Self { run, division })
    }

    /// Goes on to a cycle; how busy the source queues of every class are then, nothing where its load is not known,
    /// as that of replies. The worst queue is a node.
    ///
    /// # Errors
    ///
    /// BookSim2 would end before.
    pub fn look(
        &mut self,
        cycle: u32,
        interrupt: &AtomicBool,
    ) -> Result<Vec<Option<Utilisation>>, (Breach, u32)> {
        let Self { run, division } = self;
        run_while((run, division), Some(cycle), interrupt, |_| true);
        run.terminals.take_breach().map_or(Ok(()), Err)?;
        let Terminals { waiting, packets, now, .. } = &run.terminals;
        let TrafficManager { classes, queues, .. } = &mut run.source;
        let Some(queues) = queues else { return Ok(Vec::new()) };
        let fronts: Vec<u64> = (waiting.iter())
            .map(|waiting| match (waiting.size, waiting.next) {
                (1.., 0) => packets[waiting.packet].created.into(),
                _ => u64::MAX,
            })
            .collect();
        let judged = |(number, class): (usize, &Class)| {
            let (rate, length) = (class.process.mean() * class.mean_size(), class.mean_size());
            class.messages.is_none().then(|| queues.judged(number, (*now).into(), &fronts, length, rate))
        };
        Ok(classes.iter().enumerate().map(judged).collect())
    }
}
