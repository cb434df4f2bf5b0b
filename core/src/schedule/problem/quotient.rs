use super::{Job, Placement, Problem, Route, Use};
use crate::fabric::{Fabric, Symmetry};
use crate::schedule::occupancy::apart;
use std::collections::{HashMap, HashSet};

/// A problem in which all jobs of an orbit of symmetries start together.
///
/// The symmetries map routes to routes and jobs to jobs, and no two members of an orbit are ever
/// in each other's way. One job then stands for its orbit and one resource for its own: a schedule
/// of the small problem is one of the large one. The [`Contention`](crate::schedule::Contention) filter sees
/// the same windows on a resource as in the large problem, so its bound holds for both.
#[derive(Clone, Debug)]
pub struct Quotient {
    group: Vec<Symmetry>,
    problem: Problem,
    /// Per job of the large problem: its representative and, per route of that, its own.
    member_of: Vec<(u32, Vec<u32>)>,
}

impl Quotient {
    /// The quotient by a group of up to `largest` symmetries; `None` if there are none.
    pub fn new(fabric: &Fabric, problem: &Problem, largest: usize) -> Option<Self> {
        Self::among(fabric, problem, Symmetry::candidates(fabric.shape()), largest)
    }

    /// The quotient by all symmetries, those that exchange dimensions included; `None` if there are none of these.
    pub fn with_exchanges(fabric: &Fabric, problem: &Problem) -> Option<Self> {
        let shape = fabric.shape();
        let shifts = Symmetry::candidates(shape);
        let exchanges = Symmetry::exchanges(shape);
        let composed =
            exchanges.iter().flat_map(|exchange| shifts.iter().map(move |other| exchange.then(other, shape)));
        let candidates = composed.chain(shifts.iter().cloned()).collect();
        let found = Self::among(fabric, problem, candidates, usize::MAX)?;
        found.group.iter().any(Symmetry::is_exchange).then_some(found)
    }

    fn among(fabric: &Fabric, problem: &Problem, candidates: Vec<Symmetry>, largest: usize) -> Option<Self> {
        let finder = Finder::new(fabric, problem);
        let identity = Symmetry::identity(fabric.shape());
        let mut group = vec![identity.clone()];
        let mut known: HashSet<Symmetry> = HashSet::from([identity]);
        for candidate in candidates {
            if known.contains(&candidate) {
                continue;
            }
            // What the candidate fails, its products with the group fail too: never try them again.
            for member in &group {
                known.insert(member.then(&candidate, fabric.shape()));
            }
            if !finder.keeps_problem(&candidate) || !finder.keeps_apart(&candidate) {
                continue;
            }
            let larger = Symmetry::closure(fabric.shape(), &group, &candidate, largest);
            if larger.len() <= largest && finder.all_apart(&larger) {
                known.extend(larger.iter().cloned());
                group = larger;
            }
        }
        (group.len() > 1).then(|| finder.quotient(&group))
    }

    /// The quotient of the same problem by a subgroup of up to `largest` symmetries; `None` if there
    /// is none between the trivial one and the whole group.
    pub(crate) fn smaller(&self, fabric: &Fabric, problem: &Problem, largest: usize) -> Option<Self> {
        let shape = fabric.shape();
        let mut elements = self.group.clone();
        elements.sort_unstable();
        let mut group = vec![Symmetry::identity(shape)];
        for element in &elements {
            if !group.contains(element) {
                let larger = Symmetry::closure(shape, &group, element, largest);
                if larger.len() <= largest {
                    group = larger;
                }
            }
        }
        let proper = (2..self.group.len()).contains(&group.len());
        proper.then(|| Finder::new(fabric, problem).quotient(&group))
    }

    /// The small problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The schedule of the large problem that a schedule of the small one stands for.
    pub fn expand(&self, placements: &[Placement]) -> Vec<Placement> {
        self.member_of
            .iter()
            .map(|(representative, routes)| {
                let placement = placements[*representative as usize];
                Placement { route: routes[placement.route as usize], start: placement.start }
            })
            .collect()
    }
}

struct Finder<'a> {
    fabric: &'a Fabric,
    problem: &'a Problem,
    links: u32,
    /// Jobs by source, destination and slice; several jobs may have the same.
    jobs_at: HashMap<(u32, u32), Vec<u32>>,
}

impl<'a> Finder<'a> {
    fn new(fabric: &'a Fabric, problem: &'a Problem) -> Self {
        let mut jobs_at: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for (job, description) in problem.jobs().iter().enumerate() {
            jobs_at.entry(ports(description)).or_default().push(job as u32);
        }
        let links = (fabric.shape().nodes() * fabric.shape().directions()) as u32;
        Self { fabric, problem, links, jobs_at }
    }

    fn resource(&self, symmetry: &Symmetry, resource: u32) -> u32 {
        if resource < self.links {
            return symmetry.link(self.fabric, resource);
        }
        let nodes = self.fabric.shape().nodes() as u32;
        let (kind, node) = ((resource - self.links) / nodes, (resource - self.links) % nodes);
        self.links + kind * nodes + symmetry.node(self.fabric.shape(), node)
    }

    /// The job onto which a symmetry maps a job, judged by its ends; equal jobs keep their order.
    fn image_job(&self, symmetry: &Symmetry, job: u32) -> Option<u32> {
        let here = ports(&self.problem.jobs()[job as usize]);
        let key = (self.resource(symmetry, here.0), self.resource(symmetry, here.1));
        let (own, images) = (&self.jobs_at[&here], self.jobs_at.get(&key)?);
        let rank = own.iter().position(|&other| other == job)?;
        (own.len() == images.len()).then(|| images[rank])
    }

    /// The job onto which a symmetry maps a job, and the route onto which it maps each route.
    fn image(&self, symmetry: &Symmetry, job: u32) -> Option<(u32, Vec<u32>)> {
        let own = &self.problem.jobs()[job as usize];
        let other = self.image_job(symmetry, job)?;
        let image = &self.problem.jobs()[other as usize];
        let same = image.length == own.length && image.routes.len() == own.routes.len();
        if !same {
            return None;
        }
        let routes = own.routes.iter().map(|route| {
            image
                .routes
                .iter()
                .position(|candidate| {
                    candidate.span == route.span
                        && candidate.uses.len() == route.uses.len()
                        && candidate.uses.iter().zip(&route.uses).all(|(to, from)| {
                            to.offset == from.offset && to.resource == self.resource(symmetry, from.resource)
                        })
                })
                .map(|index| index as u32)
        });
        Some((other, routes.collect::<Option<Vec<u32>>>()?))
    }

    fn keeps_problem(&self, symmetry: &Symmetry) -> bool {
        // Far apart jobs first: a wrong candidate mostly fails on one of the first.
        const STRIDE: u64 = 0x9e37_79b1;
        let jobs = self.problem.jobs().len() as u64;
        let sample = (0..jobs.min(64)).map(|index| (index * STRIDE % jobs) as u32);
        sample.chain(0..jobs as u32).all(|job| self.image(symmetry, job).is_some())
    }

    /// Whether no job is ever in the way of its image (other than itself), on any routes.
    fn keeps_apart(&self, symmetry: &Symmetry) -> bool {
        (0..self.problem.jobs().len() as u32).all(|job| self.image_is_apart(symmetry, job))
    }

    /// The same for all members of a group; one job of each orbit speaks for all.
    fn all_apart(&self, group: &[Symmetry]) -> bool {
        let mut seen = vec![false; self.problem.jobs().len()];
        (0..seen.len() as u32).all(|job| {
            seen[job as usize]
                || group.iter().all(|symmetry| {
                    if let Some(other) = self.image_job(symmetry, job) {
                        seen[other as usize] = true;
                    }
                    self.image_is_apart(symmetry, job)
                })
        })
    }

    fn image_is_apart(&self, symmetry: &Symmetry, job: u32) -> bool {
        let Some((other, routes)) = self.image(symmetry, job) else { return false };
        let own = &self.problem.jobs()[job as usize];
        let image = &self.problem.jobs()[other as usize];
        own.routes.iter().zip(&routes).enumerate().all(|(index, (route, &mapped))| {
            if other == job {
                // What an exchange takes to another of its own routes holds links that stand for both: none can meet.
                return index as u32 == mapped || symmetry.is_exchange();
            }
            apart(route, &image.routes[mapped as usize], own.length)
        })
    }

    fn quotient(&self, group: &[Symmetry]) -> Quotient {
        let jobs = self.problem.jobs();
        let mut member_of: Vec<Option<(u32, Vec<u32>)>> = vec![None; jobs.len()];
        let mut resource_of: HashMap<u32, u32> = HashMap::new();
        let mut resources = 0;
        let mut small = Vec::new();
        for job in 0..jobs.len() {
            if member_of[job].is_some() {
                continue;
            }
            for symmetry in group {
                if let Some((other, routes)) = self.image(symmetry, job as u32) {
                    member_of[other as usize].get_or_insert((small.len() as u32, routes));
                }
            }
            let mut own = Job { routes: Vec::new(), ..jobs[job].clone() };
            for route in &jobs[job].routes {
                let mut uses = Vec::with_capacity(route.uses.len());
                for held in &route.uses {
                    let resource = *resource_of.entry(held.resource).or_insert_with(|| {
                        resources += 1;
                        resources - 1
                    });
                    for symmetry in group {
                        resource_of.entry(self.resource(symmetry, held.resource)).or_insert(resource);
                    }
                    uses.push(Use { resource, offset: held.offset });
                }
                own.routes.push(Route { uses, span: route.span, path: route.path.clone() });
            }
            small.push(own);
        }
        let problem = Problem::from_parts(resources as usize, small);
        let member_of = member_of.into_iter().flatten().collect();
        Quotient { group: group.to_vec(), problem, member_of }
    }
}

/// Injection and ejection port of a job: the ends of every route.
fn ports(job: &Job) -> (u32, u32) {
    let uses = job.routes.first().map_or(&[][..], |route| &route.uses);
    match (uses.first(), uses.last()) {
        (Some(first), Some(last)) => (first.resource, last.resource),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::Shape,
        schedule::{Demand, RouteChoice, Slicing, duration_of, greedy, planned_packets, verify},
        traffic::Pattern,
    };

    /// Packets two hops long never meet those from two or three nodes on, but shifts by three lead to shifts by one.
    #[test]
    fn no_two_members_of_an_orbit_meet_even_where_generators_keep_apart() {
        let fabric = Fabric::new(Shape::torus(&[8]).unwrap());
        let demand = |source| Demand { source, destination: (source + 2) % 8, length: 2, slices: 1 };
        let demands: Vec<Demand> = (0..8).map(demand).collect();
        let problem =
            Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::DimensionOrder).unwrap();
        let quotient = Quotient::new(&fabric, &problem, usize::MAX).unwrap();
        assert_eq!(quotient.problem().jobs().len(), 2);
        let placements = quotient.expand(&greedy(quotient.problem()));
        let packets = planned_packets(&demands, Slicing::OneInterval, &problem, &placements);
        assert_eq!(verify(&fabric, &packets), Ok(duration_of(&problem, &placements).into()));
    }

    #[test]
    fn exchanges_make_nearly_half_of_what_complements_leave() {
        let shape = Shape::torus(&[32, 32]).unwrap();
        let fabric = Fabric::new(shape.clone());
        for pattern in [Pattern::BitRotation, Pattern::PerfectShuffle] {
            let to = pattern.destinations(&shape, 0).unwrap();
            let demand = |source| Demand { source, destination: to.of(source, 0), length: 8, slices: 1 };
            let demands: Vec<Demand> = (0..1024).map(demand).collect();
            let jobs = |choice, exchanges| {
                let problem = Problem::new(&fabric, &demands, Slicing::OneInterval, choice).unwrap();
                let found = match exchanges {
                    true => Quotient::with_exchanges(&fabric, &problem),
                    false => Quotient::new(&fabric, &problem, usize::MAX),
                };
                found.map(|quotient| quotient.problem().jobs().len())
            };
            assert_eq!(jobs(RouteChoice::AnyOrder, false), Some(512));
            // 32 orbits of the complement are their own images.
            assert_eq!(jobs(RouteChoice::AnyOrder, true), Some(272));
            // A route that goes first along x becomes one that goes first along y.
            assert_eq!(jobs(RouteChoice::DimensionOrder, true), None);
        }
    }
}
