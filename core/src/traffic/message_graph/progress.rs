use super::{GraphError, MessageGraph, OperationKind};
use crate::{
    fabric::NodeId,
    save::{Archive, SaveError},
    traffic::Packet,
    visit::below,
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    ops::Range,
};

/// Not known yet.
const UNKNOWN: u64 = u64::MAX;

/// A message that is sent from a node from a cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub node: NodeId,
    pub start: u64,
    pub packets: u64,
    /// Its flits with the headers.
    pub flits: u64,
}

/// How far the operations of a message graph have come.
///
/// The processor of a rank does its computations in the order in which they become ready. So one is begun only when
/// nothing that becomes ready before it can turn up any more; what follows from it is then known at once, also for
/// cycles still to come. Only what the rank's own node takes and receives brings news.
#[derive(Clone, Debug)]
pub struct GraphProgress {
    graph: MessageGraph,
    rank_of_node: Vec<u32>,
    dependents: Vec<Vec<u32>>,
    /// Requirements of every operation that are not complete (a receive also waits for its message).
    left: Vec<u32>,
    /// When the requirements known so far are complete.
    ready: Vec<u64>,
    complete: Vec<u64>,
    /// Packets of every send that are not delivered.
    packets_left: Vec<u64>,
    /// Per rank: when its processor has finished all computations begun so far.
    busy_until: Vec<u64>,
    /// Per rank: computations that are not begun, by the time from which they may be, and index.
    computations: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Per rank: when the first send starts that waits for them alone, if nothing is heard before.
    foreseen: Vec<u64>,
    /// Per rank: sends that may start, by time and index.
    sends: Vec<BinaryHeap<Reverse<(u64, u32)>>>,
    /// Per rank: the send under way and its flits not yet taken.
    current: Vec<Option<(u32, u64)>>,
    touched: Vec<NodeId>,
}

impl GraphProgress {
    /// The beginning: everything that requires nothing may start at cycle 0.
    pub fn new(graph: &MessageGraph, nodes: usize) -> Self {
        let (count, ranks) = (graph.operations.len(), graph.ranks());
        let mut rank_of_node = vec![u32::MAX; nodes];
        for (rank, &node) in graph.nodes.iter().enumerate() {
            if let Some(place) = rank_of_node.get_mut(node as usize) {
                *place = rank as u32;
            }
        }
        let mut progress = Self {
            graph: graph.clone(),
            rank_of_node,
            dependents: vec![Vec::new(); count],
            left: vec![0; count],
            ready: vec![0; count],
            complete: vec![UNKNOWN; count],
            packets_left: vec![0; count],
            busy_until: vec![0; ranks],
            computations: vec![BinaryHeap::new(); ranks],
            foreseen: vec![UNKNOWN; ranks],
            sends: vec![BinaryHeap::new(); ranks],
            current: vec![None; ranks],
            touched: Vec::new(),
        };
        for rank in 0..ranks {
            let first = graph.first[rank];
            for index in first..graph.first[rank + 1] {
                let operation = &graph.operations[index as usize];
                let receives = matches!(operation.kind, OperationKind::Receive { .. });
                progress.left[index as usize] = operation.requires.len() as u32 + u32::from(receives);
                if let OperationKind::Send { flits, .. } = operation.kind {
                    progress.packets_left[index as usize] = graph.packets_of(flits);
                }
                for &required in &operation.requires {
                    progress.dependents[(first + required) as usize].push(index);
                }
            }
        }
        for index in 0..count as u32 {
            let operation = &graph.operations[index as usize];
            let waits =
                !operation.requires.is_empty() || matches!(operation.kind, OperationKind::Receive { .. });
            if !waits && let Some(end) = progress.start(index) {
                progress.finish(index, end);
            }
        }
        (0..ranks).for_each(|rank| progress.foresee(rank));
        progress.touched.clear();
        progress
    }

    /// Start of the next packet of a node; `u64::MAX` if none is known.
    pub fn next_start(&self, node: NodeId) -> u64 {
        let rank = self.rank_of_node[node as usize] as usize;
        match self.current.get(rank) {
            None => UNKNOWN,
            Some(Some((send, _))) => self.ready[*send as usize],
            Some(None) => self.first_send(rank).min(self.foreseen[rank]),
        }
    }

    fn first_send(&self, rank: usize) -> u64 {
        self.sends[rank].peek().map_or(UNKNOWN, |&Reverse((start, _))| start)
    }

    /// Takes the next packet of a node; its slice names the send it belongs to.
    pub fn take(&mut self, node: NodeId, cycle: u64) -> Option<Packet> {
        let rank = self.rank_of_node[node as usize] as usize;
        let current = *self.current.get(rank)?;
        self.begin_until(rank, cycle + 1);
        let (send, flits) = match current {
            Some(current) => current,
            None => {
                let Reverse((_, send)) = self.sends[rank].pop()?;
                let OperationKind::Send { flits, .. } = self.graph.operations[send as usize].kind else {
                    return None;
                };
                (send, flits)
            }
        };
        let OperationKind::Send { to, .. } = self.graph.operations[send as usize].kind else { return None };
        let payload = flits.min(self.graph.packet_payload.into());
        self.current[rank] = (flits > payload).then_some((send, flits - payload));
        let destination = self.graph.nodes[to as usize];
        if self.current[rank].is_none() {
            self.finish(send, cycle);
            self.foresee(rank);
        }
        let start = self.ready[send as usize];
        Some(Packet { destination, length: payload as u32 + 1, start, slice: send })
    }

    /// How far everything comes if nothing more is heard.
    fn at_its_end(&self) -> Self {
        let mut end = self.clone();
        (0..self.graph.ranks()).for_each(|rank| end.begin_until(rank, UNKNOWN));
        end
    }

    /// Messages that may start, as far as that is known.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let (graph, known) = (&self.graph, self.at_its_end());
        let mut messages = Vec::new();
        for rank in 0..graph.ranks() {
            for index in graph.first[rank] as usize..graph.first[rank + 1] as usize {
                let OperationKind::Send { flits, .. } = graph.operations[index].kind else { continue };
                if known.left[index] == 0 {
                    let packets = graph.packets_of(flits);
                    // Every packet has a header.
                    let flits = flits + packets;
                    messages.push(Message {
                        node: graph.nodes[rank],
                        start: known.ready[index],
                        packets,
                        flits,
                    });
                }
            }
        }
        messages
    }

    /// Whether an operation is a send.
    pub(crate) fn is_send(&self, operation: u32) -> bool {
        let found = self.graph.operations.get(operation as usize);
        found.is_some_and(|operation| matches!(operation.kind, OperationKind::Send { .. }))
    }

    /// The tail of a packet of a send was ejected.
    pub fn delivered(&mut self, send: u32, cycle: u64) {
        let left = &mut self.packets_left[send as usize];
        // None are delivered twice, whatever a restored state says.
        let is_last = *left == 1;
        *left = left.saturating_sub(1);
        if is_last {
            let receive = self.graph.partner[send as usize];
            let rank = self.rank_of(receive);
            self.begin_until(rank, cycle);
            if self.requirement_met(receive, cycle + 1)
                && let Some(end) = self.start(receive)
            {
                self.finish(receive, end);
            }
            let before = self.foreseen[rank];
            self.foresee(rank);
            if self.foreseen[rank] != before {
                self.touched.push(self.graph.nodes[rank]);
            }
        }
    }

    /// Takes over how far the ranks of some nodes have come. Nothing else changes what belongs to a
    /// rank than what its own node takes and receives.
    pub(crate) fn take_over(&mut self, other: &Self, nodes: Range<usize>) {
        // What it was made of.
        let Self {
            graph,
            rank_of_node: _,
            dependents,
            left,
            ready,
            complete,
            packets_left,
            busy_until,
            computations,
            foreseen,
            sends,
            current,
            touched,
        } = self;
        touched.extend(other.touched.iter().filter(|&&node| nodes.contains(&(node as usize))));
        let has = |rank: u32| nodes.contains(&(graph.nodes[rank as usize] as usize));
        for rank in (0..graph.ranks()).filter(|&rank| has(rank as u32)) {
            let operations = graph.first[rank] as usize..graph.first[rank + 1] as usize;
            left[operations.clone()].copy_from_slice(&other.left[operations.clone()]);
            ready[operations.clone()].copy_from_slice(&other.ready[operations.clone()]);
            complete[operations.clone()].copy_from_slice(&other.complete[operations.clone()]);
            dependents[operations.clone()].clone_from_slice(&other.dependents[operations]);
            busy_until[rank] = other.busy_until[rank];
            computations[rank] = other.computations[rank].clone();
            foreseen[rank] = other.foreseen[rank];
            sends[rank] = other.sends[rank].clone();
            current[rank] = other.current[rank];
        }
        for (index, operation) in graph.operations.iter().enumerate() {
            if let OperationKind::Send { to, .. } = operation.kind
                && has(to)
            {
                packets_left[index] = other.packets_left[index];
            }
        }
    }

    /// How far it has come, as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self {
            graph,
            rank_of_node: _,
            dependents,
            left,
            ready,
            complete,
            packets_left,
            busy_until,
            computations,
            // Follows from the others.
            foreseen: _,
            sends,
            current,
            touched,
        } = self;
        archive.slice("requirements left", left)?;
        archive.slice("operations ready", ready)?;
        archive.slice("operations complete", complete)?;
        archive.slice("packets left", packets_left)?;
        archive.slice("ranks busy", busy_until)?;
        archive.list("nodes touched", touched)?;
        let operations = graph.operations.len();
        for ((computations, sends), current) in computations.iter_mut().zip(sends).zip(current) {
            heap(archive, ["computations ready", "computations waiting"], computations)?;
            heap(archive, ["sends ready", "sends waiting"], sends)?;
            let mut send: Vec<(u32, u64)> = current.iter().copied().collect();
            archive.column("send under way", &mut send, &(0, 0), |send| &mut send.0)?;
            archive.column("flits to send", &mut send, &(0, 0), |send| &mut send.1)?;
            below("computations waiting", operations, computations.iter().map(|Reverse((_, index))| *index))?;
            let sends = sends.iter().map(|Reverse((_, index))| *index);
            below("sends waiting", operations, sends.chain(send.iter().map(|&(send, _)| send)))?;
            *current = send.pop();
        }
        // Those of complete operations have been told.
        let told = dependents.iter_mut().zip(complete).filter(|(_, complete)| **complete != UNKNOWN);
        told.for_each(|(dependents, _)| dependents.clear());
        below("nodes touched", self.rank_of_node.len(), self.touched.iter().copied())?;
        if archive.is_reading() {
            self.check()?;
            (0..self.graph.ranks()).for_each(|rank| self.foresee(rank));
        }
        Ok(())
    }

    /// What is left of an operation restored is what it requires and is not complete.
    fn check(&self) -> Result<(), SaveError> {
        let first = (0..self.graph.ranks()).flat_map(|rank| {
            let operations = self.graph.first[rank]..self.graph.first[rank + 1];
            operations.map(move |index| (index as usize, self.graph.first[rank]))
        });
        let mut sends = vec![0; self.left.len()];
        (0..self.left.len()).filter(|&index| self.is_send(index as u32)).for_each(|send| {
            sends[self.graph.partner[send] as usize] = u32::from(self.packets_left[send] > 0);
        });
        for (index, first) in first {
            let requires = self.graph.operations[index].requires.iter();
            let open = requires.filter(|&&required| self.complete[(first + required) as usize] == UNKNOWN);
            if self.left[index] != open.count() as u32 + sends[index] {
                return Err(SaveError::Value { field: "requirements left", value: self.left[index].into() });
            }
        }
        Ok(())
    }

    /// Nodes that got something to send since the last call.
    pub fn touched(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.touched)
    }

    /// Cycle in which the last operation was complete.
    ///
    /// # Errors
    /// Operations are left.
    pub fn makespan(&self) -> Result<u64, GraphError> {
        let end = self.at_its_end();
        let incomplete = || (0..end.complete.len()).filter(|&index| end.complete[index] == UNKNOWN);
        match incomplete().next() {
            None => Ok(end.complete.iter().copied().max().unwrap_or(0)),
            Some(index) => {
                let rank = self.graph.first.partition_point(|&first| first as usize <= index) - 1;
                let operation = index as u32 - self.graph.first[rank];
                Err(GraphError::Stuck { left: incomplete().count(), rank: rank as u32, operation })
            }
        }
    }

    /// Whether the requirement that was met was the last one.
    fn requirement_met(&mut self, operation: u32, cycle: u64) -> bool {
        let index = operation as usize;
        self.left[index] -= 1;
        self.ready[index] = self.ready[index].max(cycle);
        self.left[index] == 0
    }

    fn rank_of(&self, operation: u32) -> usize {
        self.graph.first.partition_point(|&first| first <= operation) - 1
    }

    /// An operation may start; returns when it is complete, if that is known.
    fn start(&mut self, operation: u32) -> Option<u64> {
        let ready = self.ready[operation as usize];
        let rank = self.rank_of(operation);
        match self.graph.operations[operation as usize].kind {
            OperationKind::Send { .. } => {
                self.sends[rank].push(Reverse((ready, operation)));
                self.touched.push(self.graph.nodes[rank]);
                None
            }
            OperationKind::Receive { .. } => Some(ready),
            OperationKind::Compute { .. } => {
                self.computations[rank].push(Reverse((ready, operation)));
                None
            }
        }
    }

    /// Begins the computations of a rank that can begin before a cycle: nothing that is ready before is to come.
    fn begin_until(&mut self, rank: usize, cycle: u64) {
        while let Some(&Reverse((ready, operation))) = self.computations[rank].peek() {
            let begin = ready.max(self.busy_until[rank]);
            if begin >= cycle {
                return;
            }
            self.computations[rank].pop();
            let end = begin.saturating_add(self.graph.cycles_of(operation));
            self.busy_until[rank] = end;
            self.finish(operation, end);
        }
    }

    /// Works out when a rank sends next if it hears nothing more before.
    fn foresee(&mut self, rank: usize) {
        self.foreseen[rank] = UNKNOWN;
        if self.computations[rank].is_empty() {
            return;
        }
        let mut computations = self.computations[rank].clone();
        let (mut busy_until, mut first) = (self.busy_until[rank], self.first_send(rank));
        // What is left of operations and when they are ready, where that differs from what is known.
        let mut changed: HashMap<u32, (u32, u64)> = HashMap::new();
        while let Some(Reverse((ready, operation))) = computations.pop() {
            let begin = ready.max(busy_until);
            if begin >= first {
                break;
            }
            busy_until = begin.saturating_add(self.graph.cycles_of(operation));
            let mut finished = VecDeque::from([(operation, busy_until)]);
            while let Some((operation, cycle)) = finished.pop_front() {
                for &dependent in &self.dependents[operation as usize] {
                    let at = dependent as usize;
                    let (left, ready) = changed.entry(dependent).or_insert((self.left[at], self.ready[at]));
                    (*left, *ready) = (*left - 1, cycle.max(*ready));
                    match self.graph.operations[at].kind {
                        _ if *left > 0 => {}
                        OperationKind::Send { .. } => first = first.min(*ready),
                        OperationKind::Receive { .. } => finished.push_back((dependent, *ready)),
                        OperationKind::Compute { .. } => computations.push(Reverse((*ready, dependent))),
                    }
                }
            }
        }
        self.foreseen[rank] = first;
    }

    /// Marks an operation as complete and starts what waited for it, and so on.
    fn finish(&mut self, operation: u32, cycle: u64) {
        let mut finished = VecDeque::from([(operation, cycle)]);
        while let Some((operation, cycle)) = finished.pop_front() {
            self.complete[operation as usize] = cycle;
            for dependent in std::mem::take(&mut self.dependents[operation as usize]) {
                if self.requirement_met(dependent, cycle)
                    && let Some(end) = self.start(dependent)
                {
                    finished.push_back((dependent, end));
                }
            }
        }
    }
}

/// Operations by the time from which they may start, as fields.
fn heap(
    archive: &mut Archive,
    fields: [&'static str; 2],
    heap: &mut BinaryHeap<Reverse<(u64, u32)>>,
) -> Result<(), SaveError> {
    let mut waiting: Vec<(u64, u32)> = heap.drain().map(|Reverse(one)| one).collect();
    waiting.sort_unstable();
    archive.column(fields[0], &mut waiting, &(0, 0), |one| &mut one.0)?;
    archive.column(fields[1], &mut waiting, &(0, 0), |one| &mut one.1)?;
    heap.extend(waiting.into_iter().map(Reverse));
    Ok(())
}
