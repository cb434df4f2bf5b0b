use crate::{
    fabric::{Fabric, LinkId, Sign},
    schedule::{Problem, Route},
};

/// A lower bound on the duration when all links of a kind are full, whatever the routes.
///
/// Suppose a schedule of T cycles, all packets of length L. Proof that some T are impossible:
///
/// 1. On link l no packet starts before the least head `a` of all routes over it, and none ends after
///    `b`, T less the least tail. So at most `fits = (b - a) / L` packets, rounded down, pass it.
/// 2. A packet crosses at least as many links of a kind (those of one direction, of one dimension, or
///    all) as its route with the fewest of them. If these numbers sum up to more than all links of
///    the kind can pass, T is impossible.
/// 3. If they sum up to exactly that, every link passes as many packets as fit, and a route that has
///    more links of the kind than its packet needs is not taken. The link then idles for `slack = b -
///    a - fits * L` cycles within `[a, b)`, so a packet with q others before it starts there at `a +
///    q L + idle`, where idle is at most the slack: in one of `slack + 1` phases modulo L. A packet
///    that starts at s is k cycles later on its k-th link: each of its links limits the phase of s.
/// 4. A route for which no phase is left is not taken. Without it, heads, tails and fewest links may
///    grow: begin again. A packet with no route left proves T impossible.
///
/// Full rings need this most: there, the phase that a link with little slack wants moves by one
/// cycle from link to link, and the packets do not follow.
///
/// Returns the first duration from `least` on that is not impossible.
pub(crate) fn crowded_bound(fabric: &Fabric, problem: &Problem, least: u32) -> u32 {
    let Some(length) = common_length(problem) else { return least };
    let kinds = kinds(fabric);
    let mut bound = least;
    while kinds.iter().any(|kind| phases_left(problem, kind, length, bound).is_none()) {
        bound += 1;
    }
    bound
}

/// For every kind of links the phases of starts, modulo the length of all packets, that
/// [`crowded_bound`]'s reasoning leaves to every route of every job; `None` if it refutes the target.
pub(crate) fn crowded_phases(fabric: &Fabric, problem: &Problem, target: u32) -> Option<Vec<Vec<Vec<u64>>>> {
    let Some(length) = common_length(problem) else { return Some(Vec::new()) };
    kinds(fabric).iter().map(|kind| phases_left(problem, kind, length, target)).collect()
}

/// The length of all jobs, if it is the same and its phases fit into a word.
fn common_length(problem: &Problem) -> Option<u32> {
    let length = problem.jobs().first()?.length;
    let same = problem.jobs().iter().all(|job| job.length == length);
    (same && (2..=64).contains(&length)).then_some(length)
}

/// For every kind of links, whether a resource belongs to it.
fn kinds(fabric: &Fabric) -> Vec<Vec<bool>> {
    let shape = fabric.shape();
    let links = (shape.nodes() * shape.directions()) as LinkId;
    let ends: Vec<_> = (0..links).map(|link| fabric.link_ends(link).1).collect();
    let of = |is_in: &dyn Fn(usize, Sign) -> bool| -> Vec<bool> {
        ends.iter().map(|direction| is_in(direction.dimension(), direction.sign())).collect()
    };
    let mut kinds = vec![of(&|_, _| true)];
    for own in 0..shape.dimensions() {
        kinds.push(of(&|dimension, _| dimension == own));
        for sign in [Sign::Plus, Sign::Minus] {
            kinds.push(of(&|dimension, other| dimension == own && other == sign));
        }
    }
    kinds
}

/// What the routes that are left say about a link.
#[derive(Clone, Copy)]
struct Link {
    head: u32,
    tail: u32,
}

/// The phases left to every route of every job, none where a route is not taken; `None` if the target
/// is impossible.
fn phases_left(problem: &Problem, kind: &[bool], length: u32, target: u32) -> Option<Vec<Vec<u64>>> {
    let is_of_kind = |resource: u32| kind.get(resource as usize).copied().unwrap_or(false);
    let crossings = |route: &Route| route.uses.iter().filter(|held| is_of_kind(held.resource)).count();
    let all = rotated(u64::MAX, length, 0);
    let mut left: Vec<Vec<u64>> = problem
        .jobs()
        .iter()
        .map(|job| job.routes.iter().map(|route| if route.span <= target { all } else { 0 }).collect())
        .collect();
    loop {
        let mut links: Vec<Option<Link>> = vec![None; kind.len()];
        let (mut fewest, mut before) = (0, 0);
        for (job, phases) in problem.jobs().iter().zip(&left) {
            let taken = || job.routes.iter().zip(phases).filter(|(_, phases)| **phases != 0);
            fewest += taken().map(|(route, _)| crossings(route)).min()? as u64;
            before += taken().count();
            for held in taken().flat_map(|(route, _)| route.uses.iter().map(move |held| (route, held))) {
                let (route, held) = held;
                if is_of_kind(held.resource) {
                    let tail = route.span - held.offset - length;
                    let link = links[held.resource as usize].get_or_insert(Link { head: u32::MAX, tail });
                    *link = Link { head: link.head.min(held.offset), tail: link.tail.min(tail) };
                }
            }
        }
        // A route no longer than the target leaves room for one packet at least.
        let room = |link: &Link| target - link.head - link.tail;
        let fit: u64 = links.iter().flatten().map(|link| u64::from(room(link) / length)).sum();
        if fewest != fit {
            return (fewest < fit).then_some(left);
        }
        let agreed = |route: &Route| -> u64 {
            let mut phases = all;
            for held in &route.uses {
                if let Some(Some(link)) = links.get(held.resource as usize) {
                    let slack = room(link) % length;
                    let allowed = u64::MAX >> (63 - slack);
                    let earlier = link.head + length - held.offset % length;
                    phases &= rotated(allowed, length, earlier);
                }
            }
            phases
        };
        let mut after = 0;
        for (job, phases) in problem.jobs().iter().zip(&mut left) {
            let taken = job.routes.iter().zip(&*phases).filter(|(_, phases)| **phases != 0);
            let least = taken.map(|(route, _)| crossings(route)).min()?;
            for (route, phases) in job.routes.iter().zip(phases) {
                if *phases != 0 {
                    *phases = if crossings(route) == least { agreed(route) } else { 0 };
                    after += usize::from(*phases != 0);
                }
            }
        }
        if after == before {
            return Some(left);
        }
    }
}

/// Phases modulo a length of 1 to 64, each later by some cycles.
pub(crate) fn rotated(phases: u64, length: u32, later: u32) -> u64 {
    let all = u64::MAX >> (64 - length);
    let phases = phases & all;
    match later % length {
        0 => phases,
        later => (phases << later | phases >> (length - later)) & all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::Shape,
        schedule::{Demand, RouteChoice, Slicing, proven_bound},
        traffic::Pattern,
    };

    #[test]
    fn full_rings_need_a_lap_of_slack() {
        let of_tornado = |size, choice| {
            let shape = Shape::torus(&[size, size]).unwrap();
            let fabric = Fabric::new(shape.clone());
            let to = Pattern::Tornado.destinations(&shape, 0).unwrap();
            let demand = |source| Demand { source, destination: to.of(source, 0), length: 8, slices: 2 };
            let demands: Vec<Demand> = (0..size * size).map(demand).collect();
            let problem = Problem::new(&fabric, &demands, Slicing::OneInterval, choice).unwrap();
            proven_bound(&fabric, &problem)
        };
        // Half a ring of hops, all links full: their phases move by size/2 - 1 cycles over a route,
        // at most L - 1, and two cycles are the way in and out.
        assert_eq!(of_tornado(16, RouteChoice::AnyOrder), 64 + 7 + 2);
        assert_eq!(of_tornado(32, RouteChoice::AnyOrder), 128 + 15 + 2);
        assert_eq!(of_tornado(32, RouteChoice::TwoBends), 128 + 15 + 2);
    }
}
