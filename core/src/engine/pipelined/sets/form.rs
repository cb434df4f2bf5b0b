//! Sets of channels as a form of routers.

use super::{
    super::{
        breach::Breach,
        flit::{Flit, Packets},
        routers::{AnyRouters, Cycle, Event, NodePorts, Parts, Routers, Wanted},
        rules::Rules,
        seen::Seen,
        source::Source,
    },
    Sets,
    divided::Divided,
    links::{way_back, way_in},
    state::marked,
    step::Around,
};
use crate::{save::Archive, visit::Visited};

impl Sets {
    /// Routers without flits. They keep a number for every flit under way.
    pub(in super::super) fn make<S: Source>(rules: &Rules, wanted: Wanted) -> AnyRouters<S> {
        Box::new(match wanted {
            Wanted { records: true, .. } => Self::new(rules, true),
            Wanted { links: true, .. } => Self::counting(rules),
            _ => Self::new(rules, false),
        })
    }
}

impl NodePorts for Sets {
    #[inline]
    fn inject_flit(&mut self, node: u32, flit: &Flit, cycle: &mut Cycle<'_>) {
        let (lane, delay) = way_in(cycle.rules, node, flit.channel, self.layout.channel_bits);
        cycle.packets.note_sent(flit, cycle.now);
        let records = &mut cycle.shared.records;
        if records.wants.flits && flit.is_head() {
            records.events.push(Event::Injected(cycle.packets.seen(flit)));
        }
        self.flits.view().push(cycle.now + delay, false, lane, marked(flit));
    }

    #[inline]
    fn eject_flit(&mut self, node: u32, flit: &Flit, cycle: &Cycle<'_>) {
        let (place, delay) = way_back(cycle.rules, node, flit.channel, self.layout.channel_bits);
        self.credits_under_way += 1;
        self.credits.view().push(cycle.now + delay, false, place, 0);
    }
}

impl<S: Source> Routers<S> for Sets {
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>) {
        let Cycle { now, rules, packets, shared, .. } = cycle;
        self.take_arriving(*now, rules, packets, shared, arrived);
    }

    fn step(&mut self, cycle: &mut Cycle<'_>, steps: u32) -> Option<Breach> {
        let Cycle { now, rules, packets, numbers, shared } = cycle;
        if let Some(links) = &mut shared.records.links {
            self.leaving().for_each(|output| links.add(output as usize, (*now).into()));
        }
        let mut around = Around::new((*now, steps), rules, packets, &mut **numbers, &mut shared.load);
        if self.layout.in_turn {
            return self.work_in_turn(&mut around);
        }
        self.work(&mut around);
        None
    }

    fn send(&mut self, cycle: &mut Cycle<'_>) {
        if self.layout.in_turn {
            self.send_in_turn(cycle);
        }
    }

    fn is_quiet(&self) -> bool {
        self.credits_under_way == 0
    }

    fn see(&self, rules: &Rules) -> Option<Seen> {
        Some(self.seen(rules))
    }

    fn queued(&self, router: usize, port: usize, channel: usize, _rules: &Rules) -> usize {
        let input = self.routers[router].first_input as usize + port;
        self.lanes[(input << self.layout.channel_bits) + channel].count as usize
    }

    fn under_way(&self, packets: usize) -> Option<Vec<u32>> {
        Some(self.flits_of_packets(packets))
    }

    fn visit(&mut self, rules: &Rules, packets: &Packets, archive: &mut Archive) -> Visited {
        self.fields(rules, packets, archive)
    }

    fn is_divisible(&self, rules: &Rules) -> bool {
        self.leaves_next.is_some() && self.has_parts(rules)
    }

    fn divide(
        &mut self,
        cycle: &mut Cycle<'_>,
        (parts, own): (usize, usize),
        of_nodes: f64,
    ) -> Option<Parts<S>> {
        let links = cycle.shared.records.links.take()?;
        let borders = self.borders(parts, cycle.rules, of_nodes);
        let at = (cycle.now, cycle.rules, &*cycle.packets);
        let (divided, workers) = Divided::new(std::mem::take(self), links, at, borders, own);
        let exchange = divided.exchange().clone();
        Some((Box::new(divided), exchange, workers))
    }

    fn form(&self) -> &'static str {
        "sets"
    }
}
