use super::{MAX_TABLE_NODES, TableError};
use crate::fabric::{Direction, Fabric, LinkId, NodeId, Sign};
use crate::routing::{HeaderLayout, Route, Rules, TurnPolicy, TurnSet};

/// A fabric with the rules of its routers and the turns they are permitted: everything that decides
/// which routes are legal.
#[derive(Clone, Debug)]
pub struct System {
    fabric: Fabric,
    rules: Rules,
    turns: TurnSet,
    /// Whether turns in the order of directions are withheld.
    withholds: bool,
    layout: HeaderLayout,
    next: Vec<NodeId>,
    /// How many links in a row work from each link on, in its direction; in a whole ring, its size.
    reach: Vec<u32>,
}

impl System {
    /// A system with the turns of a policy.
    ///
    /// # Errors
    /// There are too many nodes.
    ///
    /// ```
    /// use flitloom_core::fabric::{Fabric, Shape};
    /// use flitloom_core::routing::{Rules, TurnPolicy};
    /// use flitloom_core::routes::by_source::System;
    /// let fabric = Fabric::new(Shape::torus(&[4, 2, 2, 2])?);
    /// let system = System::new(fabric, Rules::angara(4), TurnPolicy::ClosedForm)?;
    /// assert_eq!(system.channels(), 160);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(fabric: Fabric, rules: Rules, policy: TurnPolicy) -> Result<Self, TableError> {
        let turns = TurnSet::of(policy, &fabric, &rules);
        Self::with_turns(fabric, rules, turns)
    }

    /// A system with the given turns.
    ///
    /// # Errors
    /// There are too many nodes.
    pub fn with_turns(fabric: Fabric, rules: Rules, turns: TurnSet) -> Result<Self, TableError> {
        let nodes = fabric.shape().nodes();
        let layout = HeaderLayout::new(fabric.shape())
            .filter(|_| nodes <= MAX_TABLE_NODES)
            .ok_or(TableError::TooManyNodes(nodes))?;
        let links = nodes * fabric.shape().directions();
        let next: Vec<NodeId> = (0..links as LinkId)
            .map(|link| {
                let (node, direction) = fabric.link_ends(link);
                fabric.working_neighbour(node, direction).unwrap_or(NodeId::MAX)
            })
            .collect();
        let reach = reach(&fabric, &next);
        let withholds = turns.withheld().next().is_some();
        Ok(Self { fabric, rules, turns, withholds, layout, next, reach })
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The rules of its routers.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The permitted turns against the order of directions, and those in it that are withheld.
    pub fn turns(&self) -> &TurnSet {
        &self.turns
    }

    /// How routes are packed.
    pub fn layout(&self) -> &HeaderLayout {
        &self.layout
    }

    /// Number of nodes, failed ones included.
    pub fn nodes(&self) -> usize {
        self.fabric.shape().nodes()
    }

    /// Number of working links.
    pub fn channels(&self) -> usize {
        self.next.iter().filter(|&&next| next != NodeId::MAX).count()
    }

    /// The node at the other end of a link, or `NodeId::MAX` if the link does not work.
    pub fn next(&self, link: LinkId) -> NodeId {
        self.next[link as usize]
    }

    /// The links of a walk given by the indices of its directions; all of them must work.
    pub(crate) fn links<'a>(&'a self, source: NodeId, walk: &'a [u8]) -> impl Iterator<Item = LinkId> + 'a {
        let directions = self.fabric.shape().directions() as u32;
        let mut here = source;
        walk.iter().map(move |&direction| {
            let link = here * directions + u32::from(direction);
            here = self.next[link as usize];
            link
        })
    }

    /// The runs of a route: direction and number of hops, in order.
    pub(crate) fn runs<'a>(&'a self, route: &'a Route) -> impl Iterator<Item = (Direction, u32)> + 'a {
        let step = |step: Option<Direction>| step.map(|direction| (direction, 1));
        let middle = self.rules.order().iter().filter_map(|&direction| {
            let hops = route.hops[direction.dimension()];
            let taken = hops != 0 && (hops > 0) == (direction.sign() == Sign::Plus);
            taken.then(|| (direction, hops.unsigned_abs()))
        });
        step(route.first).into_iter().chain(middle).chain(step(route.last))
    }

    /// Where a run from a node ends, if all its links work.
    pub(crate) fn run_end(&self, from: NodeId, direction: Direction, hops: u32) -> Option<NodeId> {
        let shape = self.fabric.shape();
        let (size, stride) = (shape.size(direction.dimension()), shape.stride(direction.dimension()));
        let reach = self.reach[self.fabric.link(from, direction) as usize];
        if hops > reach && reach < size {
            return None;
        }
        let here = shape.coordinate(from, direction.dimension());
        let ahead = if direction.sign() == Sign::Plus { hops % size } else { size - hops % size };
        Some(from - here * stride + (here + ahead) % size * stride)
    }

    /// Whether all links of a route work.
    pub(crate) fn route_works(&self, source: NodeId, route: &Route) -> bool {
        let mut here = source;
        self.runs(route).all(|(direction, hops)| match self.run_end(here, direction, hops) {
            Some(end) => {
                here = end;
                true
            }
            None => false,
        })
    }

    /// Whether all links of a walk given by the indices of its directions work.
    pub(crate) fn walk_works(&self, source: NodeId, walk: &[u8]) -> bool {
        let directions = self.fabric.shape().directions();
        let mut here = source;
        walk.iter().all(|&direction| {
            here = self.next[here as usize * directions + usize::from(direction)];
            here != NodeId::MAX
        })
    }

    /// Whether all turns of a working walk are permitted.
    pub(crate) fn walk_permitted(&self, source: NodeId, walk: &[u8]) -> bool {
        if !self.withholds {
            return true;
        }
        let mut ends = self.links(source, walk).zip(walk).peekable();
        while let Some((link, &along)) = ends.next() {
            let out = ends.peek().map(|(_, out)| Direction::from_index(usize::from(**out)));
            let along = Direction::from_index(usize::from(along));
            if out.is_some_and(|out| !self.turns.permits(&self.rules, link, along, out)) {
                return false;
            }
        }
        true
    }

    /// Directions of a header's route, as indices.
    pub(crate) fn walk(&self, header: u32) -> impl Iterator<Item = Direction> {
        let route = self.layout.unpack(header);
        route.directions(&self.rules).collect::<Vec<_>>().into_iter()
    }
}

/// How many links in a row work from each link on, at most the size of the dimension.
fn reach(fabric: &Fabric, next: &[NodeId]) -> Vec<u32> {
    let shape = fabric.shape();
    let mut reach = vec![0; next.len()];
    for direction in (0..shape.directions()).map(Direction::from_index) {
        let (size, stride) = (shape.size(direction.dimension()), shape.stride(direction.dimension()));
        for first in
            (0..shape.nodes() as NodeId).filter(|&node| shape.coordinate(node, direction.dimension()) == 0)
        {
            let mut row = 0;
            // Twice around, against the direction, so that what lies behind the rim is known.
            for step in 0..2 * size {
                let place = if direction.sign() == Sign::Plus { size - 1 - step % size } else { step % size };
                let link = fabric.link(first + place * stride, direction) as usize;
                row = if next[link] == NodeId::MAX { 0 } else { size.min(row + 1) };
                reach[link] = row;
            }
        }
    }
    reach
}
