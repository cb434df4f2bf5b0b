//! Circulants: rings whose nodes are also joined to those some steps ahead, each of which is a generator of the ring.
//!
//! Every difference of coordinates has one fixed, shortest decomposition into signed hops of the steps: of several, the
//! one with the most plus hops of the longest step, then of the next one, and so on, if the destination is in the lower
//! half of the coordinates, and with the most minus hops if it is in the upper half. As a destination is the same
//! on the whole way, each hop leaves a decomposition of the same kind, in whatever order steps are taken. With the one step
//! 1 these are the ways of a ring.

use super::{FabricError, Sign};
use std::fmt;

/// Greatest common divisor of two sizes.
pub(crate) fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Most steps of a circulant.
pub const MAX_STEPS: usize = 8;

/// The steps of a circulant, ascending.
///
/// ```
/// use flitloom_core::fabric::{Factor, Shape, Steps};
/// let circulant = Factor::Circulant(16, Steps::new(&[1, 4])?);
/// let product = Shape::product(&[circulant, Factor::Ring(4)])?;
/// assert_eq!((circulant.to_string(), product.directions()), ("circulant(16;1,4)".to_owned(), 6));
/// // Twice 4 and back 1.
/// assert_eq!(product.distance(0, 7), 3);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    steps: [u32; MAX_STEPS],
    count: u8,
}

impl Steps {
    /// The steps in any order, 1 to 8 of them.
    ///
    /// # Errors
    /// There are none, or too many.
    pub fn new(given: &[u32]) -> Result<Self, FabricError> {
        if given.is_empty() || given.len() > MAX_STEPS {
            return Err(FabricError::StepCount(given.len()));
        }
        let mut steps = [0; MAX_STEPS];
        let used = &mut steps[..given.len()];
        used.copy_from_slice(given);
        used.sort_unstable();
        Ok(Self { steps, count: given.len() as u8 })
    }

    /// One step, or several that ascend.
    pub const fn ascending<const COUNT: usize>(given: [u32; COUNT]) -> Self {
        const { assert!(COUNT > 0 && COUNT <= MAX_STEPS) }
        let mut steps = [0; MAX_STEPS];
        let mut place = 0;
        while place < COUNT {
            steps[place] = given[place];
            place += 1;
        }
        Self { steps, count: COUNT as u8 }
    }

    /// The steps, ascending.
    pub fn as_slice(&self) -> &[u32] {
        &self.steps[..usize::from(self.count)]
    }

    /// Whether a ring of so many nodes has all of them, each for itself, and they join all of its nodes.
    fn check(&self, size: u32) -> Result<(), FabricError> {
        let wrong = |problem, advice: &str| {
            let factor = format!("circulant({size};{self})");
            Err(FabricError::Steps { factor, problem, advice: advice.to_owned() })
        };
        let steps = self.as_slice();
        let need = "steps are different, from 1 to half the size";
        if let Some(step) = steps.iter().find(|&&step| step == 0 || step > size / 2) {
            return wrong(format!("has the step {step}"), need);
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[0] >= pair[1]) {
            return wrong(format!("has the step {} twice", pair[1]), need);
        }
        let parts = steps.iter().fold(size, |parts, &step| common_divisor(parts, step));
        if parts > 1 {
            let problem = format!("is in {parts} parts, since its size and steps are multiples of {parts}");
            return wrong(problem, "add a step that is none, as 1");
        }
        Ok(())
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<String> = self.as_slice().iter().map(u32::to_string).collect();
        out.write_str(&steps.join(","))
    }
}

/// A step in one sense: twice its place among the ascending steps, and one more for the minus sense.
type Turn = u8;

/// No step: the coordinates are the same.
const ARRIVED: Turn = Turn::MAX;

/// What is known of a circulant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Circulant {
    size: u32,
    steps: Vec<u32>,
    /// Per step: nodes of its rings, and what multiplies quotients to places in them.
    rings: Vec<(u32, u32)>,
    /// Per step: whether packets make more than one hop of it at once.
    runs: Vec<bool>,
    /// Per half of destinations and difference: the first hop.
    turns: [Vec<Turn>; 2],
    /// Per half and difference: how many such hops follow each other.
    lengths: [Vec<u32>; 2],
    distances: Vec<u32>,
}

impl Circulant {
    pub(super) fn new(size: u32, steps: &Steps) -> Result<Self, FabricError> {
        steps.check(size)?;
        let steps = steps.as_slice().to_vec();
        let ring = |&step: &u32| {
            let apart = common_divisor(size, step);
            let nodes = size / apart;
            let ahead = u64::from(step / apart);
            // Steps and sizes have no divisor left, so one of the places is the next coordinate's.
            let inverse = (1..nodes).find(|&place| ahead * u64::from(place) % u64::from(nodes) == 1);
            (nodes, inverse.unwrap_or(1))
        };
        let rings = steps.iter().map(ring).collect();
        // Per place, hops of the steps up to it.
        let least: Vec<Vec<u32>> = (0..steps.len()).map(|place| hops(size, &steps[..=place])).collect();
        let distances = least[steps.len() - 1].clone();
        let mut found = Self {
            size,
            rings,
            runs: Vec::new(),
            turns: [Sign::Plus, Sign::Minus].map(|first| turns(size, &steps, &least, first)),
            lengths: [Vec::new(), Vec::new()],
            distances,
            steps,
        };
        let mut nearest: Vec<u32> = (0..size).collect();
        nearest.sort_by_key(|&ahead| found.distances[ahead as usize]);
        found.lengths = [0, 1].map(|half| {
            let mut lengths = vec![0; size as usize];
            for &ahead in &nearest[1..] {
                let turn = found.turns[half][ahead as usize];
                let left = found.less(ahead, turn) as usize;
                let goes_on = found.turns[half][left] == turn;
                lengths[ahead as usize] = 1 + if goes_on { lengths[left] } else { 0 };
            }
            lengths
        });
        found.runs = (0..found.steps.len() as u8)
            .map(|step| {
                let long = |half: usize| {
                    let mut all = found.turns[half].iter().zip(&found.lengths[half]);
                    all.any(|(&turn, &length)| turn / 2 == step && length > 1)
                };
                long(0) || long(1)
            })
            .collect();
        Ok(found)
    }

    /// Its steps, ascending.
    pub(super) fn steps(&self) -> &[u32] {
        &self.steps
    }

    /// What is left of a difference after a hop.
    fn less(&self, ahead: u32, turn: Turn) -> u32 {
        let step = self.steps[usize::from(turn / 2)];
        (ahead + if turn.is_multiple_of(2) { self.size - step } else { step }) % self.size
    }

    fn ahead(&self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { to + self.size - from }
    }

    /// The step of the first hop from a coordinate to another one, its sign, and how many such hops there are.
    pub(super) fn along(&self, from: u32, to: u32) -> Option<(usize, Sign, u32)> {
        let (half, ahead) = (usize::from(to >= self.size / 2), self.ahead(from, to) as usize);
        let turn = self.turns[half][ahead];
        if turn == ARRIVED {
            return None;
        }
        let step = usize::from(turn / 2);
        let minus = if 2 * self.steps[step] == self.size { from >= self.size / 2 } else { turn % 2 == 1 };
        Some((step, if minus { Sign::Minus } else { Sign::Plus }, self.lengths[half][ahead]))
    }

    /// Hops of a step on the way between two coordinates.
    pub(super) fn hops_of(&self, step: usize, from: u32, to: u32) -> u32 {
        let half = usize::from(to >= self.size / 2);
        let mut ahead = self.ahead(from, to);
        while ahead != 0 {
            let turn = self.turns[half][ahead as usize];
            if usize::from(turn / 2) == step {
                return self.lengths[half][ahead as usize];
            }
            ahead = self.less(ahead, turn);
        }
        0
    }

    pub(super) fn distance(&self, from: u32, to: u32) -> u32 {
        self.distances[self.ahead(from, to) as usize]
    }

    /// Most hops between two coordinates.
    pub(super) fn reach(&self) -> u32 {
        self.distances.iter().copied().max().unwrap_or(0)
    }

    /// Whether packets make several hops of a step at once, as in a ring.
    pub(super) fn is_ring(&self, step: usize) -> bool {
        self.runs[step]
    }

    /// The nodes of the ring of a step through a coordinate, and the place in it: one more with every step.
    pub(super) fn ring(&self, step: usize, coordinate: u32) -> (u32, u32) {
        let (nodes, inverse) = self.rings[step];
        let quotient = coordinate / (self.size / nodes);
        (nodes, (u64::from(quotient) * u64::from(inverse) % u64::from(nodes)) as u32)
    }
}

/// The hops to every coordinate from 0, of some steps; more than there are nodes where they do not lead.
fn hops(size: u32, steps: &[u32]) -> Vec<u32> {
    let mut hops = vec![size; size as usize];
    hops[0] = 0;
    let (mut open, mut next) = (vec![0_u32], Vec::new());
    for count in 1.. {
        for here in open.drain(..) {
            for there in steps.iter().flat_map(|step| [here + step, here + size - step]) {
                let hops = &mut hops[(there % size) as usize];
                if *hops > count {
                    *hops = count;
                    next.push(there % size);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        std::mem::swap(&mut open, &mut next);
    }
    hops
}

/// The first hop to every coordinate from 0: the longest step comes first, in the sense `first` if any shortest way has
/// hops of it in that sense, in the other one if all have.
fn turns(size: u32, steps: &[u32], least: &[Vec<u32>], first: Sign) -> Vec<Turn> {
    let turn = |ahead: u32| {
        let left = |step: u32| (ahead + size - step) % size;
        for place in (0..steps.len()).rev() {
            let leads = |minus: bool| {
                let there = left(if minus { size - steps[place] } else { steps[place] });
                least[place][there as usize] + 1 == least[place][ahead as usize]
            };
            let minus_first = first == Sign::Minus;
            let needed = place == 0 || least[place - 1][ahead as usize] > least[place][ahead as usize];
            if leads(minus_first) {
                return 2 * place as Turn + Turn::from(minus_first);
            }
            if needed {
                return 2 * place as Turn + Turn::from(!minus_first);
            }
        }
        ARRIVED
    };
    let mut turns: Vec<Turn> = (0..size).map(turn).collect();
    turns[0] = ARRIVED;
    turns
}
