use crate::fabric::{Network, NodeId, walk};

/// Most sets that are named.
const MOST_CUTS: usize = 64;

/// The set of nodes from which it is hardest to get out: members inside per link that leaves, largest
/// over all sets without some member. Found by maximum flows and Newton's method.
///
/// ```
/// use flitloom_core::{fabric::Network, flow::cuts::hardest_cut};
/// // Two triangles joined by one cable.
/// let cables = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
/// let links = cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
/// let graph = Network::new(vec![true; 6], links);
/// let inside = hardest_cut(&graph, &[0, 1, 2, 3, 4, 5]);
/// assert_eq!(inside.len(), 3);
/// ```
pub fn hardest_cut(graph: &Network, members: &[NodeId]) -> Vec<NodeId> {
    let all = graph.working();
    let without = |node: NodeId| all.iter().copied().filter(|&other| other != node).collect::<Vec<_>>();
    let weakest = members.iter().copied().min_by_key(|&node| graph.into(node).len());
    let mut best = weakest.map_or_else(Vec::new, without);
    let is_member = {
        let mut flags = vec![false; graph.nodes()];
        members.iter().for_each(|&node| flags[node as usize] = true);
        flags
    };
    let mut flow = Flow::new(graph, &is_member);
    for &sink in members {
        loop {
            let (inside, leaving) = measure(graph, &best, &is_member);
            if leaving == 0 {
                return best;
            }
            // Links of capacity inside / leaving, everything scaled by `leaving`.
            let found = flow.smallest_cut(sink, leaving, inside);
            let (more, fewer) = measure(graph, &found, &is_member);
            if more * leaving <= inside * fewer || found.is_empty() {
                break;
            }
            best = found;
        }
    }
    best
}

/// The sets with some members, and without others, that the fewest links leave, if they are fewer than those of
/// any single member: found by maximum flows from one member to every other, and back (Menger 1927).
///
/// ```
/// use flitloom_core::{fabric::Network, flow::cuts::narrowest_cuts};
/// // Two triangles joined by one cable: what leaves either goes over one link.
/// let cables = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
/// let links = cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
/// let graph = Network::new(vec![true; 6], links);
/// assert_eq!(narrowest_cuts(&graph, &[0, 1, 2, 3, 4, 5]), [[0, 1, 2], [3, 4, 5]]);
/// ```
pub fn narrowest_cuts(graph: &Network, members: &[NodeId]) -> Vec<Vec<NodeId>> {
    let degree = |&node: &NodeId| graph.out(node).len().min(graph.into(node).len()) as u64;
    let Some((&first, others)) = members.split_first() else { return Vec::new() };
    let mut least = members.iter().map(degree).min().unwrap_or(0);
    let mut found: Vec<Vec<NodeId>> = Vec::new();
    let mut is_member = vec![false; graph.nodes()];
    members.iter().for_each(|&node| is_member[node as usize] = true);
    let mut flow = Flow::new(graph, &is_member);
    for &other in others {
        for (source, sink) in [(first, other), (other, first)] {
            let (links, inside) = flow.cut_between(source, sink);
            if links < least {
                (least, found) = (links, vec![inside]);
            } else if links == least && (1..MOST_CUTS).contains(&found.len()) && !found.contains(&inside) {
                found.push(inside);
            }
        }
    }
    found
}

/// Members in a set, and links that leave it.
pub(crate) fn measure(graph: &Network, inside: &[NodeId], is_member: &[bool]) -> (u64, u64) {
    let mut contains = vec![false; graph.nodes()];
    inside.iter().for_each(|&node| contains[node as usize] = true);
    let leaves = |&&(from, to): &&(NodeId, NodeId)| contains[from as usize] && !contains[to as usize];
    let leaving = graph.links().iter().filter(leaves).count() as u64;
    (inside.iter().filter(|&&node| is_member[node as usize]).count() as u64, leaving)
}

/// Maximum flow (Dinic 1970) from a source that feeds every member to one of them.
struct Flow<'a> {
    nodes: usize,
    is_member: &'a [bool],
    /// Arcs as (head, capacity left); arc `i ^ 1` is the other way.
    head: Vec<u32>,
    left: Vec<u64>,
    arcs: Vec<Vec<u32>>,
    links: usize,
}

impl<'a> Flow<'a> {
    fn new(graph: &Network, is_member: &'a [bool]) -> Self {
        let nodes = graph.nodes();
        let mut flow = Self {
            nodes,
            is_member,
            head: Vec::new(),
            left: Vec::new(),
            arcs: vec![Vec::new(); nodes + 1],
            links: graph.links().len(),
        };
        for &(from, to) in graph.links() {
            flow.arc(from as usize, to as usize);
        }
        for (node, _) in is_member.iter().enumerate().filter(|(_, member)| **member) {
            flow.arc(nodes, node);
        }
        flow
    }

    fn arc(&mut self, from: usize, to: usize) {
        self.arcs[from].push(self.head.len() as u32);
        self.arcs[to].push(self.head.len() as u32 + 1);
        self.head.extend([to as u32, from as u32]);
        self.left.extend([0, 0]);
    }

    /// The source side of a smallest cut towards `sink`; empty if every member's flow arrives.
    fn smallest_cut(&mut self, sink: NodeId, supply: u64, capacity: u64) -> Vec<NodeId> {
        for arc in 0..self.head.len() / 2 {
            self.left[2 * arc] = if arc < self.links { capacity } else { supply };
            self.left[2 * arc + 1] = 0;
        }
        let wanted = supply * self.is_member.iter().filter(|&&member| member).count() as u64;
        if self.fill(sink) == wanted { Vec::new() } else { self.reached() }
    }

    /// How many links leave the smallest set with one member and without another, and the set.
    fn cut_between(&mut self, source: NodeId, sink: NodeId) -> (u64, Vec<NodeId>) {
        for arc in 0..self.head.len() / 2 {
            let feeds = self.links as u64 * u64::from(self.head[2 * arc] == source);
            self.left[2 * arc] = if arc < self.links { 1 } else { feeds };
            self.left[2 * arc + 1] = 0;
        }
        (self.fill(sink), self.reached())
    }

    /// Sends as much as possible; how much that is.
    fn fill(&mut self, sink: NodeId) -> u64 {
        let mut sent = 0;
        loop {
            let levels = self.levels();
            if levels[sink as usize] == u32::MAX {
                break;
            }
            let mut next = vec![0_usize; self.nodes + 1];
            loop {
                let pushed = self.push(self.nodes, sink as usize, u64::MAX, &levels, &mut next);
                if pushed == 0 {
                    break;
                }
                sent += pushed;
            }
        }
        sent
    }

    /// The nodes that more could be sent to.
    fn reached(&self) -> Vec<NodeId> {
        let levels = self.levels();
        (0..self.nodes as NodeId).filter(|&node| levels[node as usize] != u32::MAX).collect()
    }

    fn levels(&self) -> Vec<u32> {
        let open = |&&arc: &&u32| self.left[arc as usize] > 0;
        let next =
            |node: u32| self.arcs[node as usize].iter().filter(open).map(|&arc| self.head[arc as usize]);
        walk::distances(self.nodes + 1, self.nodes as u32, u32::MAX, next).0
    }

    fn push(&mut self, node: usize, sink: usize, amount: u64, levels: &[u32], next: &mut [usize]) -> u64 {
        if node == sink {
            return amount;
        }
        while next[node] < self.arcs[node].len() {
            let arc = self.arcs[node][next[node]] as usize;
            let head = self.head[arc] as usize;
            if self.left[arc] > 0 && levels[head] == levels[node] + 1 {
                let pushed = self.push(head, sink, amount.min(self.left[arc]), levels, next);
                if pushed > 0 {
                    self.left[arc] -= pushed;
                    self.left[arc ^ 1] += pushed;
                    return pushed;
                }
            }
            next[node] += 1;
        }
        0
    }
}
