use super::PlannedPacket;
use crate::{
    fabric::Fabric,
    schedule::{
        Demand, Job, Problem, ScheduleError,
        problem::{resources_of, route},
    },
};

impl Problem {
    /// The problem of sending the packets of a plan over their own routes, at any time. With
    /// `together`, the slices of a message (packets that follow each other in the list and in their
    /// numbers) keep their distances in time.
    ///
    /// # Errors
    /// There is no packet, or too much is sent.
    pub fn of_packets(
        fabric: &Fabric,
        packets: &[PlannedPacket],
        together: bool,
    ) -> Result<Self, ScheduleError> {
        let flits = packets.iter().map(|packet| u64::from(packet.length)).sum();
        if packets.is_empty() {
            return Err(ScheduleError::Empty);
        }
        if flits > Self::MAX_FLITS {
            return Err(ScheduleError::TooMuch(flits));
        }
        let mut jobs: Vec<Job> = Vec::new();
        let mut begin = 0;
        for (index, packet) in packets.iter().enumerate() {
            let PlannedPacket { source, destination, length, .. } = *packet;
            let demand = Demand { source, destination, length, slices: 1 };
            let mut own = route(fabric, &demand, &packet.path, length, 1, 0);
            let follows = together && packet.slice > 0 && packet.start >= begin;
            match jobs.last_mut().filter(|job| follows && job.length == length) {
                Some(job) => {
                    let later = u32::try_from(packet.start - begin)
                        .map_err(|_| ScheduleError::TooLate { cycles: packet.start, most: u32::MAX })?;
                    own.uses.iter_mut().for_each(|held| held.offset += later);
                    job.routes[0].uses.extend(own.uses);
                    job.routes[0].span = job.routes[0].span.max(own.span + later);
                }
                None => {
                    begin = packet.start;
                    jobs.push(Job { length, routes: vec![own], origin: (index, 0) });
                }
            }
        }
        Ok(Self::from_parts(resources_of(fabric), jobs))
    }
}
