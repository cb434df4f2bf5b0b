//! The state of sets of channels as fields.

use super::{
    super::{flit::Packets, rules::Rules},
    beside::{Beside, InTurn},
    layout::MOST_PLACES,
    sending::LAST,
    state::{InputPort, Known, Lane, Leaving, NO_PORT, NOBODY, OutputPort, PACKET, Router, Sets},
};
use crate::{
    save::{Archive, Plain, SaveError, plain_record},
    visit::{Visited, below},
};

plain_record!(Lane {
    head: u32,
    count: u32,
    is_idle: bool,
    may_send: bool,
    has_won: bool,
    port: u16,
    first: u8,
    last: u8,
    channel: u8,
});

/// Marks are saved apart from the number.
impl Plain for Known {
    const BYTES: usize = 10;

    fn put(self, bytes: &mut Vec<u8>) {
        (self.owner, self.used(), [self.is_reserved(), self.tail_sent()]).put(bytes);
    }

    fn get(bytes: &[u8]) -> Self {
        let (owner, used, [is_reserved, tail_sent]) = Plain::get(bytes);
        Self::new(owner, used, is_reserved, tail_sent)
    }
}

impl Router {
    fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self {
            first_input: _,
            first_output: _,
            inputs: _,
            outputs: _,
            to_be_routed,
            routing,
            routed_at,
            waiting,
            old,
        } = self;
        archive.lists("input channels that wait", [to_be_routed, routing, waiting])?;
        archive.number("end of routing", routed_at)?;
        archive.number("lengths of lists", old)
    }
}

impl InTurn {
    /// What routers have beside; how many ask, and which pairs, follows from the rest.
    fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self {
            router_of: _,
            pairs: _,
            // What does not outlive a cycle.
            arriving: _,
            taken: _,
            next: _,
            breach: _,
            given: _,
            step: _,
            routers,
            ways,
            held_inputs,
            held_outputs,
            turns,
            speculative_allocators,
            outputs,
            credits,
            credited,
        } = self;
        for Beside { holders, asking: _, crossbar, busy_outputs, busy_inputs } in routers {
            archive.list("holders", holders)?;
            crossbar.fields(archive)?;
            archive.lists("busy ports", [busy_outputs, busy_inputs])?;
        }
        archive.slice("ways", ways)?;
        archive.slice("inputs held", held_inputs)?;
        archive.slice("outputs held", held_outputs)?;
        archive.slice("turns with the switch", turns)?;
        speculative_allocators.iter_mut().try_for_each(|allocator| allocator.fields(archive))?;
        archive.lists("flits behind the crossbar", outputs)?;
        archive.lists("credits to be sent", credits)?;
        archive.slice("steps of credits", credited)
    }
}

impl OutputPort {
    fn fields(ports: &mut [Self], archive: &mut Archive) -> Visited {
        let parts = |Self { free, full, common, far: _ }: &Self| (*free, *full, *common);
        let mut all: Vec<_> = ports.iter().map(parts).collect();
        archive.slice("channels of outputs", &mut all)?;
        ports.iter_mut().zip(all).for_each(|(port, all)| (port.free, port.full, port.common) = all);
        Ok(())
    }
}

impl Leaving {
    fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { flits, credits, cycle, step } = self;
        archive.slice("flits behind the crossbar", flits)?;
        archive.slice("credits behind the crossbar", credits)?;
        archive.number("cycles of routers", cycle)?;
        archive.number("steps of routers", step)
    }
}

impl Sets {
    /// Whether nobody sees in which order things are listed.
    fn is_unordered(&self) -> bool {
        self.layout.is_lean && !self.layout.keeps_order && !self.layout.queues_up
    }

    /// Clears what is left over and sorts what has no order, so that routers that do the same from now on are saved alike.
    fn normalise(&mut self, rules: &Rules) {
        if !self.is_unordered() {
            return;
        }
        for router in &mut self.routers {
            let Router { to_be_routed, routing, waiting, routed_at, .. } = router;
            [&mut *to_be_routed, &mut *routing, &mut *waiting]
                .into_iter()
                .for_each(|list| list.sort_unstable());
            *routed_at = if routing.is_empty() { 0 } else { *routed_at };
            for &lane in to_be_routed.iter().chain(&*routing) {
                self.lanes[lane as usize].port = NO_PORT;
            }
            waiting.iter().for_each(|&lane| self.lanes[lane as usize].channel = 0);
        }
        let room = 1 << self.layout.place_bits;
        for (lane, queue) in self.lanes.iter_mut().zip(self.queues.chunks_mut(room)) {
            if lane.is_idle {
                lane.port = NO_PORT;
            }
            if lane.port == NO_PORT {
                (lane.first, lane.last, lane.channel) = (0, 0, 0);
            }
            queue.rotate_left(lane.head as usize);
            lane.head = 0;
            queue[lane.count as usize..].fill(0);
        }
        if !rules.waits_for_tail {
            self.known.iter_mut().for_each(Known::forget_tail);
        }
        self.flits.sort();
        self.credits.sort();
        self.leaves_next.iter_mut().for_each(|outputs| outputs.sort_unstable());
    }

    /// Queues whose room grows, each from its first flit on.
    fn deep_queues(&mut self, archive: &mut Archive) -> Visited {
        self.make_room(self.layout.place_bits);
        let room = |bits: u32| 1usize << bits;
        let taken = |all: &[u32], bits: u32, lanes: &[Lane]| -> Vec<Vec<u32>> {
            all.chunks(room(bits))
                .zip(lanes)
                .map(|(queue, lane)| queue[..lane.count as usize].to_vec())
                .collect()
        };
        let mut queues = taken(&self.queues, self.layout.place_bits, &self.lanes);
        archive.lists("flits in queues", &mut queues)?;
        let mut stamps: Vec<Vec<i32>> = queues.iter().map(|_| Vec::new()).collect();
        if !self.stamps.is_empty() {
            for ((own, all), lane) in
                stamps.iter_mut().zip(self.stamps.chunks(room(self.layout.place_bits))).zip(&self.lanes)
            {
                own.extend(&all[..lane.count as usize]);
            }
            archive.lists("priorities of flits", &mut stamps)?;
        }
        if !archive.is_reading() {
            return Ok(());
        }
        let longest = queues.iter().map(Vec::len).max().unwrap_or(0);
        let bits = longest.next_power_of_two().trailing_zeros().max(self.layout.place_bits);
        self.make_room(bits);
        for (at, queue) in queues.iter().enumerate() {
            self.queues[at << bits..][..queue.len()].copy_from_slice(queue);
            if !self.stamps.is_empty() && stamps[at].len() == queue.len() {
                self.stamps[at << bits..][..queue.len()].copy_from_slice(&stamps[at]);
            }
        }
        Ok(())
    }

    /// All that outlives a cycle.
    pub(super) fn fields(&mut self, rules: &Rules, packets: &Packets, archive: &mut Archive) -> Visited {
        if !archive.is_reading() {
            self.normalise(rules);
        }
        if rules.policy.places() > MOST_PLACES {
            self.deep_queues(archive)?;
        }
        self.every_field(rules, archive)?;
        if !archive.is_reading() {
            return Ok(());
        }
        self.check(rules.wiring.nodes(), packets)?;
        if self.layout.in_turn { self.take_up_in_turn(rules, packets) } else { Ok(()) }
    }

    pub(super) fn every_field(&mut self, rules: &Rules, archive: &mut Archive) -> Visited {
        let Self {
            // What they were made of.
            layout: _,
            subs: _,
            sub_of: _,
            input_of: _,
            output_of: _,
            first_router: _,
            inputs: _,
            common: _,
            // What does not outlive a cycle.
            scratch: _,
            routers,
            at_work,
            asks,
            grant_bytes,
            accept_bytes,
            ready,
            outputs,
            asked_by,
            lanes,
            queues,
            known,
            shared,
            stamps,
            priorities,
            latest,
            accepts,
            grants,
            switch_accepts,
            switch_grants,
            turns,
            channel_allocators,
            switch_allocators,
            order,
            leaving,
            flits,
            credits,
            credits_under_way,
            leaves_next,
            in_turn,
        } = self;
        routers.iter_mut().try_for_each(|router| router.fields(archive))?;
        archive.slice("routers that wait", at_work)?;
        archive.slice("requests of the switch", asks)?;
        archive.slice("turns of outputs", grant_bytes)?;
        archive.slice("turns of inputs", accept_bytes)?;
        archive.slice("channels that ask", ready)?;
        OutputPort::fields(outputs, archive)?;
        archive.slice("sub-ports that ask", asked_by)?;
        archive.slice("input channels", lanes)?;
        if rules.policy.places() <= MOST_PLACES {
            archive.slice("flits in queues", queues)?;
        }
        archive.slice("output channels", known)?;
        shared.as_mut().map_or(Ok(()), |behind| behind.fields(archive))?;
        if rules.policy.places() <= MOST_PLACES {
            archive.slice("priorities of flits", stamps)?;
        }
        archive.slice("priorities of channels", priorities)?;
        archive.slice("flits that came last", latest)?;
        archive.slice("turns among output channels", accepts)?;
        archive.slice("turns among input channels", grants)?;
        archive.slice("turns of input sub-ports", switch_accepts)?;
        archive.slice("turns of output sub-ports", switch_grants)?;
        archive.slice("turns of channels", turns)?;
        let mut allocators = channel_allocators.iter_mut().chain(switch_allocators);
        allocators.try_for_each(|allocator| allocator.fields(archive))?;
        archive.slice("order of channels", order)?;
        leaving.fields(archive)?;
        flits.fields(archive)?;
        credits.fields(archive)?;
        archive.number("credits under way", credits_under_way)?;
        leaves_next.as_mut().map_or(Ok(()), |outputs| archive.list("outputs with flits", outputs))?;
        if self.layout.in_turn { in_turn.fields(archive) } else { Ok(()) }
    }

    /// Who has an output channel is the input channel that says so, and nobody else.
    fn check_owners(&self) -> Visited {
        let owners = self.known.iter().map(|known| known.owner).filter(|&owner| owner != NOBODY);
        below("output channels", self.lanes.len(), owners)?;
        let lists = self.routers.iter().flat_map(|one| [&one.to_be_routed, &one.routing, &one.waiting]);
        let mut waits = vec![false; self.lanes.len()];
        for &lane in lists.flatten() {
            let is_new = waits.get_mut(lane as usize).map(|waits| !std::mem::replace(waits, true));
            if is_new != Some(true) || self.lanes[lane as usize].is_idle {
                return Err(SaveError::Value { field: "input channels that wait", value: lane.into() });
            }
        }
        let mut active = 0;
        for (at, lane) in self.lanes.iter().enumerate().filter(|&(at, lane)| !lane.is_idle && !waits[at]) {
            let router = &self.routers[self.inputs[at >> self.layout.channel_bits].router as usize];
            let out = router.first_output + u32::from(lane.port);
            let known =
                self.known.get(((out << self.layout.channel_bits) + u32::from(lane.channel)) as usize);
            if u32::from(lane.port) >= router.outputs || known.is_none_or(|known| known.owner != at as u32) {
                return Err(SaveError::Value { field: "input channels", value: at as u64 });
            }
            active += 1;
        }
        match self.known.iter().filter(|known| known.owner != NOBODY).count() {
            owned if owned == active => Ok(()),
            owned => Err(SaveError::Value { field: "output channels", value: owned as u64 }),
        }
    }

    /// What routers that work in turn have beside leads nowhere else, and what follows from it.
    fn take_up_in_turn(&mut self, rules: &Rules, packets: &Packets) -> Visited {
        let wrong = |field: &'static str, at: u32| Err(SaveError::Value { field, value: at.into() });
        let lanes = self.lanes.len() as u32;
        for number in 0..self.routers.len() {
            let Router { first_input, first_output, inputs, outputs, .. } = self.routers[number];
            let own =
                first_input << self.layout.channel_bits..(first_input + inputs) << self.layout.channel_bits;
            let Beside { holders, crossbar, busy_outputs, busy_inputs, .. } = &self.in_turn.routers[number];
            for (at, lane) in holders.iter().enumerate() {
                let is_known = own.contains(lane) && self.is_active(number, *lane);
                if !is_known || holders[..at].contains(lane) {
                    return wrong("holders", *lane);
                }
            }
            let through = crossbar.waiting.iter().chain(&crossbar.inside).map(|one| one.0);
            let (of_outputs, of_inputs) =
                (first_output..first_output + outputs, first_input..first_input + inputs);
            if let Some(port) =
                through.chain(busy_outputs.iter().copied()).find(|port| !of_outputs.contains(port))
            {
                return wrong("output ports", port);
            }
            if let Some(&port) = busy_inputs.iter().find(|port| !of_inputs.contains(port)) {
                return wrong("input ports", port);
            }
            for lane in own {
                let most = |ways: &super::super::flit::Ways| {
                    ways.iter().all(|way| {
                        u32::from(way.port) < outputs
                            && way.first <= way.last
                            && u32::from(way.last) < self.layout.channels
                    })
                };
                if self.in_turn.ways.get(lane as usize).is_some_and(|ways| !most(ways)) {
                    return wrong("ways", lane);
                }
            }
        }
        let crossing = self.in_turn.crossing();
        below("flits behind the crossbar", packets.places(), crossing.map(|(_, flit)| flit & PACKET))?;
        let crossing = self.in_turn.crossing().map(|(channel, _)| channel);
        let channels = self.in_turn.credits.iter().flatten().map(|&channel| (channel & !LAST).into());
        below("channels", rules.channels, crossing.chain(channels))?;
        self.in_turn.pairs.clear();
        for (at, _) in (0..).zip(&self.ready).filter(|(_, ready)| **ready != 0) {
            self.in_turn.pairs.insert(at);
        }
        self.in_turn.routers.iter_mut().for_each(|beside| beside.asking = 0);
        let mut asks = vec![false; lanes as usize];
        for router in &self.routers {
            router.waiting.iter().for_each(|&lane| asks[lane as usize] = rules.is_speculative);
        }
        for lane in 0..lanes {
            let router = self.inputs[(lane >> self.layout.channel_bits) as usize].router as usize;
            let is_active = self.is_active(router, lane) && self.lanes[lane as usize].count > 0;
            let beside = &mut self.in_turn.routers[router];
            let is_active = is_active && !beside.holders.contains(&lane);
            beside.asking += u32::from(is_active || asks[lane as usize]);
        }
        Ok(())
    }

    /// Routers ask for what channels are ready for.
    fn check_requests(&self) -> Visited {
        if self.layout.in_turn {
            return Ok(());
        }
        let mut asks = vec![0; self.asks.len()];
        let mut asked_by = vec![0; self.asked_by.len()];
        for (at, &ready) in self.ready.iter().enumerate() {
            let (port, output) =
                (at >> self.layout.output_bits, (at & ((1 << self.layout.output_bits) - 1)) as u32);
            let input = &self.inputs[port];
            for (sub, _) in (0..).zip(&self.subs).filter(|&(_, &set)| ready & set != 0) {
                if self.layout.is_small {
                    asks[input.block as usize] |= 1u64 << ((8 * output + input.first_row + sub) & 63);
                    continue;
                }
                let outer = output * self.layout.output_speedup + input.outer;
                let first = self.routers[input.router as usize].first_output * self.layout.output_speedup;
                let Some(by) = asked_by.get_mut((first + outer) as usize) else {
                    return Err(SaveError::Value { field: "channels that ask", value: at as u64 });
                };
                *by |= 1u64 << ((input.first_inner + sub) & 63);
                asks[input.router as usize] |= 1 << (outer & 63);
            }
        }
        if asks == self.asks && asked_by == self.asked_by {
            Ok(())
        } else {
            Err(SaveError::Value { field: "requests of the switch", value: asks.len() as u64 })
        }
    }

    /// By place of a packet how many of its flits are in queues and on links.
    pub(super) fn flits_of_packets(&self, packets: usize) -> Vec<u32> {
        let mut counts = vec![0; packets];
        let mask = (1 << self.layout.place_bits) - 1;
        for (at, lane) in self.lanes.iter().enumerate() {
            for flit in 0..lane.count {
                let place = (at << self.layout.place_bits) + ((lane.head + flit) & mask) as usize;
                counts[(self.queues[place] & PACKET) as usize] += 1;
            }
        }
        for (_, flit) in self.flits.all(false).chain(self.flits.all(true)) {
            counts[(flit & PACKET) as usize] += 1;
        }
        for (_, flit) in self.in_turn.crossing() {
            counts[(flit & PACKET) as usize] += 1;
        }
        counts
    }

    /// Nothing restored may lead outside the network.
    fn check(&self, nodes: usize, packets: &Packets) -> Visited {
        let wrong = |field: &'static str, at: usize| Err(SaveError::Value { field, value: at as u64 });
        let every = u64::MAX >> (64 - self.layout.channels);
        for (at, lane) in self.lanes.iter().enumerate() {
            let channels = [lane.first, lane.last, lane.channel].map(u32::from);
            let InputPort { router, .. } = self.inputs[at >> self.layout.channel_bits];
            let is_known =
                lane.port == NO_PORT || u32::from(lane.port) < self.routers[router as usize].outputs;
            let fits = lane.head >> self.layout.place_bits == 0
                && lane.count <= self.layout.places.min(1 << self.layout.place_bits);
            if !is_known
                || !fits
                || lane.first > lane.last
                || channels.iter().any(|&one| one >= self.layout.channels)
            {
                return wrong("input channels", at);
            }
            let mask = (1 << self.layout.place_bits) - 1;
            let flits = (0..lane.count).map(|flit| (lane.head + flit) & mask);
            let flits =
                flits.map(|place| self.queues[(at << self.layout.place_bits) + place as usize] & PACKET);
            below("flits in queues", packets.places(), flits)?;
        }
        self.check_owners()?;
        self.check_requests()?;
        let first = |port: u32| (port << self.layout.channel_bits) as usize;
        for router in &self.routers {
            let own = first(router.first_input)..first(router.first_input + router.inputs);
            let mut waiting = router.to_be_routed.iter().chain(&router.routing).chain(&router.waiting);
            let stray = waiting
                .find(|&&lane| !own.contains(&(lane as usize)) || self.lanes[lane as usize].count == 0);
            if let Some(&lane) = stray {
                return wrong("input channels that wait", lane as usize);
            }
            if router.old.0 > router.to_be_routed.len() || router.old.1 > router.waiting.len() {
                return wrong("lengths of lists", router.old.0.max(router.old.1));
            }
        }
        // Who asks for the switch has a flit and an output channel.
        for (at, &ready) in self.ready.iter().enumerate() {
            let (port, output) = (at >> self.layout.output_bits, at & ((1 << self.layout.output_bits) - 1));
            let may = |channel: u32| {
                let lane = &self.lanes[(port << self.layout.channel_bits) + channel as usize];
                lane.count > 0 && !lane.is_idle && usize::from(lane.port) == output
            };
            if ready & !every != 0 || crate::bits::ones(ready).any(|channel| !may(channel as u32)) {
                return wrong("channels that ask", at);
            }
        }
        let (lanes, known) = (self.lanes.len(), self.known.len());
        below("flits on their way", lanes, self.flits.all(false).map(|(lane, _)| lane))?;
        below("credits on their way", known, self.credits.all(false).map(|(channel, _)| channel))?;
        let under_way = self.flits.all(false).chain(self.flits.all(true)).map(|(_, flit)| flit & PACKET);
        below("flits on their way", packets.places(), under_way)?;
        let at_nodes = self.flits.all(true).chain(self.credits.all(true)).map(|(channel, _)| channel);
        below("on their way to nodes", nodes << self.layout.channel_bits, at_nodes)?;
        below("outputs with flits", self.outputs.len(), self.leaves_next.iter().flatten().copied())
    }
}
