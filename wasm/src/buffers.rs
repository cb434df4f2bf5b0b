use flitloom_core::{
    fabric::{LinkId, NodeId},
    probe::{Flit, Probe},
};
use std::collections::HashMap;

/// How many flits lie in the buffers behind every link, from what crosses links and is ejected.
pub struct Buffers {
    latency: u64,
    /// Links and channels that a packet under way has taken.
    routes: HashMap<(NodeId, u64), Vec<(LinkId, u8)>>,
    /// Cycle, link, and by how much its buffers change.
    changes: Vec<(u64, LinkId, i32)>,
}

impl Buffers {
    /// Of a network whose links take `latency` cycles.
    pub fn new(latency: u16) -> Self {
        Self { latency: latency.into(), routes: HashMap::new(), changes: Vec::new() }
    }

    /// Flits at the beginning of every cycle, link by link.
    pub fn by_link(&self, links: usize, cycles: usize) -> Vec<u16> {
        let mut held = vec![0i32; links * cycles];
        for &(cycle, link, change) in &self.changes {
            if (cycle as usize) < cycles {
                held[link as usize * cycles + cycle as usize] += change;
            }
        }
        for row in held.chunks_exact_mut(cycles.max(1)) {
            let mut now = 0;
            row.iter_mut().for_each(|flits| {
                now += *flits;
                *flits = now;
            });
        }
        held.into_iter().map(|flits| flits.max(0) as u16).collect()
    }
}

impl Probe for Buffers {
    fn flit_crosses(&mut self, cycle: u64, link: LinkId, channel: u8, flit: Flit) {
        let route = self.routes.entry((flit.source, flit.number)).or_default();
        if flit.head {
            route.push((link, channel));
        }
        let place = route.iter().position(|&taken| taken == (link, channel)).unwrap_or(0);
        if place > 0 {
            self.changes.push((cycle + 1, route[place - 1].0, -1));
        }
        self.changes.push((cycle + self.latency, link, 1));
    }

    fn flit_ejected(&mut self, cycle: u64, _node: NodeId, flit: Flit) {
        let key = (flit.source, flit.number);
        if let Some(&(link, _)) = self.routes.get(&key).and_then(|route| route.last()) {
            self.changes.push((cycle + 1, link, -1));
        }
        if flit.tail {
            self.routes.remove(&key);
        }
    }
}
