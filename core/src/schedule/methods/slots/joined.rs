use super::kind::{AllToAll, Starts};
use crate::fabric::{Direction, LinkId, NodeId};

/// Job, start and path of a packet.
pub(super) type Packet = (usize, u32, Vec<LinkId>);

/// When the last packet arrives.
pub(super) fn last_arrival(schedule: &Starts) -> u32 {
    schedule.iter().map(|(start, path)| start + path.len() as u32).max().unwrap_or(0)
}

/// Pairs of quadrants or octants, one after the other, each as early as the ports and links before it allow.
pub(super) struct Joined<'a> {
    kind: &'a AllToAll<'a>,
    starts: Vec<Option<(u32, Vec<LinkId>)>>,
    /// Per resource, when it is free for good.
    free_from: Vec<u32>,
}

impl<'a> Joined<'a> {
    pub(super) fn new(kind: &'a AllToAll<'a>) -> Self {
        let starts = vec![None; kind.problem.jobs().len()];
        Self { kind, starts, free_from: vec![0; kind.problem.resources()] }
    }

    /// The packet of a job that leaves a node and hops in the given directions.
    pub(super) fn packet(&self, job: usize, start: u32, source: NodeId, way: &[u32]) -> Packet {
        let fabric = self.kind.fabric;
        let mut here = source;
        let hop = |&direction: &u32| {
            let direction = Direction::from_index(direction as usize);
            let link = fabric.link(here, direction);
            here = fabric.shape().neighbour(here, direction).unwrap_or(here);
            link
        };
        (job, start, way.iter().map(hop).collect())
    }

    /// Adds the packets that can begin soonest behind what there is; `None` if there is no choice.
    pub(super) fn append(&mut self, choices: impl Iterator<Item = Vec<Packet>>) -> Option<()> {
        let choices: Vec<(u32, Vec<Packet>)> =
            choices.map(|packets| (self.shift(&packets), packets)).collect();
        let (shift, packets) = choices.into_iter().min_by_key(|choice| choice.0)?;
        for (job, start, path) in packets {
            let start = start + shift;
            let length = self.kind.length;
            let held: Vec<(u32, u32)> = self.held(job, &path).collect();
            for (resource, offset) in held {
                let free = &mut self.free_from[resource as usize];
                *free = (*free).max(start + offset + length);
            }
            self.starts[job] = Some((start, path));
        }
        Some(())
    }

    /// Start and path of every job, if all have been added.
    pub(super) fn starts(self) -> Option<Starts> {
        self.starts.into_iter().collect()
    }

    /// Everything that a job holds on a path, with offsets.
    fn held<'p>(&'p self, job: usize, path: &'p [LinkId]) -> impl Iterator<Item = (u32, u32)> + 'p {
        let uses = &self.kind.problem.jobs()[job].routes[0].uses;
        let ports = [uses.first(), uses.last()].into_iter().flatten();
        ports.map(|held| (held.resource, held.offset)).chain(path.iter().copied().zip(0..))
    }

    /// The smallest shift that puts each of the packets behind what was there before.
    fn shift(&self, packets: &[Packet]) -> u32 {
        let late = packets.iter().flat_map(|(job, start, path)| {
            self.held(*job, path).map(move |(resource, offset)| {
                self.free_from[resource as usize].saturating_sub(start + offset)
            })
        });
        late.max().unwrap_or(0)
    }
}
