use super::power::power_of;
use super::{NO_ROUTE, System};
use crate::fabric::NodeId;

/// How evenly a table loads the links; an unweighted load is a number of routes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// Largest load of a working link (edge-forwarding index).
    pub max_load: u64,
    /// Smallest load of a working link.
    pub min_load: u64,
    /// Sum of all loads over the number of working links.
    pub perfect_load: f64,
    /// `(mean |load - perfect_load|^4)^(1/4)` (angara-routing-2021, Section 1.1).
    pub sigma4: f64,
    /// Most hops of a route.
    pub max_distance: u32,
    /// Load of every link, 0 for links that do not work.
    pub loads: Vec<u64>,
}

impl Quality {
    /// The quality of given loads.
    pub(crate) fn new(system: &System, loads: Vec<u64>, max_distance: u32) -> Self {
        let working = || {
            (0..loads.len()).filter(|&link| system.next(link as u32) != NodeId::MAX).map(|link| loads[link])
        };
        let channels = working().count().max(1) as f64;
        let perfect_load = working().map(u128::from).sum::<u128>() as f64 / channels;
        let fourth: f64 = working().map(|load| power_of(load as f64 - perfect_load, 4)).sum();
        Self {
            max_load: working().max().unwrap_or(0),
            min_load: working().min().unwrap_or(0),
            perfect_load,
            sigma4: (fourth / channels).sqrt().sqrt(),
            max_distance,
            loads,
        }
    }

    /// The quality of a table given by its headers, each pair counting with its weight.
    pub(crate) fn of(system: &System, headers: &[u32], traffic: Option<&[u64]>) -> Self {
        let nodes = system.nodes();
        let directions = system.fabric().shape().directions();
        let order: Vec<u8> = system.rules().order().iter().map(|direction| direction.index() as u8).collect();
        let mut loads = vec![0; nodes * directions];
        let mut max_distance = 0;
        for (source, row) in headers.chunks_exact(nodes).enumerate() {
            for (destination, &header) in row.iter().enumerate() {
                if header == NO_ROUTE {
                    continue;
                }
                let weight = traffic.map_or(1, |traffic| traffic[source * nodes + destination]);
                let route = system.layout().unpack(header);
                let mut here = source;
                let mut hop = |direction: usize, count: u32| {
                    for _ in 0..count {
                        let link = here * directions + direction;
                        loads[link] += weight;
                        here = system.next(link as u32) as usize;
                    }
                };
                if let Some(first) = route.first {
                    hop(first.index(), 1);
                }
                for &direction in &order {
                    let hops = route.hops[direction as usize / 2];
                    if hops != 0 && (hops < 0) == (direction % 2 == 1) {
                        hop(direction as usize, hops.unsigned_abs());
                    }
                }
                if let Some(last) = route.last {
                    hop(last.index(), 1);
                }
                max_distance = max_distance.max(route.length());
            }
        }
        Self::new(system, loads, max_distance)
    }
}
