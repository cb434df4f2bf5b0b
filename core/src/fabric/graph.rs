use super::{FabricError, rows::Rows, walk};

/// Switches joined by cables of any shape, with the hosts that hang off each switch.
///
/// Every cable is two channels: channel `2 * cable` runs from its first end to its second, channel
/// `2 * cable + 1` back. Several cables may join the same two switches.
///
/// ```
/// use flitloom_core::fabric::Graph;
/// let ring = Graph::new(vec![1; 3], &[(0, 1), (1, 2), (2, 0)])?;
/// assert_eq!(ring.channels(), 6);
/// assert_eq!(ring.ends(3), (2, 1));
/// assert_eq!(ring.distances_to(0), [0, 1, 1]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    hosts: Vec<u32>,
    ends: Vec<(u32, u32)>,
    outgoing: Rows,
}

/// Ports of a switch, as InfiniBand numbers them in a byte.
pub const MAX_PORTS: u64 = 254;

/// No distance: there is no way.
pub const UNREACHABLE: u16 = u16::MAX;

impl Graph {
    /// A graph from the number of hosts per switch and the cables as pairs of switches.
    ///
    /// # Errors
    /// A cable names a switch that does not exist, or joins a switch to itself; a switch has more than
    /// [`MAX_PORTS`] cables and hosts.
    pub fn new(hosts: Vec<u32>, cables: &[(u32, u32)]) -> Result<Self, FabricError> {
        let switches = hosts.len();
        let mut ends = Vec::with_capacity(2 * cables.len());
        for &(a, b) in cables {
            for end in [a, b] {
                if end as usize >= switches {
                    return Err(FabricError::Node {
                        node: end.into(),
                        last: switches.saturating_sub(1) as u32,
                    });
                }
            }
            if a == b {
                return Err(FabricError::NotNeighbours(a, b));
            }
            ends.extend([(a, b), (b, a)]);
        }
        let outgoing = Rows::new(switches, ends.iter().map(|&(from, _)| from));
        for (switch, &hosts) in (0..).zip(&hosts) {
            let ports = outgoing.row(switch).len() as u64 + u64::from(hosts);
            if ports > MAX_PORTS {
                return Err(FabricError::Ports(switch, ports));
            }
        }
        Ok(Self { hosts, ends, outgoing })
    }

    /// The same switches and cables with other hosts.
    pub fn with_hosts(&self, hosts: Vec<u32>) -> Self {
        Self { hosts, ..self.clone() }
    }

    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.hosts.len()
    }

    /// Number of channels: two per cable.
    pub fn channels(&self) -> usize {
        self.ends.len()
    }

    /// Hosts at a switch.
    pub fn hosts(&self, switch: u32) -> u32 {
        self.hosts[switch as usize]
    }

    /// Hosts at all switches.
    pub fn all_hosts(&self) -> u64 {
        self.hosts.iter().map(|&hosts| u64::from(hosts)).sum()
    }

    /// The switch a channel leaves and the one it enters.
    pub fn ends(&self, channel: u32) -> (u32, u32) {
        self.ends[channel as usize]
    }

    /// The channels that leave a switch, in the order of their cables.
    pub fn outgoing(&self, switch: u32) -> &[u32] {
        self.outgoing.row(switch)
    }

    /// Place of a channel among those that leave its switch.
    pub fn place(&self, channel: u32) -> usize {
        let list = self.outgoing(self.ends[channel as usize].0);
        list.partition_point(|&other| other < channel)
    }

    /// The part of the graph that every switch is in, by number: switches that ways join are in one.
    ///
    /// ```
    /// use flitloom_core::fabric::Graph;
    /// let graph = Graph::new(vec![1; 5], &[(0, 3), (1, 4)])?;
    /// assert_eq!(graph.parts(), [0, 1, 2, 0, 1]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn parts(&self) -> Vec<u32> {
        let mut parts = vec![u32::MAX; self.switches()];
        let mut count = 0;
        for start in 0..self.switches() {
            if parts[start] != u32::MAX {
                continue;
            }
            for (part, &distance) in parts.iter_mut().zip(&self.distances_to(start as u32)) {
                if distance != UNREACHABLE {
                    *part = count;
                }
            }
            count += 1;
        }
        parts
    }

    /// Hosts by part.
    pub fn hosts_by_part(&self, parts: &[u32]) -> Vec<u64> {
        let mut sums = vec![0; parts.iter().max().map_or(0, |&last| last as usize + 1)];
        parts.iter().zip(&self.hosts).for_each(|(&part, &hosts)| sums[part as usize] += u64::from(hosts));
        sums
    }

    /// Ordered pairs of hosts on different switches that no way joins.
    pub fn pairs_apart(&self) -> u64 {
        let joined: u64 = self.hosts_by_part(&self.parts()).iter().map(|hosts| hosts * hosts).sum();
        self.all_hosts().pow(2) - joined
    }

    /// Switches from which others are reached, level by level, those given first: `meet` is told of every channel that
    /// leads to one of them, and of the switch that it leaves, and says whether that is new.
    ///
    /// ```
    /// use flitloom_core::fabric::Graph;
    /// let path = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3)])?;
    /// let next = [0, 2, 4];
    /// assert_eq!(path.met_backwards(vec![2], |channel, there| next.get(there as usize) == Some(&channel)), [2, 1, 0]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn met_backwards(&self, starts: Vec<u32>, meet: impl FnMut(u32, u32) -> bool) -> Vec<u32> {
        let into = |here| self.outgoing(here).iter().map(|&back| (back ^ 1, self.ends[back as usize].1));
        walk::met_over(starts, into, meet)
    }

    /// Cables from every switch to one of them, [`UNREACHABLE`] where there is no way.
    pub fn distances_to(&self, switch: u32) -> Vec<u16> {
        let next = |here| self.outgoing(here).iter().map(|&channel| self.ends[channel as usize].1);
        walk::distances(self.switches(), switch, UNREACHABLE, next).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_cables_are_channels_of_their_own() {
        let pair = Graph::new(vec![1, 2, 0], &[(0, 1), (1, 0)]).unwrap();
        assert_eq!(pair.outgoing(0), [0, 3]);
        assert_eq!(pair.place(3), 1);
        assert_eq!(pair.all_hosts(), 3);
        assert_eq!(pair.distances_to(0), [0, 1, UNREACHABLE]);
        assert_eq!(pair.pairs_apart(), 0);
        let apart = Graph::new(vec![1, 2, 3], &[(0, 1)]).unwrap();
        assert_eq!(apart.pairs_apart(), 2 * 3 * 3);
    }

    #[test]
    fn cables_join_two_switches_that_exist() {
        assert!(matches!(Graph::new(vec![1; 2], &[(0, 2)]), Err(FabricError::Node { node: 2, last: 1 })));
        assert!(matches!(Graph::new(vec![1; 2], &[(1, 1)]), Err(FabricError::NotNeighbours(1, 1))));
        let star: Vec<_> = (1..255).map(|leaf| (0, leaf)).collect();
        assert!(matches!(Graph::new(vec![1; 255], &star), Err(FabricError::Ports(0, 255))));
        assert!(Graph::new(vec![0; 255], &star).is_ok());
    }
}
