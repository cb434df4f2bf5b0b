use super::{Network, Options, Outcome, SimulationError, simulate};
use crate::traffic::{Collective, Destinations, Workload};
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Simple stacking (cup-stacking-extended-2023, 4.1): simulates a collective at each of the given
/// intervals between slices, all nodes starting in unison, in parallel on the current rayon pool.
///
/// The outcomes come in the order of the intervals and do not depend on the number of threads.
/// `done` is called after every simulation, from any thread.
///
/// ```
/// use flitloom_core::{
///     engine::{Network, stack},
///     fabric::{Fabric, Shape},
///     router::RouterConfig,
///     traffic::{Collective, Pattern},
/// };
/// let shape = Shape::torus(&[16, 16])?;
/// let tornado = Pattern::Tornado.destinations(&shape, 0)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let collective = Collective { payload: 14, slices: 2, ..Collective::default() };
/// let outcomes = stack(&network, &collective, &tornado, &[60, 64], &Default::default(), &|| ())?;
/// assert_eq!(outcomes[1].duration, 131); // cup-stacking-extended-2023, Table 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A simulation failed; the first failure in the order of the intervals.
pub fn stack(
    network: &Network,
    collective: &Collective,
    destinations: &Destinations,
    intervals: &[u64],
    options: &Options,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Outcome>, SimulationError> {
    let nodes = network.fabric().shape().nodes();
    let results: Vec<_> = intervals
        .par_iter()
        .map(|&interval| {
            // Engines look at the flag only now and then, which short simulations never reach.
            if options.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(SimulationError::Interrupted(0));
            }
            let collective = Collective { interval, ..collective.clone() };
            let packets = collective.packet_list(nodes, destinations)?;
            let outcome = simulate(network, &Workload::Packets(packets), options);
            done();
            outcome
        })
        .collect();
    results.into_iter().collect()
}
