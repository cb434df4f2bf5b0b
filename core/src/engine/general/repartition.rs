//! A whole made of its parts, and parts made of a whole: what is looked at, saved and restored is
//! always the whole.
//!
//! A packet that lies in several parts has a slot in each of them, one for every stretch of its way
//! inside: it comes into a slot with its header and leaves it with its tail.

use super::{
    crossing::{Crossing, Due},
    demands::Demands,
    halo::Halo,
    layout::{Layout, NONE, Place},
    packets::Packed,
    record::{Record, Set},
    state::State,
};
use crate::{
    bits::{Available, Vector, ones, spans},
    fabric::NodeId,
    probe::Counted,
    throttle,
    traffic::{Sources, Workload},
    visit::copy_nodes,
};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// A queue, a register or the place behind a link a packet is in, and its slot there.
#[derive(Clone, Copy, Debug)]
struct Stay {
    place: Place,
    slot: u32,
}

/// All stays: queue by queue, then on links, then in registers.
struct Stays {
    all: Vec<Stay>,
    /// Per queue its first stay, and the end of the last queue.
    first: Vec<usize>,
    in_queues: usize,
    /// With the turn of the wheel in which they arrive.
    on_links: Vec<(usize, Crossing)>,
    in_registers: Vec<Stay>,
}

/// The part that has a node.
fn part_of(parts: &[&Layout], node: usize) -> usize {
    parts.partition_point(|part| part.first + part.nodes <= node)
}

impl<V: Vector, R: Record> State<V, R> {
    /// The state of the whole network, given those of its parts.
    pub(super) fn gather(
        proof: Available<V>,
        layout: &Layout,
        workload: &Workload,
        demands: Demands,
        rule: Option<throttle::State>,
        parts: impl Iterator<Item = (Arc<Layout>, Self)>,
    ) -> Self {
        let mut whole = Self::new(proof, layout, Sources::new(workload, layout.nodes), demands, rule);
        whole.feeds.forget_starts();
        let (mut slots, mut windows) = (HashMap::new(), Vec::new());
        for (part, mut state) in parts {
            whole.adopt(layout, &part, &mut state, &mut slots);
            windows.extend(state.windows.iter().map(|windows| (windows.as_ref().clone(), state.counted())));
        }
        if let Some(own) = &mut whole.windows {
            own.gather(windows);
        }
        whole.derive(layout);
        whole
    }

    fn adopt(
        &mut self,
        layout: &Layout,
        part: &Layout,
        state: &mut Self,
        slots: &mut HashMap<(NodeId, u64), u32>,
    ) {
        let (first, nodes) = (part.first, part.nodes);
        self.sources.take_over_graph(&state.sources);
        copy_nodes(self, first, state, 0..nodes, [layout.nodes, nodes]);
        self.outcome.merge(&state.outcome);
        // Packets, each once.
        let mut free = vec![false; state.packets.packets.len()];
        state.packets.free.iter().for_each(|&slot| free[slot as usize] = true);
        let mut slot_of = vec![0; free.len()];
        for slot in (1..free.len()).filter(|&slot| !free[slot]) {
            let packed = state.packets.pack(slot as u32);
            let packed = self.on_its_route(layout, state.progress(layout, packed));
            let own =
                *slots.entry((packed.source, packed.number)).or_insert_with(|| self.packets.unpack(packed));
            // The header is where the most of the route is used up.
            let known = self.packets.packet_mut(own);
            known.route = known.route.max(packed.route);
            slot_of[slot] = own;
        }
        for (index, fifo) in state.fifos.iter().enumerate() {
            let own = &mut self.fifos[first * layout.queues + index];
            for slot in fifo.slots(&state.packets) {
                own.push(slot_of[slot as usize], &mut self.packets.headers);
            }
        }
        if let (Some(own), Some(registers)) = (&mut self.registers, &state.registers) {
            for (node, output) in
                (0..nodes).flat_map(|node| (0..layout.outputs).map(move |output| (node, output)))
            {
                let slot = registers.slot(part, Place::new(node, output));
                own.set_slot(layout, Place::new(first + node, output), slot_of[slot as usize]);
            }
        }
        // What is on links.
        self.on_links += state.on_links;
        for (own, due) in self.wheel.iter_mut().zip(&state.wheel) {
            own.crossings.extend(due.crossings.iter().map(|crossing| Crossing {
                to: Place::new(first + crossing.to.node(), crossing.to.index()),
                slot: slot_of[crossing.slot as usize],
            }));
            own.move_flits(due, 0..nodes, first);
        }
    }

    /// The states of parts, given that of the whole.
    pub(super) fn scatter(
        &mut self,
        layout: &Layout,
        parts: &[&Layout],
        rule: Option<&throttle::State>,
    ) -> Vec<Self> {
        let mut states: Vec<Self> = parts.iter().map(|part| self.part(layout, part, rule)).collect();
        let stays = self.stays(layout);
        let slot_of = self.slots_in_parts(layout, parts, &mut states, &stays);
        let Stays { all, in_queues, on_links, in_registers, .. } = &stays;
        for (stay, &slot) in all[..*in_queues].iter().zip(&slot_of) {
            let part = part_of(parts, stay.place.node());
            let (state, node) = (&mut states[part], stay.place.node() - parts[part].first);
            let queue = node * layout.queues + stay.place.index();
            state.fifos[queue].push(slot, &mut state.packets.headers);
        }
        for (stay, &slot) in in_registers.iter().zip(&slot_of[in_queues + on_links.len()..]) {
            let part = part_of(parts, stay.place.node());
            let place = Place::new(stay.place.node() - parts[part].first, stay.place.index());
            if let Some(registers) = &mut states[part].registers {
                registers.set_slot(parts[part], place, slot);
            }
        }
        for (&(turn, crossing), &slot) in on_links.iter().zip(&slot_of[*in_queues..]) {
            let part = part_of(parts, crossing.to.node());
            let to = Place::new(crossing.to.node() - parts[part].first, crossing.to.index());
            states[part].wheel[turn].crossings.push(Crossing { to, slot });
        }
        for (state, part) in states.iter_mut().zip(parts) {
            state.derive(part);
            state.restore_throttle(part);
            self.show_others(layout, part, state);
        }
        if let Some(state) = states.first_mut() {
            state.outcome = self.outcome.clone();
        }
        states
    }

    /// Where packets are.
    fn stays(&self, layout: &Layout) -> Stays {
        let mut all = Vec::new();
        let mut first = vec![0];
        for (index, fifo) in self.fifos.iter().enumerate() {
            let place = Place::new(index / layout.queues, index % layout.queues);
            all.extend(fifo.slots(&self.packets).into_iter().map(|slot| Stay { place, slot }));
            first.push(all.len());
        }
        let in_queues = all.len();
        let on_links: Vec<(usize, Crossing)> = (self.wheel.iter().enumerate())
            .flat_map(|(turn, due)| due.crossings.iter().map(move |&crossing| (turn, crossing)))
            .collect();
        all.extend(on_links.iter().map(|(_, crossing)| Stay { place: crossing.to, slot: crossing.slot }));
        let in_registers = self.packets_in_registers(layout);
        all.extend(&in_registers);
        Stays { all, first, in_queues, on_links, in_registers }
    }

    /// Per stay the one in which the same packet goes on, if it is in the same part: a header that was sent is
    /// behind the link of its output channel.
    fn goes_on(&self, layout: &Layout, parts: &[&Layout], stays: &Stays) -> Vec<Option<usize>> {
        let Stays { all, first, in_queues, on_links, in_registers } = stays;
        let behind_links = *in_queues..in_queues + on_links.len();
        let register_at: HashMap<Place, usize> =
            in_registers.iter().map(|stay| stay.place).zip(behind_links.end..).collect();
        let crossing_to: HashMap<(Place, u32), usize> =
            behind_links.map(|stay| ((all[stay].place, all[stay].slot), stay)).collect();
        let mut next = vec![None; all.len()];
        for node in 0..layout.nodes {
            for output in 0..layout.outputs {
                let place = Place::new(node, output);
                let owner = self.output(layout, place).owner() as usize;
                let left = owner > 0 && !self.fresh.bit(output, node);
                let mut sent = left.then(|| first[node * layout.queues + owner - 1]);
                if let Some((&register, registers)) = register_at.get(&place).zip(self.registers.as_ref()) {
                    if let Some(stay) = sent {
                        next[stay] = Some(register);
                    }
                    let (_, head) = registers.holds(place);
                    sent = (!head).then_some(register);
                }
                let Some(stay) = sent.filter(|_| output < layout.link_outputs) else { continue };
                let behind = layout.links[layout.port_of_output(output)].neighbour(node);
                let to = Place::new(behind, usize::from(layout.queue_behind[output]));
                let queued = || first[to.node() * layout.queues + to.index() + 1].checked_sub(1);
                let ahead = crossing_to.get(&(to, all[stay].slot)).copied().or_else(queued);
                if let Some(ahead) = ahead.filter(|_| part_of(parts, node) == part_of(parts, behind)) {
                    next[stay] = Some(ahead);
                }
            }
        }
        next
    }

    /// Gives every packet a slot in each part in which it is; per stay its slot.
    fn slots_in_parts(
        &self,
        layout: &Layout,
        parts: &[&Layout],
        states: &mut [Self],
        stays: &Stays,
    ) -> Vec<u32> {
        let next = self.goes_on(layout, parts, stays);
        let mut begins = vec![true; next.len()];
        next.iter().flatten().for_each(|&stay| begins[stay] = false);
        let mut slot_of = vec![0; next.len()];
        for begin in (0..next.len()).filter(|&stay| begins[stay]) {
            let Stay { place, slot } = stays.all[begin];
            let part = part_of(parts, place.node());
            let packed = self.progress(layout, self.packets.pack(slot));
            let packed = states[part].on_its_route(parts[part], packed);
            let own = states[part].packets.unpack(packed);
            let mut stay = Some(begin);
            while let Some(here) = stay {
                slot_of[here] = own;
                stay = next[here];
            }
        }
        slot_of
    }

    /// Packets whose flits pass registers, each with the place of its register.
    fn packets_in_registers(&self, layout: &Layout) -> Vec<Stay> {
        let Some(registers) = &self.registers else { return Vec::new() };
        let places = (0..layout.nodes)
            .flat_map(|node| (0..layout.outputs).map(move |output| Place::new(node, output)));
        let passes = |&place: &Place| {
            let underway =
                self.output(layout, place).owner() > 0 && !self.fresh.bit(place.index(), place.node());
            underway || registers.holds(place).0
        };
        places.filter(passes).map(|place| Stay { place, slot: registers.slot(layout, place) }).collect()
    }

    /// The state of a part but for its packets.
    fn part(&mut self, layout: &Layout, part: &Layout, rule: Option<&throttle::State>) -> Self {
        let (first, nodes) = (part.first, part.nodes);
        let of_part = first..first + nodes;
        let rule = rule.map(|rule| rule.part(of_part.clone()));
        let mut state = Self::new(self.proof, part, self.sources.part(of_part.clone()), self.demands, rule);
        state.feeds.forget_starts();
        copy_nodes(&mut state, 0, self, of_part.clone(), [nodes, layout.nodes]);
        // All totals so far are those of the first part.
        state.windows = self.windows.as_ref().map(|windows| {
            let before = if first == 0 { windows.before() } else { Counted::default() };
            Box::new(windows.part(of_part.clone(), before))
        });
        for (own, due) in state.wheel.iter_mut().zip(&self.wheel) {
            own.move_flits(due, of_part.clone(), 0);
            state.on_links += own.flits.iter().map(|flits| u64::from(flits.2.count_ones())).sum::<u64>();
        }
        state
    }

    /// A packet with the steps of its route that are used up, where routes are looked up.
    fn progress(&self, layout: &Layout, mut packed: Packed) -> Packed {
        if packed.route != NONE && self.sources.looks_up() {
            let destination = layout.destination(packed.way) as NodeId;
            packed.route -= self.sources.looked_up(packed.source, destination, self.routes.as_deref());
        }
        packed
    }

    /// The same packet where its route is looked up here.
    fn on_its_route(&mut self, layout: &Layout, mut packed: Packed) -> Packed {
        if self.sources.looks_up() {
            packed.route += self.begin_of_route(layout, &packed);
        }
        packed
    }

    /// Shows a part what queues of other parts hold.
    fn show_others(&self, layout: &Layout, part: &Layout, state: &mut Self) {
        for &Halo { side, nodes, others, from, ref out, .. } in &part.halos {
            let (from, mut words) = (from as isize, Vec::new());
            if let (Some(ahead), Some(whole), 0 | 1) = (&mut state.ahead, &self.ahead, side) {
                whole.send_halo(out[0], from, nodes, &mut words);
                ahead.receive_halo(side, &words);
                words.clear();
            }
            if let (Some(control), Some(whole), 0 | 1) =
                (&mut state.injection_control, &self.injection_control, side)
            {
                whole.send_halo(out[0], from, nodes, &mut words);
                control.receive_halo(side, &words);
            }
            for (first, count) in spans(nodes) {
                let first = first as isize;
                for queue in 0..layout.link_queues {
                    let full = self.queues.full.bits(queue, from + first, count);
                    state.queues.full.set_bits(queue, others + first, count, full);
                    state.queues.full_any |= R::Set::of(queue, full != 0);
                }
                for plane in 0..layout.link_queues * self.queues.count_bits {
                    let held = if layout.latency > 1 { &self.queues.held } else { &self.queues.counts };
                    let level = held.bits(plane, (from + first) as usize, count);
                    state.queues.levels.set_bits(plane, others + first, count, level);
                }
            }
        }
    }
}

impl Due {
    /// Adds the flits to some nodes of another turn, whose first node has another number here.
    fn move_flits(&mut self, other: &Self, nodes: Range<usize>, first: usize) {
        for &(queue, word, flits) in &other.flits {
            for bit in ones(flits) {
                let node = word as usize * 64 + bit;
                if !nodes.contains(&node) {
                    continue;
                }
                let own = node - nodes.start + first;
                match self.flits.last_mut() {
                    Some((last, word, flits)) if (*last, *word as usize) == (queue, own / 64) => {
                        *flits |= 1 << (own % 64);
                    }
                    _ => self.flits.push((queue, own as u32 / 64, 1 << (own % 64))),
                }
            }
        }
    }
}
