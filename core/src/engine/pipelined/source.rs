//! Where the packets of a run come from.

use super::{
    flit::{Flit, Packet},
    numbers::Numbers,
    terminals::Terminals,
};
use std::fmt;

/// Makes the packets of all nodes, and hears what comes of them.
pub(crate) trait Source: Clone + fmt::Debug + Send + Sync + 'static {
    /// What routers draw from.
    fn numbers(&mut self) -> &mut dyn Numbers;

    /// Nodes that send no packet of a class may begin one in this cycle.
    fn make(&mut self, terminals: &mut Terminals);

    /// The header of a packet of a class leaves its node.
    fn leave(&mut self, node: usize, class: usize, packet: &Packet);

    /// In place of the flits that reached nodes in this cycle come those that nodes take in it.
    fn accept(&mut self, _terminals: &Terminals, _arrived: &mut Vec<(u32, Flit)>) {}

    /// A node has taken a flit.
    fn arrived(&mut self, now: u32, node: u32, packet: &Packet, flit: &Flit);

    /// A node has taken the last flit of a packet, which has passed so many routers.
    fn delivered(&mut self, _now: u32, _node: u32, _packet: &Packet, _hops: u16) {}
}
