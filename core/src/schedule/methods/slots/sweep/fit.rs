use super::pass::{Manner, Pass};
use crate::{
    fabric::Direction,
    schedule::Use,
    traffic::{Purpose, draw},
};

/// How badly a job fits into the slots at the present time of a pass. All weights are in 16ths, and
/// vary with the manner where no value was best everywhere.
impl Pass<'_> {
    /// With legs in order: a later leg should begin where another packet has just left its slot (or
    /// the slot has travelled empty), the next packet should be able to enter where a leg ends, and
    /// many waiting jobs should be able to go on in step.
    pub(super) fn cost_in_order(&self, manner: Manner, job: usize) -> i64 {
        let Self { epoch, time, .. } = *self;
        let description = &epoch.problem.jobs()[job];
        let [injection, links @ ..] = &description.routes[0].uses[..] else { return 0 };
        let orbit = &epoch.orbits[job];
        let (mut hops, mut empty, mut blocked) = (0, 0, 0);
        for (number, leg) in orbit.legs.iter().enumerate() {
            // A first leg in the first dimension takes what comes; others could have waited.
            if number > 0 || Direction::from_index(leg.0 as usize).dimension() > 0 {
                empty += self.empty_before(&links[hops as usize], orbit.backward);
            }
            hops += leg.1;
            let port = injection.resource - orbit.diagonal + orbit.after(hops, epoch.lines);
            blocked += i64::from(!self.port_is_free(port, time + hops, description.length));
        }
        let successors = match orbit.legs[..] {
            [(direction, first), (_, next), ..] => {
                i64::from(self.beginning_with((direction, next), orbit.after(first, epoch.lines)))
            }
            _ => 0,
        };
        let weight = 8 + (manner.weights % 24) as i64;
        80 * (empty + blocked) - weight * successors + self.random(manner, job, 16)
    }

    /// With hops in any order, all slots are used as long as a packet enters wherever one ends. It
    /// should end where many wait, where the port serves another until then, and where a packet can
    /// enter at once.
    pub(super) fn cost_of_staircase(&self, manner: Manner, job: usize) -> i64 {
        let Self { epoch, time, pitch, .. } = *self;
        let description = &epoch.problem.jobs()[job];
        let orbit = &epoch.orbits[job];
        let (Some(injection), Some(ejection)) =
            (description.routes[0].uses.first(), description.routes[0].uses.last())
        else {
            return 0;
        };
        let weight = |shift: u32, values: u64| ((manner.weights >> shift) % values) as i64;
        let end = time + ejection.offset;
        let idle_before =
            (0..pitch.min(end)).take_while(|back| !self.is_taken(ejection.resource, end - 1 - back));
        let idle_behind = (0..pitch)
            .take_while(|ahead| !self.is_taken(ejection.resource, end + description.length + ahead));
        let (before, behind) = (idle_before.count() as u32, idle_behind.count() as u32);
        let there = orbit.after(ejection.offset, epoch.lines);
        let entry = injection.resource - orbit.diagonal + there;
        let mut cost = self.random(manner, job, 8 + (manner.weights >> 40) % 65);
        cost += if before < pitch { weight(8, 49) * i64::from(before) } else { weight(16, 97) };
        cost += if behind < pitch { weight(8, 49) * i64::from(behind) } else { 0 };
        if !self.port_is_free(entry, end, description.length) {
            cost += weight(24, 81);
        }
        cost -= weight(0, 49) * self.waiting_at(orbit.backward, there) as i64;
        cost -= weight(56, 17) * self.waiting_at(!orbit.backward, there) as i64;
        // Unequal legs leave less choice on the way: the sooner they are gone, the better.
        let hops = || orbit.legs.iter().map(|leg| i64::from(leg.1));
        let least = if orbit.legs.len() > 1 { hops().min() } else { None };
        cost -= weight(48, 65) * (hops().max().unwrap_or(0) - least.unwrap_or(0));
        cost - (weight(32, 33) - 8) * i64::from(ejection.offset)
    }

    fn random(&self, manner: Manner, job: usize, values: u64) -> i64 {
        ((draw(manner.seed, self.time, Purpose::Search, job as u64) >> 32) % values) as i64
    }

    /// For how many hops before a link its slot travels empty, up to a dozen.
    fn empty_before(&self, held: &Use, backward: bool) -> i64 {
        const FAR: u32 = 12;
        let lines = self.epoch.lines;
        let (kind, diagonal) = (held.resource / lines * lines, held.resource % lines);
        let at = self.time + held.offset;
        let before = (1..=FAR.min(at)).take_while(|&hops| {
            let back = hops % lines;
            let there = (diagonal + if backward { back } else { lines - back }) % lines;
            !self.is_taken(kind + there, at - hops)
        });
        before.count() as i64
    }
}
