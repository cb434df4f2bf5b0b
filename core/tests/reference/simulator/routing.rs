//! Ways that leave something to chance. A packet's channel is the number of datelines it has crossed;
//! the second of two kinds of ways counts from above the channels that the first may need.

use super::{Flit, Port, Routing, Simulator, rules};
use flitloom_core::fabric::NodeId;

impl Simulator<'_> {
    /// Channels that one kind of ways may need.
    fn half(&self) -> usize {
        1 + self.closing.iter().step_by(2).filter(|&&closes| closes).count()
    }

    /// The output of a flit in a queue that goes on by a port, having crossed so many lines, in the
    /// lower or upper half of the channels.
    fn onwards(
        &self,
        node: NodeId,
        queue: (Port, usize),
        port: Port,
        lines: usize,
        upper: bool,
    ) -> (Port, usize) {
        if port == self.p {
            return (port, if queue.0 == self.p { 0 } else { queue.1 });
        }
        let lines = lines + usize::from(self.counts_line(node, port, queue.0 == self.p));
        (port, lines + if upper { self.half() } else { 0 })
    }

    /// Dimensions in ascending or descending order, by the last bit drawn.
    pub(super) fn o1turn(&self, node: NodeId, queue: (Port, usize), flit: &Flit) -> (Port, usize) {
        let descending = !flit.drawn.is_multiple_of(2);
        let here = rules::coordinates(self.shape, node);
        let there = rules::coordinates(self.shape, flit.destination);
        let mut dimensions: Vec<usize> = (0..here.len()).filter(|&k| here[k] != there[k]).collect();
        if descending {
            dimensions.reverse();
        }
        let port = dimensions.first().map_or(self.p, |&dimension| {
            // As to the node that differs in this dimension alone.
            let mut target = here.clone();
            target[dimension] = there[dimension];
            self.ways[node as usize][rules::node_at(self.shape, &target) as usize]
        });
        self.onwards(node, queue, port, flit.lines, descending)
    }

    /// The node in between.
    fn between(&self, flit: &Flit) -> NodeId {
        let nodes = self.routers.len() as u128;
        (u128::from(flit.drawn) * nodes / (1 << 64)) as NodeId
    }

    /// To the node in between first, unless it has been there or goes straight.
    pub(super) fn valiant(
        &self,
        node: NodeId,
        queue: (Port, usize),
        flit: &Flit,
        straight: bool,
    ) -> (Port, usize) {
        let between = self.between(flit);
        let to_itself = flit.source == flit.destination;
        let second = straight || to_itself || flit.straight || between == node;
        let target = if second { flit.destination } else { between };
        let port = self.ways[node as usize][target as usize];
        let lines = if second && !flit.straight { 0 } else { flit.lines };
        self.onwards(node, queue, port, lines, second)
    }

    /// At the source the way with fewer flits behind its first link, times its hops.
    pub(super) fn ugal(&self, node: NodeId, queue: (Port, usize), flit: &Flit) -> (Port, usize) {
        if queue.0 != self.p {
            return self.valiant(node, queue, flit, false);
        }
        let [short, long] = [true, false].map(|straight| self.valiant(node, queue, flit, straight));
        let waiting = |(port, _): (Port, usize)| -> usize {
            if port == self.p {
                return 0;
            }
            (0..self.channels).map(|channel| self.occupied(node, port, channel)).sum()
        };
        let hops = |from: NodeId, to: NodeId| -> usize {
            self.hops_left(from, to).iter().map(|&(_, hops)| hops).sum()
        };
        let between = self.between(flit);
        let long_hops = hops(node, between) + hops(between, flit.destination);
        if waiting(short) * hops(node, flit.destination) <= waiting(long) * long_hops { short } else { long }
    }

    /// A flit leaves a router by an output: what of its way lies behind it.
    pub(super) fn note_way(&self, flit: &mut Flit, node: NodeId, output: (Port, usize)) {
        let goes_by_a_node = matches!(self.rules.routing, Routing::Valiant | Routing::Ugal);
        if goes_by_a_node && output.1 >= self.half() && !flit.straight {
            flit.straight = true;
            flit.lines = 0;
        }
        flit.lines += usize::from(self.counts_line(node, output.0, flit.hops == 0));
    }
}
