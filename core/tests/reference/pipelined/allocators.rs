//! Allocators: who of many requesters gets which of many resources.

use super::numbers::Numbers;

/// A requester asks for a resource, with a priority at its own side and one at the resource's.
#[derive(Clone, Copy)]
pub struct Ask {
    pub requester: usize,
    pub resource: usize,
    pub inner: i64,
    pub outer: i64,
}

/// Pairs of a requester and its resource.
pub type Match = Vec<(usize, usize)>;

/// Picks one of many.
#[derive(Clone)]
enum Arbiter {
    Turn(usize),
    /// Who won longest ago comes last.
    Matrix(Vec<usize>),
}

impl Arbiter {
    /// Of the highest priority, the first in the arbiter's order.
    fn pick(&self, size: usize, asking: &[(usize, i64)]) -> Option<usize> {
        let most = asking.iter().map(|&(_, priority)| priority).max()?;
        let best = asking.iter().filter(|&&(_, priority)| priority == most).map(|&(who, _)| who);
        match self {
            Self::Turn(turn) => best.min_by_key(|who| (who + size - turn) % size),
            Self::Matrix(order) => best.max_by_key(|who| order.iter().position(|other| other == who)),
        }
    }

    fn won(&mut self, size: usize, winner: usize) {
        match self {
            Self::Turn(turn) => *turn = (winner + 1) % size,
            Self::Matrix(order) => {
                order.retain(|&other| other != winner);
                order.insert(0, winner);
            }
        }
    }
}

pub struct Allocator {
    name: String,
    iterations: usize,
    requesters: usize,
    resources: usize,
    /// One per requester, which picks resources, and one per resource, which picks requesters.
    inner: Vec<Arbiter>,
    outer: Vec<Arbiter>,
    diagonal: usize,
}

impl Allocator {
    pub fn new(text: &str, requesters: usize, resources: usize) -> Self {
        let (name, inside) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
        let arbiter = |size: usize| match inside {
            "matrix" => Arbiter::Matrix((0..size).collect()),
            _ => Arbiter::Turn(0),
        };
        Self {
            name: name.to_owned(),
            iterations: inside.parse().unwrap_or(1),
            requesters,
            resources,
            inner: vec![arbiter(resources); requesters],
            outer: vec![arbiter(requesters); resources],
            diagonal: 0,
        }
    }

    pub fn allocate(&mut self, asks: &[Ask], numbers: &mut Numbers) -> Match {
        match self.name.as_str() {
            "islip" => self.islip(asks),
            "pim" => self.pim(asks, numbers),
            "separable_input_first" => self.input_first(asks),
            "separable_output_first" => self.output_first(asks),
            "wavefront" => self.wavefront(asks),
            other => panic!("{other} is not known here"),
        }
    }

    /// What a side sees of the asks for one of its members: the other member and a priority.
    fn of_requester(asks: &[Ask], requester: usize) -> Vec<(usize, i64)> {
        asks.iter().filter(|ask| ask.requester == requester).map(|ask| (ask.resource, ask.inner)).collect()
    }

    fn of_resource(asks: &[Ask], resource: usize) -> Vec<(usize, i64)> {
        asks.iter().filter(|ask| ask.resource == resource).map(|ask| (ask.requester, ask.outer)).collect()
    }

    /// The asks of a pair list.
    fn only(asks: &[Ask], pairs: &Match) -> Vec<Ask> {
        asks.iter().filter(|ask| pairs.contains(&(ask.requester, ask.resource))).copied().collect()
    }

    /// The asks among those who have nothing yet; no priorities.
    fn free(asks: &[Ask], matched: &Match) -> Vec<Ask> {
        let is_free =
            |ask: &&Ask| matched.iter().all(|&(who, what)| who != ask.requester && what != ask.resource);
        asks.iter().filter(is_free).map(|&ask| Ask { inner: 0, outer: 0, ..ask }).collect()
    }

    fn islip(&mut self, asks: &[Ask]) -> Match {
        let mut matched = Match::new();
        for iteration in 0..self.iterations {
            let free = Self::free(asks, &matched);
            let granted: Match = (0..self.resources)
                .filter_map(|it| {
                    Some((self.outer[it].pick(self.requesters, &Self::of_resource(&free, it))?, it))
                })
                .collect();
            let granted = Self::only(&free, &granted);
            for who in 0..self.requesters {
                let accepted = self.inner[who].pick(self.resources, &Self::of_requester(&granted, who));
                let Some(it) = accepted else { continue };
                matched.push((who, it));
                if iteration == 0 {
                    self.inner[who].won(self.resources, it);
                    self.outer[it].won(self.requesters, who);
                }
            }
        }
        matched
    }

    fn pim(&mut self, asks: &[Ask], numbers: &mut Numbers) -> Match {
        let mut matched = Match::new();
        for _ in 0..self.iterations {
            let free = Self::free(asks, &matched);
            let mut granted = Match::new();
            for it in 0..self.resources {
                let start = Arbiter::Turn(numbers.upto(self.requesters - 1));
                let picked = start.pick(self.requesters, &Self::of_resource(&free, it));
                granted.extend(picked.map(|who| (who, it)));
            }
            let granted = Self::only(&free, &granted);
            for who in 0..self.requesters {
                let start = Arbiter::Turn(numbers.upto(self.resources - 1));
                let picked = start.pick(self.resources, &Self::of_requester(&granted, who));
                matched.extend(picked.map(|it| (who, it)));
            }
        }
        matched
    }

    fn input_first(&mut self, asks: &[Ask]) -> Match {
        let picked: Match = (0..self.requesters)
            .filter_map(|who| {
                Some((who, self.inner[who].pick(self.resources, &Self::of_requester(asks, who))?))
            })
            .collect();
        let picked = Self::only(asks, &picked);
        let matched: Match = (0..self.resources)
            .filter_map(|it| {
                Some((self.outer[it].pick(self.requesters, &Self::of_resource(&picked, it))?, it))
            })
            .collect();
        self.learn(&matched);
        matched
    }

    fn output_first(&mut self, asks: &[Ask]) -> Match {
        let picked: Match = (0..self.resources)
            .filter_map(|it| Some((self.outer[it].pick(self.requesters, &Self::of_resource(asks, it))?, it)))
            .collect();
        let picked = Self::only(asks, &picked);
        let matched: Match = (0..self.requesters)
            .filter_map(|who| {
                Some((who, self.inner[who].pick(self.resources, &Self::of_requester(&picked, who))?))
            })
            .collect();
        self.learn(&matched);
        matched
    }

    fn learn(&mut self, matched: &Match) {
        for &(who, it) in matched {
            self.inner[who].won(self.resources, it);
            self.outer[it].won(self.requesters, who);
        }
    }

    fn wavefront(&mut self, asks: &[Ask]) -> Match {
        let size = self.requesters.max(self.resources);
        let mut classes: Vec<(i64, i64)> = asks.iter().map(|ask| (ask.outer, ask.inner)).collect();
        classes.sort_unstable();
        classes.dedup();
        let mut matched = Match::new();
        for &class in classes.iter().rev() {
            for step in 0..size {
                let diagonal = (self.diagonal + step) % size;
                for ask in asks.iter().filter(|ask| (ask.outer, ask.inner) == class) {
                    let is_free = matched.iter().all(|&(who, it)| who != ask.requester && it != ask.resource);
                    if (ask.requester + ask.resource) % size == diagonal && is_free {
                        matched.push((ask.requester, ask.resource));
                    }
                }
            }
        }
        if !asks.is_empty() {
            self.diagonal = (self.diagonal + 1) % size;
        }
        matched
    }
}
