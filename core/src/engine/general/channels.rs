use super::{
    layout::{BASIC_RING, Layout, NONE},
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
    pub counts: u32,
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

/// What 64 output channels can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Masks {
    /// The owner has a flit.
    pub ready: u64,
    /// The front flit of the owner (or any flit) fits behind the link.
    pub space: u64,
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
    /// Places in its port list of the input ports that request it.
    pub requests: u16,
    /// Where the evaluation of its port list begins.
    pub rotation: u8,
}

const EMPTY_QUEUE: Queue = Queue { target: NONE, upstream: NONE, counts: 0, head: 0, granted: false };

/// All queues and output channels, and the masks that say which can send.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    pub queues: Vec<Queue>,
    /// A power of two of places per queue, at least `buffer`.
    pub rings: Vec<BufferedFlit>,
    pub outputs: Vec<Output>,
    /// Per output channel two bits, 64 channels to a word; behind the ports follow the marks of
    /// processor queues.
    pub masks: Vec<Masks>,
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
        let words = (layout.feed(layout.nodes) as usize).div_ceil(64);
        Self {
            rings: vec![0; queues.len() << layout.ring_shift],
            queues,
            outputs,
            masks: vec![Masks { ready: 0, space: u64::MAX }; words],
            requested: Vec::new(),
            longest,
        }
    }

    /// The front flit of a queue that has one.
    pub fn front(&self, layout: &Layout, queue: usize) -> BufferedFlit {
        self.rings[queue << layout.ring_shift | self.queues[queue].head as usize]
    }

    /// Channels of an output port that have a flit, and those of them that can send.
    pub fn port_masks(&self, layout: &Layout, port: usize) -> (u8, u8) {
        let first = port << layout.channel_shift;
        let Masks { ready, space } = self.masks[first / 64];
        let only = (1 << (1 << layout.channel_shift)) - 1;
        let bits = |word: u64| (word >> (first % 64) & only) as u8;
        (bits(ready), bits(ready & space))
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
            masks: &mut self.masks,
            requested: &mut self.requested,
            longest: self.longest,
        }
    }
}

/// A flit that left its queue.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub flit: BufferedFlit,
    pub queue: usize,
    /// [`Queue::upstream`] of the queue.
    pub upstream: u32,
    /// [`Output::behind`] of the output channel.
    pub behind: u32,
}

/// [`Channels`] at work, compiled for a channel shift and for wormhole flow control with buffers of up
/// to four flits and links of one cycle (`BASIC`) or any.
pub(super) struct ChannelsMut<'a, const SHIFT: u32, const BASIC: bool> {
    layout: &'a Layout,
    steps: &'a [u8],
    buffer: u16,
    pub queues: &'a mut [Queue],
    rings: &'a mut [BufferedFlit],
    pub outputs: &'a mut [Output],
    masks: &'a mut [Masks],
    pub requested: &'a mut Vec<u32>,
    longest: u32,
}

impl<const SHIFT: u32, const BASIC: bool> ChannelsMut<'_, SHIFT, BASIC> {
    #[inline(always)]
    fn ring_shift(&self) -> u32 {
        if BASIC { BASIC_RING } else { self.layout.ring_shift }
    }

    /// Index of a place in the ring of a queue, counted on round its end.
    #[inline(always)]
    fn ring_place(&self, queue: usize, place: u16) -> usize {
        let mask = (1 << self.ring_shift()) - 1;
        queue << self.ring_shift() | usize::from(place & mask)
    }

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
        let Output { requests, rotation, .. } = self.outputs[output as usize];
        // Places from the first to evaluate on, then those before it.
        let mut waiting = u32::from(requests >> rotation);
        let mut offset = u32::from(rotation);
        if waiting == 0 {
            (waiting, offset) = (u32::from(requests), 0);
        }
        let mut before = if offset == 0 { 0 } else { u32::from(requests) & ((1 << offset) - 1) };
        loop {
            if waiting == 0 {
                if before == 0 {
                    return false;
                }
                (waiting, offset) = (std::mem::take(&mut before), 0);
            }
            let place = waiting.trailing_zeros() + offset;
            waiting &= waiting - 1;
            let asking = layout.listed_port(port, channel, place);
            let first = node as usize * layout.queues + asking * layout.channels;
            let last = if asking + 1 == layout.ports { first + 1 } else { first + layout.channels };
            // Of several channels of one input port, the lowest is granted.
            for queue in first..last {
                if self.queues[queue].target != output || !self.bubble_stays(output, queue, packets) {
                    continue;
                }
                let others = (queue + 1..last).any(|other| self.queues[other].target == output)
                    || !BASIC && (first..queue).any(|other| self.queues[other].target == output);
                let wanted = &mut self.outputs[output as usize];
                if !others {
                    wanted.requests &= !(1 << place);
                }
                wanted.rotation = if place as usize + 1 == layout.ports { 0 } else { place as u8 + 1 };
                wanted.owner = queue as u32;
                self.queues[queue].granted = true;
                self.masks[output as usize / 64].ready |= 1 << (output % 64);
                if self.cut_through() {
                    self.refresh_space(output, packets);
                }
                return true;
            }
        }
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
        let front = self.rings[self.ring_place(queue, self.queues[queue].head)];
        let length = packets[(front >> SLOT_SHIFT) as usize].length;
        u32::from(self.buffer - self.queues[behind as usize].held()) >= length + self.longest
    }

    /// The front flit of the owner of an output channel leaves its queue. What its tail frees is
    /// left to [`free`](Self::free).
    #[inline(always)]
    pub fn take(&mut self, output: u32, packets: &mut [PacketState]) -> Taken {
        let Output { owner, behind, .. } = self.outputs[output as usize];
        let queue = owner as usize;
        let ring_mask = (1 << self.ring_shift()) - 1;
        let taken = &mut self.queues[queue];
        let head = taken.head;
        taken.head = (head + 1) & ring_mask;
        taken.counts -= ONE_READY + ONE_HELD;
        let (upstream, empty) = (taken.upstream, taken.ready() == 0);
        let flit = self.rings[self.ring_place(queue, head)];
        let masks = &mut self.masks[output as usize / 64];
        masks.ready &= !(u64::from(empty) << (output % 64));
        if !self.cut_through() {
            self.masks[upstream as usize / 64].space |= 1 << (upstream % 64);
        } else if upstream < self.layout.feed(0) {
            self.reborrow().refresh_space(upstream, packets);
        }
        Taken { flit, queue, upstream, behind }
    }

    /// An output channel lost its owner, and `queue` shows its next packet, if any.
    #[inline(never)]
    pub fn free(&mut self, output: u32, queue: usize, packets: &mut [PacketState]) {
        let left = &mut self.queues[queue];
        left.granted = false;
        left.target = NONE;
        self.masks[output as usize / 64].ready &= !(1 << (output % 64));
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
        self.masks[output as usize / 64].space &= !(u64::from(full) << (output % 64));
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
        let place = entered.head + entered.ready();
        entered.counts += ONE_READY;
        let (granted, target) = (entered.granted, entered.target);
        self.rings[self.ring_place(queue, place)] = flit;
        if granted {
            self.masks[target as usize / 64].ready |= 1 << (target % 64);
        } else if target == NONE {
            self.reborrow().request(queue, packets);
        }
    }

    /// The front flit of a queue is a header: it requests its output channel.
    #[inline(never)]
    fn request(&mut self, queue: usize, packets: &mut [PacketState]) {
        let layout = self.layout;
        let slot = self.rings[self.ring_place(queue, self.queues[queue].head)] >> SLOT_SHIFT;
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
        let port = node * layout.ports + port;
        let output = port << SHIFT | channel;
        self.queues[queue].target = output as u32;
        let wanted = &mut self.outputs[output];
        if wanted.requests == 0 && wanted.owner == NONE {
            self.requested.push(output as u32);
        }
        wanted.requests |= 1 << layout.place_in_list(port, channel, port_of_queue);
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
            let front = self.rings[self.ring_place(owner as usize, self.queues[owner as usize].head)];
            if front & HEAD != 0 {
                needed = packets[(front >> SLOT_SHIFT) as usize].length;
            }
        }
        if u32::from(space) >= needed {
            self.masks[output as usize / 64].space |= 1 << (output % 64);
        } else {
            self.masks[output as usize / 64].space &= !(1 << (output % 64));
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
            masks: self.masks,
            requested: self.requested,
            longest: self.longest,
        }
    }
}
