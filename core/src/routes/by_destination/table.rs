use crate::fabric::{Graph, UNREACHABLE};
use crate::flow::loads::{fullest, send};

/// No channel: the switch forwards nothing to this destination, or is itself where it hangs.
pub const NO_CHANNEL: u32 = u32::MAX;

/// One channel per destination and switch, so that a packet goes the same way from a switch whoever sent it.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::Forwarding};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let table = Forwarding::shortest(&ring, vec![0, 1, 2, 3]);
/// assert_eq!(table.loads(&ring).iter().sum::<u64>(), 16);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    switches: usize,
    /// The switch every destination hangs off.
    pub roots: Vec<u32>,
    /// Channel by `destination * switches + switch`.
    pub next: Vec<u32>,
    /// Pairs of hosts that count from a switch to a destination, in the same order; without it one per host.
    demand: Option<Vec<u32>>,
    /// The host of every destination, if some have several.
    owners: Option<Vec<u32>>,
}

impl Forwarding {
    /// A table from its channels by `destination * switches + switch`.
    pub fn new(switches: usize, roots: Vec<u32>, next: Vec<u32>) -> Self {
        Self { switches, roots, next, demand: None, owners: None }
    }

    /// The same table, where so many pairs count from a switch to a destination, by
    /// `destination * switches + switch`, instead of one per host.
    ///
    /// ```
    /// use flitloom_core::{fabric::Graph, routes::by_destination::Forwarding};
    /// let pair = Graph::new(vec![3, 1], &[(0, 1)])?;
    /// let table = Forwarding::shortest(&pair, vec![0, 1]);
    /// assert_eq!(table.loads(&pair), [3, 1]);
    /// assert_eq!(table.with_demand(vec![0, 5, 2, 0]).loads(&pair), [2, 5]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    #[must_use]
    pub fn with_demand(mut self, demand: Vec<u32>) -> Self {
        self.demand = (demand.len() == self.next.len()).then_some(demand);
        self
    }

    /// The same table, whose destinations are LIDs of so numbered hosts; those of one host stand side by side.
    ///
    /// ```
    /// use flitloom_core::{fabric::Graph, routes::by_destination::{Forwarding, LaneRule, check}};
    /// let apart = Graph::new(vec![1, 1], &[])?;
    /// let table = Forwarding::shortest(&apart, vec![0, 0, 1, 1]);
    /// let unreachable = |table: &Forwarding| check(&apart, table, None, &LaneRule::Identity(1)).problem_count();
    /// assert_eq!(unreachable(&table), 4);
    /// assert_eq!(unreachable(&table.with_owners(vec![0, 0, 1, 1])), 2);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    #[must_use]
    pub fn with_owners(mut self, owners: Vec<u32>) -> Self {
        self.owners = (owners.len() == self.roots.len()).then_some(owners);
        self
    }

    /// Destinations by host: one each, or those side by side that belong to the same.
    pub(crate) fn by_host(&self) -> Vec<std::ops::Range<usize>> {
        let Some(owners) = &self.owners else {
            return (0..self.roots.len()).map(|destination| destination..destination + 1).collect();
        };
        let mut begin = 0;
        owners
            .chunk_by(|one, other| one == other)
            .map(|lids| {
                begin += lids.len();
                begin - lids.len()..begin
            })
            .collect()
    }

    /// More destinations, for which no pairs count.
    pub(crate) fn with_rows(mut self, graph: &Graph, roots: &[u32], next: &[u32]) -> Self {
        let mut demand = match self.demand.take() {
            Some(demand) => demand,
            None => {
                let hosts = |switch| graph.hosts(switch);
                self.roots.iter().flat_map(|_| (0..graph.switches() as u32).map(hosts)).collect()
            }
        };
        self.owners = None;
        self.roots.extend_from_slice(roots);
        self.next.extend_from_slice(next);
        demand.resize(self.next.len(), 0);
        self.demand = Some(demand);
        self
    }

    /// The same destinations and pairs with other entries.
    pub(crate) fn replaced(&self, next: Vec<u32>) -> Self {
        Self { next, ..self.clone() }
    }

    /// Pairs of hosts that count from a switch to a destination.
    pub fn demand(&self, graph: &Graph, destination: usize, switch: u32) -> u32 {
        match &self.demand {
            Some(demand) => demand[destination * self.switches + switch as usize],
            None => graph.hosts(switch),
        }
    }

    /// Shortest ways, any of them.
    pub fn shortest(graph: &Graph, roots: Vec<u32>) -> Self {
        let switches = graph.switches();
        let mut next = vec![NO_CHANNEL; roots.len() * switches];
        for (row, &root) in next.chunks_mut(switches).zip(&roots) {
            let distances = graph.distances_to(root);
            for switch in (0..switches as u32).filter(|&switch| switch != root) {
                let here = distances[switch as usize];
                if here != UNREACHABLE {
                    let nearer = |&&channel: &&u32| distances[graph.ends(channel).1 as usize] + 1 == here;
                    row[switch as usize] =
                        graph.outgoing(switch).iter().find(nearer).copied().unwrap_or(NO_CHANNEL);
                }
            }
        }
        Self::new(switches, roots, next)
    }

    /// Shortest ways, destination by destination over the channels with the fewest pairs so far.
    pub fn spread(graph: &Graph, roots: Vec<u32>) -> Self {
        Self::spread_over(graph, roots, vec![0; graph.channels()])
    }

    /// The same, where channels carry some pairs before.
    pub(crate) fn spread_over(graph: &Graph, roots: Vec<u32>, mut loads: Vec<u64>) -> Self {
        let switches = graph.switches();
        let mut next = vec![NO_CHANNEL; roots.len() * switches];
        let mut below = vec![0_u64; switches];
        for (row, &root) in next.chunks_mut(switches).zip(&roots) {
            let distances = graph.distances_to(root);
            let mut order: Vec<u32> = (0..switches as u32)
                .filter(|&switch| switch != root && distances[switch as usize] != UNREACHABLE)
                .collect();
            order.sort_by_key(|&switch| std::cmp::Reverse(distances[switch as usize]));
            order.iter().for_each(|&switch| below[switch as usize] = graph.hosts(switch).into());
            send(order, &mut below, &mut loads, |switch, loads| {
                let here = distances[switch as usize];
                let nearer = |&&channel: &&u32| distances[graph.ends(channel).1 as usize] + 1 == here;
                let outgoing = graph.outgoing(switch).iter().filter(nearer);
                let &channel = outgoing.min_by_key(|&&channel| loads[channel as usize])?;
                row[switch as usize] = channel;
                Some((channel, graph.ends(channel).1))
            });
        }
        Self::new(switches, roots, next)
    }

    /// Whether every way is a shortest one.
    pub fn is_shortest(&self, graph: &Graph) -> bool {
        self.roots.iter().enumerate().all(|(destination, &root)| {
            let distances = graph.distances_to(root);
            self.row(destination).iter().enumerate().all(|(switch, &channel)| {
                channel == NO_CHANNEL || distances[graph.ends(channel).1 as usize] < distances[switch]
            })
        })
    }

    /// Takes the entries of another table over where they lead on a shortest way of this graph.
    pub fn adopt(&mut self, graph: &Graph, other: &[u32]) {
        for (destination, &root) in self.roots.iter().enumerate() {
            let distances = graph.distances_to(root);
            for switch in (0..self.switches).filter(|&switch| switch != root as usize) {
                let place = destination * self.switches + switch;
                let channel = other.get(place).copied().unwrap_or(NO_CHANNEL);
                let leads = (channel as usize) < graph.channels() && {
                    let (from, to) = graph.ends(channel);
                    from as usize == switch
                        && distances[switch] != UNREACHABLE
                        && distances[to as usize] + 1 == distances[switch]
                };
                if leads {
                    self.next[place] = channel;
                }
            }
        }
    }

    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.switches
    }

    /// The channels to a destination, by switch.
    pub fn row(&self, destination: usize) -> &[u32] {
        &self.next[destination * self.switches..(destination + 1) * self.switches]
    }

    /// The switches from which a destination is reached, those far away first: every switch stands before
    /// the one it forwards to, the root last.
    pub fn towards(&self, graph: &Graph, destination: usize) -> Vec<u32> {
        let mut order = nearby_first(graph, self.row(destination), self.roots[destination]);
        order.reverse();
        order
    }

    /// Pairs of hosts on the fullest channel.
    pub fn max_load(&self, graph: &Graph) -> u64 {
        fullest(&self.loads(graph))
    }

    /// The channels from a switch to a destination, or as far as they lead.
    pub(crate) fn way(&self, graph: &Graph, destination: usize, from: u32) -> impl Iterator<Item = u32> {
        way(graph, self.row(destination), self.roots[destination], from)
    }

    /// Pairs of hosts on every channel: from each host to each destination that it reaches, or as many as
    /// [`with_demand`](Self::with_demand) says.
    pub fn loads(&self, graph: &Graph) -> Vec<u64> {
        let mut loads = vec![0_u64; graph.channels()];
        let mut below = vec![0_u64; self.switches];
        for destination in 0..self.roots.len() {
            let row = self.row(destination);
            let order = self.towards(graph, destination);
            for &switch in &order {
                below[switch as usize] = self.demand(graph, destination, switch).into();
            }
            let switches = order[..order.len() - 1].iter().copied();
            send(switches, &mut below, &mut loads, |switch, _| {
                let channel = row[switch as usize];
                Some((channel, graph.ends(channel).1))
            });
        }
        loads
    }
}

/// By switch whether the entries of a row lead to a root.
pub(super) fn standing(graph: &Graph, row: &[u32], root: u32) -> Vec<bool> {
    let mut standing = vec![false; row.len()];
    nearby_first(graph, row, root).iter().for_each(|&switch| standing[switch as usize] = true);
    standing
}

/// The switches from which the entries of a row lead to a root, which comes first.
fn nearby_first(graph: &Graph, row: &[u32], root: u32) -> Vec<u32> {
    graph.met_backwards(vec![root], |channel, there| there != root && row[there as usize] == channel)
}

/// The channels from a switch to a root by the entries of a row, or as far as they lead; round a circle at most once.
pub(crate) fn way(graph: &Graph, row: &[u32], root: u32, from: u32) -> impl Iterator<Item = u32> {
    let mut at = from;
    let next = move || {
        let channel = if at == root { NO_CHANNEL } else { row[at as usize] };
        (channel != NO_CHANNEL).then(|| {
            at = graph.ends(channel).1;
            channel
        })
    };
    std::iter::from_fn(next).take(row.len())
}
