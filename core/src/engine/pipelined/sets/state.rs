//! What sets of channels remember.

use super::super::{
    allocators::{Allocator, AllocatorKind, Request},
    buffers::{Behind, Policy},
    flit::Flit,
    rules::Rules,
    wiring::{End, Link},
};
use super::{
    beside::InTurn,
    common::Common,
    layout::{Layout, is_word, places_behind},
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

/// No output port.
pub(in super::super) const NO_PORT: u16 = u16::MAX;

/// An input channel.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Lane {
    /// The place of its first flit, and how many it has.
    pub head: u32,
    pub count: u32,
    pub is_idle: bool,
    /// Whether it has an output channel that is not full.
    pub may_send: bool,
    /// Whether it has won the switch in this step without an output channel.
    pub has_won: bool,
    /// Its output port, or none, and while it waits the first and the last channel there that it may have.
    pub port: u16,
    pub first: u8,
    pub last: u8,
    /// The output channel that it has.
    pub channel: u8,
}

impl Lane {
    const IDLE: Self = Self {
        head: 0,
        count: 0,
        is_idle: true,
        may_send: false,
        has_won: false,
        port: NO_PORT,
        first: 0,
        last: 0,
        channel: 0,
    };
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
    /// Its router, and the first output port there.
    pub router: u32,
    pub first_output: u32,
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
    /// Flits in the queue behind it or on their way, with the marks below.
    used: u32,
}

impl Known {
    /// Without owner, with an empty queue behind it.
    pub(super) const EMPTY: Self = Self::new(NOBODY, 0, false, false);
    /// The mark of a channel whose owner has sent its tail, and of one for whose owner a place is kept, where places are
    /// common: there is none while a flit is behind the channel, so that one is the most.
    const TAIL_SENT: u32 = 1 << 31;
    const RESERVED: u32 = 1 << 30;
    const USED: u32 = Self::RESERVED - 1;

    /// A channel with an owner or none, and so many flits behind it.
    pub(in super::super) const fn new(owner: u32, used: u32, is_reserved: bool, tail_sent: bool) -> Self {
        let reserved = if is_reserved { Self::RESERVED } else { 0 };
        Self { owner, used: used | reserved | if tail_sent { Self::TAIL_SENT } else { 0 } }
    }

    /// Flits in the queue behind it or on their way.
    #[inline(always)]
    pub(in super::super) fn used(&self) -> u32 {
        self.used & Self::USED
    }

    /// Whether its owner has sent its tail.
    #[inline(always)]
    pub(in super::super) fn tail_sent(&self) -> bool {
        self.used & Self::TAIL_SENT != 0
    }

    /// Whether a place is kept for its owner.
    #[inline(always)]
    pub(super) fn is_reserved(&self) -> bool {
        self.used & Self::RESERVED != 0
    }

    /// An input channel has it from now on.
    #[inline(always)]
    pub(super) fn take(&mut self, lane: u32) {
        self.owner = lane;
        self.used &= !Self::TAIL_SENT;
    }

    /// The owner gives it up if it has sent its tail.
    #[inline(always)]
    pub(super) fn give_up(&mut self, is_tail: bool) {
        // Tails are hard to foresee.
        self.owner |= NOBODY * u32::from(is_tail);
        self.used |= u32::from(is_tail) << 31;
    }

    /// Forgets whether a tail was sent.
    pub(super) fn forget_tail(&mut self) {
        self.used &= !Self::TAIL_SENT;
    }

    /// So many flits more are behind it.
    #[inline(always)]
    pub(super) fn add(&mut self, flits: u32) {
        self.used += flits;
    }

    /// A flit less is behind it.
    #[inline(always)]
    pub(super) fn remove(&mut self) {
        self.used -= 1;
    }

    /// A place is kept for its owner, or none any more; whether one was.
    #[inline(always)]
    pub(super) fn reserve(&mut self, is_reserved: bool) -> bool {
        let was_reserved = self.is_reserved();
        self.used = self.used & !Self::RESERVED | u32::from(is_reserved) << 30;
        was_reserved
    }
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
    /// The rank of the way.
    pub rank: i16,
}

/// All routers of a subnet.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sets {
    pub(in super::super) layout: Layout,
    /// By sub-port of an input port its channels, and by channel its sub-port.
    pub(in super::super) subs: Vec<u64>,
    pub(in super::super) sub_of: Vec<u8>,
    /// By input sub-port of a router its port, and by output sub-port.
    pub(in super::super) input_of: Vec<u8>,
    pub(in super::super) output_of: Vec<u8>,
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
    pub(in super::super) leaving: Leaving,
    pub(in super::super) flits: Wheel,
    pub(in super::super) credits: Wheel,
    pub(in super::super) credits_under_way: usize,
    /// Outputs whose flits leave in the next cycle, if links are counted.
    pub(in super::super) leaves_next: Option<Vec<u32>>,
    pub(in super::super) in_turn: InTurn,
    pub(in super::super) scratch: Scratch,
}

/// Every router with its first ports, and lists without anybody.
fn routers(rules: &Rules) -> Vec<Router> {
    let (wiring, mut first_input) = (&rules.wiring, 0);
    let router = |router: u32| {
        let (inputs, outputs) = (wiring.inputs(router).len() as u32, wiring.outputs(router).len() as u32);
        let first = first_input;
        first_input += inputs;
        Router {
            first_input: first,
            first_output: wiring.output(router, 0) as u32,
            inputs,
            outputs,
            to_be_routed: Vec::new(),
            routing: Vec::new(),
            routed_at: 0,
            waiting: Vec::new(),
            old: (0, 0),
        }
    };
    (0..wiring.routers() as u32).map(router).collect()
}

/// Input and output ports of all routers, with what is at the far ends of their links.
fn ports(rules: &Rules, routers: &[Router], channel_bits: u32) -> (Vec<InputPort>, Vec<OutputPort>) {
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
    let free = u64::MAX >> (64 - rules.channels);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for router in 0..routers.len() as u32 {
        for (local, link) in rules.wiring.inputs(router).iter().enumerate() {
            inputs.push(InputPort {
                router,
                first_output: routers[router as usize].first_output,
                local: local as u32,
                first_inner: (local * rules.input_speedup) as u32,
                outer: (local % rules.output_speedup) as u32,
                block: (router as usize * rules.output_speedup + local % rules.output_speedup) as u32,
                first_row: (local / rules.output_speedup * rules.input_speedup) as u32,
                far: far(link, true),
            });
        }
        for link in rules.wiring.outputs(router) {
            outputs.push(OutputPort { free, full: 0, common: 0, far: far(link, false) });
        }
    }
    (inputs, outputs)
}

/// Allocators by router that go by more than words: for channels and for the switch.
fn allocators(rules: &Rules, routers: &[Router], in_turn: bool) -> [Vec<Allocator>; 2] {
    let is_channel = is_word(rules, rules.channel_allocator, 1, rules.prefers_empty)
        && !rules.network.has_escapes()
        && rules.wiring.most_ports() * rules.channels <= usize::from(u16::MAX);
    let is_switch = is_word(rules, rules.switch_allocator, u32::MAX, rules.is_speculative) && !in_turn;
    let speedups = (rules.input_speedup, rules.output_speedup);
    let both = (rules.channels, rules.channels);
    let of = |kind, is_word: bool, speedups| {
        if is_word { Vec::new() } else { allocators_of(kind, routers, speedups) }
    };
    [of(rules.channel_allocator, is_channel, both), of(rules.switch_allocator, is_switch, speedups)]
}

/// Allocators of a kind by router, for so many requesters of every input port and resources of every output port.
fn allocators_of(kind: AllocatorKind, routers: &[Router], (inner, outer): (usize, usize)) -> Vec<Allocator> {
    let of = |router: &Router| {
        Allocator::new(kind, router.inputs as usize * inner, router.outputs as usize * outer)
    };
    routers.iter().map(of).collect()
}

/// What routers have beside that work in turn.
fn beside(rules: &Rules, layout: &Layout, routers: &[Router]) -> InTurn {
    if !layout.in_turn {
        return InTurn::default();
    }
    let ports: Vec<_> = routers.iter().map(|router| (router.inputs, router.outputs)).collect();
    let speedups = (rules.input_speedup, rules.output_speedup);
    let speculative = rules.speculative_allocator.map(|kind| allocators_of(kind, routers, speedups));
    InTurn::new(rules, layout, &ports, speculative.unwrap_or_default())
}

impl Scratch {
    fn new(rules: &Rules) -> Self {
        let most = rules.wiring.most_ports();
        Self {
            by_input: vec![0; most * rules.input_speedup],
            speculative: vec![0; if rules.is_speculative { 64 } else { 0 }],
            offers: vec![0; most * rules.input_speedup.max(rules.output_speedup)],
            best: vec![NOBODY; most * rules.channels],
            ..Self::default()
        }
    }
}

impl Sets {
    /// Routers without flits, of which it is seen when every flit leaves if that is wanted.
    pub(in super::super) fn new(rules: &Rules, single_flits: bool) -> Self {
        let layout = Layout::new(rules, single_flits);
        let Layout { channel_bits, place_bits, output_bits, queues_up, has_priorities, in_turn, .. } = layout;
        let routers = routers(rules);
        let (inputs, outputs) = ports(rules, &routers, channel_bits);
        let (lanes, known) = (inputs.len() << channel_bits, outputs.len() << channel_bits);
        let (sub_inputs, sub_outputs) =
            (inputs.len() * rules.input_speedup, outputs.len() * rules.output_speedup);
        let (most, ports) = (rules.wiring.most_ports(), inputs.len().max(outputs.len()));
        let blocks = if in_turn { 0 } else { routers.len() * rules.output_speedup };
        let queued = if queues_up { places_behind(rules) } else { 0 };
        let slots = (rules.wiring.longest() + 3 + rules.credit_delay + queued).next_power_of_two();
        let common = Common::new(&rules.policy, rules.channels).filter(|_| rules.output_speedup == 1);
        let is_shared = matches!(rules.policy, Policy::Shared(_)) && common.is_none();
        let [channel_allocators, switch_allocators] = allocators(rules, &routers, in_turn);
        let of_sub =
            |sub| (sub..rules.channels).step_by(rules.input_speedup).fold(0, |set, at| set | 1 << at);
        let by = |ports: usize, speedup: usize| (0..ports * speedup).map(|at| (at / speedup) as u8).collect();
        let if_any = |is_any: bool, many: usize| if is_any { many } else { 0 };
        Self {
            layout,
            subs: (0..rules.input_speedup).map(of_sub).collect(),
            sub_of: (0..1 << channel_bits).map(|channel| (channel % rules.input_speedup) as u8).collect(),
            input_of: by(most, rules.input_speedup),
            output_of: by(most, rules.output_speedup),
            first_router: 0,
            at_work: vec![0; routers.len().div_ceil(64)],
            asks: vec![0; if layout.is_small || in_turn { blocks } else { routers.len() }],
            grant_bytes: vec![[matrix::turn(0); 8]; blocks],
            accept_bytes: vec![[matrix::turn(0); 8]; blocks],
            ready: vec![0; inputs.len() << output_bits],
            flits: Wheel::new(slots, ports),
            credits: Wheel::new(slots, ports * rules.input_speedup),
            lanes: vec![Lane::IDLE; lanes],
            common,
            shared: is_shared.then(|| {
                Behind::new(&rules.policy, outputs.len(), rules.channels, rules.waits_for_tail, |output| {
                    let router = routers.partition_point(|one| one.first_output as usize <= output) - 1;
                    rules.least_round_trip(router as u32, output - routers[router].first_output as usize)
                })
            }),
            stamps: vec![0; if_any(has_priorities, lanes << place_bits)],
            priorities: vec![0; if_any(has_priorities, lanes)],
            latest: vec![0; if_any(has_priorities, lanes)],
            queues: vec![0; lanes << place_bits],
            known: vec![Known::EMPTY; known],
            accepts: vec![0; lanes],
            grants: vec![0; known],
            switch_accepts: vec![0; if_any(!in_turn, sub_inputs)],
            switch_grants: vec![0; if_any(!in_turn, sub_outputs)],
            asked_by: vec![0; if_any(!in_turn, sub_outputs)],
            leaving: Leaving {
                flits: vec![0; if_any(queues_up, outputs.len())],
                credits: vec![(u32::MAX, 0); if_any(queues_up, inputs.len())],
                ..Leaving::default()
            },
            turns: (0..sub_inputs).map(|sub| (sub % rules.input_speedup % rules.channels) as u8).collect(),
            channel_allocators,
            switch_allocators,
            order: vec![0; if_any(layout.keeps_order, lanes)],
            inputs,
            outputs,
            credits_under_way: 0,
            leaves_next: None,
            in_turn: beside(rules, &layout, &routers),
            routers,
            scratch: Scratch::new(rules),
        }
    }

    /// All that flits and credits change, as slices, which stay where they are while a loop writes to them.
    #[inline(always)]
    pub(in super::super) fn view(&mut self) -> View<'_> {
        View {
            layout: self.layout,
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
            in_turn: &mut self.in_turn,
        }
    }
}

/// What flits and credits change.
pub(in super::super) struct View<'a> {
    pub layout: Layout,
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
    pub in_turn: &'a mut InTurn,
}

impl View<'_> {
    /// Notes that an input channel of a router waits.
    #[inline(always)]
    pub(in super::super) fn wake(&mut self, router: u32) {
        self.at_work[router as usize / 64] |= 1 << (router % 64);
    }

    /// An input channel asks for the switch from now on, if it `may`.
    #[inline(always)]
    pub(in super::super) fn ask(&mut self, lane: u32, output: u16, may: bool) {
        let port = lane >> self.layout.channel_bits;
        let channel = lane & ((1 << self.layout.channel_bits) - 1);
        self.ready[((port << self.layout.output_bits) + u32::from(output)) as usize] |=
            u64::from(may) << channel;
        let input = &self.inputs[port as usize];
        let router = input.router as usize;
        if self.layout.is_small && self.layout.input_speedup == 1 {
            self.asks[input.block as usize] |= u64::from(may) << (8 * u32::from(output) + input.first_row);
        } else if may {
            let sub = u32::from(self.sub_of[channel as usize]);
            if self.layout.is_small {
                self.asks[input.block as usize] |= 1 << (8 * u32::from(output) + input.first_row + sub);
            } else if self.layout.in_turn {
                self.in_turn.pairs.insert((port << self.layout.output_bits) + u32::from(output));
            } else {
                let inner = input.first_inner + sub;
                let outer = u32::from(output) * self.layout.output_speedup + input.outer;
                self.asks[router] |= 1 << outer;
                let first = self.routers[router].first_output * self.layout.output_speedup;
                self.asked_by[(first + outer) as usize] |= 1 << inner;
            }
        }
    }

    /// The same where requests fit in words, if it `stops`.
    #[inline(always)]
    pub(in super::super) fn stop_asking_in_words(
        &mut self,
        input: &InputPort,
        lane: u32,
        output: u32,
        stops: bool,
    ) {
        let port = lane >> self.layout.channel_bits;
        let channel = lane & ((1 << self.layout.channel_bits) - 1);
        let ready = &mut self.ready[((port << self.layout.output_bits) + output) as usize];
        *ready &= !(u64::from(stops) << channel);
        let (mut row, mut left) = (input.first_row, *ready);
        if self.layout.input_speedup > 1 {
            let sub = self.sub_of[channel as usize];
            (row, left) = (row + u32::from(sub), left & self.subs[usize::from(sub)]);
        }
        self.asks[input.block as usize] &= !(u64::from(left == 0) << (8 * output + row));
    }

    /// An input channel that asked for an output of its router does not ask any more.
    #[inline(always)]
    pub(in super::super) fn stop_asking(&mut self, lane: u32, router: usize, output: u32) {
        if self.layout.is_small {
            let inputs = self.inputs;
            let input = &inputs[(lane >> self.layout.channel_bits) as usize];
            return self.stop_asking_in_words(input, lane, output, true);
        }
        let port = lane >> self.layout.channel_bits;
        let channel = lane & ((1 << self.layout.channel_bits) - 1);
        let ready = &mut self.ready[((port << self.layout.output_bits) + output) as usize];
        *ready &= !(1 << channel);
        if self.layout.in_turn {
            if *ready == 0 {
                self.in_turn.pairs.remove((port << self.layout.output_bits) + output);
            }
            return;
        }
        let sub = self.sub_of[channel as usize];
        if *ready & self.subs[usize::from(sub)] != 0 {
            return;
        }
        let input = &self.inputs[port as usize];
        let inner = input.first_inner + u32::from(sub);
        let outer = output * self.layout.output_speedup + input.outer;
        let first = self.routers[router].first_output * self.layout.output_speedup;
        let asked_by = &mut self.asked_by[(first + outer) as usize];
        *asked_by &= !(1 << inner);
        if *asked_by == 0 {
            self.asks[router] &= !(1 << outer);
        }
    }
}
