//! Shift permutations: every host sends to the one a fixed number further on.

use super::Forwarding;
use crate::fabric::{FatTree, Graph};
use crate::flow::loads::fullest as most;
use rayon::prelude::*;

/// The fullest channel of shift permutations, hosts in the order of a fat tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShiftLoads {
    /// Mean over shifts of the pairs on the fullest channel.
    pub mean: f64,
    /// The same of the worst shift.
    pub worst: u32,
    /// Shifts that were looked at: all, or some at even distances.
    pub shifts: usize,
}

/// Hops that may be followed.
const WORK: usize = 200_000_000;

impl ShiftLoads {
    /// What tables with a destination per host, those of one switch in the order of its hosts, carry.
    ///
    /// ```
    /// use flitloom_core::{fabric::{FatTree, Graph}, routes::{by_destination::ShiftLoads, methods::start}};
    /// // Two spines above three leaves with two hosts each: no shift needs a channel twice.
    /// let cables: Vec<(u32, u32)> = (0..3).flat_map(|leaf| [(leaf, 3), (leaf, 4)]).collect();
    /// let graph = Graph::new(vec![2, 2, 2, 0, 0], &cables)?;
    /// let table = start(None, &graph, None, &[0, 0, 1, 1, 2, 2]).1.table;
    /// let loads = ShiftLoads::of(&graph, &FatTree::of(&graph).unwrap(), &table);
    /// assert_eq!((loads.mean, loads.worst, loads.shifts), (1.0, 1, 5));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn of(graph: &Graph, tree: &FatTree, table: &Forwarding) -> Self {
        let mut place = vec![usize::MAX; graph.switches()];
        tree.order.iter().enumerate().for_each(|(number, &switch)| place[switch as usize] = number);
        let mut hosts: Vec<usize> = (0..table.roots.len()).collect();
        hosts.sort_by_key(|&host| place[table.roots[host] as usize]);
        let count = hosts.len();
        let hops = 2 * tree.sizes().len() * count;
        let step = (hops * count).div_ceil(WORK).max(1);
        let shifts: Vec<usize> = (1..count).step_by(step).collect();
        let fullest = |shift: usize| {
            let mut loads = vec![0_u32; graph.channels()];
            for (number, &host) in hosts.iter().enumerate() {
                let way = table.way(graph, hosts[(number + shift) % count], table.roots[host]);
                way.for_each(|channel| loads[channel as usize] += 1);
            }
            most(&loads)
        };
        let found: Vec<u32> = shifts.par_iter().map(|&shift| fullest(shift)).collect();
        let sum: u64 = found.iter().map(|&load| u64::from(load)).sum();
        Self {
            mean: sum as f64 / found.len().max(1) as f64,
            worst: found.iter().copied().max().unwrap_or(0),
            shifts: found.len(),
        }
    }
}
