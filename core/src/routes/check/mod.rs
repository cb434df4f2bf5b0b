//! What must hold of the routes of a table, whoever made it and however it is encoded: a closed list of checks.

mod complete;
mod deadlock;
mod legal;
#[cfg(test)]
mod once;

use super::verdict::{Finding, Uses, Verdict};

/// Something that must hold of all routes together.
pub struct Check {
    /// What it is called.
    pub name: &'static str,
    /// Whether it holds.
    pub find: fn(&Uses) -> Finding,
}

/// All checks, in the order in which what they find is told.
pub static CHECKS: &[&Check] = &[
    &legal::CHECK,
    &complete::CHECK,
    &deadlock::CHECK,
    #[cfg(test)]
    &once::CHECK,
];

/// The verdict of all [`CHECKS`].
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::{by_destination::{Forwarding, LaneRule, uses}, check::judge}};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let table = Forwarding::shortest(&ring, vec![0, 1, 2, 3, 4]);
/// let verdict = judge(uses(&ring, &table, None, &LaneRule::Identity(1)));
/// assert_eq!((verdict.passed(), verdict.problem_count(), verdict.cycle().len()), (false, 0, 5));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn judge(uses: Uses) -> Verdict {
    let findings = CHECKS.iter().map(|check| (check.name, (check.find)(&uses))).collect();
    Verdict { uses, findings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Direction, Fabric, Graph, Shape};
    use crate::routes::by_destination::{Forwarding, LaneRule, NO_CHANNEL, check};
    use crate::routes::by_source::{System, WalkChecker};
    use crate::routing::{Rules, TurnPolicy};

    /// The names of the checks that something is wrong for.
    fn failed(verdict: &Verdict) -> Vec<&'static str> {
        let good = |finding: &Finding| matches!(finding, Finding::Holds | Finding::Ordered(_));
        verdict.findings.iter().filter(|(_, finding)| !good(finding)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn every_check_finds_what_it_is_for_in_routes_by_source() {
        let shape = Shape::torus(&[4]).unwrap();
        let system =
            |name| System::new(Fabric::new(shape.clone()), Rules::named(name, 1).unwrap(), TurnPolicy::None);
        // The nearer way round; up where both are alike. The route from node 0 to node 1 may differ.
        let judged = |name, other: Option<usize>| {
            let system = system(name).unwrap();
            let mut checker = WalkChecker::new(&system);
            for (from, to) in (0..16).map(|pair| (pair / 4, pair % 4)).filter(|(from, to)| from != to) {
                let ahead = ((to + 4 - from) % 4) as usize;
                let (sense, hops) = if ahead == 3 { (1, 1) } else { (0, ahead) };
                let hops = other.filter(|_| (from, to) == (0, 1)).unwrap_or(hops);
                if hops > 0 {
                    checker.add(from, to, &vec![Direction::from_index(sense); hops], None);
                }
            }
            failed(&checker.finish().verdict)
        };
        assert_eq!(judged("dateline", None), [""; 0]);
        assert_eq!(judged("dateline", Some(2)), ["legal"]);
        assert_eq!(judged("dateline", Some(0)), ["complete"]);
        assert_eq!(judged("unrestricted", None), ["deadlock"]);
        // A hundred times round the ring.
        assert_eq!(judged("unrestricted", Some(401)), ["deadlock", "once"]);
    }

    #[test]
    fn every_check_finds_what_it_is_for_in_routes_by_destination() {
        let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]).unwrap();
        let mut table = Forwarding::shortest(&ring, (0..5).collect());
        let judged = |table: &Forwarding, levels: Option<&[u8]>, lanes| {
            failed(&check(&ring, table, levels, &LaneRule::Identity(lanes)))
        };
        // Pairs whose way leads over the cable between switches 4 and 0 on a lane of their own.
        let over = |destination: usize, source: u32| {
            u8::from(table.way(&ring, destination, source).any(|channel| channel / 2 == 4))
        };
        let levels: Vec<u8> = (0..25).map(|pair| over(pair / 5, pair as u32 % 5)).collect();
        assert_eq!(judged(&table, Some(&levels), 2), [""; 0]);
        assert_eq!(judged(&table, None, 1), ["deadlock"]);
        table.next[1] = NO_CHANNEL;
        assert_eq!(judged(&table, Some(&levels), 2), ["complete"]);
        let demand = (0..25).map(|pair| 100 * u32::from(pair == 4)).collect();
        assert_eq!(judged(&table.with_demand(demand), Some(&levels), 2), ["complete", "once"]);
    }
}
