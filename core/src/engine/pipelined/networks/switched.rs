//! Any graph of switches with hosts, over tables by destination with lanes.

use super::super::{
    flit::{Packet, Ways},
    network::{Network, Place},
    numbers::Numbers,
    wiring::Wiring,
};
use crate::fabric::Graph;

/// Service levels that a packet can carry.
const LEVELS: usize = 16;

/// Which lane a packet takes on a channel.
#[derive(Clone, Debug)]
pub enum Lanes {
    /// The service level modulo so many lanes.
    Levels(u8),
    /// Tables of the switches: that of a switch begins at some row, and has one for every pair of a port that
    /// leads in (its cables in order, then its hosts) and a cable that leads out, with a lane per level.
    Tables(Vec<usize>, Vec<[u8; LEVELS]>),
    /// Packets of hosts leave on lane 0, and the lane rises by one at switches that they pass, by switch, up to so many
    /// lanes.
    Rising(Vec<bool>, u8),
}

/// Which way packets go between the hosts of a graph.
///
/// Hosts are numbered by switch; the ports of a switch are its channels in the order of [`Graph::outgoing`], then its
/// hosts.
#[derive(Clone, Debug)]
pub struct Switched {
    ports: Vec<u16>,
    switches: usize,
    hosts: usize,
    /// By host its first row in the tables, by row and host the service level.
    rows: Vec<u32>,
    levels: Option<Vec<u8>>,
    lanes: Lanes,
    degree: Vec<u16>,
    /// By host its switch, and its port there.
    switch_of: Vec<u32>,
    port_of: Vec<u16>,
    /// How many lanes there are.
    count: u32,
}

impl Switched {
    /// No way.
    const NONE: u16 = u16::MAX;

    /// From tables: `following` has the channel that leads on by row and switch (any other number where there is
    /// none), `rows` the row of every host, `levels` the service level by row and source.
    pub fn new(
        graph: &Graph,
        following: &[u32],
        rows: Vec<u32>,
        levels: Option<Vec<u8>>,
        lanes: Lanes,
    ) -> Self {
        let switches = graph.switches();
        let port = |(at, &channel): (usize, &u32)| {
            let is_own =
                (channel as usize) < graph.channels() && graph.ends(channel).0 as usize == at % switches;
            if is_own { graph.place(channel) as u16 } else { Self::NONE }
        };
        let switch_of: Vec<u32> = (0..switches as u32)
            .flat_map(|switch| std::iter::repeat_n(switch, graph.hosts(switch) as usize))
            .collect();
        let degree: Vec<u16> =
            (0..switches as u32).map(|switch| graph.outgoing(switch).len() as u16).collect();
        let ports_of = |switch: u32| (degree[switch as usize]..).take(graph.hosts(switch) as usize);
        let port_of = (0..switches as u32).flat_map(ports_of).collect();
        let count = match &lanes {
            Lanes::Levels(count) => {
                let highest = levels.iter().flatten().max().copied().unwrap_or(0);
                (u32::from(highest) + 1).min((*count).max(1).into())
            }
            // 15 stands for none.
            Lanes::Tables(_, entries) => {
                let lanes = entries.iter().flatten().filter(|&&lane| lane < 15);
                1 + u32::from(lanes.max().copied().unwrap_or(0))
            }
            Lanes::Rising(_, count) => (*count).max(1).into(),
        };
        Self {
            ports: following.iter().enumerate().map(port).collect(),
            switches,
            hosts: switch_of.len(),
            rows,
            levels,
            lanes,
            degree,
            switch_of,
            port_of,
            count,
        }
    }

    /// How many lanes there are.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.count
    }

    /// Whether tables lead from a host to another.
    #[must_use]
    pub fn reaches(&self, graph: &Graph, from: u32, to: u32) -> bool {
        let (mut at, there) = (self.switch_of[from as usize], self.switch_of[to as usize]);
        for _ in 0..=self.switches {
            if at == there {
                return true;
            }
            let port = self.ports[self.rows[to as usize] as usize * self.switches + at as usize];
            if port == Self::NONE {
                return false;
            }
            at = graph.ends(graph.outgoing(at)[usize::from(port)]).1;
        }
        false
    }

    /// Routers and links, those between switches of the given latency.
    pub(in super::super) fn wiring(&self, graph: &Graph, latency: u32) -> Wiring {
        let ports = |switch: usize| {
            let ports = usize::from(self.degree[switch]) + graph.hosts(switch as u32) as usize;
            (ports, ports)
        };
        let mut wiring = Wiring::new(self.hosts, (0..self.switches).map(ports));
        for channel in 0..graph.channels() as u32 {
            let (from, to) = graph.ends(channel);
            wiring.connect((from, graph.place(channel)), (to, graph.place(channel ^ 1)), latency);
        }
        for (host, &switch) in self.switch_of.iter().enumerate() {
            let at = (switch, self.port_of[host].into());
            wiring.attach(host as u32, at, at, 1);
        }
        wiring
    }
}

impl Network for Switched {
    fn draws(&self) -> bool {
        false
    }

    fn least_channels(&self) -> u32 {
        self.lanes()
    }

    fn ways(
        &self,
        _wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        _numbers: &mut dyn Numbers,
    ) -> Ways {
        let (first, last) = place.channels;
        let (to, here) = (packet.destination, place.router as usize);
        if self.switch_of[to as usize] == place.router {
            return Ways::one(self.port_of[to as usize].into(), first, last);
        }
        let row = self.rows[to as usize] as usize;
        let port = self.ports[row * self.switches + here];
        if port == Self::NONE {
            return Ways::default();
        }
        let level = self
            .levels
            .as_ref()
            .map_or(0, |levels| usize::from(levels[row * self.hosts + packet.source as usize]));
        let width = (last - first + 1) / self.count;
        let lane = match &self.lanes {
            Lanes::Levels(count) => level as u32 % u32::from((*count).max(1)),
            Lanes::Tables(start, entries) => {
                let degree = usize::from(self.degree[here]);
                u32::from(entries[start[here] + place.port * degree + usize::from(port)][level])
            }
            Lanes::Rising(..) if place.enters => 0,
            Lanes::Rising(rising, _) => {
                // Channels that are left over belong to the last lane.
                let before = ((place.channel - first) / width).min(self.count - 1);
                before + u32::from(rising[here])
            }
        };
        let lane = lane.min(self.count - 1);
        let from = first + lane * width;
        Ways::one(port.into(), from, if lane + 1 == self.count { last } else { from + width - 1 })
    }
}
