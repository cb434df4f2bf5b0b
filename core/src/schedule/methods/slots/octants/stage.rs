use super::{
    super::travel::class_after,
    deal::{Group, Hops, LINES, Pool},
};

/// What one side does while the same four classes of nodes are on it: all packets between two residues
/// of classes modulo four.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// In ascending order.
    pub classes: [u32; 4],
    /// Per class what it sends.
    pub packets: [Vec<Packet>; 4],
    /// When packets of class 0 may start, modulo the number of classes.
    pub phase: u32,
    /// Per class, when its nodes' injection ports are free, and their ejection ports.
    pub free_from: [u32; 4],
    pub open_from: [u32; 4],
    /// Per class, when its injection ports have to be free again.
    pub deadlines: [u32; 4],
}

#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub hops: Hops,
    /// Number in the pool of the octant.
    pub number: usize,
    /// Bits of the packets of the class with the same hops.
    pub equal: u32,
}

impl Stage {
    /// The stage of two residues; ports are free from the beginning.
    pub(super) fn new(pool: &Pool, residues: [u32; 2], phase: u32) -> Self {
        let [a, b] = residues;
        let (lower, upper) = if (b + 4 - a) % 4 == 3 { (b, a) } else { (a, b) };
        let opposite = (upper + 4 - lower) % 4 == 2;
        let mut classes = [lower, upper, lower + 4, upper + 4];
        classes.sort_unstable();
        let packets = classes.map(|class| {
            let wanted = match (opposite, class % 4 == lower) {
                (true, _) => Group::Opposite,
                (false, true) => Group::Above,
                (false, false) => Group::Below,
            };
            let own = (0..).zip(&pool.packets).filter(|(_, packet)| packet.1 == wanted);
            let mut packets: Vec<Packet> =
                own.map(|(number, packet)| Packet { hops: packet.0, number, equal: 0 }).collect();
            for index in 0..packets.len() {
                let same = |(bit, other): (u32, &Packet)| {
                    if other.hops == packets[index].hops { 1 << bit } else { 0 }
                };
                packets[index].equal = (0..).zip(&packets).map(same).sum();
            }
            packets
        });
        Self { classes, packets, phase, free_from: [0; 4], open_from: [0; 4], deadlines: [u32::MAX; 4] }
    }

    /// The class whose nodes a packet in step passes at a time.
    pub(super) fn class_at(&self, time: u32) -> u32 {
        class_after(time, self.phase, true, LINES)
    }

    /// The place of a class among those of the stage.
    pub(super) fn place(&self, class: u32) -> Option<usize> {
        self.classes.iter().position(|&other| other == class)
    }
}
