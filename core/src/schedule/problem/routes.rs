use crate::{
    fabric::{Direction, Displacement, Fabric, LinkId, NodeId, Shape, Sign},
    routing::dimension_order,
};

/// The links of a route, in order.
pub type Path = Box<[LinkId]>;

named! {
    /// Which minimal routes a packet may take.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum RouteChoice {
        /// The one route of dimension order, ties by [`dimension_order`]'s rule.
        #[default]
        DimensionOrder = "dor",
        /// Dimension order with ties at distance N/2 split by the parity of the coordinate sum, which
        /// balances all-to-all traffic: a packet goes plus from even nodes.
        BalancedTies = "balanced-ties",
        /// The dimensions in any order (XY or YX), either way round at ties.
        AnyOrder = "any-order",
        /// All minimal routes with at most two bends, either way round at ties.
        TwoBends = "minimal",
    }
}

impl RouteChoice {
    /// The working routes from `source` to `destination`.
    ///
    /// ```
    /// use flitloom_core::{fabric::{Fabric, Shape}, schedule::RouteChoice};
    /// let fabric = Fabric::new(Shape::torus(&[16, 16])?);
    /// assert_eq!(RouteChoice::DimensionOrder.paths(&fabric, 0, 35).len(), 1);
    /// assert_eq!(RouteChoice::AnyOrder.paths(&fabric, 0, 35).len(), 2);
    /// assert_eq!(RouteChoice::TwoBends.paths(&fabric, 0, 35).len(), 5);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn paths(self, fabric: &Fabric, source: NodeId, destination: NodeId) -> Vec<Path> {
        let shape = fabric.shape();
        let mut paths: Vec<Path> = match self {
            Self::DimensionOrder => vec![dimension_order::path(fabric, source, destination).collect()],
            Self::BalancedTies => {
                let order: Vec<usize> = (0..shape.dimensions()).collect();
                let ways = signed_runs(shape, source, destination);
                let follows =
                    |runs: &&Vec<Run>| runs.iter().all(|run| run.follows_parity(shape, source, destination));
                // On a twisted torus dimensions tie together, and no way may follow the parity in all of them.
                let runs = ways.iter().find(follows).unwrap_or(&ways[source as usize % ways.len()]);
                vec![walk(fabric, source, &in_order(runs, &order))]
            }
            Self::AnyOrder | Self::TwoBends => signed_runs(shape, source, destination)
                .iter()
                .flat_map(|runs| self.legs(runs))
                .map(|legs| walk(fabric, source, &legs))
                .collect(),
        };
        paths.sort_unstable();
        paths.dedup();
        let works = |link: LinkId| {
            let (node, direction) = fabric.link_ends(link);
            fabric.link_works(node, direction)
        };
        let ends_work = fabric.node_works(source) && fabric.node_works(destination);
        paths.retain(|path| ends_work && path.iter().all(|&link| works(link)));
        paths
    }

    fn legs(self, runs: &[Run]) -> Vec<Vec<(Direction, u32)>> {
        let mut orders = Vec::new();
        permute(&mut runs.iter().map(Run::leg).collect(), 0, &mut orders);
        if self == Self::TwoBends && runs.len() == 2 {
            for (split, other) in [(0, 1), (1, 0)] {
                let ((direction, length), middle) = (runs[split].leg(), runs[other].leg());
                orders.extend(
                    (1..length).map(|first| vec![(direction, first), middle, (direction, length - first)]),
                );
            }
        }
        orders
    }
}

/// The hops of a route within one dimension.
#[derive(Clone, Copy, Debug)]
struct Run {
    direction: Direction,
    hops: u32,
    tie: bool,
}

impl Run {
    fn leg(&self) -> (Direction, u32) {
        (self.direction, self.hops)
    }

    // The node at which the run starts under dimension order: earlier dimensions are done.
    fn follows_parity(&self, shape: &Shape, source: NodeId, destination: NodeId) -> bool {
        let own = self.direction.dimension();
        let sum: u32 = (0..shape.dimensions())
            .map(|dimension| shape.coordinate(if dimension < own { destination } else { source }, dimension))
            .sum();
        !self.tie || (self.direction.sign() == Sign::Plus) == sum.is_multiple_of(2)
    }
}

/// All shortest displacements: one, times two for every tie on a plain torus.
fn signed_runs(shape: &Shape, source: NodeId, destination: NodeId) -> Vec<Vec<Run>> {
    let ways = shape.ways(source, destination);
    let run = |way: &Displacement, dimension: usize| {
        let hops = way[dimension];
        let sign = if hops > 0 { Sign::Plus } else { Sign::Minus };
        let tie = ways.iter().any(|other| other[dimension] != hops);
        Run { direction: Direction::new(dimension, sign), hops: hops.unsigned_abs(), tie }
    };
    let taken = |way: &Displacement| -> Vec<Run> {
        let dimensions = (0..shape.dimensions()).filter(|&dimension| way[dimension] != 0);
        dimensions.map(|dimension| run(way, dimension)).collect()
    };
    ways.iter().map(taken).collect()
}

fn in_order(runs: &[Run], order: &[usize]) -> Vec<(Direction, u32)> {
    order
        .iter()
        .filter_map(|&dimension| runs.iter().find(|run| run.direction.dimension() == dimension))
        .map(Run::leg)
        .collect()
}

fn permute(legs: &mut Vec<(Direction, u32)>, fixed: usize, out: &mut Vec<Vec<(Direction, u32)>>) {
    if fixed >= legs.len() {
        out.push(legs.clone());
        return;
    }
    for next in fixed..legs.len() {
        legs.swap(fixed, next);
        permute(legs, fixed + 1, out);
        legs.swap(fixed, next);
    }
}

/// The links of the given legs; stops at the rim of a mesh, which minimal legs never cross.
fn walk(fabric: &Fabric, source: NodeId, legs: &[(Direction, u32)]) -> Path {
    let mut here = source;
    let mut path = Vec::new();
    for &(direction, hops) in legs {
        for _ in 0..hops {
            let Some(next) = fabric.shape().neighbour(here, direction) else { break };
            path.push(fabric.link(here, direction));
            here = next;
        }
    }
    path.into()
}
