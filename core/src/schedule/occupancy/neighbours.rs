use crate::schedule::Problem;

/// Lists of more meetings than this (8 bytes each) are not kept.
pub(crate) const MOST_MEETINGS: usize = 1 << 25;

/// One way in which a route can meet another: with start `s` of the other job, the starts from
/// `s + shift - length + 1` to `s + shift + other length - 1` are in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shift {
    /// The other route, as a number over all jobs.
    pub option: u32,
    /// Offset of the other job less the own one on a shared resource.
    pub shift: i32,
}

/// For every route of every job the routes of other jobs that it can meet.
///
/// Packets that share a stretch of consecutive links meet at one shift, however long the stretch
/// is, so these lists are several times shorter than those of the holders of all resources.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours {
    /// First option of every job, and the number of all.
    first: Vec<u32>,
    begin: Vec<usize>,
    meetings: Vec<Shift>,
}

impl Neighbours {
    /// Lists of up to `most` meetings in all; `None` if there are more.
    pub(crate) fn new(problem: &Problem, most: usize) -> Option<Self> {
        let first = first_options(problem);
        let mut users: Vec<Vec<(u32, u32)>> = vec![Vec::new(); problem.resources()];
        for (job, description) in problem.jobs().iter().enumerate() {
            for (option, route) in (first[job]..).zip(&description.routes) {
                for held in &route.uses {
                    users[held.resource as usize].push((option, held.offset));
                }
            }
        }
        let mut begin = vec![0];
        let mut meetings = Vec::new();
        let mut own: Vec<Shift> = Vec::new();
        for (job, description) in problem.jobs().iter().enumerate() {
            let siblings = first[job]..first[job + 1];
            for route in &description.routes {
                own.clear();
                for held in &route.uses {
                    for &(option, offset) in &users[held.resource as usize] {
                        if !siblings.contains(&option) {
                            own.push(Shift { option, shift: offset as i32 - held.offset as i32 });
                        }
                    }
                }
                own.sort_unstable();
                own.dedup();
                if meetings.len() + own.len() > most {
                    return None;
                }
                meetings.extend_from_slice(&own);
                begin.push(meetings.len());
            }
        }
        Some(Self { first, begin, meetings })
    }

    /// What a route of a job can meet.
    pub(crate) fn of(&self, job: usize, route: u32) -> &[Shift] {
        let option = (self.first[job] + route) as usize;
        &self.meetings[self.begin[option]..self.begin[option + 1]]
    }
}

/// Number of the first route of every job when all are counted through, and the number of all.
pub(crate) fn first_options(problem: &Problem) -> Vec<u32> {
    let mut first = Vec::with_capacity(problem.jobs().len() + 1);
    let mut sum = 0;
    first.push(0);
    for job in problem.jobs() {
        sum += job.routes.len() as u32;
        first.push(sum);
    }
    first
}
