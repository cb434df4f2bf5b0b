//! What a machine has counted, and what others ask it.

use super::{
    block::{LINK_QUEUES, QUEUES, X_QUEUES},
    machine::{AnyMachine, FASTER, Machine, heads},
    phases::Span,
    registers::Registers,
};
use crate::{
    bits::{Vector, count_ones, number_at, words},
    engine::{
        Options, Outcome, SimulationError,
        protocol::{Clock, Cycles, Engine, Quiescence, drive},
    },
    probe::{LinkOccupation, NoProbe, Probe},
    save::{Archive, SaveError},
};

impl<V: Vector, const K: usize> Machine<V, K> {
    /// The sum of latencies of a run that has stopped with packets under way that are older than the
    /// tags: the same run once more, with tags from the beginning.
    #[cold]
    fn latency_sum_from_the_beginning(&self, clock: &Clock) -> Result<u64, SimulationError> {
        let mut again = self.clone();
        again.begin(Some(self.stop), true);
        let options = Options { stop_at: Some(clock.cycle), ..Options::default() };
        drive(&mut again, &mut Clock::default(), &options, &mut NoProbe)?;
        again.sum_up(clock);
        Ok(again.totals[0].latency_sum)
    }

    /// Adds up what was counted; whether all sums of latencies that are wanted are known.
    pub(super) fn sum_up(&mut self, clock: &Clock) -> bool {
        if let Some(batch_sources) = &self.batch_sources
            && self.in_batches
        {
            let copies = self.durations.iter().zip(&batch_sources.delivered);
            for (outcome, (&duration, delivered)) in self.totals.iter_mut().zip(copies) {
                *outcome = Outcome {
                    duration,
                    packets_delivered: delivered.packets,
                    lateness: delivered.lateness,
                    cycles: if clock.finished { duration.saturating_sub(1) } else { clock.cycle },
                    ..Outcome::default()
                };
            }
            return true;
        }
        let per_copy = self.tiling.words_per_copy();
        let under_way = match self.rules.widths.tag {
            0 => None,
            _ => self.starts_under_way().ok(),
        };
        let mut known = true;
        for (copy, outcome) in self.totals.iter_mut().enumerate() {
            let account = self.injection.account(copy);
            *outcome = Outcome {
                duration: self.durations[copy],
                packets_delivered: account.delivered,
                flit_hops: account.flit_hops,
                fingerprint: account.fingerprint,
                lateness: account.lateness,
                ..Outcome::default()
            };
            let range = copy * per_copy..(copy + 1) * per_copy;
            let mut waiting = 0;
            let mut partial = 0;
            for (index, block) in self.blocks.iter().enumerate() {
                let widths = self.rules.widths;
                let counters = &self.counters[index * widths.counter..][..widths.counter];
                let ready = self.packets[index].ready & heads(counters, QUEUES - 1);
                waiting += count_ones(&words(&[ready])[range.clone()]);
                for (bit, hops) in block.hops.iter().enumerate() {
                    outcome.flit_hops += count_ones(&words(std::slice::from_ref(hops))[range.clone()]) << bit;
                }
                for queue in 0..QUEUES {
                    let owned = match queue {
                        0..X_QUEUES => block.owned_x[queue][3],
                        X_QUEUES..LINK_QUEUES => block.owned_y[queue - X_QUEUES][1],
                        _ => block.owned_p[4],
                    };
                    // Flits of packets whose tail is still to come.
                    let under_way = owned & !heads(counters, queue);
                    partial += count_ones(&words(&[under_way])[range.clone()]) * u64::from(self.length - 1);
                    for (bit, row) in counters.iter().enumerate() {
                        partial -= count_ones(&words(&[under_way & row[queue]])[range.clone()]) << bit;
                    }
                }
                // What has left its queue for a register of the processor's port is not ejected.
                for label in self.registers.get(index).into_iter().flat_map(Registers::ejecting) {
                    let [tails, others] = label.map(|plane| count_ones(&words(&[plane])[range.clone()]));
                    partial += tails * u64::from(self.length - 1);
                    partial -= others;
                }
            }
            outcome.packets_injected = account.loaded - waiting;
            outcome.flits_delivered = outcome.packets_delivered * u64::from(self.length) + partial;
            let open = under_way.as_ref().map_or(0, |sums: &Vec<u64>| sums[copy]);
            let all_delivered = account.delivered == account.loaded;
            known &= all_delivered || under_way.is_some();
            outcome.latency_sum = if all_delivered || under_way.is_some() {
                account.delivery_sum.wrapping_sub(account.start_sum.wrapping_sub(open))
            } else {
                0
            };
            outcome.cycles = if clock.finished { outcome.duration.saturating_sub(1) } else { clock.cycle };
        }
        known || !self.latencies
    }
}

/// Only networks that dimension order and datelines keep free of deadlock are covered.
impl<V: Vector, const K: usize> Cycles for Machine<V, K> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        let proof = self.proof;
        self.pace.until = until;
        self.pace.started = u64::MAX;
        let threads = self.pace.threads.clone();
        let mut span = || V::enter(proof, Span { machine: self, cycle, until });
        Ok(match threads {
            None => span(),
            Some(threads) => threads.install(span),
        })
    }

    fn routers(&self) -> usize {
        self.injection.places.len() / FASTER / self.parts()
    }

    fn delivered(&self) -> u64 {
        self.progress().1
    }
}

impl<V: Vector, const K: usize> Engine for Machine<V, K> {
    fn parts(&self) -> usize {
        self.parts()
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        if !self.sum_up(clock) && clock.cycle == self.stop {
            self.totals[0].latency_sum = self.latency_sum_from_the_beginning(clock)?;
        }
        Ok(self.totals[0].clone())
    }

    fn links(&self) -> Option<LinkOccupation> {
        let occupation = self.occupation.as_ref()?;
        let directions = self.directions();
        let mut links = LinkOccupation::new(self.tiling.nodes() * directions);
        for (index, place) in self.injection.places[..self.tiling.nodes()].iter().enumerate() {
            let (block, lane) = (*place as usize / V::BITS, *place as usize % V::BITS);
            for direction in 0..directions {
                if let Some((first, last)) = occupation.cycles(block, lane, direction) {
                    let link = index * directions + direction;
                    (links.first[link], links.last[link]) = (first, last);
                    links.flits[link] = occupation.flits(block, lane, direction);
                }
            }
        }
        Some(links)
    }

    fn occupancy(&self) -> Vec<u16> {
        let (directions, channels) = (self.directions(), usize::from(self.network.router().channels));
        let mut flits = vec![0; self.tiling.nodes() * directions * channels];
        for (index, place) in self.injection.places[..self.tiling.nodes()].iter().enumerate() {
            let (block, lane) = (*place as usize / V::BITS, *place as usize % V::BITS);
            for queue in 0..LINK_QUEUES {
                let (direction, channel) = match queue {
                    0..X_QUEUES => (queue / 2, queue % 2),
                    _ => (2 + (queue - X_QUEUES) / 3, (queue - X_QUEUES) % 3),
                };
                if direction < directions && channel < channels {
                    let held = number_at(self.blocks[block].occupancy[queue].into_iter(), lane);
                    flits[(index * directions + direction) * channels + channel] =
                        held.saturating_sub(self.rules.offset as u64) as u16;
                }
            }
        }
        flits
    }

    fn copy(&self) -> Box<dyn Engine> {
        Box::new(self.clone())
    }

    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError> {
        clock.fields(archive)?;
        self.archive(archive)
    }
}
