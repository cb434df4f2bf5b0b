use super::{GraphError, MessageGraph, OperationKind};
use crate::{
    fabric::NodeId,
    save::{Archive, SaveError},
    traffic::Packet,
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
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
/// Whatever follows from what is known is worked out at once, also for cycles still to come; only
/// deliveries bring news.
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
    /// Per rank: when its processor has finished all computations known so far.
    busy_until: Vec<u64>,
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
        progress.touched.clear();
        progress
    }

    /// Start of the next packet of a node; `u64::MAX` if none is known.
    pub fn next_start(&self, node: NodeId) -> u64 {
        let rank = self.rank_of_node[node as usize] as usize;
        match self.current.get(rank) {
            None => UNKNOWN,
            Some(Some((send, _))) => self.ready[*send as usize],
            Some(None) => self.sends[rank].peek().map_or(UNKNOWN, |&Reverse((start, _))| start),
        }
    }

    /// Takes the next packet of a node; its slice names the send it belongs to.
    pub fn take(&mut self, node: NodeId, cycle: u64) -> Option<Packet> {
        let rank = self.rank_of_node[node as usize] as usize;
        let (send, flits) = match self.current.get(rank)? {
            Some(current) => *current,
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
        }
        let start = self.ready[send as usize];
        Some(Packet { destination, length: payload as u32 + 1, start, slice: send })
    }

    /// Messages that may start, as far as that is known.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        (0..self.graph.ranks()).flat_map(move |rank| {
            let operations = self.graph.first[rank] as usize..self.graph.first[rank + 1] as usize;
            operations.filter(|&index| self.left[index] == 0).filter_map(move |index| {
                let OperationKind::Send { flits, .. } = self.graph.operations[index].kind else {
                    return None;
                };
                let packets = self.graph.packets_of(flits);
                // Every packet has a header.
                let flits = flits + packets;
                Some(Message { node: self.graph.nodes[rank], start: self.ready[index], packets, flits })
            })
        })
    }

    /// Whether an operation is a send.
    pub(crate) fn is_send(&self, operation: u32) -> bool {
        let found = self.graph.operations.get(operation as usize);
        found.is_some_and(|operation| matches!(operation.kind, OperationKind::Send { .. }))
    }

    /// The tail of a packet of a send was ejected.
    pub fn delivered(&mut self, send: u32, cycle: u64) {
        let left = &mut self.packets_left[send as usize];
        *left -= 1;
        if *left == 0 {
            let receive = self.graph.partner[send as usize];
            if self.requirement_met(receive, cycle + 1)
                && let Some(end) = self.start(receive)
            {
                self.finish(receive, end);
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
        for (sends, current) in sends.iter_mut().zip(current) {
            let mut waiting: Vec<(u64, u32)> = sends.drain().map(|Reverse(send)| send).collect();
            archive.column("sends ready", &mut waiting, &(0, 0), |send| &mut send.0)?;
            archive.column("sends waiting", &mut waiting, &(0, 0), |send| &mut send.1)?;
            let mut send: Vec<(u32, u64)> = current.iter().copied().collect();
            archive.column("send under way", &mut send, &(0, 0), |send| &mut send.0)?;
            archive.column("flits to send", &mut send, &(0, 0), |send| &mut send.1)?;
            let operations = graph.operations.len() as u64;
            let named = waiting.iter().map(|&(_, send)| send).chain(send.iter().map(|&(send, _)| send));
            if let Some(value) = named.map(u64::from).find(|&send| send >= operations) {
                return Err(SaveError::Value { field: "sends waiting", value });
            }
            sends.extend(waiting.into_iter().map(Reverse));
            *current = send.pop();
        }
        // Those of complete operations have been told.
        let told = dependents.iter_mut().zip(complete).filter(|(_, complete)| **complete != UNKNOWN);
        told.for_each(|(dependents, _)| dependents.clear());
        let nodes = self.rank_of_node.len() as u64;
        let named = self.touched.iter().map(|&node| u64::from(node));
        match named.max().filter(|&node| node >= nodes) {
            Some(value) => Err(SaveError::Value { field: "nodes touched", value }),
            None => Ok(()),
        }
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
        let incomplete = || (0..self.complete.len()).filter(|&index| self.complete[index] == UNKNOWN);
        match incomplete().next() {
            None => Ok(self.complete.iter().copied().max().unwrap_or(0)),
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

    /// Starts an operation; returns when it is complete, if that is known.
    fn start(&mut self, operation: u32) -> Option<u64> {
        let index = operation as usize;
        let rank = self.graph.first.partition_point(|&first| first <= operation) - 1;
        match self.graph.operations[index].kind {
            OperationKind::Send { .. } => {
                self.sends[rank].push(Reverse((self.ready[index], operation)));
                self.touched.push(self.graph.nodes[rank]);
                None
            }
            OperationKind::Receive { .. } => Some(self.ready[index]),
            OperationKind::Compute { cycles } => {
                let end = self.ready[index].max(self.busy_until[rank]) + cycles;
                self.busy_until[rank] = end;
                Some(end)
            }
        }
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
