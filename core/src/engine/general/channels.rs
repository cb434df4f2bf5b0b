use super::{
    layout::{Layout, NONE},
    state::PacketState,
};

/// A flit in a buffer: the slot of its packet, and whether it is the first or last one.
pub(super) type BufferedFlit = u32;
pub(super) const HEAD: BufferedFlit = 1;
pub(super) const TAIL: BufferedFlit = 2;
pub(super) const SLOT_SHIFT: u32 = 2;

/// One input queue (a virtual channel of an input port).
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// Output channel its front packet wants or owns; [`NONE`] without a front packet.
    pub target: u32,
    /// Output channel that feeds it; of a processor queue [`Layout::feed`] of its node.
    pub upstream: u32,
    /// Flits in the queue, and from bit 16 flits in it or on their way to it. One word, since
    /// both change at once and partial stores would stall the next load.
    counts: u32,
    /// Place of the front flit in the ring.
    pub head: u16,
    /// Whether it owns its target.
    pub granted: bool,
}

const ONE_READY: u32 = 1;
const ONE_HELD: u32 = 1 << 16;

impl Queue {
    /// Flits in the queue.
    #[inline(always)]
    pub fn ready(&self) -> u16 {
        self.counts as u16
    }

    /// Flits in the queue or on their way to it.
    #[inline(always)]
    pub fn held(&self) -> u16 {
        (self.counts >> 16) as u16
    }
}

/// Marks an output channel of the processor port in [`Output::behind`]; the rest is its node.
pub(super) const EJECTION: u32 = 1 << 31;

/// One output channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// Queue that owns it, or [`NONE`].
    pub owner: u32,
    /// Queue behind its link, or [`EJECTION`] and the node.
    pub behind: u32,
    /// Input ports that request it.
    pub requests: u16,
    /// Where the evaluation of its port list begins.
    pub rotation: u8,
}

const EMPTY_QUEUE: Queue = Queue { target: NONE, upstream: NONE, counts: 0, head: 0, granted: false };

/// All queues and output channels, and the masks that say which can send.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    pub queues: Vec<Queue>,
    /// `buffer` flits per queue.
    pub rings: Vec<BufferedFlit>,
    pub outputs: Vec<Output>,
    /// Per output port: channels whose owner has a flit ready. Padded to whole words.
    pub ready: Vec<u8>,
    /// Per output port: channels behind which the front flit of their owner (or any flit) fits.
    pub space: Vec<u8>,
    /// Output channels without owner that are requested.
    pub requested: Vec<u32>,
    /// Flits of the longest packet.
    pub longest: u32,
}

impl Channels {
    pub fn new(layout: &Layout, longest: u32) -> Self {
        let directions = layout.ports - 1;
        let mut queues = Vec::with_capacity(layout.nodes * layout.queues);
        let mut outputs = Vec::with_capacity((layout.nodes * layout.ports) << layout.channel_shift);
        for node in 0..layout.nodes {
            for (port, channel) in
                (0..directions).flat_map(|port| (0..layout.channels).map(move |c| (port, c)))
            {
                let upstream = match layout.upstream[node * directions + port] {
                    NONE => NONE,
                    output => output << layout.channel_shift | channel as u32,
                };
                queues.push(Queue { upstream, ..EMPTY_QUEUE });
            }
            queues.push(Queue { upstream: layout.feed(node), ..EMPTY_QUEUE });
            for (port, channel) in
                (0..layout.ports).flat_map(|port| (0..1 << layout.channel_shift).map(move |c| (port, c)))
            {
                let behind = if port == directions {
                    EJECTION | node as u32
                } else {
                    // Missing links and channels that only fill the stride are never requested.
                    layout.downstream[node * directions + port].saturating_add(channel)
                };
                outputs.push(Output { owner: NONE, behind, requests: 0, rotation: 0 });
            }
        }
        let ports = (layout.nodes * layout.ports).next_multiple_of(8);
        Self {
            rings: vec![0; queues.len() * layout.buffer as usize],
            queues,
            outputs,
            ready: vec![0; ports],
            // The entries behind the ports take the marks of processor queues.
            space: vec![u8::MAX; ports + (layout.nodes >> layout.channel_shift) + 1],
            requested: Vec::new(),
            longest,
        }
    }

    /// The same as slices, which the inner loop can keep in registers.
    #[inline(always)]
    pub fn as_mut<'a, const SHIFT: u32, const BASIC: bool>(
        &'a mut self,
        layout: &'a Layout,
        steps: &'a [u8],
    ) -> ChannelsMut<'a, SHIFT, BASIC> {
        ChannelsMut {
            layout,
            steps,
            buffer: layout.buffer,
            queues: &mut self.queues,
            rings: &mut self.rings,
            outputs: &mut self.outputs,
            ready: &mut self.ready,
            space: &mut self.space,
            requested: &mut self.requested,
            longest: self.longest,
        }
    }
}

/// A flit that left its queue.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    pub flit: BufferedFlit,
    pub queue: u32,
    /// [`Queue::upstream`] of the queue.
    pub upstream: u32,
}

/// [`Channels`] at work, compiled for a channel shift and for wormhole flow control on links of one
/// cycle (`BASIC`) or any.
pub(super) struct ChannelsMut<'a, const SHIFT: u32, const BASIC: bool> {
    layout: &'a Layout,
    steps: &'a [u8],
    buffer: u16,
    pub queues: &'a mut [Queue],
    pub rings: &'a mut [BufferedFlit],
    pub outputs: &'a mut [Output],
    pub ready: &'a mut [u8],
    pub space: &'a mut [u8],
    pub requested: &'a mut Vec<u32>,
    longest: u32,
}

impl<const SHIFT: u32, const BASIC: bool> ChannelsMut<'_, SHIFT, BASIC> {
    #[inline(always)]
    fn cut_through(&self) -> bool {
        !BASIC && self.layout.cut_through
    }

    /// Gives a requested output channel without owner to the first requesting port of its list;
    /// false if bubbles keep all of them out.
    pub fn grant(&mut self, output: u32, packets: &mut [PacketState]) -> bool {
        let layout = self.layout;
        let (port, channel) = ((output >> SHIFT) as usize, (output & ((1 << SHIFT) - 1)) as usize);
        let node = port as u32 / layout.ports as u32;
        let list = layout.port_list(port, channel);
        let Output { requests, rotation, .. } = self.outputs[output as usize];
        for place in (usize::from(rotation)..list.len()).chain(0..rotation.into()) {
            let asking = usize::from(list[place]);
            if requests >> asking & 1 == 0 {
                continue;
            }
            let first = node as usize * layout.queues + asking * layout.channels;
            let last = if asking + 1 == layout.ports { first + 1 } else { first + layout.channels };
            // Of several channels of one input port, the lowest is granted.
            for queue in first..last {
                if self.queues[queue].target != output || !self.bubble_stays(output, queue, packets) {
                    continue;
                }
                let others = (first..last).any(|other| other != queue && self.queues[other].target == output);
                let wanted = &mut self.outputs[output as usize];
                if !others {
                    wanted.requests &= !(1 << asking);
                }
                wanted.rotation = if place + 1 == list.len() { 0 } else { place as u8 + 1 };
                wanted.owner = queue as u32;
                self.queues[queue].granted = true;
                set::<SHIFT>(self.ready, output);
                if self.cut_through() {
                    self.refresh_space(output, packets);
                }
                return true;
            }
        }
        false
    }

    /// Bubble flow control: whether a packet that wants to enter a ring leaves a bubble in it. Asked
    /// before the grant, since an owner that has to wait would stop the ring.
    #[inline(always)]
    fn bubble_stays(&self, output: u32, queue: usize, packets: &[PacketState]) -> bool {
        if BASIC || !self.layout.bubble {
            return true;
        }
        let behind = self.outputs[output as usize].behind;
        if behind & EJECTION != 0 || !self.layout.enters_ring(queue, output >> SHIFT) {
            return true;
        }
        let head = usize::from(self.queues[queue].head);
        let front = self.rings[queue * usize::from(self.buffer) + head];
        let length = packets[(front >> SLOT_SHIFT) as usize].length;
        u32::from(self.buffer - self.queues[behind as usize].held()) >= length + self.longest
    }

    /// The front flit of the owner of an output channel leaves its queue. What its tail frees is
    /// left to [`free`](Self::free).
    #[inline(always)]
    pub fn take(&mut self, output: u32, packets: &mut [PacketState]) -> Taken {
        let queue = self.outputs[output as usize].owner;
        let taken = &mut self.queues[queue as usize];
        let flit = self.rings[queue as usize * self.buffer as usize + taken.head as usize];
        taken.head = if taken.head + 1 == self.buffer { 0 } else { taken.head + 1 };
        taken.counts -= ONE_READY + ONE_HELD;
        let (upstream, empty) = (taken.upstream, taken.ready() == 0);
        clear_if::<SHIFT>(self.ready, output, empty);
        if !self.cut_through() {
            set::<SHIFT>(self.space, upstream);
        } else if upstream < self.layout.feed(0) {
            self.reborrow().refresh_space(upstream, packets);
        }
        Taken { flit, queue, upstream }
    }

    /// An output channel lost its owner, and `queue` shows its next packet, if any.
    #[inline(never)]
    pub fn free(&mut self, output: u32, queue: usize, packets: &mut [PacketState]) {
        let left = &mut self.queues[queue];
        left.granted = false;
        left.target = NONE;
        clear_if::<SHIFT>(self.ready, output, true);
        let freed = &mut self.outputs[output as usize];
        freed.owner = NONE;
        if freed.requests != 0 {
            self.requested.push(output);
        }
        if self.queues[queue].ready() > 0 {
            self.request(queue, packets);
        }
    }

    /// Takes a place in the queue behind an output channel.
    #[inline(always)]
    pub fn reserve(&mut self, output: u32, behind: u32, packets: &mut [PacketState]) {
        let entered = &mut self.queues[behind as usize];
        entered.counts += ONE_HELD;
        let full = entered.held() == self.buffer;
        clear_if::<SHIFT>(self.space, output, full);
        if self.cut_through() {
            self.reborrow().refresh_space(output, packets);
        }
    }

    /// Takes a place in a processor queue.
    pub fn reserve_feed(&mut self, queue: usize) {
        self.queues[queue].counts += ONE_HELD;
    }

    /// A flit enters a queue in which it has a place.
    #[inline(always)]
    pub fn arrive(&mut self, queue: usize, flit: BufferedFlit, packets: &mut [PacketState]) {
        let entered = &mut self.queues[queue];
        let mut place = entered.head + entered.ready();
        if place >= self.buffer {
            place -= self.buffer;
        }
        entered.counts += ONE_READY;
        let (granted, target) = (entered.granted, entered.target);
        self.rings[queue * self.buffer as usize + place as usize] = flit;
        if granted {
            set::<SHIFT>(self.ready, target);
        } else if target == NONE {
            self.reborrow().request(queue, packets);
        }
    }

    /// The front flit of a queue is a header: it requests its output channel.
    #[inline(never)]
    fn request(&mut self, queue: usize, packets: &mut [PacketState]) {
        let layout = self.layout;
        let asking = &mut self.queues[queue];
        let slot = self.rings[queue * self.buffer as usize + asking.head as usize] >> SLOT_SHIFT;
        let packet = &mut packets[slot as usize];
        let (node, port_of_queue, channel) = layout.place(queue);
        let (port, channel) = if packet.route == NONE {
            layout.route(node, channel, packet.destination as usize)
        } else {
            let step = self.steps[packet.route as usize];
            packet.route += 1;
            let from_processor = port_of_queue + 1 == layout.ports;
            layout.follow(node, if from_processor { packet.first_channel.into() } else { channel }, step)
        };
        let output = (node * layout.ports + port) << SHIFT | channel;
        asking.target = output as u32;
        let wanted = &mut self.outputs[output];
        if wanted.requests == 0 && wanted.owner == NONE {
            self.requested.push(output as u32);
        }
        wanted.requests |= 1 << port_of_queue;
    }

    /// Cut-through: whether the whole packet fits behind an output channel whose owner shows a
    /// header; any flit of a packet already under way fits.
    #[inline(never)]
    fn refresh_space(&mut self, output: u32, packets: &mut [PacketState]) {
        let Output { owner, behind, .. } = self.outputs[output as usize];
        if behind & EJECTION != 0 {
            return;
        }
        let space = self.buffer - self.queues[behind as usize].held();
        let mut needed = 1;
        if owner != NONE && self.queues[owner as usize].ready() > 0 {
            let head = self.queues[owner as usize].head;
            let front = self.rings[owner as usize * self.buffer as usize + head as usize];
            if front & HEAD != 0 {
                needed = packets[(front >> SLOT_SHIFT) as usize].length;
            }
        }
        if u32::from(space) >= needed {
            set::<SHIFT>(self.space, output);
        } else {
            clear_if::<SHIFT>(self.space, output, true);
        }
    }

    /// A copy for rarely taken calls, so that the fields here need not live in memory.
    #[inline(always)]
    pub fn reborrow(&mut self) -> ChannelsMut<'_, SHIFT, BASIC> {
        ChannelsMut {
            layout: self.layout,
            steps: self.steps,
            buffer: self.buffer,
            queues: self.queues,
            rings: self.rings,
            outputs: self.outputs,
            ready: self.ready,
            space: self.space,
            requested: self.requested,
            longest: self.longest,
        }
    }
}

/// Sets the bit of an output channel in the masks of all ports.
#[inline(always)]
fn set<const SHIFT: u32>(masks: &mut [u8], output: u32) {
    masks[(output >> SHIFT) as usize] |= 1 << (output & ((1 << SHIFT) - 1));
}

/// Clears the bit of an output channel in the masks of all ports, if so wanted.
#[inline(always)]
fn clear_if<const SHIFT: u32>(masks: &mut [u8], output: u32, wanted: bool) {
    let bit = u8::from(wanted) << (output & ((1 << SHIFT) - 1));
    masks[(output >> SHIFT) as usize] &= !bit;
}
