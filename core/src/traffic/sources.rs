use super::{GraphError, GraphProgress, Message, Outstanding, Packet, PacketSource, Routes, Workload};
use crate::{
    fabric::NodeId,
    save::SaveError,
    visit::{State as _, Visited, Visitor},
};
use std::{collections::HashMap, ops::Range, sync::Arc};

/// Hands out the packets of a workload, node by node in their order, without storing those of a
/// load: an unbounded source queue in constant space. Those of a part of the nodes know them by
/// their places in it.
#[derive(Clone, Debug)]
pub struct Sources {
    workload: Workload,
    /// The first node, and those of the network.
    first: NodeId,
    nodes: usize,
    taken: Vec<u64>,
    next_start: Vec<u64>,
    graph: Option<GraphProgress>,
    closed: Option<Closed>,
    /// Routes of the workload's book that were looked up, by their ends.
    looked_up: HashMap<(NodeId, NodeId), usize>,
}

impl Sources {
    /// The sources of a network of so many nodes at cycle 0.
    pub fn new(workload: &Workload, nodes: usize) -> Self {
        Self::of_part(workload, nodes, 0..nodes)
    }

    /// Those of some of the nodes.
    pub(crate) fn of_part(workload: &Workload, nodes: usize, part: Range<usize>) -> Self {
        let mut sources = Self {
            workload: workload.clone(),
            first: part.start as NodeId,
            nodes,
            taken: vec![0; part.len()],
            next_start: vec![0; part.len()],
            graph: workload.progress(nodes),
            closed: Closed::new(workload, part.len()),
            looked_up: HashMap::new(),
        };
        for node in 0..part.len() as NodeId {
            sources.next_start[node as usize] = sources.start_after(node, 0, 0);
        }
        sources
    }

    /// What they are the sources of.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Those of some of the nodes; message graphs alone have come as far as they have, the rest is at its beginning.
    pub(crate) fn part(&self, part: Range<usize>) -> Self {
        Self { graph: self.graph.clone(), ..Self::of_part(&self.workload, self.nodes, part) }
    }

    /// Takes over how far the ranks on a part of the nodes have come.
    pub(crate) fn take_over_graph(&mut self, part: &Self) {
        let nodes = part.first as usize..part.first as usize + part.taken.len();
        if let (Some(graph), Some(part)) = (&mut self.graph, &part.graph) {
            graph.take_over(part, nodes);
        }
    }

    /// The cycle from which the next packet of a node is available; `u64::MAX` if none is known.
    pub fn next_start(&self, node: NodeId) -> u64 {
        self.next_start[node as usize]
    }

    /// Packets a node has sent so far.
    pub fn taken(&self, node: NodeId) -> u64 {
        self.taken[node as usize]
    }

    /// Takes the next packet of a node in `cycle`, with its number (from 0) in the node's order.
    pub fn take(&mut self, node: NodeId, cycle: u64) -> Option<(u64, Packet)> {
        let index = node as usize;
        let (number, start) = (self.taken[index], self.next_start[index]);
        if start == u64::MAX {
            return None;
        }
        let packet = match &mut self.graph {
            Some(graph) => graph.take(self.first + node, cycle)?,
            None => self.workload.packet_at(self.first + node, number, start)?,
        };
        self.taken[index] = number + 1;
        if let Some(closed) = &mut self.closed {
            closed.started(index, number, start);
        }
        self.next_start[index] = self.start_after(node, number + 1, start + 1);
        Some((number, packet))
    }

    /// A packet of a node once more, by its number and start; `None` for message graphs, whose packets
    /// come once.
    pub fn again(&self, node: NodeId, number: u64, start: u64) -> Option<Packet> {
        self.workload.packet_at(self.first + node, number, start)
    }

    /// Start of a packet of a node once more, by its number; `from` is the cycle after that of its
    /// predecessor.
    pub fn start_again(&self, node: NodeId, number: u64, from: u64) -> u64 {
        if let Some(closed) = &self.closed {
            return closed.start_of(node as usize, number);
        }
        self.workload.next_start(self.first + node, number, from).unwrap_or(u64::MAX)
    }

    /// Where the route of a packet, of any node of the network, begins in the
    /// [`steps`](Routes::steps) of `routes`, which are those
    /// of [`routes`](Self::routes) and grow by what has to be looked up, and its first channel; `None`
    /// for the network's routing function.
    pub fn route(
        &mut self,
        node: NodeId,
        number: u64,
        destination: NodeId,
        routes: &mut Option<Arc<Routes>>,
    ) -> Option<(u32, u8)> {
        let routes = routes.as_mut()?;
        let Some(book) = self.workload.book() else {
            return self.workload.route_index(node, number, destination).map(|index| routes.start(index));
        };
        let index = *self.looked_up.entry((node, destination)).or_insert_with(|| {
            let routes = Arc::make_mut(routes);
            routes.push(book.hops(node, destination).unwrap_or_default(), 0);
            routes.len() - 1
        });
        Some(routes.start(index))
    }

    /// Whether routes are looked up when packets are taken.
    pub(crate) fn looks_up(&self) -> bool {
        self.workload.book().is_some()
    }

    /// Where a route begins that was looked up.
    pub(crate) fn looked_up(&self, source: NodeId, destination: NodeId, routes: Option<&Routes>) -> u32 {
        let index = self.looked_up.get(&(source, destination));
        index.zip(routes).map_or(0, |(&index, routes)| routes.start(index).0)
    }

    /// The routes that packets may be given, those to be looked up not yet among them.
    pub fn routes(&self) -> Option<Arc<Routes>> {
        let of_book = || self.workload.book().map(|_| Arc::default());
        PacketSource::routes(&self.workload).cloned().or_else(of_book)
    }

    /// Shows what has been handed out to a visitor; `routes` as in [`route`](Self::route).
    pub(crate) fn visit(&mut self, routes: &mut Option<Arc<Routes>>, visitor: &mut impl Visitor) -> Visited {
        // What they were made of.
        let Self { workload: _, first: _, nodes, taken, next_start, graph, closed, looked_up } = self;
        let nodes = *nodes as u64;
        visitor.numbers("packets taken", taken)?;
        visitor.numbers("next starts", next_start)?;
        let mut by_index: Vec<_> = looked_up.iter().map(|(&ends, &index)| (index, ends)).collect();
        by_index.sort_unstable();
        let mut ends: Vec<_> = by_index.into_iter().map(|(_, ends)| ends).collect();
        visitor.whole(|archive| {
            archive.column("sources of routes", &mut ends, &(0, 0), |ends| &mut ends.0)?;
            archive.column("ends of routes", &mut ends, &(0, 0), |ends| &mut ends.1)
        })?;
        closed.as_mut().map_or(Ok(()), |closed| closed.visit(visitor))?;
        // Ranks are not in the order of the nodes.
        visitor.whole(|archive| graph.as_mut().map_or(Ok(()), |graph| graph.fields(archive)))?;
        if visitor.changes() && !visitor.divides() {
            let named = ends.iter().map(|ends| u64::from(ends.0.max(ends.1)));
            if let Some(value) = named.max().filter(|&node| node >= nodes) {
                return Err(SaveError::Value { field: "ends of routes", value });
            }
            for (source, destination) in ends {
                self.route(source, 0, destination, routes);
            }
        }
        Ok(())
    }

    /// Whether deliveries must be told, since packets may wait for them.
    pub fn listens(&self) -> bool {
        self.graph.is_some() || self.closed.is_some()
    }

    /// Whether others, in another part, must be told that a packet of a node was delivered.
    pub(crate) fn are_elsewhere(&self, node: NodeId) -> bool {
        self.closed.is_some() && !(self.first..self.first + self.taken.len() as NodeId).contains(&node)
    }

    /// Whether deliveries concern their sources.
    pub(crate) fn are_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// The tail of a packet was ejected: of message graphs its slice counts, of closed sources its source,
    /// if it is here, and number. Calls `wake` with every node that may have something new to send, and when.
    pub fn delivered(
        &mut self,
        (source, number, slice): (NodeId, u64, u32),
        cycle: u64,
        mut wake: impl FnMut(NodeId, u64),
    ) {
        let elsewhere = self.are_elsewhere(source);
        if let Some(closed) = self.closed.as_mut().filter(|_| !elsewhere) {
            let node = source - self.first;
            closed.forget(node as usize, number);
            if let Some(start) = self.make_room(node, cycle) {
                wake(node, start);
            }
        }
        let Some(graph) = &mut self.graph else { return };
        graph.delivered(slice, cycle);
        self.refresh(&mut wake);
    }

    /// A closed source may start one packet more, in the cycle behind this one at the earliest; when it does, if it
    /// has waited for that.
    pub(crate) fn make_room(&mut self, node: NodeId, cycle: u64) -> Option<u64> {
        let index = node as usize;
        self.closed.as_mut()?.outstanding.delivered(index, cycle);
        if self.next_start[index] < u64::MAX {
            return None;
        }
        self.next_start[index] = self.start_after(node, self.taken[index], 0);
        Some(self.next_start[index]).filter(|&start| start < u64::MAX)
    }

    /// Nodes that got something new to send since the last look.
    pub fn refresh(&mut self, wake: &mut impl FnMut(NodeId, u64)) {
        let Some(graph) = &mut self.graph else { return };
        for node in graph.touched() {
            let start = graph.next_start(node);
            // Only what a node itself takes or receives touches it.
            let node = node - self.first;
            self.next_start[node as usize] = start;
            if start != u64::MAX {
                wake(node, start);
            }
        }
    }

    /// Whether a packet of a slice may be delivered: of message graphs they name sends.
    pub(crate) fn may_deliver(&self, slice: u32) -> bool {
        self.graph.as_ref().is_none_or(|graph| graph.is_send(slice))
    }

    /// Cycle in which the last operation of a message graph was complete; `None` for other
    /// workloads.
    ///
    /// # Errors
    /// Operations are left that wait for each other.
    pub fn makespan(&self) -> Result<Option<u64>, GraphError> {
        self.graph.as_ref().map(GraphProgress::makespan).transpose()
    }

    /// Messages of a message graph that may start, as far as that is known.
    pub(crate) fn messages(&self) -> Option<Vec<Message>> {
        self.graph.as_ref().map(GraphProgress::messages)
    }

    fn start_after(&self, node: NodeId, number: u64, from: u64) -> u64 {
        match (&self.graph, &self.closed) {
            (Some(graph), _) => graph.next_start(self.first + node),
            (_, Some(closed)) => {
                closed.outstanding.next_start(&self.workload, node as usize, self.first + node, number)
            }
            _ => self.workload.next_start(self.first + node, number, from).unwrap_or(u64::MAX),
        }
    }
}

/// Closed sources: the packets of theirs that are outstanding.
#[derive(Clone, Debug)]
struct Closed {
    outstanding: Outstanding,
    limit: usize,
    /// Per node and place: number and start of an outstanding packet; no number where there is none.
    packets: Vec<(u64, u64)>,
}

impl Closed {
    const NONE: (u64, u64) = (u64::MAX, 0);

    fn new(workload: &Workload, nodes: usize) -> Option<Self> {
        let outstanding = Outstanding::new(workload, nodes)?;
        let limit = workload.outstanding()? as usize;
        Some(Self { outstanding, limit, packets: vec![Self::NONE; nodes * limit] })
    }

    fn place(&mut self, node: usize, number: u64) -> Option<&mut (u64, u64)> {
        let places = &mut self.packets[node * self.limit..(node + 1) * self.limit];
        places.iter_mut().find(|packet| packet.0 == number)
    }

    fn started(&mut self, node: usize, number: u64, start: u64) {
        self.outstanding.started(node, start);
        if let Some(place) = self.place(node, Self::NONE.0) {
            *place = (number, start);
        }
    }

    fn forget(&mut self, node: usize, number: u64) {
        if let Some(place) = self.place(node, number) {
            *place = Self::NONE;
        }
    }

    /// Start of an outstanding packet; that of a delivered one counts no more.
    fn start_of(&self, node: usize, number: u64) -> u64 {
        let places = &self.packets[node * self.limit..(node + 1) * self.limit];
        places.iter().find(|packet| packet.0 == number).map_or(0, |packet| packet.1)
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { limit: _, outstanding, packets } = self;
        outstanding.visit(visitor)?;
        visitor.records("numbers of outstanding packets", packets, |(number, _)| number)?;
        visitor.records("starts of outstanding packets", packets, |(_, start)| start)
    }
}
