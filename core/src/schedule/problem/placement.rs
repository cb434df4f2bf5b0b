use super::Problem;

/// Where a job is placed: which of its routes, and its start cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Index into the job's routes.
    pub route: u32,
    /// Start cycle.
    pub start: u32,
}

/// The duration of a complete schedule in cycles.
pub fn duration_of(problem: &Problem, placements: &[Placement]) -> u32 {
    let ends = problem
        .jobs()
        .iter()
        .zip(placements)
        .map(|(job, placement)| placement.start + job.routes[placement.route as usize].span);
    ends.max().unwrap_or(0)
}
