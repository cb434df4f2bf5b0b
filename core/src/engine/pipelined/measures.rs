//! What is counted and measured.

use crate::{
    save::{Archive, plain_record},
    visit::Visited,
};

/// Delays of packets or flits in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// How many were measured.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least.
    pub least: u64,
    /// The largest.
    pub most: u64,
}

plain_record!(Delays { count: u64, sum: u64, least: u64, most: u64 });

impl Delays {
    /// Adds one; true if none was larger.
    pub(crate) fn add(&mut self, delay: u64) {
        self.least = if self.count == 0 { delay } else { self.least.min(delay) };
        self.most = self.most.max(delay);
        self.count += 1;
        self.sum += delay;
    }

    /// The mean; NaN if there is none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }
}

/// Counts by node over a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Per node.
    pub counts: Vec<u64>,
}

impl Rates {
    /// The sum.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The first node with the least count, and the first with the largest.
    #[must_use]
    pub fn extremes(&self) -> (usize, usize) {
        let (mut least, mut most) = (0, 0);
        for (node, &count) in self.counts.iter().enumerate() {
            if count < self.counts[least] {
                least = node;
            }
            if count > self.counts[most] {
                most = node;
            }
        }
        (least, most)
    }
}

/// What was measured of one class since counts were cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassFacts {
    /// From the making of a packet to its tail's arrival.
    pub packet: Delays,
    /// From the sending of the header to the tail's arrival.
    pub network: Delays,
    /// From the sending of a flit to its arrival.
    pub flit: Delays,
    /// What the tail came later than it could have after the header.
    pub fragmentation: Delays,
    /// Routers passed.
    pub hops: Delays,
    /// The packet and the flit with the largest delay, -1 if there is none.
    pub slowest_packet: i64,
    /// As above.
    pub slowest_flit: i64,
    /// Packets and flits sent, then packets and flits delivered.
    pub sent_packets: Rates,
    /// As above.
    pub sent_flits: Rates,
    /// As above.
    pub delivered_packets: Rates,
    /// As above.
    pub delivered_flits: Rates,
    /// Flits made and not delivered, and those of them that are measured.
    pub in_flight: u64,
    /// As above.
    pub measured_in_flight: u64,
}

impl ClassFacts {
    pub(crate) fn new(nodes: usize) -> Self {
        let none = Rates { counts: vec![0; nodes] };
        Self {
            slowest_packet: -1,
            slowest_flit: -1,
            sent_packets: none.clone(),
            sent_flits: none.clone(),
            delivered_packets: none.clone(),
            delivered_flits: none,
            ..Self::default()
        }
    }

    /// What was counted.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self {
            packet,
            network,
            flit,
            fragmentation,
            hops,
            slowest_packet,
            slowest_flit,
            sent_packets,
            sent_flits,
            delivered_packets,
            delivered_flits,
            in_flight,
            measured_in_flight,
        } = self;
        for delays in [packet, network, flit, fragmentation, hops] {
            archive.number("delays", delays)?;
        }
        archive.number("slowest packet", slowest_packet)?;
        archive.number("slowest flit", slowest_flit)?;
        for Rates { counts } in [sent_packets, sent_flits, delivered_packets, delivered_flits] {
            archive.slice("counts by node", counts)?;
        }
        archive.number("flits in flight", in_flight)?;
        archive.number("measured flits in flight", measured_in_flight)
    }

    /// Forgets everything but what is in flight.
    pub(crate) fn clear(&mut self) {
        let nodes = self.sent_flits.counts.len();
        let (all, measured) = (self.in_flight, self.measured_in_flight);
        *self = Self { in_flight: all, measured_in_flight: measured, ..Self::new(nodes) };
    }
}
