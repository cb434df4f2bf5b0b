use super::{Events, Flit, LinkTime, Probe, SavedProbe};
use crate::{
    fabric::{LinkId, NodeId},
    save::{Archive, SaveError},
};
use std::collections::HashMap;

/// A packet of a [`Film`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilmedPacket {
    /// Node that sends it.
    pub source: NodeId,
    /// Its number among the packets of its source, from 0.
    pub number: u64,
    /// Slice of its message.
    pub slice: u32,
    /// Cycle in which it became available to the router.
    pub start: u64,
    /// Cycle in which its header left the processor queue.
    pub injected: u64,
    /// Node and cycle in which its header was ejected, if it was.
    pub head_arrival: Option<(NodeId, u64)>,
    /// Cycle in which its tail was ejected, if it was.
    pub tail_arrival: Option<u64>,
}

/// A packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the packet in [`Film::packets`].
    pub packet: usize,
    /// The link.
    pub link: LinkId,
    /// Virtual channel.
    pub channel: u8,
    /// Cycle in which the header crosses it.
    pub head: u64,
    /// Cycle in which the last flit crossed it that has so far.
    pub last: u64,
    /// Flits that have crossed it.
    pub flits: u32,
    /// Whether the tail has.
    pub complete: bool,
}

/// All that moves, for a picture of any cycle: what every link did ([`LinkTime`]), and when every packet
/// crossed which link in which channel, packets that do not arrive included.
///
/// ```
/// use flitloom_core::{
///     engine::{Network, general},
///     fabric::{Fabric, Shape},
///     probe::Film,
///     router::RouterConfig,
///     traffic::{Collective, Pattern, Workload},
/// };
/// let shape = Shape::torus(&[4, 4])?;
/// let destinations = Pattern::Transpose.destinations(&shape, 0)?;
/// let packets = Collective::default().packet_list(shape.nodes(), &destinations)?;
/// let mut film = Film::new(shape.nodes() * shape.directions());
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let outcome = general::simulate(&network, &Workload::Packets(packets), &Default::default(), &mut film)?;
/// assert_eq!(film.hops.iter().map(|hop| u64::from(hop.flits)).sum::<u64>(), outcome.flit_hops);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Film {
    /// What every link did in every cycle.
    pub link_time: LinkTime,
    /// Packets in the order in which they were injected.
    pub packets: Vec<FilmedPacket>,
    /// Hops in the order in which their headers crossed.
    pub hops: Vec<Hop>,
    under_way: HashMap<(NodeId, u64), usize>,
    /// The hop that a link's channel serves.
    open: HashMap<(LinkId, u8), usize>,
}

impl Film {
    /// An empty film of `links` links.
    pub fn new(links: usize) -> Self {
        Self {
            link_time: LinkTime::new(links),
            packets: Vec::new(),
            hops: Vec::new(),
            under_way: HashMap::new(),
            open: HashMap::new(),
        }
    }
}

/// A film is not saved: it goes on where a state is taken up.
impl SavedProbe for Film {
    fn fields(&mut self, _archive: &mut Archive) -> Result<(), SaveError> {
        Ok(())
    }
}

impl Probe for Film {
    fn wants(&self) -> Events {
        self.link_time.wants()
    }

    fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
        self.link_time.flit_crosses(cycle, link, channel, flit);
        if flit.head
            && let Some(&packet) = self.under_way.get(&(flit.source, flit.number))
        {
            self.open.insert((link, channel), self.hops.len());
            let hop = Hop { packet, link, channel, head: cycle, last: cycle, flits: 0, complete: false };
            self.hops.push(hop);
        }
        if let Some(&index) = self.open.get(&(link, channel)) {
            let hop = &mut self.hops[index];
            hop.last = cycle;
            hop.flits += 1;
            hop.complete = flit.tail;
        }
    }

    fn packet_injected(&mut self, cycle: u64, flit: Flit) {
        self.under_way.insert((flit.source, flit.number), self.packets.len());
        self.packets.push(FilmedPacket {
            source: flit.source,
            number: flit.number,
            slice: flit.slice,
            start: flit.start,
            injected: cycle,
            head_arrival: None,
            tail_arrival: None,
        });
    }

    fn link_blocked(&mut self, cycle: u64, link: LinkId) {
        self.link_time.link_blocked(cycle, link);
    }

    fn flit_ejected(&mut self, cycle: u64, node: NodeId, flit: Flit) {
        let Some(&packet) = self.under_way.get(&(flit.source, flit.number)) else { return };
        if flit.head {
            self.packets[packet].head_arrival = Some((node, cycle));
        }
        if flit.tail {
            self.packets[packet].tail_arrival = Some(cycle);
            self.under_way.remove(&(flit.source, flit.number));
        }
    }
}
