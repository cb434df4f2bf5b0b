use super::super::{
    kind::AllToAll,
    travel::{Travel, class_after},
};
use crate::{
    fabric::{Direction, Fabric, LinkId, Sign},
    schedule::{Job, Problem, Route, Use},
};
use std::collections::BTreeMap;

/// The packets of one pair of opposite quadrants, one job for all that differ by a translation.
///
/// The *diagonal* of a node is its class under the travel of the forward quadrant; every hop of the backward one
/// leads one down. Translations that keep diagonals move no packet of a quadrant into
/// the way of another at the same time.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    /// One job per orbit; resource `kind * lines + diagonal`, links by direction first, then
    /// injection and ejection ports.
    pub problem: Problem,
    /// Per job.
    pub orbits: Vec<Orbit>,
    /// Number of diagonals.
    pub lines: u32,
}

/// Packets that start together on all nodes of one diagonal.
#[derive(Clone, Debug)]
pub(super) struct Orbit {
    /// Whether they travel down the diagonals.
    pub backward: bool,
    /// Diagonal of the sources.
    pub diagonal: u32,
    /// Direction index and hops of each leg.
    pub legs: Vec<(u32, u32)>,
    /// The jobs of the whole problem.
    pub members: Vec<u32>,
}

impl Orbit {
    /// Diagonal after some hops.
    pub(super) fn after(&self, hops: u32, lines: u32) -> u32 {
        class_after(self.diagonal, hops, self.backward, lines)
    }
}

/// The travel of a packet that is the forward one of its pair, and whether it was turned round to be.
fn travel(dimensions: usize, legs: &[(u32, u32)]) -> Option<(Travel, bool)> {
    let minus = |leg: &(u32, u32)| Direction::from_index(leg.0 as usize).sign() == Sign::Minus;
    let first = minus(legs.first()?);
    let hops: u32 = legs.iter().map(|leg| leg.1).sum();
    // A packet without hops in some dimension may go in several epochs; its parity chooses.
    let mut signs = vec![first ^ !hops.is_multiple_of(2); dimensions];
    for leg in legs {
        signs[Direction::from_index(leg.0 as usize).dimension()] = minus(leg);
    }
    let backward = signs[0];
    signs.iter_mut().for_each(|sign| *sign ^= backward);
    Some((Travel(signs), backward))
}

/// Runs of links in one direction.
fn legs_of(fabric: &Fabric, path: &[LinkId]) -> Vec<(u32, u32)> {
    let mut legs: Vec<(u32, u32)> = Vec::new();
    for &link in path {
        let direction = fabric.link_ends(link).1.index() as u32;
        match legs.last_mut() {
            Some(leg) if leg.0 == direction => leg.1 += 1,
            _ => legs.push((direction, 1)),
        }
    }
    legs
}

/// Splits a problem with one route per job into its epochs; `None` if it is not the same from every
/// node of a diagonal.
pub(super) fn split(kind: &AllToAll) -> Option<Vec<Epoch>> {
    let AllToAll { fabric, problem, lines, .. } = *kind;
    let shape = fabric.shape();
    let (nodes, directions) = (shape.nodes() as u32, shape.directions() as u32);
    let links = nodes * directions;
    type Key = (bool, u32, Vec<(u32, u32)>);
    let mut epochs: BTreeMap<Travel, BTreeMap<Key, Vec<u32>>> = BTreeMap::new();
    for (job, description) in problem.jobs().iter().enumerate() {
        let route = description.routes.first()?;
        let legs = legs_of(fabric, &route.path);
        let source = route.uses.first()?.resource.checked_sub(links)?;
        let (travel, backward) = travel(shape.dimensions(), &legs)?;
        let key = (backward, travel.class(shape, lines, source), legs);
        epochs.entry(travel).or_default().entry(key).or_default().push(job as u32);
    }
    let mut result = Vec::new();
    for (travel, members_of) in epochs {
        let mut jobs = Vec::with_capacity(members_of.len());
        let mut orbits = Vec::with_capacity(members_of.len());
        for ((backward, diagonal, legs), members) in members_of {
            if members.len() as u32 != nodes / lines {
                return None;
            }
            let job = &problem.jobs()[members[0] as usize];
            let line = |resource: u32| {
                let (kind, node) = match resource.checked_sub(links) {
                    Some(port) => (directions + port / nodes, port % nodes),
                    None => {
                        let (node, direction) = fabric.link_ends(resource);
                        (direction.index() as u32, node)
                    }
                };
                kind * lines + travel.class(shape, lines, node)
            };
            let route = &job.routes[0];
            let uses =
                route.uses.iter().map(|held| Use { resource: line(held.resource), offset: held.offset });
            let route = Route { uses: uses.collect(), span: route.span, path: route.path.clone() };
            jobs.push(Job { length: job.length, routes: vec![route], origin: job.origin });
            orbits.push(Orbit { backward, diagonal, legs, members });
        }
        let problem = Problem::from_parts(((directions + 2) * lines) as usize, jobs);
        result.push(Epoch { problem, orbits, lines });
    }
    Some(result)
}
