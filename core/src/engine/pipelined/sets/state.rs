//! What sets of channels remember.

use super::super::{
    allocators::{Allocator, AllocatorKind, Request},
    buffers::{Behind, Policy},
    flit::Flit,
    priority::Priority,
    routing::Routing,
    rules::Rules,
    wiring::{End, Link},
};
use super::{
    common::Common,
    matrix,
    wheel::{Wheel, WheelView},
};

/// The mark of a packet's first flit, and of its last one; the rest of a flit is the place of its packet.
pub(in super::super) const HEAD: u32 = 1 << 31;
pub(in super::super) const TAIL: u32 = 1 << 30;
/// The place of a packet in a flit.
pub(in super::super) const PACKET: u32 = TAIL - 1;
/// A flit with its marks.
pub(in super::super) fn marked(flit: &Flit) -> u32 {
    let marks = if flit.is_head() { HEAD } else { 0 } | if flit.is_tail() { TAIL } else { 0 };
    flit.packet | marks
}

/// No input channel, no channel.
pub(in super::super) const NOBODY: u32 = u32::MAX;
/// Most places of a queue.
const MOST_PLACES: u32 = 128;
/// Most flits that queue behind the crossbar.
const MOST_BEHIND: u32 = 512;

/// An input channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Lane {
    /// The place of its first flit, and how many it has.
    pub head: u8,
    pub count: u8,
    pub is_idle: bool,
    /// Whether it has an output channel that is not full.
    pub may_send: bool,
    /// Whether it has won the switch in this step without an output channel.
    pub has_won: bool,
    /// Its output port, 255 for none, and while it waits the first and the last channel there that it may have.
    pub port: u8,
    pub first: u8,
    pub last: u8,
    /// The output channel that it has.
    pub channel: u8,
}

/// Where a link leads: the first channel of a port or of a node; and after how many cycles what a router does in one
/// arrives there.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Far {
    pub first: u32,
    pub delay: u32,
    pub is_node: bool,
    pub is_wired: bool,
    /// Whether it is put on the lists of what leaves these routers: what goes to nodes, and to the routers of other parts.
    pub leaves: bool,
}

/// An input port.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct InputPort {
    pub router: u32,
    /// Its number at the router, its first sub-port there, and its sub-port of every output.
    pub local: u32,
    pub first_inner: u32,
    pub outer: u32,
    /// Where requests of the switch fit in words: its word, and its first input there.
    pub block: u32,
    pub first_row: u32,
    /// Where its credits go.
    pub far: Far,
}

/// An output port.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct OutputPort {
    /// Bits per channel: without owner, and full.
    pub free: u64,
    pub full: u64,
    /// Common places in use, where there are any.
    pub common: u32,
    pub far: Far,
}

/// When queues behind the crossbar let go what is added next, in cycles of these routers: by output port a flit, by
/// input port a message of credits, with the step in which the last one was made.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Leaving {
    pub flits: Vec<u32>,
    pub credits: Vec<(u32, u32)>,
    /// Cycles, and steps.
    pub cycle: u32,
    pub step: u32,
}

/// An output channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Known {
    /// The input channel that has it.
    pub owner: u32,
    /// Flits in the queue behind it or on their way.
    pub used: u8,
    /// Places kept for its owner, where places are common.
    pub reserved: u8,
    pub tail_sent: bool,
}

/// A router.
#[derive(Clone, Debug)]
pub(in super::super) struct Router {
    /// Its first ports among all.
    pub first_input: u32,
    pub first_output: u32,
    pub inputs: u32,
    pub outputs: u32,
    /// Input channels whose ways are to be computed, those for which that is under way, and when it is done.
    pub to_be_routed: Vec<u32>,
    pub routing: Vec<u32>,
    pub routed_at: u32,
    /// Input channels that wait for an output channel.
    pub waiting: Vec<u32>,
    /// How long both lists were when the cycle began.
    pub old: (usize, usize),
}

impl Router {
    /// Input sub-ports that ask for the output sub-ports of a number.
    #[inline(always)]
    pub(in super::super) fn rows(&self, class: u32, input_speedup: u32, output_speedup: u32) -> u32 {
        if output_speedup == 1 {
            return self.inputs * input_speedup;
        }
        (self.inputs + output_speedup - 1 - class) / output_speedup * input_speedup
    }
}

/// What is used within a step only.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Scratch {
    /// By sub-port the outputs that it asks for, and offers.
    pub by_input: Vec<u64>,
    pub offers: Vec<u64>,
    /// Winners of the switch: router, input channel, output.
    pub winners: Vec<(u32, u32, u32)>,
    /// What arrives.
    pub arriving: Vec<u64>,
    /// By entry of the list of those that wait the channel that it was given.
    pub given: Vec<u32>,
    pub activated: Vec<Activated>,
    pub asks: Vec<Ask>,
    /// By output channel the ask that is nearest to its turn.
    pub best: Vec<u32>,
    /// By input port and output of a router the channels that ask for the switch while they wait.
    pub speculative: Vec<u64>,
    pub requests: Vec<Request>,
    pub list: Vec<u32>,
}

/// An input channel that was given a channel of its output: its router, and its place in the list of those that waited.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Activated {
    pub router: u32,
    pub lane: u32,
    pub channel: u32,
    pub entry: u32,
}

/// An entry of the list of those that wait, the channels that it may have, and those that it looks at.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Ask {
    pub entry: u32,
    pub lane: u32,
    pub port: u32,
    pub set: u64,
    pub looks: u64,
}

/// All routers of a subnet.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sets {
    /// The channels of a port, and the flits of a queue, stand this far apart, as powers of two.
    pub(in super::super) channel_bits: u32,
    pub(in super::super) place_bits: u32,
    pub(in super::super) channels: u32,
    pub(in super::super) places: u32,
    /// Input and output ports of a router are this far apart among all requests, as a power of two.
    pub(in super::super) output_bits: u32,
    /// Whether requests of the switch fit in words, one for the inputs of every output sub-port.
    pub(in super::super) is_small: bool,
    pub(in super::super) input_speedup: u32,
    pub(in super::super) output_speedup: u32,
    /// By sub-port of an input port its channels, and by channel its sub-port.
    pub(in super::super) subs: Vec<u64>,
    pub(in super::super) sub_of: Vec<u8>,
    /// By input sub-port of a router its port, and by output sub-port.
    pub(in super::super) input_of: Vec<u8>,
    pub(in super::super) output_of: Vec<u8>,
    pub(in super::super) input_first: bool,
    pub(in super::super) iterations: u32,
    /// Whether the order of lists decides on drawn numbers or on the order of flits behind the crossbar; whether ways
    /// draw numbers, and whether they depend on the load.
    pub(in super::super) keeps_order: bool,
    pub(in super::super) draws: bool,
    pub(in super::super) goes_by_load: bool,
    pub(in super::super) has_priorities: bool,
    /// Whether an input channel has the priority of its packet.
    pub(in super::super) is_by_packet: bool,
    /// Whether ways are those of dimension order on a mesh, in all channels of a packet.
    pub(in super::super) is_straight: bool,
    /// Whether queues have places of their own, and neither priorities nor loads are kept.
    pub(in super::super) is_lean: bool,
    /// The number of the first of these routers among all.
    pub(in super::super) first_router: u32,
    pub(in super::super) routers: Vec<Router>,
    /// A bit per router where input channels wait for a way or an output channel.
    pub(in super::super) at_work: Vec<u64>,
    /// By router who asks for which output: words of requests, or a bit per output.
    pub(in super::super) asks: Vec<u64>,
    /// Turns of the switch allocator for words of requests.
    pub(in super::super) grant_bytes: Vec<[u8; 8]>,
    pub(in super::super) accept_bytes: Vec<[u8; 8]>,
    /// By input port and output of its router a bit per channel that is active there, has a flit, and is not full
    /// behind the output.
    pub(in super::super) ready: Vec<u64>,
    pub(in super::super) inputs: Vec<InputPort>,
    pub(in super::super) outputs: Vec<OutputPort>,
    /// Where requests of the switch do not fit in a word: by output sub-port a bit per input sub-port that asks.
    pub(in super::super) asked_by: Vec<u64>,
    pub(in super::super) lanes: Vec<Lane>,
    pub(in super::super) queues: Vec<u32>,
    pub(in super::super) known: Vec<Known>,
    /// What is known of queues that share places: how they do, if no more than common places are shared, or all.
    pub(in super::super) common: Option<Common>,
    pub(in super::super) shared: Option<Behind>,
    /// With priorities: of every flit in a queue, of every input channel, and which flit of its packet came in last.
    pub(in super::super) stamps: Vec<i32>,
    pub(in super::super) priorities: Vec<i32>,
    pub(in super::super) latest: Vec<u32>,
    /// Turns of the channel allocator by input and by output channel; of the switch allocator by input sub-port and by
    /// output port; among the channels of an input sub-port.
    pub(in super::super) accepts: Vec<u16>,
    pub(in super::super) grants: Vec<u16>,
    pub(in super::super) switch_accepts: Vec<u8>,
    pub(in super::super) switch_grants: Vec<u8>,
    pub(in super::super) turns: Vec<u8>,
    /// Allocators by router, where they go by more than words.
    pub(in super::super) channel_allocators: Vec<Allocator>,
    pub(in super::super) switch_allocators: Vec<Allocator>,
    /// Where order matters, by input channel its place among those that cross.
    pub(in super::super) order: Vec<i64>,
    /// Whether flits and credits may queue behind the crossbar.
    pub(in super::super) queues_up: bool,
    pub(in super::super) leaving: Leaving,
    pub(in super::super) flits: Wheel,
    pub(in super::super) credits: Wheel,
    pub(in super::super) credits_under_way: usize,
    /// Outputs whose flits leave in the next cycle, if links are counted.
    pub(in super::super) leaves_next: Option<Vec<u32>>,
    pub(in super::super) scratch: Scratch,
}

impl Sets {
    /// Whether routers with these rules are sets.
    fn covers(rules: &Rules, goes_by_load: bool, draws: bool) -> bool {
        let most = rules.wiring.most_ports() * rules.input_speedup;
        let most_outer = rules.wiring.most_ports() * rules.output_speedup;
        // These draw, or count how often they are asked.
        let is_odd = |kind| matches!(kind, AllocatorKind::Pim(_) | AllocatorKind::MaxSize);
        rules.routing != Routing::MinimalAdaptive
            && !rules.shuffles
            && !rules.prefers_empty
            && !is_odd(rules.channel_allocator)
            && !is_odd(rules.switch_allocator)
            && most <= 64
            && most_outer <= 64
            && (!rules.is_speculative
                || most <= 8
                    && !draws
                    && rules.output_speedup == 1
                    && rules.speculative_allocator.is_none())
            // Round trips fill a channel as time goes by.
            && !rules.policy.goes_by_round_trips()
            && !rules.policy.can_run_out(rules.channels)
            // Two flits of a step may take the last shared place, and each sees the queue behind the crossbar.
            && (rules.output_speedup == 1
                || matches!(rules.policy, Policy::Private(_)) && rules.output_places.is_none())
            && rules.crossbar_delay == 1
            && !rules.holds_switch
            && !rules.is_piggyback
            && !rules.cuts_by_next_port
            && rules.output_places != Some(0)
            // Ways that are computed ahead see the load of routers that have not taken their credits yet.
            && !(goes_by_load && rules.routing_delay == 0)
    }

    /// Routers without flits; `None` if these rules make them other than sets.
    pub(in super::super) fn new(rules: &Rules) -> Option<Self> {
        let wiring = &rules.wiring;
        let goes_by_load = match &rules.network {
            Some(network) => network.goes_by_load(),
            None => rules.routing == Routing::AdaptiveXyYx,
        };
        let places = match &rules.policy {
            Policy::Private(places) => *places,
            Policy::Shared(sharing) => sharing.places,
        };
        if places > MOST_PLACES {
            return None;
        }
        let draws = match &rules.network {
            Some(network) => network.draws(),
            None => {
                rules.shape.wraps
                    || !matches!(rules.routing, Routing::DimensionOrder | Routing::PlanarAdaptive)
            }
        };
        if !Self::covers(rules, goes_by_load, draws) {
            return None;
        }
        let keeps_order = draws || rules.output_speedup > 1;
        let queues_up = rules.output_speedup > 1 || rules.internal_speedup > 1.0;
        // All flits behind a port, or their credits, may queue up.
        let behind = match &rules.policy {
            Policy::Private(places) => places * rules.channels as u32,
            Policy::Shared(sharing) => sharing.places,
        };
        if queues_up && behind > MOST_BEHIND {
            return None;
        }
        let has_priorities = rules.priority != Priority::None;
        // Allocators that words do for, which know no priorities.
        let is_word = |kind: AllocatorKind, most: u32, others: bool| match kind {
            AllocatorKind::Islip(times) => times <= most,
            kind => kind.is_plain(1) && !has_priorities && !others,
        };
        let channel_bits = rules.channels.next_power_of_two().trailing_zeros();
        let place_bits = places.next_power_of_two().trailing_zeros();
        let all = 0..wiring.routers() as u32;
        let (mut routers, mut first_inputs) = (Vec::new(), 0);
        for router in all.clone() {
            let (inputs, outputs) = (wiring.inputs(router).len(), wiring.outputs(router).len());
            routers.push(Router {
                first_input: first_inputs,
                first_output: wiring.output(router, 0) as u32,
                inputs: inputs as u32,
                outputs: outputs as u32,
                to_be_routed: Vec::new(),
                routing: Vec::new(),
                routed_at: 0,
                waiting: Vec::new(),
                old: (0, 0),
            });
            first_inputs += inputs as u32;
        }
        let far = |link: &Link, of_inputs: bool| {
            let is_router = matches!(link.end, End::Router(..));
            let more = if of_inputs && is_router { 1 + rules.credit_delay } else { 1 };
            let (first, is_node, is_wired) = match link.end {
                End::Router(there, port) => {
                    let there = &routers[there as usize];
                    let first = if of_inputs { there.first_output } else { there.first_input };
                    ((first + u32::from(port)) << channel_bits, false, true)
                }
                End::Node(node) => (node << channel_bits, true, true),
                End::Nothing => (0, false, false),
            };
            Far { first, delay: link.latency + more, is_node, is_wired, leaves: is_node }
        };
        let every =
            if channel_bits == 6 && rules.channels == 64 { u64::MAX } else { (1 << rules.channels) - 1 };
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for router in all {
            for (local, link) in wiring.inputs(router).iter().enumerate() {
                let far = far(link, true);
                inputs.push(InputPort {
                    router,
                    local: local as u32,
                    first_inner: (local * rules.input_speedup) as u32,
                    outer: (local % rules.output_speedup) as u32,
                    block: (router as usize * rules.output_speedup + local % rules.output_speedup) as u32,
                    first_row: (local / rules.output_speedup * rules.input_speedup) as u32,
                    far,
                });
            }
            for link in wiring.outputs(router) {
                outputs.push(OutputPort { free: every, full: 0, common: 0, far: far(link, false) });
            }
        }
        let (lanes, known) = (inputs.len() << channel_bits, outputs.len() << channel_bits);
        let idle = Lane {
            head: 0,
            count: 0,
            is_idle: true,
            may_send: false,
            has_won: false,
            port: 255,
            first: 0,
            last: 0,
            channel: 0,
        };
        let subs = inputs.len() * rules.input_speedup;
        let most = wiring.most_ports();
        let allocators = |kind: AllocatorKind, is_plain: bool, channels: usize| {
            let sizes = routers.iter().map(|router| (router.inputs as usize, router.outputs as usize));
            let sizes = sizes.filter(|_| !is_plain).map(|(inputs, outputs)| match channels {
                0 => (inputs * rules.input_speedup, outputs * rules.output_speedup),
                _ => (inputs * channels, outputs * channels),
            });
            sizes.map(|(inputs, outputs)| Allocator::new(kind, inputs, outputs)).collect::<Vec<_>>()
        };
        let common = Common::new(&rules.policy, rules.channels);
        let output_bits = most.next_power_of_two().trailing_zeros();
        let is_listed = !is_word(rules.switch_allocator, u32::MAX, rules.is_speculative);
        let is_small = most <= 8
            && most.div_ceil(rules.output_speedup) * rules.input_speedup <= 8
            && (rules.output_speedup == 1 || !is_listed);
        let blocks = routers.len() * rules.output_speedup;
        let queued = if queues_up { behind } else { 0 };
        let slots = (wiring.longest() + 3 + rules.credit_delay + queued).next_power_of_two();
        Some(Self {
            channel_bits,
            place_bits,
            channels: rules.channels as u32,
            places,
            output_bits,
            is_small,
            input_speedup: rules.input_speedup as u32,
            output_speedup: rules.output_speedup as u32,
            subs: (0..rules.input_speedup)
                .map(|sub| {
                    (sub..rules.channels).step_by(rules.input_speedup).fold(0, |set, at| set | 1 << at)
                })
                .collect(),
            sub_of: (0..1 << channel_bits).map(|channel| (channel % rules.input_speedup) as u8).collect(),
            input_of: (0..most * rules.input_speedup).map(|at| (at / rules.input_speedup) as u8).collect(),
            output_of: (0..most * rules.output_speedup).map(|at| (at / rules.output_speedup) as u8).collect(),
            input_first: matches!(rules.switch_allocator, AllocatorKind::Separable { input_first: true, .. }),
            iterations: match rules.switch_allocator {
                AllocatorKind::Islip(times) => times,
                _ => 1,
            },
            keeps_order,
            draws,
            goes_by_load,
            has_priorities,
            is_by_packet: has_priorities
                && !rules.donates
                && matches!(rules.priority, Priority::Class | Priority::Age | Priority::Sequence),
            is_lean: matches!(rules.policy, Policy::Private(_)) && !has_priorities && !goes_by_load,
            is_straight: rules.network.is_none()
                && !rules.shape.wraps
                && rules.routing == Routing::DimensionOrder,
            first_router: 0,
            at_work: vec![0; routers.len().div_ceil(64)],
            asks: vec![0; if is_small { blocks } else { routers.len() }],
            grant_bytes: vec![[matrix::turn(0); 8]; blocks],
            accept_bytes: vec![[matrix::turn(0); 8]; blocks],
            ready: vec![0; inputs.len() << output_bits],
            flits: Wheel::new(slots, inputs.len().max(outputs.len())),
            credits: Wheel::new(slots, inputs.len().max(outputs.len()) * rules.input_speedup),
            lanes: vec![idle; lanes],
            common: common.clone(),
            shared: (matches!(rules.policy, Policy::Shared(_)) && common.is_none()).then(|| {
                Behind::new(&rules.policy, outputs.len(), rules.channels, rules.waits_for_tail, |_| 0)
            }),
            stamps: vec![0; if has_priorities { lanes << place_bits } else { 0 }],
            priorities: vec![0; if has_priorities { lanes } else { 0 }],
            latest: vec![0; if has_priorities { lanes } else { 0 }],
            queues: vec![0; lanes << place_bits],
            known: vec![Known { owner: NOBODY, used: 0, reserved: 0, tail_sent: false }; known],
            accepts: vec![0; lanes],
            grants: vec![0; known],
            switch_accepts: vec![0; subs],
            switch_grants: vec![0; outputs.len() * rules.output_speedup],
            asked_by: vec![0; outputs.len() * rules.output_speedup],
            queues_up,
            leaving: Leaving {
                flits: vec![0; if queues_up { outputs.len() } else { 0 }],
                credits: vec![(u32::MAX, 0); if queues_up { inputs.len() } else { 0 }],
                ..Leaving::default()
            },
            turns: (0..subs).map(|sub| (sub % rules.input_speedup % rules.channels) as u8).collect(),
            channel_allocators: allocators(
                rules.channel_allocator,
                is_word(rules.channel_allocator, 1, false),
                rules.channels,
            ),
            switch_allocators: allocators(rules.switch_allocator, !is_listed, 0),
            order: vec![0; if keeps_order { lanes } else { 0 }],
            inputs,
            outputs,
            credits_under_way: 0,
            leaves_next: None,
            routers,
            scratch: Scratch {
                by_input: vec![0; most * rules.input_speedup],
                speculative: vec![0; if rules.is_speculative { 64 } else { 0 }],
                offers: vec![0; most * rules.input_speedup.max(rules.output_speedup)],
                best: vec![NOBODY; most * rules.channels],
                ..Scratch::default()
            },
        })
    }

    /// All that flits and credits change, as slices, which stay where they are while a loop writes to them.
    #[inline(always)]
    pub(in super::super) fn view(&mut self) -> View<'_> {
        View {
            channel_bits: self.channel_bits,
            place_bits: self.place_bits,
            output_bits: self.output_bits,
            places: self.places,
            input_speedup: self.input_speedup,
            output_speedup: self.output_speedup,
            queues_up: self.queues_up,
            is_small: self.is_small,
            keeps_order: self.keeps_order,
            goes_by_load: self.goes_by_load,
            has_priorities: self.has_priorities,
            is_by_packet: self.is_by_packet,
            first_router: self.first_router,
            subs: &self.subs,
            sub_of: &self.sub_of,
            routers: &mut self.routers,
            at_work: &mut self.at_work,
            asks: &mut self.asks,
            ready: &mut self.ready,
            inputs: &self.inputs,
            outputs: &mut self.outputs,
            asked_by: &mut self.asked_by,
            leaving: &mut self.leaving,
            lanes: &mut self.lanes,
            queues: &mut self.queues,
            known: &mut self.known,
            common: self.common.as_ref(),
            shared: self.shared.as_mut(),
            stamps: &mut self.stamps,
            priorities: &mut self.priorities,
            latest: &mut self.latest,
            order: &mut self.order,
            flits: self.flits.view(),
            credits: self.credits.view(),
            credits_under_way: &mut self.credits_under_way,
            leaves_next: self.leaves_next.as_mut(),
        }
    }
}

/// What flits and credits change.
pub(in super::super) struct View<'a> {
    pub channel_bits: u32,
    pub place_bits: u32,
    pub output_bits: u32,
    pub places: u32,
    pub input_speedup: u32,
    pub output_speedup: u32,
    pub queues_up: bool,
    pub is_small: bool,
    pub keeps_order: bool,
    pub goes_by_load: bool,
    pub has_priorities: bool,
    pub is_by_packet: bool,
    pub first_router: u32,
    pub subs: &'a [u64],
    pub sub_of: &'a [u8],
    pub routers: &'a mut [Router],
    pub at_work: &'a mut [u64],
    pub asks: &'a mut [u64],
    pub ready: &'a mut [u64],
    pub inputs: &'a [InputPort],
    pub outputs: &'a mut [OutputPort],
    pub asked_by: &'a mut [u64],
    pub leaving: &'a mut Leaving,
    pub lanes: &'a mut [Lane],
    pub queues: &'a mut [u32],
    pub known: &'a mut [Known],
    pub common: Option<&'a Common>,
    pub shared: Option<&'a mut Behind>,
    pub stamps: &'a mut [i32],
    pub priorities: &'a mut [i32],
    pub latest: &'a mut [u32],
    pub order: &'a mut [i64],
    pub flits: WheelView<'a>,
    pub credits: WheelView<'a>,
    pub credits_under_way: &'a mut usize,
    pub leaves_next: Option<&'a mut Vec<u32>>,
}

impl View<'_> {
    /// Notes that an input channel of a router waits.
    #[inline(always)]
    pub(in super::super) fn wake(&mut self, router: u32) {
        self.at_work[router as usize / 64] |= 1 << (router % 64);
    }

    /// An input channel asks for the switch from now on, if it `may`.
    #[inline(always)]
    pub(in super::super) fn ask(&mut self, lane: u32, output: u8, may: bool) {
        let port = lane >> self.channel_bits;
        let channel = lane & ((1 << self.channel_bits) - 1);
        self.ready[((port << self.output_bits) + u32::from(output)) as usize] |= u64::from(may) << channel;
        let input = &self.inputs[port as usize];
        let router = input.router as usize;
        if self.is_small && self.input_speedup == 1 {
            self.asks[input.block as usize] |= u64::from(may) << (8 * u32::from(output) + input.first_row);
        } else if may {
            let sub = u32::from(self.sub_of[channel as usize]);
            if self.is_small {
                self.asks[input.block as usize] |= 1 << (8 * u32::from(output) + input.first_row + sub);
            } else {
                let inner = input.first_inner + sub;
                let outer = u32::from(output) * self.output_speedup + input.outer;
                self.asks[router] |= 1 << outer;
                let first = self.routers[router].first_output * self.output_speedup;
                self.asked_by[(first + outer) as usize] |= 1 << inner;
            }
        }
    }

    /// The same where requests fit in words, if it `stops`.
    #[inline(always)]
    pub(in super::super) fn stop_asking_in_words(&mut self, lane: u32, output: u32, stops: bool) {
        let port = lane >> self.channel_bits;
        let channel = lane & ((1 << self.channel_bits) - 1);
        let ready = &mut self.ready[((port << self.output_bits) + output) as usize];
        *ready &= !(u64::from(stops) << channel);
        let input = &self.inputs[port as usize];
        let sub = u32::from(self.sub_of[channel as usize]);
        let is_last = *ready & self.subs[sub as usize] == 0;
        self.asks[input.block as usize] &= !(u64::from(is_last) << (8 * output + input.first_row + sub));
    }

    /// An input channel that asked for an output of its router does not ask any more.
    #[inline(always)]
    pub(in super::super) fn stop_asking(&mut self, lane: u32, router: usize, output: u32) {
        if self.is_small {
            return self.stop_asking_in_words(lane, output, true);
        }
        let port = lane >> self.channel_bits;
        let channel = lane & ((1 << self.channel_bits) - 1);
        let ready = &mut self.ready[((port << self.output_bits) + output) as usize];
        *ready &= !(1 << channel);
        let sub = self.sub_of[channel as usize];
        if *ready & self.subs[usize::from(sub)] != 0 {
            return;
        }
        let input = &self.inputs[port as usize];
        let inner = input.first_inner + u32::from(sub);
        let outer = output * self.output_speedup + input.outer;
        let first = self.routers[router].first_output * self.output_speedup;
        let asked_by = &mut self.asked_by[(first + outer) as usize];
        *asked_by &= !(1 << inner);
        if *asked_by == 0 {
            self.asks[router] &= !(1 << outer);
        }
    }
}
