use crate::{
    schedule::{
        Placement, Problem,
        occupancy::{MOST_MEETINGS, Neighbours},
    },
    traffic::{Purpose, draw_below},
};
use std::borrow::Cow;

/// Routes over all jobs from which on a search chooses among some of them only.
pub(super) const MOST_OPTIONS: usize = 4_000;

/// All routes of all jobs.
pub(super) fn options(problem: &Problem) -> usize {
    problem.jobs().iter().map(|job| job.routes.len()).sum()
}

/// Whether jobs have more than a few routes: among few, loads are what can be chosen.
pub(super) fn has_many_routes(problem: &Problem) -> bool {
    const FEW: usize = 3;
    options(problem) > FEW * problem.jobs().len()
}

/// The routes among which one joint search may choose: all, or few per job.
pub(super) struct Choice<'a> {
    problem: Cow<'a, Problem>,
    neighbours: Option<Cow<'a, Neighbours>>,
    /// Per job the place of its assigned route here.
    assigned: Vec<usize>,
    /// Per job its routes in the whole problem, if they are few.
    names: Option<Vec<Vec<usize>>>,
}

impl<'a> Choice<'a> {
    /// A choice that contains the `assigned` routes. `kept` holds the neighbours of all routes once
    /// they have been needed.
    pub(super) fn new(
        problem: &'a Problem,
        assigned: Vec<usize>,
        seed: u64,
        kept: &'a mut Option<Option<Neighbours>>,
    ) -> Self {
        const OTHERS: u64 = 3;
        if options(problem) <= MOST_OPTIONS {
            let neighbours = kept.get_or_insert_with(|| Neighbours::new(problem, MOST_MEETINGS));
            let neighbours = neighbours.as_ref().map(Cow::Borrowed);
            return Self { problem: Cow::Borrowed(problem), neighbours, assigned, names: None };
        }
        let few = |(job, &route): (usize, &usize)| {
            let mut chosen = vec![route];
            for number in 0..OTHERS {
                let all = problem.jobs()[job].routes.len() as u32;
                let other = draw_below(seed, job as u32, Purpose::Search, number, all) as usize;
                if !chosen.contains(&other) {
                    chosen.push(other);
                }
            }
            chosen
        };
        let names: Vec<Vec<usize>> = assigned.iter().enumerate().map(few).collect();
        let problem = problem.with_choices(&names);
        let neighbours = Neighbours::new(&problem, MOST_MEETINGS).map(Cow::Owned);
        Self {
            problem: Cow::Owned(problem),
            neighbours,
            assigned: vec![0; assigned.len()],
            names: Some(names),
        }
    }

    /// The jobs with these routes only.
    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }

    pub(super) fn neighbours(&self) -> Option<&Neighbours> {
        self.neighbours.as_deref()
    }

    /// A part of a schedule over the assigned routes, in terms of this choice.
    pub(super) fn of_assigned(&self, partial: &[Option<Placement>]) -> Vec<Option<Placement>> {
        let placements = partial.iter().zip(&self.assigned);
        placements
            .map(|(placement, &route)| Some(Placement { route: route as u32, ..(*placement)? }))
            .collect()
    }

    /// A schedule in terms of this choice, in those of the whole problem.
    pub(super) fn named(&self, placements: &[Placement]) -> Vec<Placement> {
        let Some(names) = &self.names else { return placements.to_vec() };
        let placements = placements.iter().zip(names);
        placements
            .map(|(placement, names)| Placement {
                route: names[placement.route as usize] as u32,
                ..*placement
            })
            .collect()
    }
}
