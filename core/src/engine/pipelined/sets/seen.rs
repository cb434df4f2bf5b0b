//! What others see of sets of channels: what their queues hold, and when flits leave by their links.

use super::{
    super::{
        rules::Rules,
        seen::{Seen, SeenInput, SeenOutput, State},
    },
    state::{Lane, Sets},
};

impl Sets {
    /// Routers that also tell when flits leave by their links.
    pub(in super::super) fn counting(rules: &Rules) -> Self {
        let sets = Self::new(rules, false);
        if sets.layout.queues_up {
            return Self::new(rules, true);
        }
        let leaves_next = (!sets.layout.is_staged).then(Vec::new);
        Self { leaves_next, ..sets }
    }

    /// The output ports by which flits leave in this cycle, among all, before routers do their steps of it.
    pub(super) fn leaving(&mut self) -> impl Iterator<Item = u32> {
        self.leaves_next.iter_mut().flat_map(|outputs| outputs.drain(..))
    }

    /// What routers hold.
    pub(super) fn seen(&self, rules: &Rules) -> Seen {
        let mut states = vec![State::Active; self.lanes.len()];
        for (state, lane) in states.iter_mut().zip(&self.lanes) {
            if lane.is_idle {
                *state = State::Idle;
            }
        }
        for router in &self.routers {
            router.waiting.iter().for_each(|&lane| states[lane as usize] = State::Waiting);
            let routed = router.to_be_routed.iter().chain(&router.routing);
            routed.for_each(|&lane| states[lane as usize] = State::Routing);
        }
        let channels = rules.channels;
        let input = |lane: usize| {
            let Lane { port, channel, count, .. } = self.lanes[lane];
            SeenInput {
                state: states[lane],
                has_flits: count > 0,
                ways: self.ways_of(lane as u32),
                port,
                channel: channel.into(),
            }
        };
        let output = |output: usize, channel: usize| {
            let port = &self.outputs[output];
            SeenOutput {
                is_owned: port.free >> channel & 1 == 0,
                is_full: match &self.shared {
                    Some(behind) => behind.is_full(&rules.policy, output, channel),
                    None => port.full >> channel & 1 == 1,
                },
            }
        };
        let all = |first: u32, ports: u32| {
            let ports = first as usize..(first + ports) as usize;
            ports.flat_map(move |port| (0..channels).map(move |channel| (port, channel)))
        };
        let inputs = |port: usize, channel: usize| input((port << self.layout.channel_bits) + channel);
        Seen {
            inputs: self
                .routers
                .iter()
                .map(|router| {
                    all(router.first_input, router.inputs)
                        .map(|(port, channel)| inputs(port, channel))
                        .collect()
                })
                .collect(),
            outputs: self
                .routers
                .iter()
                .map(|router| {
                    all(router.first_output, router.outputs)
                        .map(|(port, channel)| output(port, channel))
                        .collect()
                })
                .collect(),
        }
    }
}
