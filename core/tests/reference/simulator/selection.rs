//! Steps 2 and 3 of a cycle: VC allocation and switch allocation.

use super::{Crossing, Event, Flit, Lines, Output, Port, Queue, Routing, Send, Simulator, What, rules};
use flitloom_core::{fabric::NodeId, router::FlowControl};

/// By input port and channel: the output (port, channel) that is asked for.
type Requests = Vec<Vec<Option<(Port, usize)>>>;

impl Simulator<'_> {
    /// The output (port, channel) a flit in an input queue (port, channel) needs.
    pub(super) fn needs(&self, node: NodeId, queue: (Port, usize), flit: &Flit) -> (Port, usize) {
        // All P queues are channel 0.
        let channel = if queue.0 == self.p { 0 } else { queue.1 };
        let (out, from) = match &flit.route {
            None => (self.ways[node as usize][flit.destination as usize], channel),
            Some(route) => {
                let out = route.ports.get(flit.hops as usize).copied().unwrap_or(self.p);
                (out, if flit.hops == 0 { route.channel } else { channel })
            }
        };
        let datelines = self.config.flow_control != FlowControl::Bubble;
        let crosses = datelines && out != self.p && self.counts_line(node, out, flit.hops == 0);
        (out, rules::channel_after(from, crosses, self.channels, self.rules))
    }

    /// Whether the link behind a port crosses a dateline that counts, for a packet whose first hop it is or not.
    pub(super) fn counts_line(&self, node: NodeId, port: Port, first: bool) -> bool {
        let counts = match self.rules.lines {
            Lines::Both => true,
            Lines::WrapOnly => self.wraps_around(node, port),
            Lines::WrapNotFirst => !first || !self.wraps_around(node, port),
            Lines::Checkerboard => {
                !first || rules::coordinates(self.shape, node).iter().sum::<u32>() % 2 == 0
            }
        };
        counts && self.dateline(node, port)
    }

    /// Flits in the queue behind an output channel and on the way to it.
    pub(super) fn occupied(&self, node: NodeId, out: Port, channel: usize) -> usize {
        let neighbour = self.neighbour(node, out).unwrap();
        let queue = &self.routers[neighbour as usize].queues[rules::facing(out)][channel];
        let in_flight = if self.rules.flits_in_flight_take_space { queue.in_flight.len() } else { 0 };
        queue.flits.len() + in_flight
    }

    /// Flits that a queue behind a link has room for; a register is one of the places.
    pub(super) fn depth(&self) -> usize {
        self.config.buffer as usize - usize::from(self.rules.crossing == Crossing::Registered)
    }

    /// What every input queue of a router asks for, by port and channel: the output its front flit
    /// needs, if that is a header and the queue owns no output.
    fn requests(&self, node: NodeId) -> Requests {
        let request = |port: Port, channel: usize, queue: &Queue| {
            let front = queue.flits.front()?;
            if !front.is_header() || queue.owns_an_output {
                return None;
            }
            let queue = (port, channel);
            match self.rules.routing {
                Routing::DimensionOrder => Some(self.needs(node, queue, front)),
                Routing::SimpleAdaptive | Routing::CrossLine | Routing::MinimalAdaptive => {
                    self.adaptive(node, queue, front)
                }
                Routing::O1Turn => Some(self.o1turn(node, queue, front)),
                Routing::Valiant => Some(self.valiant(node, queue, front, false)),
                Routing::Ugal => Some(self.ugal(node, queue, front)),
            }
        };
        let queues = &self.routers[node as usize].queues;
        let of_port = |(port, queues): (Port, &Vec<Queue>)| {
            let all = queues.iter().enumerate();
            all.map(|(channel, queue)| request(port, channel, queue)).collect()
        };
        queues.iter().enumerate().map(of_port).collect()
    }

    /// VC allocation; returns whether anything was granted.
    pub(super) fn select_queues(&mut self) -> bool {
        let mut granted = false;
        for node in self.nodes() {
            let mut requests = self.requests(node);
            self.hold_back(node, &mut requests);
            for out in 0..=self.p {
                for channel in 0..self.channels {
                    if let Some(queue) = self.select_queue(node, (out, channel), &requests) {
                        self.grant(node, (out, channel), queue, &requests);
                        granted = true;
                    }
                }
            }
        }
        granted
    }

    /// Headers that a throttle holds are no candidates.
    fn hold_back(&mut self, node: NodeId, requests: &mut Requests) {
        for queue in 0..requests[self.p].len() {
            if let Some(output) = requests[self.p][queue] {
                let header = self.routers[node as usize].queues[self.p][queue].flits.front().unwrap();
                if self.is_held(node, header, output) {
                    requests[self.p][queue] = None;
                    self.note_held();
                }
            }
        }
    }

    /// The input queue (port, channel) that is granted an output.
    fn select_queue(
        &self,
        node: NodeId,
        output: (Port, usize),
        requests: &Requests,
    ) -> Option<(Port, usize)> {
        let Output { owner, list, .. } = &self.routers[node as usize].outputs[output.0][output.1];
        if owner.is_some() {
            return None;
        }
        let candidate = |port: Port, channel: usize| {
            requests[port][channel] == Some(output)
                && !self.lacks_bubble(node, (port, channel), output)
                && !self.lacks_room(node, (port, channel), output)
        };
        for &port in list {
            if let Some(channel) = (0..requests[port].len()).find(|&channel| candidate(port, channel)) {
                return Some((port, channel));
            }
        }
        None
    }

    fn grant(&mut self, node: NodeId, output: (Port, usize), queue: (Port, usize), requests: &Requests) {
        for (port, requests) in requests.iter().enumerate() {
            for (channel, request) in requests.iter().enumerate() {
                if *request == Some(output) && (port, channel) != queue {
                    let granted = self.packet_at_front(node, queue);
                    let blocked = self.packet_at_front(node, (port, channel));
                    let what = What::LostQueue { output: (node, output.0, output.1), granted, blocked };
                    self.run.events.push(Event { cycle: self.cycle, what });
                }
            }
        }
        if queue.0 == self.p {
            self.note_granted(node);
        }
        let router = &mut self.routers[node as usize];
        router.queues[queue.0][queue.1].owns_an_output = true;
        let output = &mut router.outputs[output.0][output.1];
        output.owner = Some(queue);
        if self.rules.lists_turn {
            rules::turn(&mut output.list, queue.0);
        }
    }

    fn packet_at_front(&self, node: NodeId, queue: (Port, usize)) -> (NodeId, u64) {
        let front = self.routers[node as usize].queues[queue.0][queue.1].flits.front().unwrap();
        (front.source, front.number)
    }

    /// Whether bubble flow control keeps the header at the front of a queue out of an output.
    fn lacks_bubble(&self, node: NodeId, queue: (Port, usize), output: (Port, usize)) -> bool {
        let (out, channel) = output;
        if self.config.flow_control != FlowControl::Bubble || out == self.p {
            return false;
        }
        let header = self.routers[node as usize].queues[queue.0][queue.1].flits.front().unwrap();
        let enters_ring = self.closing[out] && queue.0 != rules::facing(out);
        let needed = header.length as usize + self.longest_packet;
        enters_ring && self.occupied(node, out, channel) + needed > self.config.buffer as usize
    }

    /// Whether a grant has to wait until the whole packet fits downstream.
    fn lacks_room(&self, node: NodeId, queue: (Port, usize), output: (Port, usize)) -> bool {
        if !self.rules.grant_needs_room || output.0 == self.p {
            return false;
        }
        let header = self.routers[node as usize].queues[queue.0][queue.1].flits.front().unwrap();
        self.occupied(node, output.0, output.1) + header.length as usize > self.config.buffer as usize
    }

    /// The channels of an output port in the order in which they may send.
    pub(super) fn order(&self, node: NodeId, out: Port) -> Vec<usize> {
        let router = &self.routers[node as usize];
        let last = router.channel_used_last[out];
        let scheme = self.config.arbitration.scheme(node as usize, out, self.p + 1);
        rules::channel_order(scheme, last, router.outputs[out][last].under_way, self.channels)
    }

    /// Switch allocation: the flits that move in this cycle.
    pub(super) fn select_channels(&mut self) -> Vec<Send> {
        let (mut sends, mut lost) = (Vec::new(), Vec::new());
        for node in self.nodes() {
            for out in 0..=self.p {
                let router = &self.routers[node as usize];
                let order = self.order(node, out);
                let may_send = |channel: &usize| self.may_send(node, out, *channel);
                let has_flit = |channel: &usize| self.front_of_owner(node, out, *channel).is_some();
                if let Some(channel) = order.iter().copied().find(may_send) {
                    let from = router.outputs[out][channel].owner.unwrap();
                    sends.push(Send { node, from, to: (out, channel) });
                    let packet = |channel: usize| {
                        self.packet_at_front(node, router.outputs[out][channel].owner.unwrap())
                    };
                    for other in order.iter().copied().filter(|other| *other != channel && may_send(other)) {
                        let (granted, blocked) = (packet(channel), packet(other));
                        let what = What::LostChannel { output: (node, out, channel), granted, blocked };
                        lost.push(Event { cycle: self.cycle, what });
                    }
                    if self.rules.remembers_channel {
                        self.routers[node as usize].channel_used_last[out] = channel;
                    }
                } else if out != self.p && order.iter().any(has_flit) {
                    let link = node * self.p as u32 + out as u32;
                    self.run.events.push(Event { cycle: self.cycle, what: What::Blocked { link } });
                }
            }
        }
        self.run.events.extend(lost);
        sends
    }

    /// The flit that an output channel would send next.
    fn front_of_owner(&self, node: NodeId, out: Port, channel: usize) -> Option<&Flit> {
        let router = &self.routers[node as usize];
        let (port, owner_channel) = router.outputs[out][channel].owner?;
        router.queues[port][owner_channel].flits.front()
    }

    fn may_send(&self, node: NodeId, out: Port, channel: usize) -> bool {
        let Some(flit) = self.front_of_owner(node, out, channel) else { return false };
        if out == self.p {
            return true;
        }
        let whole_packet = self.config.flow_control != FlowControl::Wormhole && flit.is_header();
        let needed = if whole_packet { flit.length as usize } else { 1 };
        self.occupied(node, out, channel) + needed <= self.config.buffer as usize
    }
}
