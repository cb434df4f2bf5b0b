use crate::schedule::{Problem, Use};

/// The start cycles that every job may still take, for one target duration.
#[derive(Clone, Debug)]
pub struct Domains {
    words: usize,
    bits: Vec<u64>,
}

impl Domains {
    /// Every start that completes within `target` cycles, or `None` if some job has none.
    pub fn new(problem: &Problem, target: u32) -> Option<Self> {
        let words = target as usize / 64 + 1;
        let mut bits = vec![0; words * problem.jobs().len()];
        for (job, row) in problem.jobs().iter().zip(bits.chunks_exact_mut(words)) {
            let span = job.routes.iter().map(|route| route.span).min()?;
            let latest = target.checked_sub(span)? as usize;
            row[..latest / 64].fill(u64::MAX);
            row[latest / 64] = u64::MAX >> (63 - latest % 64);
        }
        Some(Self { words, bits })
    }

    /// Whether a job may start at `start`.
    pub fn allows(&self, job: usize, start: u32) -> bool {
        self.row(job)[start as usize / 64] >> (start % 64) & 1 == 1
    }

    /// Earliest start of a job; `None` if it has none left.
    pub fn first(&self, job: usize) -> Option<u32> {
        let (index, word) = self.row(job).iter().enumerate().find(|(_, word)| **word != 0)?;
        Some(index as u32 * 64 + word.trailing_zeros())
    }

    /// Latest start of a job; `None` if it has none left.
    pub fn last(&self, job: usize) -> Option<u32> {
        let (index, word) = self.row(job).iter().enumerate().rfind(|(_, word)| **word != 0)?;
        Some(index as u32 * 64 + 63 - word.leading_zeros())
    }

    /// All starts of a job, ascending.
    pub fn starts(&self, job: usize) -> impl Iterator<Item = u32> + '_ {
        self.row(job).iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index as u32 * 64 + bit)
            })
        })
    }

    /// Removes the starts in `[from, to)`; returns whether any was there.
    fn remove(&mut self, job: usize, from: i64, to: i64) -> bool {
        let from = from.clamp(0, self.words as i64 * 64) as usize;
        let to = to.clamp(0, self.words as i64 * 64) as usize;
        let mut changed = false;
        let row = &mut self.bits[job * self.words..(job + 1) * self.words];
        let mut at = from;
        while at < to {
            let (word, bit) = (at / 64, at % 64);
            let count = (64 - bit).min(to - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            changed |= row[word] & mask != 0;
            row[word] &= !mask;
            at += count;
        }
        changed
    }

    pub(crate) fn row(&self, job: usize) -> &[u64] {
        &self.bits[job * self.words..(job + 1) * self.words]
    }
}

/// One job on one resource.
#[derive(Clone, Copy, Debug)]
struct User {
    job: u32,
    offset: u32,
    length: u32,
}

/// Which jobs must hold which resource, whatever their route.
///
/// Its [`filter`](Self::filter) removes start cycles that no schedule of a target duration can use.
/// Why it is right: take a resource and an interval [A, B) of time, and let the *inside* users be
/// those whose every remaining start keeps them within it. They need the sum of their lengths, so
/// the resource idles, or serves others, for at most `slack = B - A - sum` cycles of the interval.
/// A negative slack refutes the target. If all inside users have the length L, the one with q
/// predecessors starts at A + qL plus an idle time of at most the slack; every other start can go.
/// A user that would overlap [A, B) by more than the slack can not start there either. No rule ever
/// removes a start of a valid schedule, so the order of their use is free and they are repeated
/// until nothing changes.
#[derive(Clone, Debug)]
pub struct Contention {
    users: Vec<Vec<User>>,
    resources_of: Vec<Vec<u32>>,
}

impl Contention {
    /// Collects the users of every resource with more than one.
    pub fn new(problem: &Problem) -> Self {
        let mut users = vec![Vec::new(); problem.resources()];
        for (job, description) in problem.jobs().iter().enumerate() {
            let (first, others) = match description.routes.split_first() {
                Some(parts) => parts,
                None => continue,
            };
            for &Use { resource, offset } in &first.uses {
                let held = Use { resource, offset };
                if others.iter().all(|route| route.uses.contains(&held)) {
                    let length = description.length;
                    users[resource as usize].push(User { job: job as u32, offset, length });
                }
            }
        }
        users.retain(|users| users.len() > 1);
        let mut resources_of = vec![Vec::new(); problem.jobs().len()];
        for (resource, users) in users.iter().enumerate() {
            for user in users {
                resources_of[user.job as usize].push(resource as u32);
            }
        }
        Self { users, resources_of }
    }

    /// The starts left for a target duration, or `None` if it is proven impossible.
    ///
    /// ```
    /// use flitloom_core::fabric::{Fabric, Shape};
    /// use flitloom_core::schedule::{Contention, Demand, Problem, RouteChoice, Slicing};
    /// let fabric = Fabric::new(Shape::torus(&[8])?);
    /// let demand = |source| Demand { source, destination: 3, length: 4, slices: 1 };
    /// let problem =
    ///     Problem::new(&fabric, &[demand(1), demand(2)], Slicing::Free, RouteChoice::DimensionOrder)?;
    /// let contention = Contention::new(&problem);
    /// // Both share the port out of node 3: one hop, 2 * 4 flits, one cycle to completion.
    /// assert!(contention.filter(&problem, 9).is_none());
    /// assert!(contention.filter(&problem, 10).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter(&self, problem: &Problem, target: u32) -> Option<Domains> {
        let mut domains = Domains::new(problem, target)?;
        let jobs = problem.jobs().len();
        let mut window: Vec<(u32, u32)> = Vec::with_capacity(jobs);
        for job in 0..jobs {
            window.push((domains.first(job)?, domains.last(job)?));
        }
        let mut queue: std::collections::VecDeque<u32> = (0..self.users.len() as u32).collect();
        let mut queued = vec![true; self.users.len()];
        let mut changed = Vec::new();
        while let Some(resource) = queue.pop_front() {
            queued[resource as usize] = false;
            let users = &self.users[resource as usize];
            if !tighten(users, &window, &mut domains, &mut changed) {
                return None;
            }
            for job in changed.drain(..) {
                // Windows drive all rules: holes in the middle of a domain wake nobody.
                let now = (domains.first(job)?, domains.last(job)?);
                if window[job] != now {
                    window[job] = now;
                    for &other in &self.resources_of[job] {
                        if !std::mem::replace(&mut queued[other as usize], true) {
                            queue.push_back(other);
                        }
                    }
                }
            }
        }
        Some(domains)
    }
}

/// Applies all rules on one resource; false if they refute the target.
fn tighten(users: &[User], window: &[(u32, u32)], domains: &mut Domains, changed: &mut Vec<usize>) -> bool {
    let span = |user: &User| {
        let (first, last) = window[user.job as usize];
        (i64::from(first + user.offset), i64::from(last + user.offset + user.length))
    };
    let longest = users.iter().map(|user| user.length).max().unwrap_or(0);
    let same_length = users.iter().all(|user| user.length == longest);
    let mut begins: Vec<i64> = users.iter().map(|user| span(user).0).collect();
    begins.sort_unstable();
    begins.dedup();
    let mut by_end: Vec<(i64, i64, u32)> = users
        .iter()
        .map(|user| {
            let (begin, end) = span(user);
            (end, begin, user.length)
        })
        .collect();
    by_end.sort_unstable();
    for &a in &begins {
        let mut total = 0;
        for (index, &(end, begin, length)) in by_end.iter().enumerate() {
            if begin < a {
                continue;
            }
            total += i64::from(length);
            if by_end.get(index + 1).is_some_and(|next| next.0 == end) {
                continue;
            }
            let slack = end - a - total;
            if slack < 0 {
                return false;
            }
            if slack < i64::from(longest) {
                apply(users, &span, domains, changed, (a, end, slack, same_length));
            }
        }
    }
    true
}

fn apply(
    users: &[User],
    span: &dyn Fn(&User) -> (i64, i64),
    domains: &mut Domains,
    changed: &mut Vec<usize>,
    (a, b, slack, same_length): (i64, i64, i64, bool),
) {
    for user in users {
        let (begin, end) = span(user);
        let (offset, length) = (i64::from(user.offset), i64::from(user.length));
        let mut removed = false;
        if begin >= a && end <= b {
            if same_length && slack < length - 1 {
                let mut start = a + slack + 1;
                while start <= end - length {
                    let next = start + length - slack - 1;
                    removed |= domains.remove(user.job as usize, start - offset, next - offset);
                    start += length;
                }
            }
        } else if slack < length {
            let from = a + slack - length + 1;
            let to = b - slack;
            // From the first to the last start that overlaps [a, b) by more than the slack.
            removed = from < to && domains.remove(user.job as usize, from - offset, to - offset);
        }
        if removed {
            changed.push(user.job as usize);
        }
    }
}
