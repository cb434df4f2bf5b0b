use super::{
    Direction, Fabric, FabricError, Factor, Graph, NodeId, Placed, Shape, Sign, Steps, Ties,
    rows::Rows,
    walk::{self, Ways},
};
use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

/// How the nodes of a grid are joined: along lines in every dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Per dimension what its lines are.
    pub factors: Vec<Factor>,
    /// Parallel links per dimension; none given: one each.
    pub widths: Vec<u32>,
    /// Whether a step over the edge of a short dimension also moves half of every long one.
    pub twisted: bool,
}

impl Lines {
    /// Rings of single links.
    pub fn rings(sizes: &[u32], twisted: bool) -> Self {
        Self { factors: sizes.iter().map(|&size| Factor::Ring(size)).collect(), widths: Vec::new(), twisted }
    }

    /// Those of a shape.
    fn of(shape: &Shape, widths: &[u32]) -> Self {
        let factor = |dimension: usize| {
            let size = shape.size(dimension);
            match shape.steps(dimension).and_then(|steps| Steps::new(steps).ok()) {
                Some(steps) => Factor::Circulant(size, steps),
                None if shape.is_full(dimension) => Factor::Full(size),
                None if shape.is_twisted() || shape.wraps(dimension) => Factor::Ring(size),
                None => Factor::Line(size),
            }
        };
        let factors = (0..shape.dimensions()).map(factor).collect();
        Self { factors, widths: widths.to_vec(), twisted: shape.is_twisted() }
    }

    /// Sizes of all dimensions.
    pub fn sizes(&self) -> Vec<u32> {
        self.factors.iter().map(|factor| factor.size()).collect()
    }

    /// Whether all of them are rings and full meshes; a line of two nodes is both.
    pub fn are_closed(&self) -> bool {
        let closed = |factor: &Factor| matches!(factor, Factor::Ring(_) | Factor::Full(_) | Factor::Line(2));
        self.factors.iter().all(closed)
    }

    /// The rings and lines among them; what else is joined along them is not in it.
    fn shape(&self) -> Result<Shape, FabricError> {
        let sizes = self.sizes();
        match self.twisted {
            true if !self.are_closed() => Err(FabricError::Twist(sizes)),
            true => Shape::twisted(&sizes),
            false => {
                let wraps = self.factors.iter().map(|factor| matches!(factor, Factor::Ring(_)));
                Shape::new(&sizes, &wraps.collect::<Vec<_>>())
            }
        }
    }

    /// Where links lead from a node, dimension by dimension, failed ones too.
    fn ends(&self, rings: &Shape, node: NodeId) -> impl Iterator<Item = (usize, NodeId)> {
        (0..).zip(&self.factors).flat_map(move |(dimension, factor)| {
            let (size, here) = (factor.size(), rings.coordinate(node, dimension));
            let stride = rings.stride(dimension);
            let after = |step: u32| node - here * stride + (here + step) % size * stride;
            let ends: Vec<NodeId> = match factor {
                Factor::Full(_) => (1..size).map(after).collect(),
                Factor::Circulant(_, steps) => {
                    let both = steps.as_slice().iter().flat_map(|&step| [step, size - step]);
                    // Half way round both senses are one link.
                    let mut both: Vec<u32> = both.collect();
                    both.dedup();
                    both.into_iter().map(after).collect()
                }
                Factor::Ring(_) | Factor::Line(_) => [Sign::Plus, Sign::Minus]
                    .into_iter()
                    .filter_map(|sign| rings.neighbour(node, Direction::new(dimension, sign)))
                    .collect(),
            };
            ends.into_iter().map(move |end| (dimension, end))
        })
    }

    /// The grid that routers can stand on, if the directions of links are not too many for them.
    fn grid(&self) -> Result<Shape, FabricError> {
        if self.twisted { self.shape() } else { Shape::product(&self.factors) }
    }
}

/// Where the links of a network come from.
#[derive(Clone, Debug)]
enum Channels {
    /// Along lines: these, the rings and lines among them, and the grid that routers may stand on.
    Lines { lines: Lines, rings: Shape, grid: Option<Arc<Fabric>> },
    /// Between switches, at which there are hosts; they may stand on a torus or mesh.
    Switches(Arc<Graph>, Option<Placed>),
    /// They are listed.
    Listed,
}

/// Links by their numbers, and those that leave and enter every node.
#[derive(Clone, Debug)]
struct Links {
    ends: Vec<(NodeId, NodeId)>,
    out: Rows,
    into: Rows,
}

impl Links {
    fn new(nodes: usize, ends: Vec<(NodeId, NodeId)>) -> Self {
        let out = Rows::new(nodes, ends.iter().map(|&(from, _)| from));
        let into = Rows::new(nodes, ends.iter().map(|&(_, to)| to));
        Self { ends, out, into }
    }
}

/// A network: its nodes, which work or have failed, and the links between them, along the lines of a grid or listed.
///
/// Where hosts are at switches, its first nodes are the hosts, and the switches follow.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Graph, Network, Shape};
/// let torus = Network::of_grid(&Fabric::new(Shape::torus(&[4, 2])?), &[])?;
/// assert_eq!((torus.hosts(), torus.links().len(), torus.sizes()), (8, 24, &[4, 2][..]));
/// let pair = Network::of_switches(Graph::new(vec![2, 1], &[(0, 1)])?);
/// assert_eq!((pair.hosts(), pair.nodes(), pair.distances(0)[2]), (3, 5, 3));
/// assert!(pair.grid().is_err());
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    works: Vec<bool>,
    hosts: usize,
    /// Sizes in whose order hosts are numbered.
    sizes: Vec<u32>,
    /// Failed cables of nodes that may work, in both directions.
    failed_cables: HashSet<(NodeId, NodeId)>,
    channels: Channels,
    /// Links that work, listed when somebody asks for them.
    links: OnceLock<Links>,
}

impl Network {
    /// A network of the given links.
    ///
    /// ```
    /// use flitloom_core::fabric::Network;
    /// let ring = Network::new(vec![true; 3], vec![(0, 1), (1, 2), (2, 0)]);
    /// assert_eq!(ring.distances(1), [2, 0, 1]);
    /// ```
    pub fn new(works: Vec<bool>, links: Vec<(NodeId, NodeId)>) -> Self {
        let (hosts, listed) = (works.len(), Links::new(works.len(), links));
        let (sizes, failed_cables) = (vec![hosts as u32], HashSet::new());
        Self { works, hosts, sizes, failed_cables, channels: Channels::Listed, links: OnceLock::from(listed) }
    }

    /// Nodes joined by cables, a link each way, and by links that lead one way; each stands as often as it exists.
    ///
    /// ```
    /// use flitloom_core::fabric::Network;
    /// let star = Network::of_cables(4, &[(0, 1), (0, 2), (0, 3)], &[(3, 2)])?.without(&[], &[(3, 0)])?;
    /// assert_eq!(star.links(), [(0, 1), (1, 0), (0, 2), (2, 0), (3, 2)]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    ///
    /// # Errors
    /// A node does not exist.
    pub fn of_cables(
        nodes: NodeId,
        cables: &[(NodeId, NodeId)],
        one_way: &[(NodeId, NodeId)],
    ) -> Result<Self, FabricError> {
        let mut ends = cables.iter().chain(one_way).flat_map(|&(a, b)| [a, b]);
        if let Some(node) = ends.find(|&node| node >= nodes) {
            return Err(no_node(node, nodes as usize));
        }
        let both = cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        Ok(Self::new(vec![true; nodes as usize], both.chain(one_way.iter().copied()).collect()))
    }

    /// Hosts at switches.
    pub fn of_switches(graph: Graph) -> Self {
        let hosts = graph.all_hosts() as usize;
        Self {
            works: vec![true; hosts + graph.switches()],
            hosts,
            sizes: vec![hosts as u32],
            failed_cables: HashSet::new(),
            channels: Channels::Switches(Arc::new(graph), None),
            links: OnceLock::new(),
        }
    }

    /// The same hosts in the order of coordinates, of which there are so many per dimension.
    ///
    /// ```
    /// use flitloom_core::fabric::{Graph, Network};
    /// let square = Network::of_switches(Graph::new(vec![1; 4], &[(0, 1), (2, 3), (0, 2), (1, 3)])?);
    /// assert_eq!(square.sizes(), [4]);
    /// assert_eq!(square.numbered_by(vec![2, 2]).sizes(), [2, 2]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    ///
    /// # Panics
    /// There are more or fewer hosts than coordinates.
    pub fn numbered_by(self, sizes: Vec<u32>) -> Self {
        assert_eq!(sizes.iter().map(|&size| size as usize).product::<usize>(), self.hosts);
        Self { sizes, ..self }
    }

    /// The same hosts at switches that stand on a torus or mesh.
    #[must_use]
    pub fn placed_on(mut self, placed: Placed) -> Self {
        if let Channels::Switches(_, place) = &mut self.channels {
            *place = Some(placed);
        }
        self
    }

    /// A grid of lines; `ties` is which way dimension order goes to the opposite place of a ring.
    ///
    /// # Errors
    /// The grid cannot be.
    pub fn of_lines(lines: Lines, ties: Ties) -> Result<Self, FabricError> {
        let rings = lines.shape()?;
        let grid = match lines.grid() {
            Ok(shape) => Some(Arc::new(Fabric::new(shape.with_ties(ties)))),
            // No router has so many ports, and the links exist all the same.
            Err(FabricError::Directions(_) | FabricError::Rings(_)) => None,
            Err(error) => return Err(error),
        };
        let (hosts, sizes) = (rings.nodes(), rings.sizes().to_vec());
        let (works, failed_cables) = (vec![true; hosts], HashSet::new());
        let channels = Channels::Lines { lines, rings, grid };
        Ok(Self { works, hosts, sizes, failed_cables, channels, links: OnceLock::new() })
    }

    /// What works of a grid, with so many parallel links per dimension; none given: one each.
    ///
    /// # Errors
    /// As [`Network::of_lines`].
    pub fn of_grid(fabric: &Fabric, widths: &[u32]) -> Result<Self, FabricError> {
        let nodes: Vec<NodeId> = fabric.failed_nodes().collect();
        let cables: Vec<_> = fabric.failed_cables().collect();
        let shape = fabric.shape();
        Self::of_lines(Lines::of(shape, widths), shape.ties())?.without(&nodes, &cables)
    }

    /// The same network less nodes, and less all cables between pairs of neighbours.
    ///
    /// # Errors
    /// A node does not exist, or a cable joins no neighbours.
    pub fn without(
        mut self,
        failed_nodes: &[NodeId],
        failed_cables: &[(NodeId, NodeId)],
    ) -> Result<Self, FabricError> {
        let nodes = self.nodes();
        for &node in failed_nodes {
            *self.works.get_mut(node as usize).ok_or(no_node(node, nodes))? = false;
        }
        if let Some(&(a, b)) = failed_cables.iter().find(|&&(a, b)| !self.joins(a, b) && !self.joins(b, a)) {
            return Err(FabricError::NotNeighbours(a, b));
        }
        self.failed_cables.extend(failed_cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]));
        if let Channels::Lines { grid: Some(grid), .. } = &mut self.channels {
            let fabric = Arc::make_mut(grid);
            failed_nodes.iter().try_for_each(|&node| fabric.fail_node(node))?;
            failed_cables.iter().try_for_each(|&(a, b)| fabric.fail_cable(a, b))?;
        }
        let left = self.links.take().map(|links| Links::new(nodes, self.working_links(links.ends)));
        Ok(Self { links: left.map_or_else(OnceLock::new, OnceLock::from), ..self })
    }

    /// Whether a link leads from a node to another one, which may have failed.
    fn joins(&self, from: NodeId, to: NodeId) -> bool {
        match &self.channels {
            _ if from as usize >= self.nodes() => false,
            Channels::Lines { lines, rings, .. } => lines.ends(rings, from).any(|(_, end)| end == to),
            _ => self.out(from).iter().any(|&link| self.links()[link as usize].1 == to),
        }
    }

    fn working_links(&self, all: impl IntoIterator<Item = (NodeId, NodeId)>) -> Vec<(NodeId, NodeId)> {
        let works = |&(from, to): &(NodeId, NodeId)| {
            self.works[from as usize] && self.works[to as usize] && !self.failed_cables.contains(&(from, to))
        };
        all.into_iter().filter(works).collect()
    }

    fn listed(&self) -> &Links {
        self.links.get_or_init(|| {
            let ends = match &self.channels {
                Channels::Lines { lines, rings, .. } => self.working_links(along(lines, rings)),
                Channels::Switches(graph, _) => self.working_links(between(graph)),
                Channels::Listed => Vec::new(),
            };
            Links::new(self.nodes(), ends)
        })
    }

    /// Nodes that exist, whether they work or not.
    pub fn nodes(&self) -> usize {
        self.works.len()
    }

    /// Nodes that send and receive: all but switches with hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Whether every node works.
    pub fn works(&self) -> &[bool] {
        &self.works
    }

    /// Whether nothing has failed.
    pub fn is_healthy(&self) -> bool {
        self.failed_cables.is_empty() && !self.works.contains(&false)
    }

    /// Nodes that work, in ascending order.
    pub fn working(&self) -> Vec<NodeId> {
        (0..self.nodes() as NodeId).filter(|&node| self.works[node as usize]).collect()
    }

    /// Sizes in whose order hosts are numbered, the first fastest; one that is all of them where they have no
    /// coordinates.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// How its nodes are joined, if they lie on a grid.
    pub fn lines(&self) -> Option<&Lines> {
        match &self.channels {
            Channels::Lines { lines, .. } => Some(lines),
            _ => None,
        }
    }

    /// The grid with what has failed, on whose nodes routers can stand.
    ///
    /// # Errors
    /// Nodes have no coordinates, or more links than routers have ports.
    pub fn grid(&self) -> Result<&Arc<Fabric>, FabricError> {
        match &self.channels {
            Channels::Lines { grid: Some(grid), .. } => Ok(grid),
            Channels::Lines { lines, .. } => Err(lines.grid().err().unwrap_or(FabricError::NoGrid)),
            _ => Err(FabricError::NoGrid),
        }
    }

    /// The switches and the cables between them, if hosts are at switches.
    pub fn switches(&self) -> Option<&Arc<Graph>> {
        match &self.channels {
            Channels::Switches(graph, _) => Some(graph),
            _ => None,
        }
    }

    /// Where its switches stand, if that is on a torus or mesh.
    pub fn placed(&self) -> Option<&Placed> {
        match &self.channels {
            Channels::Switches(_, placed) => placed.as_ref(),
            _ => None,
        }
    }

    /// All links that work, as (from, to).
    pub fn links(&self) -> &[(NodeId, NodeId)] {
        &self.listed().ends
    }

    /// Links that leave a node.
    pub fn out(&self, node: NodeId) -> &[u32] {
        self.listed().out.row(node)
    }

    /// Links that end at a node.
    pub fn into(&self, node: NodeId) -> &[u32] {
        self.listed().into.row(node)
    }

    /// The same nodes with every link the other way round, under the same index.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let ends = self.links().iter().map(|&(from, to)| (to, from)).collect();
        Self { links: OnceLock::from(Links::new(self.nodes(), ends)), ..self.clone() }
    }

    /// Hops from a node to every node; `u32::MAX` where no way leads.
    pub fn distances(&self, from: NodeId) -> Vec<u32> {
        let Links { ends, out, .. } = self.listed();
        let next = |node| out.row(node).iter().map(|&link| ends[link as usize].1);
        walk::distances(self.nodes(), from, u32::MAX, next).0
    }

    /// Finds the shortest ways from a node under lengths of links, up to `target` if one is given.
    pub fn find_ways(
        &self,
        ways: &mut Ways<f64>,
        source: NodeId,
        target: Option<NodeId>,
        length: impl Fn(u32) -> f64,
    ) {
        let (length, Links { ends, out, .. }) = (&length, self.listed());
        let leaving =
            |node| out.row(node).iter().map(move |&link| (link, ends[link as usize].1, length(link)));
        ways.find(source, leaving, |node, _| Some(node) != target);
    }

    /// The links to a node on the ways from `source`, in order; `None` if no way leads there.
    pub fn path(&self, ways: &Ways<f64>, source: NodeId, target: NodeId) -> Option<Vec<u32>> {
        ways.path(source, target, |link| self.links()[link as usize].0)
    }
}

/// All links along lines, node by node.
fn along(lines: &Lines, rings: &Shape) -> impl Iterator<Item = (NodeId, NodeId)> {
    let width = |dimension: usize| lines.widths.get(dimension).copied().unwrap_or(1);
    (0..rings.nodes() as NodeId).flat_map(move |node| {
        let ends = lines.ends(rings, node);
        ends.flat_map(move |(dimension, end)| (0..width(dimension)).map(move |_| (node, end)))
    })
}

/// All links of hosts, then all between switches, which are numbered behind the hosts.
fn between(graph: &Graph) -> impl Iterator<Item = (NodeId, NodeId)> {
    let (hosts, switches) = (graph.all_hosts() as NodeId, graph.switches() as NodeId);
    let at = (0..switches).flat_map(move |switch| (0..graph.hosts(switch)).map(move |_| hosts + switch));
    let cables = (0..hosts).zip(at).flat_map(|(host, switch)| [(host, switch), (switch, host)]);
    let channels = (0..graph.channels() as u32).map(|channel| graph.ends(channel));
    cables.chain(channels.map(move |(from, to)| (hosts + from, hosts + to)))
}

fn no_node(node: NodeId, nodes: usize) -> FabricError {
    FabricError::Node { node: node.into(), last: (nodes as NodeId).saturating_sub(1) }
}
