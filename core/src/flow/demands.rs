//! Which pairs of hosts count, and the bound for them.

use super::bounds::bound;
use super::prices::{priced, tightened};
use super::proof::CutBound;
use crate::fabric::{Graph, NodeId, Placed, common_divisor};

/// Who has something, and who needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Node that has it.
    pub source: NodeId,
    /// Node that needs it.
    pub destination: NodeId,
}

impl Demand {
    /// The nodes that need something of each of so many nodes, but for itself.
    ///
    /// ```
    /// use flitloom_core::flow::demands::Demand;
    /// let demands = [(0, 1), (2, 0), (0, 0)].map(|(source, destination)| Demand { source, destination });
    /// assert_eq!(Demand::by_source(3, &demands), [vec![1], vec![], vec![0]]);
    /// ```
    pub fn by_source(nodes: usize, demands: &[Self]) -> Vec<Vec<NodeId>> {
        let mut targets = vec![Vec::new(); nodes];
        for demand in demands.iter().filter(|demand| demand.source != demand.destination) {
            targets[demand.source as usize].push(demand.destination);
        }
        targets
    }
}

/// Pairs of hosts that count in loads and bounds, where not all do.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// How many from a switch to a destination, by `destination * switches + switch`.
    pub pairs: Vec<u32>,
    /// Hosts of every switch, if the pairs among these count, each once; `None` for any other numbers.
    pub hosts: Option<Vec<u32>>,
}

impl Pairs {
    /// Pairs by root and switch of the source.
    fn by_root(&self, graph: &Graph, roots: &[u32]) -> Vec<u64> {
        let switches = graph.switches();
        let mut sums = vec![0_u64; switches * switches];
        for (row, &root) in self.pairs.chunks(switches).zip(roots) {
            let sums = &mut sums[root as usize * switches..(root as usize + 1) * switches];
            sums.iter_mut().zip(row).for_each(|(sum, &pairs)| *sum += u64::from(pairs));
        }
        sums
    }

    fn counted(&self, graph: &Graph) -> Option<Graph> {
        self.hosts.as_ref().map(|hosts| graph.with_hosts(hosts.clone()))
    }
}

/// What the load of every channel is a multiple of where all pairs count: all hosts of a switch send to a destination
/// over one channel.
fn step(graph: &Graph) -> u64 {
    (0..graph.switches() as u32).fold(0, |step, switch| common_divisor(step, graph.hosts(switch))).into()
}

/// The next load there can be from a bound on.
fn in_steps(graph: &Graph, mut bound: CutBound) -> CutBound {
    let step = step(graph);
    if step > 1 && !bound.value.is_multiple_of(step) {
        bound.value = bound.value.next_multiple_of(step);
        bound.proof += &format!(", in steps of {step} hosts");
    }
    bound
}

/// A bound that takes little time for all pairs and for those of some hosts.
pub(crate) fn first_bound(
    graph: &Graph,
    placed: Option<&Placed>,
    roots: &[u32],
    demand: Option<&Pairs>,
) -> CutBound {
    let Some(demand) = demand else { return in_steps(graph, bound(graph, placed)) };
    match demand.counted(graph) {
        Some(counted) => bound(&counted, placed),
        None => priced(graph, Some(&demand.by_root(graph, roots)), u64::MAX),
    }
}

/// The same bound, tightened where the load of a table is far above it.
pub(crate) fn tight_bound(graph: &Graph, bound: CutBound, demand: Option<&Pairs>, load: u64) -> CutBound {
    let Some(demand) = demand else { return in_steps(graph, tightened(graph, bound, load)) };
    match demand.counted(graph) {
        Some(counted) => tightened(&counted, bound, load),
        None => bound,
    }
}

/// The same as [`bound_for`], tightened only where `load` is more than a share `slack` above a bound that takes little
/// time.
///
/// ```
/// use flitloom_core::{fabric::Graph, flow::demands::near_bound};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// assert_eq!(near_bound(&ring, None, &[0, 1, 2, 3], None, (2, 0.02)).value, 2);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn near_bound(
    graph: &Graph,
    placed: Option<&Placed>,
    roots: &[u32],
    demand: Option<&Pairs>,
    (load, slack): (u64, f64),
) -> CutBound {
    let bound = first_bound(graph, placed, roots, demand);
    let near = load as f64 <= bound.value as f64 * (1.0 + slack);
    if near { bound } else { tight_bound(graph, bound, demand, load) }
}

/// What no table can go below for the pairs that count, `load` being the largest load of some table: the
/// bound that [`forward`](crate::routes::by_destination::forward) holds its tables against.
///
/// ```
/// use flitloom_core::{fabric::Graph, flow::demands::{Pairs, bound_for}};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let roots = [0, 1, 2, 3];
/// assert_eq!(bound_for(&ring, None, &roots, None, 2).value, 2);
/// // Five pairs from switch 0 to its neighbour: they have two ways, of one hop and of three.
/// let mut pairs = vec![0; 16];
/// pairs[4] = 5;
/// let demand = Pairs { pairs, hosts: None };
/// assert_eq!(bound_for(&ring, None, &roots, Some(&demand), 5).value, 3);
/// // Two cables carry the 81 pairs of nine hosts and nine: to five destinations at least over one of them.
/// let two = Graph::new(vec![9, 9], &[(0, 1), (0, 1)])?;
/// assert_eq!(bound_for(&two, None, &[0; 9], None, 45).value, 45);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn bound_for(
    graph: &Graph,
    placed: Option<&Placed>,
    roots: &[u32],
    demand: Option<&Pairs>,
    load: u64,
) -> CutBound {
    tight_bound(graph, first_bound(graph, placed, roots, demand), demand, load)
}
