//! Routers as lists, as BookSim2's router is described: a readable reference, which the forms of routers are held against.

mod router;
mod step;
mod switch;

use super::{
    breach::Breach,
    flit::{Flit, Packets},
    routers::{Cycle, Event, NodePorts, Records, Routers},
    rules::Rules,
    seen::{Seen, SeenInput, SeenOutput},
    source::Source,
    wiring::End,
};
use crate::{bits::ones, fabric::LinkId, save::Archive, visit::Visited};
use router::{Input, LAST, Router, World};

/// What is on its way and arrives in some cycle.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Flits for routers, with ports; credits for routers, with output ports and channels.
    flits: Vec<(u32, u16, Flit)>,
    credits: Vec<(u32, u16, u16)>,
    /// Flits for sinks, credits for sources.
    sinks: Vec<(u32, Flit)>,
    sources: Vec<(u32, u16)>,
}

/// All routers of a subnet.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    routers: Vec<Router>,
    /// A bit per router that has something to do.
    at_work: Vec<u64>,
    wheel: Vec<Slot>,
    credits_under_way: usize,
}

impl Lists {
    /// Routers without flits.
    pub(super) fn new(rules: &Rules) -> Self {
        let routers = rules.wiring.routers();
        let slots = rules.wiring.longest() + 2 + rules.credit_delay;
        Self {
            routers: (0..routers as u32).map(|number| Router::new(number, rules)).collect(),
            at_work: vec![0; routers.div_ceil(64)],
            wheel: vec![Slot::default(); slots as usize],
            credits_under_way: 0,
        }
    }

    fn slot(&mut self, time: u32) -> &mut Slot {
        let at = time as usize % self.wheel.len();
        &mut self.wheel[at]
    }

    fn send_from(&mut self, number: usize, cycle: &mut Cycle<'_>) {
        let Self { routers, wheel, credits_under_way, .. } = self;
        let Cycle { now, rules, packets, shared, .. } = cycle;
        let (now, packets) = (*now, &**packets);
        let Records { links, wants, events } = &mut shared.records;
        let router = &mut routers[number];
        let first_output = router.first_output as usize;
        if wants.blocked {
            let link = |port: u16| Event::Blocked((first_output + usize::from(port)) as LinkId);
            events.extend(router.stopped_outputs(rules).map(link));
        }
        let slots = wheel.len() as u32;
        let (inputs, outputs) = (rules.wiring.inputs(number as u32), rules.wiring.outputs(number as u32));
        let Router { busy_outputs, busy_credits, output, credits, .. } = router;
        busy_outputs.retain(|&port| {
            let queue = &mut output[usize::from(port)];
            let Some(flit) = queue.pop_front() else { return false };
            let link = &outputs[usize::from(port)];
            let at = first_output + usize::from(port);
            if let Some(links) = links {
                links.add(at, now.into());
            }
            if let (true, End::Router(..)) = (wants.flits, link.end) {
                events.push(Event::Crosses(at as LinkId, flit.channel as u8, packets.seen(&flit)));
            }
            let slot = &mut wheel[((now + link.latency + 1) % slots) as usize];
            match link.end {
                End::Router(there, port) => slot.flits.push((there, port, flit)),
                End::Node(node) => slot.sinks.push((node, flit)),
                End::Nothing => {}
            }
            !queue.is_empty()
        });
        busy_credits.retain(|&port| {
            let queue = &mut credits[usize::from(port)];
            let link = &inputs[usize::from(port)];
            while let Some(channel) = queue.pop_front() {
                *credits_under_way += 1;
                match link.end {
                    End::Router(there, port) => {
                        let late = now + link.latency + 1 + rules.credit_delay;
                        wheel[(late % slots) as usize].credits.push((there, port, channel & !LAST));
                    }
                    End::Node(node) => {
                        let late = now + link.latency + 1;
                        wheel[(late % slots) as usize].sources.push((node, channel & !LAST));
                    }
                    End::Nothing => *credits_under_way -= 1,
                }
                if channel & LAST != 0 {
                    break;
                }
            }
            !queue.is_empty()
        });
    }
}

impl NodePorts for Lists {
    fn inject_flit(&mut self, node: u32, flit: &Flit, cycle: &mut Cycle<'_>) {
        let Cycle { now, rules, packets, shared, .. } = cycle;
        if shared.records.wants.flits && flit.is_head() {
            shared.records.events.push(Event::Injected(packets.seen(flit)));
        }
        let (router, port) = rules.wiring.entries[node as usize];
        let latency = rules.wiring.inputs(router)[usize::from(port)].latency;
        self.slot(*now + latency + 1).flits.push((router, port, *flit));
    }

    fn eject_flit(&mut self, node: u32, flit: &Flit, cycle: &Cycle<'_>) {
        let rules = cycle.rules;
        let (router, port) = rules.wiring.exits[node as usize];
        let latency = rules.wiring.outputs(router)[usize::from(port)].latency;
        self.credits_under_way += 1;
        let late = cycle.now + latency + 1 + rules.credit_delay;
        self.slot(late).credits.push((router, port, flit.channel));
    }
}

impl<S: Source> Routers<S> for Lists {
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>) {
        let Cycle { now, rules, shared, .. } = cycle;
        let at = *now as usize % self.wheel.len();
        let slot = &mut self.wheel[at];
        self.credits_under_way -= slot.credits.len() + slot.sources.len();
        // Sinks retire in the order of their nodes.
        slot.sinks.sort_unstable_by_key(|&(node, _)| node);
        arrived.append(&mut slot.sinks);
        for (node, channel) in slot.sources.drain(..) {
            shared.sources.credit(&rules.policy, node as usize, usize::from(channel));
        }
        for (router, port, flit) in slot.flits.drain(..) {
            self.routers[router as usize].flits_arriving.push((port, flit));
            self.at_work[router as usize / 64] |= 1 << (router % 64);
        }
        for (router, port, channel) in slot.credits.drain(..) {
            self.routers[router as usize].credits_arriving.push((port, channel));
            self.at_work[router as usize / 64] |= 1 << (router % 64);
        }
    }

    fn step(&mut self, cycle: &mut Cycle<'_>, steps: u32) -> Option<Breach> {
        let mut breach = None;
        let Cycle { now, rules, packets, numbers, shared } = cycle;
        let mut world = World {
            now: *now,
            rules,
            packets,
            numbers: &mut **numbers,
            load: &mut shared.load,
            breach: &mut breach,
        };
        for (word, &set) in self.at_work.iter().enumerate() {
            for bit in ones(set) {
                let router = &mut self.routers[word * 64 + bit];
                router.arrive(&mut world);
                for _ in 0..steps {
                    router.step(&mut world);
                }
            }
        }
        breach
    }

    fn send(&mut self, cycle: &mut Cycle<'_>) {
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                self.send_from(word * 64 + bit, cycle);
                if self.routers[word * 64 + bit].is_at_rest() {
                    self.at_work[word] &= !(1 << bit);
                }
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.credits_under_way == 0 && self.routers.iter().all(|router| router.busy_credits.is_empty())
    }

    fn see(&self, rules: &Rules) -> Option<Seen> {
        let input = |input: &Input| SeenInput {
            state: input.state,
            has_flits: !input.queue.is_empty(),
            ways: input.ways,
            port: input.port,
            channel: input.channel,
        };
        let outputs = |router: &Router| {
            let each = (0..router.output.len())
                .flat_map(|port| (0..rules.channels).map(move |channel| (port, channel)));
            let seen = |(port, channel)| SeenOutput {
                is_owned: router.behind.channel(port, channel).is_owned,
                is_full: router.behind.is_full(&rules.policy, port, channel),
            };
            each.map(seen).collect()
        };
        Some(Seen {
            inputs: self.routers.iter().map(|router| router.inputs.iter().map(input).collect()).collect(),
            outputs: self.routers.iter().map(outputs).collect(),
        })
    }

    fn queued(&self, router: usize, port: usize, channel: usize, rules: &Rules) -> usize {
        self.routers[router].inputs[port * rules.channels + channel].queue.len()
    }

    /// Nobody saves it.
    fn visit(&mut self, _rules: &Rules, _packets: &Packets, _archive: &mut Archive) -> Visited {
        Ok(())
    }

    fn form(&self) -> &'static str {
        "lists"
    }
}
