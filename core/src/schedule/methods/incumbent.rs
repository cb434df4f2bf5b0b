use super::Task;
use crate::schedule::{Placement, Problem, duration_of};

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Duration of the best schedule so far.
    pub best: u32,
    /// Proven lower bound.
    pub bound: u32,
    /// Duration that is tried now.
    pub target: u32,
    /// Fewest packets (or orbits of packets) left over at that target.
    pub unplaced: usize,
    /// Moves left.
    pub moves: u64,
}

/// A complete schedule: a placement per job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The placements.
    pub placements: Vec<Placement>,
    /// The problem whose routes the placements name, if the method chose routes that the task does not list.
    pub routed: Option<Problem>,
}

impl Schedule {
    /// On routes of the task's problem.
    pub fn new(placements: Vec<Placement>) -> Self {
        Self { placements, routed: None }
    }

    /// The problem whose routes the placements name.
    pub fn problem<'p>(&'p self, whole: &'p Problem) -> &'p Problem {
        self.routed.as_ref().unwrap_or(whole)
    }

    /// When the last packet is complete, in cycles.
    pub fn duration(&self, whole: &Problem) -> u32 {
        duration_of(self.problem(whole), &self.placements)
    }
}

/// The shortest schedule that methods have found, and whoever wants to know how far they are.
pub struct Incumbent<'a> {
    best: Option<(u32, Schedule)>,
    bound: u32,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Incumbent<'a> {
    /// Nothing is found yet.
    pub fn new(task: &Task, on_progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { best: None, bound: task.bound(), on_progress }
    }

    /// Takes a schedule unless it is longer; whether it was taken.
    pub fn offer(&mut self, schedule: Schedule, task: &Task) -> bool {
        let duration = schedule.duration(task.problem());
        let taken = duration <= self.duration();
        if taken {
            self.best = Some((duration, schedule));
        }
        taken
    }

    /// Tells how far a method is.
    pub fn report(&mut self, progress: Progress) {
        let best = progress.best.min(self.duration());
        (self.on_progress)(Progress { best, bound: self.bound, ..progress });
    }

    /// Duration of the shortest schedule in cycles; `u32::MAX` before there is one.
    pub fn duration(&self) -> u32 {
        self.best.as_ref().map_or(u32::MAX, |best| best.0)
    }

    /// The shortest schedule.
    pub fn schedule(&self) -> Option<&Schedule> {
        self.best.as_ref().map(|best| &best.1)
    }

    /// Whether nothing shorter exists.
    pub fn is_optimal(&self) -> bool {
        self.duration() <= self.bound
    }

    /// The shortest schedule and its duration.
    pub fn into_best(self) -> Option<(u32, Schedule)> {
        self.best
    }
}
