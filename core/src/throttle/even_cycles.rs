//! Headers leave in even cycles only. It exists in tests only, as the example of a throttle that is this
//! file and a line in the list.

use super::{
    Ask, Claims, Parameter, Seen, Surroundings,
    rule::{AtWork, Rule, number},
};

/// `even`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct EvenCycles {
    /// Cycles are counted from here.
    offset: u64,
}

impl Rule for EvenCycles {
    const NAME: &'static str = "even";
    const SUMMARY: &'static str = "headers leave in even cycles only";
    const PARAMETERS: &'static [Parameter] = &[Parameter::new("offset", "a number of cycles, 0 or 1")];
    type AtWork = Self;

    fn set(&mut self, _offset: &str, value: &str) -> Option<()> {
        self.offset = number(value, 0, 1)?;
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![Some(self.offset.to_string())]
    }

    fn claims(self) -> Claims {
        Claims { signals: false, sums: false, may_starve: false }
    }

    fn begin(self, _around: Surroundings) -> Self {
        self
    }
}

impl EvenCycles {
    /// Whether headers may leave in a cycle.
    pub(crate) fn lets_go(self, cycle: u64) -> bool {
        (cycle + self.offset).is_multiple_of(2)
    }
}

impl AtWork for EvenCycles {
    fn may_begin(&self, cycle: u64, _ask: &Ask, _seen: &impl Seen) -> bool {
        self.lets_go(cycle)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        engine::{Network, Options, general},
        fabric::{Fabric, Shape},
        probe::PacketRecords,
        router::RouterConfig,
        throttle::Throttle,
        traffic::{Packet, PacketList, Workload},
    };

    /// One packet of every node to the next, so that none waits for another.
    fn injected(throttle: Throttle) -> Vec<u64> {
        let shape = Shape::torus(&[6, 5]).unwrap();
        let packet = |node: u32| Packet {
            destination: node / 6 * 6 + (node + 1) % 6,
            length: 4,
            start: u64::from(node),
            slice: 0,
        };
        let list = PacketList::from_nodes((0..30).map(|node| [packet(node)])).unwrap();
        let network = Network::new(Fabric::new(shape.clone()), RouterConfig::for_shape(&shape)).unwrap();
        let mut records = PacketRecords::default();
        let options = Options { throttle, ..Options::default() };
        general::simulate(&network, &Workload::Packets(list), &options, &mut records).unwrap();
        records.into_sorted().iter().map(|record| record.injected).collect()
    }

    #[test]
    fn a_throttle_is_one_file_and_one_line() {
        assert_eq!(injected(Throttle::None), Vec::from_iter(0..30));
        let even: Throttle = "even".parse().unwrap();
        assert_eq!(injected(even), Vec::from_iter((0..30).map(|start: u64| start.next_multiple_of(2))));
        let odd: Throttle = "even:1".parse().unwrap();
        assert_eq!(odd.to_string(), "even:offset=1");
        assert_eq!(injected(odd), Vec::from_iter((0..30).map(|start| start | 1)));
        let error = "even:offset=2".parse::<Throttle>().unwrap_err().to_string();
        assert_eq!(error, "throttle even: offset is \"2\"; it must be a number of cycles, 0 or 1");
    }
}
