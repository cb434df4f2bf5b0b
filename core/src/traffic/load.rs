use super::{Destinations, Packet, Purpose, RouteBook, WorkloadError, draw};
use crate::fabric::NodeId;
use std::sync::Arc;

/// Entries of the table of waiting times; longer waits are drawn piecewise (they have no memory).
const TABLE: usize = 4096;
/// Leading bits of a draw that say where in the table to look.
const GUIDE_BITS: u32 = 10;

/// An open-loop load: every node generates packets at random, whatever the network does, until
/// `cycles`; packets that find the router busy wait in an unbounded source queue.
///
/// In every cycle a node generates a packet with probability `rate / length`. Waiting times are
/// drawn from integer thresholds, so the same seed gives the same packets on any machine.
///
/// ```
/// use flitloom_core::{fabric::Shape, traffic::{OpenLoad, Pattern}};
/// let shape = Shape::torus(&[8, 8])?;
/// let random = Pattern::Random.destinations(&shape, 1)?;
/// let load = OpenLoad::new(random, 0.4, 8, 1000, 1)?;
/// let first = load.packet(0, 0, 0).unwrap();
/// assert_eq!(first.length, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenLoad {
    destinations: Arc<Destinations>,
    length: u32,
    cycles: u64,
    seed: u64,
    /// `survival[k]` is the probability (of 2^64) that the next packet is more than `k` cycles away.
    survival: Arc<[u64]>,
    /// Per leading bits of a draw: the longest wait of any such draw; 0 behind the last.
    guide: Arc<[u16]>,
    book: Option<Arc<dyn RouteBook>>,
}

impl OpenLoad {
    /// A load of `rate` flits per node and cycle in packets of `length` flits, generated in cycles
    /// `0..cycles`.
    ///
    /// # Errors
    /// The rate is not between 0 and 1 flit per node and cycle, or the length is out of range.
    pub fn new(
        destinations: Destinations,
        rate: f64,
        length: u32,
        cycles: u64,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(WorkloadError::Rate(rate));
        }
        if length == 0 || length > super::PacketList::MAX_LENGTH {
            return Err(WorkloadError::Payload(length));
        }
        if cycles > super::PacketList::MAX_START {
            return Err(WorkloadError::Start(cycles));
        }
        // A division is correctly rounded everywhere; from here on only integers are used.
        let probability = (rate / f64::from(length) * super::DRAWS) as u64;
        let stay = u64::MAX - probability.min(u64::MAX - 1);
        let survival: Arc<[u64]> = (0..TABLE)
            .scan(u64::MAX, |left, _| {
                *left = ((u128::from(*left) * u128::from(stay)) >> 64) as u64;
                Some(*left)
            })
            .collect();
        let longest = |leading: u64| survival.partition_point(|&left| leading << (64 - GUIDE_BITS) < left);
        let guide = (0..1 << GUIDE_BITS).map(|leading| longest(leading) as u16).chain([0]).collect();
        let destinations = Arc::new(destinations);
        Ok(Self { destinations, length, cycles, seed, survival, guide, book: None })
    }

    /// Sends every packet over the route that a book has for it.
    pub fn with_book(self, book: Arc<dyn RouteBook>) -> Self {
        Self { book: Some(book), ..self }
    }

    /// Where the packets' routes are looked up, if they do not go by the network's routing function.
    pub fn book(&self) -> Option<&Arc<dyn RouteBook>> {
        self.book.as_ref()
    }

    /// Cycles in which packets are generated.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Flits per packet.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Where the packets go.
    pub fn destinations(&self) -> &Destinations {
        &self.destinations
    }

    /// Packet number `index` of a node, generated at the earliest in cycle `from` (the cycle after
    /// its predecessor's); `None` when the load has ended by then.
    pub fn packet(&self, node: NodeId, index: u64, from: u64) -> Option<Packet> {
        let start = self.start(node, index, from)?;
        let destination = self.destinations.of(node, index);
        Some(Packet { destination, length: self.length, start, slice: 0 })
    }

    /// Generation cycle of packet `index`, as in [`packet`](Self::packet).
    pub fn start(&self, node: NodeId, index: u64, from: u64) -> Option<u64> {
        let mut start = from;
        // Each piece of a long wait takes its own number; 64 pieces are beyond any run's end.
        for piece in 0..64 {
            if start >= self.cycles {
                return None;
            }
            let drawn = draw(self.seed, node, Purpose::Gap, index * 64 + piece);
            let wait = self.wait(drawn);
            start += wait as u64;
            if wait < TABLE {
                return (start < self.cycles).then_some(start);
            }
        }
        None
    }

    /// Cycles more than one until the next packet; `TABLE` if there is none in so many.
    #[inline(always)]
    fn wait(&self, drawn: u64) -> usize {
        let leading = (drawn >> (64 - GUIDE_BITS)) as usize;
        let (least, most) = (self.guide[leading + 1].into(), self.guide[leading].into());
        least + self.survival[least..most].partition_point(|&left| drawn < left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fabric::Shape, traffic::Pattern};

    #[test]
    fn the_rate_is_met() {
        let shape = Shape::torus(&[4, 4]).unwrap();
        for rate in [0.01, 0.3, 1.0] {
            let random = Pattern::Random.destinations(&shape, 5).unwrap();
            let load = OpenLoad::new(random, rate, 4, 400_000, 9).unwrap();
            let (mut from, mut count) = (0, 0_u64);
            while let Some(packet) = load.packet(3, count, from) {
                from = packet.start + 1;
                count += 1;
            }
            let measured = count as f64 * 4.0 / 400_000.0;
            assert!((measured / rate - 1.0).abs() < 0.06, "{rate}: {measured}");
        }
    }

    #[test]
    fn the_guide_does_not_change_a_wait() {
        let shape = Shape::torus(&[4, 4]).unwrap();
        for rate in [1e-6, 0.01, 0.5, 1.0] {
            let random = Pattern::Random.destinations(&shape, 5).unwrap();
            let load = OpenLoad::new(random, rate, 1, 100, 9).unwrap();
            let random = (0..1000).map(|index| draw(3, 0, Purpose::Gap, index));
            for drawn in random.chain([0, 1, u64::MAX, u64::MAX - 1]) {
                let whole = load.survival.iter().position(|&left| drawn >= left).unwrap_or(TABLE);
                assert_eq!(load.wait(drawn), whole, "{rate}: {drawn}");
            }
        }
    }

    #[test]
    fn a_certain_packet_comes_every_cycle() {
        let shape = Shape::torus(&[4, 4]).unwrap();
        let random = Pattern::Random.destinations(&shape, 5).unwrap();
        let load = OpenLoad::new(random, 1.0, 1, 100, 9).unwrap();
        assert!((0..100).all(|cycle| load.start(1, cycle, cycle) == Some(cycle)));
        assert_eq!(load.start(1, 100, 100), None);
    }
}
