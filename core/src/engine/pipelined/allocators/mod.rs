//! Allocators: who of the requesters gets which resource.

mod arbiter;
mod islip;
mod loa;
mod max_size;
mod pim;
mod plain;
mod select;
mod separable;
mod turns;
mod wavefront;

use super::{config_error::ConfigError, numbers::Numbers};
use crate::{
    fault::{Fault, UnknownName},
    names,
    save::Archive,
    visit::{Visited, below},
};
pub use arbiter::ArbiterKind;
use arbiter::Arbiters;
pub(super) use {
    arbiter::{after, behind},
    plain::{first, first_channel},
};

/// Nobody.
pub(super) const NONE: u32 = u32::MAX;

/// A requester asks for a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub requester: u32,
    pub resource: u32,
    /// Priority where the requester accepts.
    pub inner: i64,
    /// Priority where the resource grants.
    pub outer: i64,
}

/// The kinds of allocators, with their iterations or arbiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatorKind {
    /// iSLIP, in so many iterations.
    Islip(u32),
    /// By priority and turn, in so many iterations.
    Select(u32),
    /// Parallel iterative matching: drawn, in so many iterations.
    Pim(u32),
    /// Those with the fewest offers first.
    Loa,
    /// A matching of the largest size.
    MaxSize,
    /// Along diagonals.
    Wavefront {
        /// Whether the first diagonal is the next one at which anybody asks.
        skips: bool,
    },
    /// Arbiters at inputs and at outputs.
    Separable {
        /// Whether those at inputs decide first.
        input_first: bool,
        /// In which order they choose.
        arbiter: ArbiterKind,
    },
}

impl AllocatorKind {
    /// All with their names, in an iteration or with turns.
    pub const NAMES: [(&'static str, Self); 9] = [
        ("islip", Self::Islip(1)),
        ("select", Self::Select(1)),
        ("pim", Self::Pim(1)),
        ("loa", Self::Loa),
        ("max_size", Self::MaxSize),
        ("wavefront", Self::Wavefront { skips: false }),
        ("rr_wavefront", Self::Wavefront { skips: true }),
        ("separable_input_first", Self::Separable { input_first: true, arbiter: ArbiterKind::RoundRobin }),
        ("separable_output_first", Self::Separable { input_first: false, arbiter: ArbiterKind::RoundRobin }),
    ];

    /// The kind of a name, with iterations or an arbiter in brackets.
    ///
    /// ```
    /// use flitloom_core::engine::pipelined::AllocatorKind;
    /// assert_eq!(AllocatorKind::named("islip(2)"), Ok(AllocatorKind::Islip(2)));
    /// assert!(AllocatorKind::named("islop").is_err());
    /// ```
    ///
    /// # Errors
    /// There is none of this name, or no such arbiter or number of iterations.
    pub fn named(text: &str) -> Result<Self, ConfigError> {
        let (name, inside) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.trim_end_matches(')').trim())),
        };
        let kind = known(&Self::NAMES, name)?;
        let Some(inside) = inside else { return Ok(kind) };
        let times = || {
            let wrong = || {
                ConfigError::from(Fault::somewhere(format!("{inside:?} is not a number of iterations"), ""))
            };
            inside.parse().ok().filter(|&times| times > 0).ok_or_else(wrong)
        };
        Ok(match kind {
            Self::Islip(_) => Self::Islip(times()?),
            Self::Select(_) => Self::Select(times()?),
            Self::Pim(_) => Self::Pim(times()?),
            Self::Separable { input_first, .. } => {
                Self::Separable { input_first, arbiter: known(&ArbiterKind::NAMES, inside)? }
            }
            Self::Loa | Self::MaxSize | Self::Wavefront { .. } => kind,
        })
    }
}

/// The member of a list with a name.
fn known<T: Copy>(list: &[(&'static str, T)], name: &str) -> Result<T, ConfigError> {
    names::find(list, name).map_err(|error| UnknownName { words: "there are", ..error }.fault().into())
}

/// An allocator of one router: what it remembers between calls, and the last matching.
#[derive(Clone, Debug)]
pub(super) struct Allocator {
    kind: AllocatorKind,
    requesters: usize,
    resources: usize,
    /// Turns of the requesters, of the resources, and of the whole.
    accepts: Vec<u32>,
    grants: Vec<u32>,
    turn: u32,
    arbiters: Option<Box<(Arbiters, Arbiters)>>,
    /// The resource of every requester, the requester of every resource.
    pub given: Vec<u32>,
    pub taken: Vec<u32>,
    /// Best offers while matching, by requester and by resource.
    best_in: Vec<u32>,
    best_out: Vec<u32>,
    /// By arbiter of one side the best request and what decided, while arbiters pick; the requests that either side picked.
    best: Vec<(u32, arbiter::Key)>,
    picked: [Vec<u32>; 2],
    /// The pairs of the last matching.
    paired: Vec<(u32, u32)>,
    touched: Vec<u32>,
    /// Sets of bits: who asks, what is asked for, by requester, by resource, offers, channels looked at.
    asking: u64,
    asked_for: u64,
    by_requester: Vec<u64>,
    by_resource: Vec<u64>,
    offers: Vec<u64>,
}

impl Allocator {
    /// An allocator that was never asked.
    pub(super) fn new(kind: AllocatorKind, requesters: usize, resources: usize) -> Self {
        let arbiters = match kind {
            AllocatorKind::Separable { arbiter, .. } => Some(Box::new((
                Arbiters::new(arbiter, requesters, resources),
                Arbiters::new(arbiter, resources, requesters),
            ))),
            _ => None,
        };
        Self {
            kind,
            requesters,
            resources,
            accepts: vec![0; requesters],
            grants: vec![0; resources],
            turn: 0,
            arbiters,
            given: vec![NONE; requesters],
            taken: vec![NONE; resources],
            best_in: vec![NONE; requesters],
            best_out: vec![NONE; resources],
            best: vec![(NONE, arbiter::Key::default()); requesters.max(resources)],
            picked: [Vec::new(), Vec::new()],
            paired: Vec::new(),
            touched: Vec::new(),
            asking: 0,
            asked_for: 0,
            by_requester: vec![0; requesters],
            by_resource: vec![0; resources],
            offers: vec![0; requesters.max(resources)],
        }
    }

    /// What is remembered from one call to the next.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self {
            kind: _,
            requesters,
            resources,
            accepts,
            grants,
            turn,
            arbiters,
            // What is made anew in every call.
            given: _,
            taken: _,
            best_in: _,
            best_out: _,
            best: _,
            picked: _,
            paired: _,
            touched: _,
            asking: _,
            asked_for: _,
            by_requester: _,
            by_resource: _,
            offers: _,
        } = self;
        archive.slice("turns of requesters", accepts)?;
        archive.slice("turns of resources", grants)?;
        archive.number("turn of the allocator", turn)?;
        let all = (*requesters).max(*resources);
        below("turns", all, accepts.iter().chain(&*grants).copied().chain([*turn]))?;
        let Some(arbiters) = arbiters else { return Ok(()) };
        arbiters.0.fields(archive)?;
        arbiters.1.fields(archive)
    }

    /// Matches requests; no pair occurs twice. What it found stands in `given` and `taken` until the next call.
    pub(super) fn allocate(&mut self, requests: &[Request], numbers: &mut dyn Numbers) {
        self.forget();
        match self.kind {
            AllocatorKind::Islip(times) => self.islip(times, requests),
            AllocatorKind::Select(times) => self.select(times, requests),
            AllocatorKind::Pim(times) => self.pim(times, requests, numbers),
            AllocatorKind::Loa => self.loa(requests),
            AllocatorKind::MaxSize => self.max_size(requests),
            AllocatorKind::Wavefront { skips } => self.wavefront(skips, requests),
            AllocatorKind::Separable { input_first, .. } => self.separable(input_first, requests),
        }
    }

    /// Forgets the last matching.
    pub(super) fn forget(&mut self) {
        for (requester, resource) in self.paired.drain(..) {
            self.given[requester as usize] = NONE;
            self.taken[resource as usize] = NONE;
        }
    }

    fn is_free(&self, request: &Request) -> bool {
        self.given[request.requester as usize] == NONE && self.taken[request.resource as usize] == NONE
    }

    fn pair(&mut self, requester: u32, resource: u32) {
        self.paired.push((requester, resource));
        self.given[requester as usize] = resource;
        self.taken[resource as usize] = requester;
    }

    /// Forgets the offers of an iteration.
    fn clear_offers(&mut self, requests: &[Request]) {
        for request in requests {
            self.best_in[request.requester as usize] = NONE;
            self.best_out[request.resource as usize] = NONE;
        }
    }
}
