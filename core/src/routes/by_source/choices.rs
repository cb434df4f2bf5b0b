use super::{KeepGoing, NO_ROUTE, System, TableError};
use crate::fabric::{Fabric, NodeId};
use crate::routing::{Route, TurnPolicy, TurnSet, legal_routes};

/// The legal shortest routes of every pair: what a generator chooses from.
///
/// On a healthy system all pairs with the same displacement in the rings and the same ends in the
/// other dimensions share one list; failed systems keep what survives of it.
pub struct Choices {
    /// Header of each pair with a single route, [`NO_ROUTE`] for all others.
    pub(crate) headers: Vec<u32>,
    /// Pairs with several routes.
    pub(crate) pairs: Vec<Pair>,
    walks: Vec<Walk>,
    directions: Vec<u8>,
    lists: Vec<u32>,
    unserved: Vec<(NodeId, NodeId)>,
    /// Whether routes depend on displacements alone, not on where in the rings a pair lies.
    pub(crate) uniform: bool,
}

/// A pair with several routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub source: NodeId,
    pub destination: NodeId,
    start: u32,
    pub count: u16,
    pub chosen: u16,
}

#[derive(Clone, Copy, Debug)]
struct Walk {
    start: u32,
    length: u16,
    header: u32,
}

const UNSET: u32 = u32::MAX;

impl Choices {
    /// Collects the routes of all pairs of working nodes; `keep_going` is told the fraction done and stops the work by
    /// returning false.
    ///
    /// # Errors
    /// The work was interrupted.
    pub fn found(system: &System, keep_going: KeepGoing<'_>) -> Result<Self, TableError> {
        let mut builder = Builder::new(system);
        let nodes = system.nodes() as NodeId;
        for source in (0..nodes).filter(|&source| system.fabric().node_works(source)) {
            if !keep_going(f64::from(source) / f64::from(nodes)) {
                return Err(TableError::Interrupted);
            }
            let classes = builder.classes_from(source);
            for destination in 0..nodes {
                if destination != source && system.fabric().node_works(destination) {
                    builder.add(source, destination, classes.get(destination as usize).copied());
                }
            }
        }
        Ok(builder.choices)
    }

    /// Pairs without any legal route.
    pub fn unserved(&self) -> &[(NodeId, NodeId)] {
        &self.unserved
    }

    /// The single and multiple routes as an error if some pair has none.
    pub(crate) fn all_served(self) -> Result<Self, TableError> {
        if self.unserved.is_empty() { Ok(self) } else { Err(TableError::unserved(&self.unserved)) }
    }

    /// Number of pairs with exactly one route.
    pub fn single(&self) -> usize {
        self.headers.iter().filter(|&&header| header != NO_ROUTE).count()
    }

    /// Number of pairs with a choice.
    pub fn multiple(&self) -> usize {
        self.pairs.len()
    }

    /// Directions of one of a pair's routes.
    pub(crate) fn walk(&self, pair: &Pair, choice: u16) -> &[u8] {
        let walk = self.walks[self.lists[pair.start as usize + choice as usize] as usize];
        &self.directions[walk.start as usize..walk.start as usize + walk.length as usize]
    }

    /// Header of one of a pair's routes.
    pub(crate) fn header(&self, pair: &Pair, choice: u16) -> u32 {
        self.walks[self.lists[pair.start as usize + choice as usize] as usize].header
    }

    /// Number of entries of all lists.
    pub(crate) fn list_entries(&self) -> usize {
        self.lists.len()
    }

    /// Which list a pair chooses from; equal for pairs that share it.
    pub(crate) fn list(&self, pair: &Pair) -> u32 {
        pair.start
    }

    /// The headers of all pairs with the current choices.
    pub(crate) fn chosen_headers(&self) -> Vec<u32> {
        let nodes = self.headers.len().isqrt();
        let mut headers = self.headers.clone();
        for pair in &self.pairs {
            headers[pair.source as usize * nodes + pair.destination as usize] =
                self.header(pair, pair.chosen);
        }
        headers
    }
}

struct Builder<'a> {
    system: &'a System,
    /// The same system without failures, if its options survive wherever their links do.
    ideal: Option<(Fabric, TurnSet)>,
    healthy: bool,
    /// Begin and end of every turn that the system without failures has not: routes over them are in none
    /// of the classes.
    more_turns: Vec<(NodeId, NodeId)>,
    /// First and last list entry of each class.
    classes: Vec<(u32, u32)>,
    choices: Choices,
}

impl<'a> Builder<'a> {
    fn new(system: &'a System) -> Self {
        let (shape, rules) = (system.fabric().shape(), system.rules());
        let healthy = Fabric::new(shape.clone());
        let is_healthy = system.fabric().is_healthy();
        let closed = |fabric: &Fabric| TurnSet::of(TurnPolicy::ClosedForm, fabric, rules);
        let turns = system.turns();
        let known = if turns.is_empty() { TurnSet::none(&healthy) } else { closed(system.fabric()) };
        let ideal = if is_healthy {
            (*turns == known).then(|| known.clone())
        } else if turns.is_empty() {
            Some(known.clone())
        } else {
            known.iter().all(|(link, out)| turns.contains(link, out)).then(|| closed(&healthy))
        };
        let classes: usize =
            (0..shape.dimensions()).map(|dimension| span(system, dimension) as usize).product();
        let classes = if ideal.is_some() { vec![(UNSET, 0); classes] } else { Vec::new() };
        let choices = Choices {
            headers: vec![NO_ROUTE; system.nodes() * system.nodes()],
            pairs: Vec::new(),
            walks: Vec::new(),
            directions: Vec::new(),
            lists: Vec::new(),
            unserved: Vec::new(),
            uniform: ideal.is_some() && is_healthy,
        };
        let fabric = system.fabric();
        let more_turns = turns
            .iter()
            .filter(|&(link, out)| ideal.is_some() && !known.contains(link, out))
            .filter_map(|(link, out)| {
                let (begin, along) = fabric.link_ends(link);
                let middle = fabric.working_neighbour(begin, along)?;
                Some((begin, fabric.working_neighbour(middle, out)?))
            })
            .collect();
        let ideal = ideal.map(|turns| (healthy, turns));
        Self { system, ideal, healthy: is_healthy, more_turns, classes, choices }
    }

    /// The class of the pair from `source` to every node, empty if there are no classes.
    fn classes_from(&self, source: NodeId) -> Vec<u32> {
        if self.ideal.is_none() {
            return Vec::new();
        }
        let shape = self.system.fabric().shape();
        let mut classes = vec![0_u32];
        for dimension in (0..shape.dimensions()).rev() {
            let (size, from, span) =
                (shape.size(dimension), shape.coordinate(source, dimension), span(self.system, dimension));
            let part = |to: u32| {
                if shape.wraps(dimension) { (to + size - from) % size } else { to + size - 1 - from }
            };
            classes = classes
                .iter()
                .flat_map(|&class| (0..size).map(move |to| (class, to)))
                .map(|(class, to)| class * span + part(to))
                .collect();
        }
        classes
    }

    fn add(&mut self, source: NodeId, destination: NodeId, class: Option<u32>) {
        let (start, end) = match class {
            Some(class) => self.class_list(class, source, destination),
            None => (0, 0),
        };
        let usable = |builder: &Self, entry: u32| {
            let walk = builder.choices.walks[builder.choices.lists[entry as usize] as usize];
            let hops =
                &builder.choices.directions[walk.start as usize..walk.start as usize + walk.length as usize];
            builder.system.walk_works(source, hops) && builder.system.walk_permitted(source, hops)
        };
        let more = start < end && self.more_routes(source, destination, start);
        if class.is_some() && !more && (self.healthy || (start..end).all(|entry| usable(self, entry))) {
            return self.finish(source, destination, start, end);
        }
        let surviving: Vec<u32> = (start..end)
            .filter(|&entry| usable(self, entry))
            .map(|entry| self.choices.lists[entry as usize])
            .collect();
        let first = self.choices.lists.len() as u32;
        if more || surviving.is_empty() {
            let system = self.system;
            let routes = legal_routes(system.fabric(), system.rules(), system.turns(), source, destination);
            self.push_routes(&routes);
        } else {
            self.choices.lists.extend(surviving);
        }
        self.finish(source, destination, first, self.choices.lists.len() as u32);
    }

    /// Whether a route over a turn that the classes do not know may be as short as those they have.
    fn more_routes(&self, source: NodeId, destination: NodeId, entry: u32) -> bool {
        let length = self.choices.walks[self.choices.lists[entry as usize] as usize].length;
        let shape = self.system.fabric().shape();
        self.more_turns.iter().any(|&(begin, end)| {
            shape.distance(source, begin) + 2 + shape.distance(end, destination) <= u32::from(length)
        })
    }

    fn class_list(&mut self, class: u32, source: NodeId, destination: NodeId) -> (u32, u32) {
        if self.classes[class as usize].0 == UNSET {
            let start = self.choices.lists.len() as u32;
            // On a failed system this only finds what a healthy one would have.
            let routes = self.ideal.as_ref().map_or_else(Vec::new, |(fabric, turns)| {
                legal_routes(fabric, self.system.rules(), turns, source, destination)
            });
            self.push_routes(&routes);
            self.classes[class as usize] = (start, self.choices.lists.len() as u32);
        }
        self.classes[class as usize]
    }

    fn push_routes(&mut self, routes: &[Route]) {
        for route in routes {
            let start = self.choices.directions.len() as u32;
            self.choices
                .directions
                .extend(route.directions(self.system.rules()).map(|hop| hop.index() as u8));
            let length = (self.choices.directions.len() as u32 - start) as u16;
            self.choices.lists.push(self.choices.walks.len() as u32);
            self.choices.walks.push(Walk { start, length, header: self.system.layout().pack(route) });
        }
    }

    fn finish(&mut self, source: NodeId, destination: NodeId, start: u32, end: u32) {
        match end - start {
            0 => self.choices.unserved.push((source, destination)),
            1 => {
                let walk = self.choices.walks[self.choices.lists[start as usize] as usize];
                let index = source as usize * self.system.nodes() + destination as usize;
                self.choices.headers[index] = walk.header;
            }
            count => {
                self.choices.pairs.push(Pair { source, destination, start, count: count as u16, chosen: 0 })
            }
        }
    }
}

/// Number of different displacements along one dimension.
fn span(system: &System, dimension: usize) -> u32 {
    let shape = system.fabric().shape();
    if shape.wraps(dimension) { shape.size(dimension) } else { 2 * shape.size(dimension) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;
    use crate::routes::by_source::on_demand;
    use crate::routing::{Rules, useful_direction_sets};
    use std::collections::BTreeMap;

    #[test]
    fn single_route_pairs_of_the_two_dimensional_population() {
        // Mean over all ordered pairs of sizes 2 to 8: 81.6 % in angara-routing-2021, Section 4.3. It
        // comes out if the published rule tries only the turns that a first or last step can use.
        let rules = Rules::angara(2);
        let mean = |turns: &dyn Fn(&Fabric) -> TurnSet| {
            let shares = (2..=8).flat_map(|x| (2..=8).map(move |y| [x, y])).map(|sizes| {
                let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
                let turns = turns(&fabric);
                let system = System::with_turns(fabric, rules.clone(), turns).unwrap();
                let choices = Choices::found(&system, &mut |_| true).unwrap();
                choices.single() as f64 / (choices.single() + choices.multiple()) as f64
            });
            (1e4 * shares.sum::<f64>() / 49.0).round() / 1e4
        };
        assert_eq!(mean(&|fabric| useful_direction_sets(fabric, &rules)), 0.8161);
        assert_eq!(mean(&|fabric| TurnSet::of(TurnPolicy::DirectionSets, fabric, &rules)), 0.8178);
        assert_eq!(mean(&|fabric| TurnSet::of(TurnPolicy::ClosedForm, fabric, &rules)), 0.7920);
    }

    #[test]
    fn are_all_legal_routes_also_with_turns_added_on_demand() {
        let rules = Rules::angara(2);
        let mut added = 0;
        for sizes in [[3, 3], [4, 3], [5, 4]] {
            let shape = Shape::torus(&sizes).unwrap();
            let links = shape.nodes() as NodeId * 4;
            // A node and a cable fail.
            for (node, link) in (0..shape.nodes() as NodeId).zip((0..links).step_by(3)) {
                let mut fabric = Fabric::new(shape.clone());
                fabric.fail_node(node).unwrap();
                let (a, direction) = fabric.link_ends(link);
                fabric.fail_cable(a, shape.neighbour(a, direction).unwrap()).unwrap();
                let system = on_demand(&fabric, &rules).unwrap().0;
                let known = TurnSet::of(TurnPolicy::ClosedForm, &fabric, &rules);
                added += system.turns().iter().filter(|&(link, out)| !known.contains(link, out)).count();
                let choices = Choices::found(&system, &mut |_| true).unwrap();
                let mut counts = BTreeMap::new();
                for pair in &choices.pairs {
                    counts.insert((pair.source, pair.destination), usize::from(pair.count));
                }
                let nodes = || (0..shape.nodes() as NodeId).filter(|&node| fabric.node_works(node));
                for (source, destination) in nodes().flat_map(|a| nodes().map(move |b| (a, b))) {
                    if source == destination {
                        continue;
                    }
                    let routes = legal_routes(&fabric, &rules, system.turns(), source, destination).len();
                    let index = source as usize * shape.nodes() + destination as usize;
                    let single = usize::from(choices.headers[index] != NO_ROUTE);
                    let count = counts.get(&(source, destination)).copied().unwrap_or(single);
                    assert_eq!(count, routes, "{sizes:?}: {source} to {destination}");
                }
            }
        }
        assert!(added > 0);
    }
}
