use crate::schedule::Problem;
use std::collections::BinaryHeap;

/// A lower bound on the duration of jobs that wait for each other, in cycles.
///
/// Every job has a head (no earlier start) and a tail (what must follow its arrival). The jobs a job
/// waits for leave one ejection port one by one, those that wait for it enter by one injection port
/// one by one; so heads and tails grow along the chains. With them, every resource is a machine with
/// release times and tails, whose shortest preemptive schedule (Jackson 1955) is a lower bound. 0 if no
/// job waits for another.
pub fn chain_bound(problem: &Problem) -> u32 {
    let Some(dependencies) = problem.dependencies() else { return 0 };
    let jobs = problem.jobs();
    let lengths: Vec<u32> = jobs.iter().map(|job| job.length).collect();
    let spans: Vec<u32> =
        jobs.iter().map(|job| job.routes.iter().map(|route| route.span).min().unwrap_or(0)).collect();
    // Hops of the shortest route, and whatever lies between the slices.
    let ways: Vec<u32> = spans.iter().zip(&lengths).map(|(span, length)| span - length - 1).collect();
    let mut heads = vec![0_u32; jobs.len()];
    for job in 0..jobs.len() {
        let arrivals = dependencies.before[job].iter().map(|&other| other as usize);
        heads[job] = one_by_one(arrivals.map(|other| (heads[other] + ways[other], lengths[other])));
    }
    // From arrival (one cycle before completion) to the end of everything.
    let mut tails = vec![1_u32; jobs.len()];
    for job in (0..jobs.len()).rev() {
        let followers = dependencies.after[job].iter().map(|&other| other as usize);
        let rest = one_by_one(followers.map(|other| (ways[other] + tails[other], lengths[other])));
        tails[job] = rest.max(1);
    }
    let mut users: Vec<Vec<(u32, u32, u32)>> = vec![Vec::new(); problem.resources()];
    let mut bound = 0;
    for (number, job) in jobs.iter().enumerate() {
        bound = bound.max(heads[number] + spans[number] - 1 + tails[number]);
        let Some((first, others)) = job.routes.split_first() else { continue };
        for held in &first.uses {
            if others.iter().all(|route| route.uses.contains(held)) {
                let rest = spans[number] - 1 - held.offset - job.length + tails[number];
                users[held.resource as usize].push((heads[number] + held.offset, job.length, rest));
            }
        }
    }
    bound.max(users.iter_mut().map(|users| preemptive(users)).max().unwrap_or(0))
}

/// When a machine is done with jobs of given release and length.
fn one_by_one(jobs: impl Iterator<Item = (u32, u32)>) -> u32 {
    let mut jobs: Vec<(u32, u32)> = jobs.collect();
    jobs.sort_unstable();
    jobs.iter().fold(0, |done, &(release, length)| done.max(release) + length)
}

/// Jackson's preemptive schedule of (release, length, tail): always the longest tail that is there.
fn preemptive(jobs: &mut [(u32, u32, u32)]) -> u32 {
    jobs.sort_unstable();
    let mut open: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    let (mut now, mut next, mut bound) = (0, 0, 0);
    while next < jobs.len() || !open.is_empty() {
        if open.is_empty() {
            now = now.max(jobs[next].0);
        }
        while let Some(&(_, length, tail)) = jobs.get(next).filter(|job| job.0 <= now) {
            open.push((tail, length));
            next += 1;
        }
        let Some((tail, left)) = open.pop() else { continue };
        let until = jobs.get(next).map_or(u32::MAX, |job| job.0);
        let worked = left.min(until - now);
        now += worked;
        if worked < left {
            open.push((tail, left - worked));
        } else {
            bound = bound.max(now + tail);
        }
    }
    bound
}
