use crate::fabric::{Direction, NodeId};
use std::fmt;

/// A route per packet: the directions of its links from source to destination.
///
/// ```
/// use flitloom_core::{fabric::{Direction, Sign}, traffic::Routes};
/// let mut routes = Routes::default();
/// let east = Direction::new(0, Sign::Plus);
/// routes.push([east, east], 0);
/// assert_eq!(routes.directions(0).collect::<Vec<_>>(), [east, east]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    first: Vec<u32>,
    channels: Vec<u8>,
    steps: Vec<u8>,
}

impl Routes {
    /// Ends a route in [`steps`](Self::steps).
    pub const END: u8 = u8::MAX;

    /// Adds the route of the next packet, which enters its first link in virtual channel `channel`
    /// (one higher if that link crosses a dateline).
    pub fn push(&mut self, directions: impl IntoIterator<Item = Direction>, channel: u8) {
        self.first.push(self.steps.len() as u32);
        self.channels.push(channel);
        self.steps.extend(directions.into_iter().map(|direction| direction.index() as u8));
        self.steps.push(Self::END);
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Where a route begins in [`steps`](Self::steps), and its first channel.
    pub fn start(&self, index: usize) -> (u32, u8) {
        (self.first[index], self.channels[index])
    }

    /// Direction indices of all routes, each followed by [`END`](Self::END).
    pub fn steps(&self) -> &[u8] {
        &self.steps
    }

    /// The directions of one route.
    pub fn directions(&self, index: usize) -> impl Iterator<Item = Direction> + '_ {
        let steps = self.steps[self.first[index] as usize..].iter();
        steps.take_while(|&&step| step != Self::END).map(|&step| Direction::from_index(step.into()))
    }
}

/// Routes of pairs of nodes, looked up when they are needed.
pub trait RouteBook: fmt::Debug + Send + Sync {
    /// Whether there is a route from one node to another over working links; a node needs none to
    /// itself.
    fn covers(&self, source: NodeId, destination: NodeId) -> bool;

    /// The directions of the route; `None` without one.
    fn hops(&self, source: NodeId, destination: NodeId) -> Option<Vec<Direction>>;
}
