use super::{MAX_TABLE_NODES, TableError};
use crate::fabric::{Direction, Fabric, LinkId, NodeId};
use crate::routing::{HeaderLayout, Rules, TurnPolicy, TurnSet};

/// A fabric with the rules of its routers and the turns they are permitted: everything that decides
/// which routes are legal.
#[derive(Clone, Debug)]
pub struct System {
    fabric: Fabric,
    rules: Rules,
    turns: TurnSet,
    layout: HeaderLayout,
    next: Vec<NodeId>,
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
    /// use flitloom_core::tables::System;
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
        let next = (0..links as LinkId)
            .map(|link| {
                let (node, direction) = fabric.link_ends(link);
                fabric.working_neighbour(node, direction).unwrap_or(NodeId::MAX)
            })
            .collect();
        Ok(Self { fabric, rules, turns, layout, next })
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

    /// Whether all links of a walk work.
    pub(crate) fn walk_works(&self, source: NodeId, walk: &[u8]) -> bool {
        let directions = self.fabric.shape().directions() as u32;
        let mut here = source;
        walk.iter().all(|&direction| {
            here = self.next[(here * directions + u32::from(direction)) as usize];
            here != NodeId::MAX
        })
    }

    /// Whether all turns of a working walk are permitted.
    pub(crate) fn walk_permitted(&self, source: NodeId, walk: &[u8]) -> bool {
        if self.turns.withheld().next().is_none() {
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
