use super::{Rules, TurnSet};
use crate::fabric::{Direction, Fabric, LinkId, NodeId, walk};
use std::collections::{HashMap, HashSet};

/// The routing graph of angara-routing-2021, Section 3: paths from the begin vertex of a node to the
/// end vertex of another are exactly the legal routes.
///
/// Each node has `3^n + 2n + 1` vertices when `n` first and `n` last steps exist: begin, one per
/// first step, one per set of signs used so far, one per last step, end. Vertices are numbered
/// `node * states + state`.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{RoutingGraph, Rules, TurnSet};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let graph = RoutingGraph::new(&fabric, &Rules::angara(2), &TurnSet::none(&fabric));
/// assert_eq!(graph.states(), 9 + 4 + 1);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub struct RoutingGraph {
    states: u32,
    starts: Vec<u32>,
    edges: Vec<RoutingEdge>,
}

/// One edge of the routing graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingEdge {
    /// Vertex it leads to.
    pub target: u32,
    /// Link it crosses; [`RoutingEdge::NO_LINK`] for the edge into an end vertex.
    pub link: LinkId,
}

impl RoutingEdge {
    /// Marks edges that end a route without crossing a link.
    pub const NO_LINK: LinkId = LinkId::MAX;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Begin,
    First(Direction),
    Middle { code: u32, last: Direction },
    Last(Direction),
    End,
}

impl RoutingGraph {
    /// Builds the graph on the working links, with the given turns against the order.
    ///
    /// Edges leave a vertex in the order in which Section 3.1 lists them: first steps, ordered hops,
    /// last steps, the end; each kind in the order of directions.
    pub fn new(fabric: &Fabric, rules: &Rules, turns: &TurnSet) -> Self {
        let states = all_states(rules);
        let moves = Moves::new(&states, rules);
        let nodes = fabric.shape().nodes() as NodeId;
        let count = states.len() as u32;
        let mut graph = Self { states: count, starts: vec![0], edges: Vec::new() };
        for node in 0..nodes {
            let neighbours: Vec<Option<NodeId>> = (0..fabric.shape().directions())
                .map(|index| fabric.working_neighbour(node, Direction::from_index(index)))
                .collect();
            for state in 0..count {
                for step in moves.of(state).iter().filter(|_| fabric.node_works(node)) {
                    let Some(next) = neighbours[step.direction.index()] else { continue };
                    let permitted = step.after.is_none_or(|along| {
                        let before = fabric.shape().neighbour(node, along.opposite());
                        before.is_some_and(|before| {
                            turns.permits(rules, fabric.link(before, along), along, step.direction)
                        })
                    });
                    if permitted {
                        let link = fabric.link(node, step.direction);
                        graph.edges.push(RoutingEdge { target: next * count + step.target, link });
                    }
                }
                if fabric.node_works(node) && state + 1 < count {
                    let target = node * count + count - 1;
                    graph.edges.push(RoutingEdge { target, link: RoutingEdge::NO_LINK });
                }
                graph.starts.push(graph.edges.len() as u32);
            }
        }
        graph
    }

    /// Vertices per node.
    pub fn states(&self) -> u32 {
        self.states
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    /// The vertex in which routes from a node begin.
    pub fn begin(&self, node: NodeId) -> u32 {
        node * self.states
    }

    /// The vertex in which routes to a node end.
    pub fn end(&self, node: NodeId) -> u32 {
        node * self.states + self.states - 1
    }

    /// The node of a vertex.
    pub fn node(&self, vertex: u32) -> NodeId {
        vertex / self.states
    }

    /// The edges that leave a vertex.
    pub fn edges(&self, vertex: u32) -> &[RoutingEdge] {
        &self.edges[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }

    /// Length of the shortest legal route from a node to every node, by breadth-first search.
    pub fn distances(&self, source: NodeId) -> Vec<Option<u32>> {
        let ends = |edge: &&RoutingEdge| edge.link == RoutingEdge::NO_LINK;
        let next = |vertex| self.edges(vertex).iter().filter(move |edge| !ends(edge)).map(|edge| edge.target);
        let (lengths, order) = walk::distances(self.vertices(), self.begin(source), u32::MAX, next);
        let mut distances = vec![None; self.vertices() / self.states as usize];
        for vertex in order.into_iter().filter(|&vertex| self.edges(vertex).iter().any(|edge| ends(&edge))) {
            distances[self.node(vertex) as usize].get_or_insert(lengths[vertex as usize]);
        }
        distances
    }

    /// Number of distinct walks of exactly the given length between two nodes.
    pub fn walks(&self, source: NodeId, destination: NodeId, length: u32) -> usize {
        let mut level: HashMap<Vec<LinkId>, HashSet<u32>> =
            HashMap::from([(vec![], HashSet::from([self.begin(source)]))]);
        for _ in 0..length {
            let mut next: HashMap<Vec<LinkId>, HashSet<u32>> = HashMap::new();
            for (walk, vertices) in level {
                for edge in vertices.iter().flat_map(|&vertex| self.edges(vertex)) {
                    if edge.link != RoutingEdge::NO_LINK {
                        let mut longer = walk.clone();
                        longer.push(edge.link);
                        next.entry(longer).or_default().insert(edge.target);
                    }
                }
            }
            level = next;
        }
        level
            .values()
            .filter(|vertices| vertices.iter().any(|&vertex| self.node(vertex) == destination))
            .count()
    }
}

/// One way on from a state.
struct Move {
    direction: Direction,
    /// State it leads to.
    target: u32,
    /// Direction of the hop before if this is a turn, which has to be permitted.
    after: Option<Direction>,
}

/// The ways on from every state, wherever the packet is.
struct Moves {
    starts: Vec<usize>,
    moves: Vec<Move>,
}

impl Moves {
    fn new(states: &[State], rules: &Rules) -> Self {
        let index = StateIndex::new(states);
        let mut all = Self { starts: vec![0], moves: Vec::new() };
        for &state in states {
            let mut found: Vec<(State, Move)> = Vec::new();
            for &direction in rules.order() {
                for (target, after) in steps(state, direction, rules) {
                    found.push((target, Move { direction, target: index.of(target), after }));
                }
            }
            found.sort_by_key(|(target, _)| match target {
                State::First(_) => 0,
                State::Last(_) => 2,
                _ => 1,
            });
            all.moves.extend(found.into_iter().map(|(_, step)| step));
            all.starts.push(all.moves.len());
        }
        all
    }

    fn of(&self, state: u32) -> &[Move] {
        &self.moves[self.starts[state as usize]..self.starts[state as usize + 1]]
    }
}

/// The states one step can lead to, each with the direction before if that is a turn.
fn steps(state: State, direction: Direction, rules: &Rules) -> Vec<(State, Option<Direction>)> {
    let single = State::Middle { code: digit(direction), last: direction };
    let turns = |along: Direction| along != direction && along != direction.opposite();
    let mut reached = Vec::with_capacity(2);
    match state {
        State::Begin => {
            reached.push((single, None));
            if rules.first_steps().contains(&direction) {
                reached.push((State::First(direction), None));
            }
        }
        State::First(along) if turns(along) => reached.push((single, Some(along))),
        State::Middle { code, last } => {
            let both = uses(code, direction.opposite()) && rules.direction_bits();
            if last == direction {
                reached.push((state, None));
            } else if rules.rank(last) < rules.rank(direction) && !both && !uses(code, direction) {
                reached.push((State::Middle { code: code + digit(direction), last: direction }, Some(last)));
            }
            if rules.last_steps().contains(&direction) && turns(last) {
                reached.push((State::Last(direction), Some(last)));
            }
        }
        _ => {}
    }
    reached
}

/// Base-3 digit of a direction in the code of the signs used: 0 none, 1 plus, 2 minus.
fn digit(direction: Direction) -> u32 {
    (direction.index() as u32 % 2 + 1) * 3_u32.pow(direction.dimension() as u32)
}

fn uses(code: u32, direction: Direction) -> bool {
    code / 3_u32.pow(direction.dimension() as u32) % 3 == direction.index() as u32 % 2 + 1
}

fn all_states(rules: &Rules) -> Vec<State> {
    let dimensions = rules.order().len() as u32 / 2;
    let middles = (1..3_u32.pow(dimensions)).filter_map(|code| {
        let last = rules.order().iter().copied().rfind(|&direction| uses(code, direction))?;
        Some(State::Middle { code, last })
    });
    std::iter::once(State::Begin)
        .chain(rules.first_steps().iter().copied().map(State::First))
        .chain(middles)
        .chain(rules.last_steps().iter().copied().map(State::Last))
        .chain(std::iter::once(State::End))
        .collect()
}

struct StateIndex {
    middles: HashMap<u32, u32>,
    firsts: HashMap<Direction, u32>,
    lasts: HashMap<Direction, u32>,
    end: u32,
}

impl StateIndex {
    fn new(states: &[State]) -> Self {
        let mut index =
            Self { middles: HashMap::new(), firsts: HashMap::new(), lasts: HashMap::new(), end: 0 };
        for (number, &state) in (0..).zip(states) {
            match state {
                State::Begin => {}
                State::First(direction) => drop(index.firsts.insert(direction, number)),
                State::Middle { code, .. } => drop(index.middles.insert(code, number)),
                State::Last(direction) => drop(index.lasts.insert(direction, number)),
                State::End => index.end = number,
            }
        }
        index
    }

    fn of(&self, state: State) -> u32 {
        match state {
            State::Begin => 0,
            State::First(direction) => self.firsts[&direction],
            State::Middle { code, .. } => self.middles[&code],
            State::Last(direction) => self.lasts[&direction],
            State::End => self.end,
        }
    }
}
