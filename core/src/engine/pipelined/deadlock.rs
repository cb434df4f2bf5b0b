//! Packets that wait for each other for good: proven from the state, with the circle of channels.

use super::{
    blocked_queue::BlockedQueue,
    feed::Feed,
    flit::Kind,
    run::Run,
    seen::{Seen, SeenInput, SeenOutput, State},
    wiring::End,
};
use std::collections::HashMap;

/// What may hold flits: a queue of a router by its number among all, one of a node, or a node's replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Queue {
    Input(u32, u32),
    Exit(u32, u32),
    Replies(u32),
}

/// What a queue waits for: it goes on as soon as one of these does; `None` if it goes on by itself.
type Waits = Option<Vec<Queue>>;

impl Run<Feed> {
    /// A circle of queues each of which waits for the next, if some flits can never move again; nothing that happens
    /// elsewhere can free them.
    pub(super) fn find_deadlock(&self) -> Option<Vec<BlockedQueue>> {
        Looked { run: self, seen: self.subnets[0].routers.see(&self.terminals.rules)? }.find()
    }
}

/// A run that is looked at.
struct Looked<'a> {
    run: &'a Run<Feed>,
    seen: Seen,
}

impl Looked<'_> {
    fn find(&self) -> Option<Vec<BlockedQueue>> {
        let mut waits: HashMap<Queue, Vec<Queue>> = HashMap::new();
        for queue in self.queues() {
            if let Some(others) = self.waits(queue) {
                waits.insert(queue, others);
            }
        }
        // Who waits for somebody who goes on goes on, too.
        loop {
            let before = waits.len();
            let free: Vec<_> = waits
                .iter()
                .filter(|(_, others)| others.iter().any(|other| !waits.contains_key(other)))
                .map(|(&queue, _)| queue)
                .collect();
            for queue in free {
                waits.remove(&queue);
            }
            if waits.len() == before {
                break;
            }
        }
        // Any of them leads into a circle; the first one, so that it is always the same.
        let mut at = self.queues().find(|queue| waits.contains_key(queue))?;
        let mut way = Vec::new();
        while !way.contains(&at) {
            way.push(at);
            at = *waits.get(&at)?.first()?;
        }
        let start = way.iter().position(|&queue| queue == at)?;
        let blocked: Vec<_> = way[start..].iter().map(|&queue| self.blocked(queue)).collect();
        // Who comes from a node and has a channel stands for the queue behind it.
        let far: Vec<_> =
            blocked.iter().copied().filter(|blocked| !matches!(blocked, BlockedQueue::Entry(..))).collect();
        Some(if far.is_empty() { blocked } else { far })
    }

    fn queues(&self) -> impl Iterator<Item = Queue> {
        let routers = self.seen.inputs.iter().enumerate();
        let inputs = routers.flat_map(|(router, inputs)| {
            (0..inputs.len()).map(move |index| Queue::Input(router as u32, index as u32))
        });
        let run = self.run;
        let channels = run.terminals.rules.channels as u32;
        let exits =
            (0..run.source.exits.len() as u32).map(move |at| Queue::Exit(at / channels, at % channels));
        let replying = if run.source.replies.is_some() { run.terminals.nodes as u32 } else { 0 };
        let replies = (0..replying).map(Queue::Replies);
        inputs.chain(exits).chain(replies)
    }

    fn blocked(&self, queue: Queue) -> BlockedQueue {
        match queue {
            Queue::Exit(node, channel) => BlockedQueue::Exit(node, channel as u16),
            Queue::Replies(node) => BlockedQueue::Replies(node),
            Queue::Input(router, index) => {
                let (port, channel) = self.at(index);
                match self.run.terminals.rules.wiring.inputs(router)[usize::from(port)].end {
                    End::Router(from, out) => BlockedQueue::Link(from, out, channel),
                    End::Node(node) => BlockedQueue::Entry(node, channel),
                    End::Nothing => BlockedQueue::Entry(0, channel),
                }
            }
        }
    }

    fn input(&self, router: u32, index: u32) -> &SeenInput {
        &self.seen.inputs[router as usize][index as usize]
    }

    /// The port and the channel of an input of a router.
    fn at(&self, index: u32) -> (u16, u16) {
        let channels = self.run.terminals.rules.channels as u32;
        ((index / channels) as u16, (index % channels) as u16)
    }

    fn output(&self, router: u32, port: u16, channel: u16) -> SeenOutput {
        self.seen.outputs[router as usize]
            [usize::from(port) * self.run.terminals.rules.channels + usize::from(channel)]
    }

    fn waits(&self, queue: Queue) -> Waits {
        match queue {
            Queue::Exit(node, channel) => self.exit_waits(node, channel),
            Queue::Replies(node) => self.replies_wait(node),
            Queue::Input(router, index) => {
                let input = self.input(router, index);
                match input.state {
                    State::Idle | State::Routing => None,
                    State::Active if !input.has_flits => self.feeder_waits(router, index),
                    State::Active => self.full_queue(router, input.port, input.channel),
                    State::Waiting => {
                        let mut others = Vec::new();
                        for way in input.ways.iter() {
                            for channel in way.first..=way.last {
                                others.extend(self.channel_waits(router, way.port, channel)?);
                            }
                        }
                        Some(others)
                    }
                }
            }
        }
    }

    /// Who an empty queue gets the rest of its packet from.
    fn feeder_waits(&self, router: u32, index: u32) -> Waits {
        let (port, channel) = self.at(index);
        let End::Router(from, out) = self.run.terminals.rules.wiring.inputs(router)[usize::from(port)].end
        else {
            return None;
        };
        self.owner(from, out, channel).map(|owner| vec![owner])
    }

    /// Who has an output channel and has not sent its tail.
    fn owner(&self, router: u32, port: u16, channel: u16) -> Option<Queue> {
        let inputs = &self.seen.inputs[router as usize];
        let has = |input: &SeenInput| {
            input.state == State::Active && (input.port, input.channel) == (port, channel)
        };
        inputs.iter().position(has).map(|index| Queue::Input(router, index as u32))
    }

    /// What keeps a header from an output channel.
    fn channel_waits(&self, router: u32, port: u16, channel: u16) -> Waits {
        if !self.output(router, port, channel).is_owned {
            return self.full_queue(router, port, channel);
        }
        match self.owner(router, port, channel) {
            Some(owner) => Some(vec![owner]),
            // Its tail is on its way out of the queue behind.
            None => self.filled(router, port, channel),
        }
    }

    /// What keeps a flit that has an output channel.
    fn full_queue(&self, router: u32, port: u16, channel: u16) -> Waits {
        if !self.output(router, port, channel).is_full {
            return None;
        }
        self.filled(router, port, channel)
    }

    /// The queues whose flits are in the way behind an output channel; `None` if they are on their way.
    fn filled(&self, router: u32, port: u16, channel: u16) -> Waits {
        match self.run.terminals.rules.wiring.outputs(router)[usize::from(port)].end {
            End::Router(there, entry) => {
                let first = usize::from(entry) * self.run.terminals.rules.channels;
                let mut filled = self.sharers(channel).map(|channel| (first + channel) as u32);
                let filled = filled.try_fold(Vec::new(), |mut filled, index| {
                    let has_flits = self.input(there, index).has_flits;
                    (has_flits || !self.policy_is_private()).then(|| {
                        filled.extend(has_flits.then_some(Queue::Input(there, index)));
                        filled
                    })
                })?;
                (!filled.is_empty()).then_some(filled)
            }
            End::Node(node) => {
                let at = node as usize * self.run.terminals.rules.channels + usize::from(channel);
                let waits = self.run.source.exits.get(at).is_some_and(|queue| !queue.is_empty());
                waits.then(|| vec![Queue::Exit(node, u32::from(channel))])
            }
            End::Nothing => None,
        }
    }

    fn policy_is_private(&self) -> bool {
        matches!(self.run.terminals.rules.policy, super::buffers::Policy::Private(_))
    }

    /// The channels whose flits take the places of one.
    fn sharers(&self, channel: u16) -> std::ops::Range<usize> {
        let one = usize::from(channel);
        if self.policy_is_private() { one..one + 1 } else { 0..self.run.terminals.rules.channels }
    }

    fn exit_waits(&self, node: u32, channel: u32) -> Waits {
        let at = node as usize * self.run.terminals.rules.channels + channel as usize;
        let flit = self.run.source.exits[at].front()?;
        let kind = self.run.terminals.packets[flit.packet].kind;
        (flit.is_head() && !self.run.source.accepts(node as usize, kind)).then(|| vec![Queue::Replies(node)])
    }

    fn replies_wait(&self, node: u32) -> Waits {
        let waiting = &self.run.terminals.waiting[node as usize * self.run.terminals.classes + 1];
        if waiting.size == 0 {
            return None;
        }
        let (router, port) = self.run.terminals.rules.wiring.entries[node as usize];
        let (first, last) = self.run.terminals.rules.range(Kind::ReadReply);
        let sources = &self.run.subnets[0].shared.sources;
        let range = if waiting.next > 0 {
            waiting.channel..=waiting.channel
        } else if let Some(chosen) = waiting.chosen {
            chosen..=chosen
        } else {
            first as u16..=last as u16
        };
        let mut others = Vec::new();
        for channel in range {
            let known = sources.channel(node as usize, usize::from(channel));
            let is_full =
                sources.is_full(&self.run.terminals.rules.policy, node as usize, usize::from(channel));
            let has_no_owner = !known.is_owned || waiting.next > 0;
            if !is_full && has_no_owner {
                return None;
            }
            let index = u32::from(port) * self.run.terminals.rules.channels as u32 + u32::from(channel);
            if !self.input(router, index).has_flits {
                return None;
            }
            others.push(Queue::Input(router, index));
        }
        Some(others)
    }
}
