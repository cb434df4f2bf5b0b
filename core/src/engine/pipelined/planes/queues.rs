//! Which packets are in which queue.

use super::records::{Head, Record};

/// The queues of all input channels, and then those to nodes, by node and channel.
#[derive(Clone)]
pub(super) struct Queues {
    pub records: Vec<Record>,
    /// Packets behind the first of a queue: in a ring, by place and queue.
    rings: Vec<u32>,
    ring: u8,
    /// By place of a packet.
    heads: Vec<Head>,
}

impl Queues {
    /// So many empty queues for so many flits.
    pub(super) fn new(queues: usize, places: u32) -> Self {
        let ring = (places as usize + 1).next_power_of_two();
        Self {
            records: vec![Record::default(); queues],
            rings: vec![0; queues * ring],
            ring: (ring - 1) as u8,
            heads: Vec::new(),
        }
    }

    /// A packet enters a queue.
    #[inline(always)]
    pub(super) fn enter(&mut self, queue: usize, packet: u32) {
        let count = self.records.len();
        let record = &mut self.records[queue];
        if record.entered == record.left {
            record.front = packet;
        } else {
            self.rings[usize::from(record.entered & self.ring) * count + queue] = packet;
        }
        record.entered = record.entered.wrapping_add(1);
    }

    /// The packet at the front leaves a queue.
    #[inline(always)]
    pub(super) fn leave(&mut self, queue: usize) {
        let count = self.records.len();
        let record = &mut self.records[queue];
        record.left = record.left.wrapping_add(1);
        if record.entered != record.left {
            record.front = self.rings[usize::from(record.left & self.ring) * count + queue];
        }
    }

    /// The packets of a queue, the first one first.
    pub(super) fn packets(&self, queue: usize) -> Vec<u32> {
        let Record { front, entered, left, .. } = self.records[queue];
        let place = |at: u8| usize::from(left.wrapping_add(at) & self.ring) * self.records.len() + queue;
        let behind = (1..entered.wrapping_sub(left)).map(|at| self.rings[place(at)]);
        std::iter::once(front).filter(|_| entered != left).chain(behind).collect()
    }

    /// Takes down what headers say of the packet at a place.
    pub(super) fn learn(&mut self, place: u32, head: Head) {
        let at = place as usize;
        if at >= self.heads.len() {
            self.heads.resize((at + 1).next_power_of_two(), Head::default());
        }
        self.heads[at] = head;
    }

    /// What is known of the packet at the front of a queue.
    #[inline(always)]
    pub(super) fn front(&self, queue: usize) -> Head {
        self.heads[self.records[queue].front as usize]
    }
}
