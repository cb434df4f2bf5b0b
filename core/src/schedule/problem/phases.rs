use super::{Placement, Problem};
use crate::fabric::NodeId;

/// Which jobs must have arrived before which may start; jobs are in an order that respects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    pub(crate) before: Vec<Vec<u32>>,
    pub(crate) after: Vec<Vec<u32>>,
}

impl Dependencies {
    /// A node sends a job of one phase when all jobs of earlier phases to it have arrived.
    ///
    /// `ends` are source and destination of every job in the order of the phases, `phases` the number
    /// of jobs of each.
    pub fn of_phases(ends: &[(NodeId, NodeId)], phases: &[usize]) -> Self {
        let nodes = ends.iter().map(|&(from, to)| from.max(to) as usize + 1).max().unwrap_or(0);
        let mut arrivals: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut before = Vec::with_capacity(ends.len());
        let mut first = 0;
        for &jobs in phases {
            let phase = first..(first + jobs).min(ends.len());
            before.extend(phase.clone().map(|job| arrivals[ends[job].0 as usize].clone()));
            phase.clone().for_each(|job| arrivals[ends[job].1 as usize].push(job as u32));
            first = phase.end;
        }
        before.resize(ends.len(), Vec::new());
        let mut after = vec![Vec::new(); ends.len()];
        for (job, needed) in before.iter().enumerate() {
            needed.iter().for_each(|&other| after[other as usize].push(job as u32));
        }
        Self { before, after }
    }

    /// First cycle in which a job may start: what it needs is there one cycle before completion.
    pub(crate) fn ready(&self, problem: &Problem, placed: &[Option<Placement>], job: usize) -> u32 {
        let arrival = |&other: &u32| {
            let placement = placed[other as usize]?;
            let route = &problem.jobs()[other as usize].routes[placement.route as usize];
            Some(placement.start + route.span - 1)
        };
        self.before[job].iter().filter_map(arrival).max().unwrap_or(0)
    }

    /// Whether every job starts after what it needs has arrived.
    pub fn holds(&self, problem: &Problem, placements: &[Placement]) -> bool {
        let placed: Vec<Option<Placement>> = placements.iter().copied().map(Some).collect();
        (0..placed.len()).all(|job| self.ready(problem, &placed, job) <= placements[job].start)
    }
}
