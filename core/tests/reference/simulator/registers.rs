//! The cycle of the router with output registers; see [`Crossing::Registered`](super::Crossing).

use super::{Event, Flit, Port, Simulator, What, rules};
use flitloom_core::fabric::NodeId;

impl Simulator<'_> {
    /// One cycle. Returns whether anything moved, was granted or is still to come.
    pub(super) fn step_with_registers(&mut self) -> bool {
        let sent = self.send_from_registers();
        self.top_up();
        self.observe();
        let granted = self.select_queues();
        let moved = self.fill_registers();
        sent || granted || moved || self.to_come() || self.throttled()
    }

    /// a) The links, with the space at the start of the cycle.
    fn send_from_registers(&mut self) -> bool {
        let mut sends: Vec<(NodeId, Port, usize)> = Vec::new();
        for node in self.nodes() {
            for out in 0..=self.p {
                let may_send = |&channel: &usize| {
                    let full = self.routers[node as usize].outputs[out][channel].register.is_some();
                    full && (out == self.p || self.occupied(node, out, channel) < self.depth())
                };
                if let Some(channel) = self.order(node, out).into_iter().find(may_send) {
                    sends.push((node, out, channel));
                }
            }
        }
        for &(node, out, channel) in &sends {
            let router = &mut self.routers[node as usize];
            router.channel_used_last[out] = channel;
            let output = &mut router.outputs[out][channel];
            let flit = output.register.take().unwrap();
            if flit.is_tail() {
                output.owner = None;
                output.tail_taken = false;
            }
            self.land(node, out, channel, flit);
        }
        !sends.is_empty()
    }

    fn land(&mut self, node: NodeId, out: Port, channel: usize, mut flit: Flit) {
        if out == self.p {
            return self.eject(node, &flit);
        }
        let Flit { source, number, index, .. } = flit;
        let link = node * self.p as u32 + out as u32;
        let what = What::Crosses { link, channel: channel as u8, source, number, index };
        self.run.events.push(Event { cycle: self.cycle, what });
        self.run.totals.flit_hops += 1;
        self.note_way(&mut flit, node, (out, channel));
        flit.hops += 1;
        let neighbour = self.neighbour(node, out).unwrap();
        self.routers[neighbour as usize].queues[rules::facing(out)][channel].flits.push_back(flit);
    }

    /// d) The crossbar.
    fn fill_registers(&mut self) -> bool {
        let (mut moved, mut began) = (false, 0);
        for router in &mut self.routers {
            for output in router.outputs.iter_mut().flatten() {
                let Some((port, channel)) = output.owner.filter(|_| output.register.is_none()) else {
                    continue;
                };
                // After its tail the queue may own another output, while this one keeps its place.
                if output.tail_taken {
                    continue;
                }
                let queue = &mut router.queues[port][channel];
                if let Some(flit) = queue.flits.pop_front() {
                    output.tail_taken = flit.is_tail();
                    queue.owns_an_output = !flit.is_tail();
                    began += i64::from(port == self.p && flit.is_header());
                    output.register = Some(flit);
                    moved = true;
                }
            }
        }
        self.note_in_flight(began);
        moved
    }
}
