//! Whether every source gets rid of what it generates, from how busy source queues were.
//!
//! The utilisation of a source queue is the load offered to it over the rate at which it sends while it has
//! something to send. Below 1 it is the share of time in which the queue is busy, so the queue is empty now and
//! then; above 1 it grows for good. All other queues of a network are bounded, so a load has a steady state
//! exactly if no source queue grows.

use super::{SourceQueues, Windows, quantile::upper};
use std::ops::Range;

/// Probability of a wrong verdict of either kind that is aimed at.
const ALPHA: f64 = 0.002;
/// Utilisations from 1 to 1 more than this may be called steady by chance, but not larger ones.
const DELTA: f64 = 0.05;
/// Batches of a half, at most; slots are not divided.
const BATCHES: usize = 16;
/// The utilisation of a source is drawn towards the mean of all by at most so many of its own errors.
const DRAWN: f64 = 1.5;
/// Utilisation of a queue that gets no packet.
const UNUSED: f64 = 1e-6;
/// Slots below which nothing is said.
const FEWEST: usize = 8;

named! {
    /// Whether source queues grow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Verdict {
        /// The utilisation of every queue is below 1.
        Steady = "steady",
        /// That of some queue is above 1.
        Growing = "growing",
        /// The run is too short to tell.
        Undecided = "undecided",
    }
}

impl Verdict {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// How busy source queues were, and what that means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilisation {
    /// Whether they grow.
    pub verdict: Verdict,
    /// Natural logarithm of the utilisation of the busiest queue, as far as noise allows to say which it is.
    pub log: f64,
    /// Its standard error.
    pub error: f64,
    /// Number of the busiest queue.
    pub worst: usize,
}

/// What was counted in a run from an empty network at constant load.
#[derive(Clone, Copy, Debug)]
pub struct QueueCounts<'a> {
    /// Slots that have ended.
    pub slots: usize,
    /// Cycles of a slot.
    pub slot_cycles: u64,
    /// Flits of a packet.
    pub length: f64,
    /// Cycles in which a queue was busy, by slot and queue.
    pub busy: &'a [u64],
    /// Packets whose header left, by slot and queue.
    pub sent: &'a [u64],
    /// Packets generated, by slot and queue.
    pub generated: &'a [u64],
    /// Flits generated for every node, by slot and node.
    pub generated_for: &'a [u64],
    /// Load of every queue that is used in flits per cycle, where it is known; else packets are counted, which
    /// has more noise.
    pub rate: Option<f64>,
}

/// Judges a run by how busy its source queues were.
///
/// The first quarter of the run is left out, the rest is two halves. The queues that are busiest in one half
/// are measured in the other, alone and in groups, so that the largest of many noisy values misleads nobody.
///
/// A queue that serves a packet in 10 cycles, and one that needs 11, with a packet in 10.4 cycles:
///
/// ```
/// use flitloom_core::probe::{QueueCounts, Verdict, utilisation};
/// let (sent, busy) = ([96, 91].repeat(32), [960, 1001].repeat(32));
/// let counts = QueueCounts {
///     slots: 32,
///     slot_cycles: 1000,
///     length: 1.0,
///     busy: &busy,
///     sent: &sent,
///     generated: &sent,
///     generated_for: &[],
///     rate: Some(1.0 / 10.4),
/// };
/// let found = utilisation(&counts);
/// assert_eq!((found.verdict, found.worst), (Verdict::Growing, 1));
/// assert!((found.log.exp() - 1.058).abs() < 1e-3);
/// ```
#[must_use]
pub fn utilisation(counts: &QueueCounts) -> Utilisation {
    let width = counts.generated.len().checked_div(counts.slots).unwrap_or(0);
    let made: Vec<u64> =
        (0..width).map(|queue| counts.generated[queue..].iter().step_by(width).sum()).collect();
    let used: Vec<usize> = (0..width).filter(|&queue| made[queue] > 0).collect();
    if used.is_empty() || counts.slots < FEWEST {
        return Utilisation {
            verdict: Verdict::Undecided,
            log: f64::NEG_INFINITY,
            error: f64::INFINITY,
            worst: 0,
        };
    }
    let halves = Halves::of(counts, &made, &used);
    let drawn = Drawn::of(&halves);
    let verdict = if grows(&halves) {
        Verdict::Growing
    } else if is_steady(&halves, &drawn) && !overwhelmed(counts) {
        Verdict::Steady
    } else {
        Verdict::Undecided
    };
    let worst = drawn.largest();
    Utilisation { verdict, log: drawn.logs[worst], error: drawn.errors[worst], worst: used[worst] }
}

impl Windows {
    /// How busy the source queues were until the end of the last window, for packets of so many flits.
    #[must_use]
    pub fn utilisation(&self, length: u32, rate: Option<f64>) -> Utilisation {
        let queues = self.queues();
        let slots = ((self.end() - self.cycles()) / queues.cycles()) as usize;
        let wide = |values: &[u32]| values.iter().map(|&value| value.into()).collect::<Vec<u64>>();
        let (busy, sent, generated) = (self.busy(), wide(queues.sent()), wide(queues.generated()));
        let width = |values: &[u64]| values.len().checked_div(queues.slots()).unwrap_or(0) * slots;
        utilisation(&QueueCounts {
            slots,
            slot_cycles: queues.cycles(),
            length: length.into(),
            busy: &busy[..width(&busy)],
            sent: &sent[..width(&sent)],
            generated: &generated[..width(&generated)],
            generated_for: &queues.generated_for()[..width(queues.generated_for())],
            rate: rate.filter(|_| queues.queues() == 1),
        })
    }
}

impl SourceQueues {
    /// How busy the queues with a number of all nodes were before a cycle, given the starts of the packets at the
    /// fronts of all queues, or `u64::MAX`; packets have so many flits in the mean, and so many flits per cycle are
    /// generated for such a queue.
    pub(crate) fn judged(
        &self,
        queue: usize,
        now: u64,
        fronts: &[u64],
        length: f64,
        rate: f64,
    ) -> Utilisation {
        let slots = ((now / self.cycles()) as usize).min(self.slots());
        let nodes = fronts.len() / self.queues();
        let busy = self.busy_before(now, fronts.iter().copied());
        let chosen = |values: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
            values.skip(queue).step_by(self.queues()).take(slots * nodes).collect()
        };
        let width = self.generated_for().len().checked_div(self.slots()).unwrap_or(0);
        utilisation(&QueueCounts {
            slots,
            slot_cycles: self.cycles(),
            length,
            busy: &chosen(&mut busy.iter().copied()),
            sent: &chosen(&mut self.sent().iter().map(|&count| count.into())),
            generated: &chosen(&mut self.generated().iter().map(|&count| count.into())),
            generated_for: &self.generated_for()[..slots * width],
            rate: Some(rate),
        })
    }
}

/// Whether some destination may be sent more than it can receive: that takes long to reach the sources.
fn overwhelmed(counts: &QueueCounts) -> bool {
    let nodes = counts.generated_for.len() / counts.slots;
    let cycles = counts.slots as f64 * counts.slot_cycles as f64;
    (0..nodes).any(|node| {
        let flits: u64 = counts.generated_for[node..].iter().step_by(nodes).sum();
        let rate = flits as f64 / cycles;
        let noise = (rate * counts.length.max(1.0) / cycles).sqrt();
        rate >= 1.0 + DELTA - upper(ALPHA / nodes as f64) * noise
    })
}

/// Measured values by batch and queue.
struct Table {
    queues: usize,
    values: Vec<f64>,
}

impl Table {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.queues)
    }

    fn column(&self, queue: usize) -> impl Iterator<Item = f64> {
        self.values[queue..].iter().step_by(self.queues).copied()
    }

    /// Sum over batches of the squared mean of some queues.
    fn together(&self, queues: &[usize]) -> f64 {
        let mean = |row: &[f64]| mean(queues.iter().map(|&queue| row[queue]));
        self.rows().map(|row| mean(row).powi(2)).sum()
    }
}

/// Utilisations and residuals of a stretch.
struct Stretch {
    /// Packets sent by queue, at least 1.
    packets: Vec<f64>,
    rho: Vec<f64>,
    residuals: Table,
}

impl Stretch {
    /// From busy cycles and packets sent by batch and queue, and arrivals per cycle of every queue: arrivals
    /// times busy cycles per packet, and the residual of every batch.
    fn of(busy: &Table, sent: &Table, arrivals: &[f64], length: f64) -> Self {
        let batches = busy.rows().count() as f64;
        let scale = (batches / (batches - 1.0).max(1.0)).sqrt();
        let queues = busy.queues;
        let packets: Vec<f64> = (0..queues).map(|queue| sent.column(queue).sum::<f64>().max(1.0)).collect();
        let service: Vec<f64> =
            (0..queues).map(|queue| (busy.column(queue).sum::<f64>() / packets[queue]).max(length)).collect();
        let rho = (0..queues).map(|queue| (arrivals[queue] * service[queue]).max(UNUSED)).collect();
        let values = busy.values.iter().zip(&sent.values).enumerate().map(|(at, (busy, sent))| {
            let queue = at % queues;
            (busy - service[queue] * sent) * arrivals[queue] / packets[queue] * scale
        });
        let residuals = Table { queues, values: values.collect() };
        Self { packets, rho, residuals }
    }
}

/// Two halves of a run.
struct Halves {
    parts: [Stretch; 2],
    /// Both together.
    whole: Stretch,
    /// Noise per packet, relative to the utilisation and pooled.
    per_packet: f64,
    /// Relative variance of arrivals that are counted, by queue.
    noise: Vec<f64>,
}

impl Halves {
    fn of(counts: &QueueCounts, made: &[u64], used: &[usize]) -> Self {
        let half = counts.slots * 3 / 4 / 2;
        let each = half.div_ceil(BATCHES);
        let batches = half / each;
        let begin = counts.slots - 2 * batches * each;
        let first = begin..begin + batches * each;
        let second = first.end..counts.slots;
        let (by_half, noise) = match counts.rate {
            Some(rate) => {
                let known = vec![rate / counts.length; used.len()];
                ([known.clone(), known], vec![0.0; used.len()])
            }
            // Counted in each half for itself: one half must not choose by the noise of the other.
            None => (
                [first.clone(), second.clone()].map(|slots| {
                    let cycles = slots.len() as f64 * counts.slot_cycles as f64;
                    let counted = gathered(counts.generated, made.len(), used, slots, batches * each);
                    counted.values.iter().map(|packets| packets / cycles).collect()
                }),
                used.iter().map(|&queue| 1.0 / made[queue] as f64).collect(),
            ),
        };
        let stretch = |slots: Range<usize>, arrivals: &[f64]| {
            let gather = |values| gathered(values, made.len(), used, slots.clone(), each);
            Stretch::of(&gather(counts.busy), &gather(counts.sent), arrivals, counts.length)
        };
        let both: Vec<f64> = by_half[0].iter().zip(&by_half[1]).map(|(one, two)| (one + two) / 2.0).collect();
        let parts = [stretch(first, &by_half[0]), stretch(second, &by_half[1])];
        let whole = stretch(begin..counts.slots, &both);
        let busiest = &ranked(&whole.rho)[..used.len().div_ceil(4)];
        let square = |part: &Stretch, queue: usize| {
            let squares: f64 = part.residuals.column(queue).map(|residual| residual.powi(2)).sum();
            squares * part.packets[queue] / part.rho[queue].powi(2)
        };
        let per_packet =
            mean(parts.iter().flat_map(|part| busiest.iter().map(move |&queue| square(part, queue))));
        Self { parts, whole, per_packet, noise }
    }
}

/// The values of the queues that are used in a range of slots, so many of which make a batch.
fn gathered(values: &[u64], width: usize, used: &[usize], slots: Range<usize>, each: usize) -> Table {
    let sums = slots.step_by(each).flat_map(|slot| {
        let batch = &values[slot * width..(slot + each) * width];
        used.iter().map(|&queue| batch[queue..].iter().step_by(width).sum::<u64>() as f64)
    });
    Table { queues: used.len(), values: sums.collect() }
}

/// Places from the largest value on.
fn ranked(values: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|&one, &other| values[other].total_cmp(&values[one]));
    places
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count)
}

/// Whether the busiest queues of one half, alone or in groups, are above 1 in the other.
fn grows(halves: &Halves) -> bool {
    let count = halves.noise.len();
    let threshold = upper(ALPHA / (1.0 + (count as f64).log2()));
    let ranks = halves.parts.each_ref().map(|part| ranked(&part.rho));
    let sizes = std::iter::successors(Some(1), |size| Some(2 * size)).take_while(|&size| size < count);
    sizes.chain([count]).any(|size| {
        let marks =
            [(0, 1), (1, 0)].map(|(chosen, measured)| excess(halves, measured, &ranks[chosen][..size]));
        marks[0].min(marks[1]) > 0.0 && (marks[0] + marks[1]) / std::f64::consts::SQRT_2 > threshold
    })
}

/// By how many of its errors the mean utilisation of a group is above 1 in a half.
fn excess(halves: &Halves, half: usize, group: &[usize]) -> f64 {
    let part = &halves.parts[half];
    let above = mean(group.iter().map(|&queue| part.rho[queue])) - 1.0;
    let own = |&queue: &usize| halves.per_packet / part.packets[queue] + 2.0 * halves.noise[queue];
    let alone = mean(group.iter().map(own)) / group.len() as f64;
    let error = part.residuals.together(group).max(alone).sqrt();
    if error > 0.0 {
        above / error
    } else if above == 0.0 {
        0.0
    } else {
        f64::INFINITY.copysign(above)
    }
}

/// Logarithms of the utilisations and their errors, drawn towards the mean of all as far as noise makes them
/// differ.
struct Drawn {
    logs: Vec<f64>,
    errors: Vec<f64>,
}

impl Drawn {
    fn of(halves: &Halves) -> Self {
        let count = halves.noise.len();
        let logs = |part: &Stretch| part.rho.iter().map(|rho| rho.ln()).collect::<Vec<_>>();
        let raw = logs(&halves.whole);
        let sent = |queue: usize| halves.parts[0].packets[queue] + halves.parts[1].packets[queue];
        let own: Vec<f64> =
            (0..count).map(|queue| halves.per_packet / sent(queue) + halves.noise[queue]).collect();
        let (middle, mean_own) = (mean(raw.iter().copied()), mean(own.iter().copied()));
        let mut between: f64 = 0.0;
        if count > 1 {
            let [one, two] = halves.parts.each_ref().map(logs);
            let free = (count - 1) as f64;
            let variance = covariance(&raw, &raw) / free;
            between = between.max(covariance(&one, &two) / free).max(variance - mean_own);
        }
        let all: Vec<usize> = (0..count).collect();
        let together = halves.whole.residuals.together(&all) / mean(halves.whole.rho.iter().copied()).powi(2);
        let shared = together.max(mean_own / count as f64);
        let (logs, errors) = raw
            .iter()
            .zip(&own)
            .map(|(&log, &own)| {
                let total = between + own;
                let share = if count > 1 && total > 0.0 { between / total } else { 1.0 };
                let drawn = share * log + (1.0 - share) * middle;
                let alone = own.sqrt();
                if (log - drawn).abs() > DRAWN * alone {
                    return (log - (DRAWN * alone).copysign(log - drawn), alone);
                }
                (drawn, (share * own + (1.0 - share).powi(2) * shared).sqrt())
            })
            .unzip();
        Self { logs, errors }
    }

    /// The first of the largest.
    fn largest(&self) -> usize {
        (1..self.logs.len()).fold(0, |best, at| if self.logs[at] > self.logs[best] { at } else { best })
    }
}

/// Sum of the products of what is above the means.
fn covariance(one: &[f64], other: &[f64]) -> f64 {
    let (middle, other_middle) = (mean(one.iter().copied()), mean(other.iter().copied()));
    one.iter().zip(other).map(|(one, other)| (one - middle) * (other - other_middle)).sum()
}

/// Whether no queue can be above 1 by more than is allowed or is likely above 1, and none is filling.
fn is_steady(halves: &Halves, drawn: &Drawn) -> bool {
    let count = halves.noise.len();
    let (most, width) = (DELTA.ln_1p(), upper(ALPHA / count as f64));
    let below = |(&log, &error): (&f64, &f64)| log < most - width * error && log < -2.0 * error;
    if !drawn.logs.iter().zip(&drawn.errors).all(below) {
        return false;
    }
    // An empty network that fills slowly.
    let busiest = &ranked(&halves.whole.rho)[..(count / 8).max(1)];
    let [before, after] =
        halves.parts.each_ref().map(|part| mean(busiest.iter().map(|&queue| part.rho[queue])));
    let noise: f64 = halves.parts.iter().map(|part| part.residuals.together(busiest)).sum();
    after + 2.0 * (after - before - noise.sqrt()).max(0.0) < 1.0 + DELTA
}
