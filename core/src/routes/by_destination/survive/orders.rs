//! Numbers of switches in every lane.

use super::tree::{Lanes, Premises};
use crate::fabric::Graph;

/// Switches by number, lane by lane.
pub(super) struct Orders(pub Vec<Vec<u32>>);

impl Orders {
    /// Numbers that rise with the distance from roots far apart; among equals as drawn.
    pub(super) fn new(graph: &Graph, lanes: usize, mut draw: impl FnMut() -> u64) -> Self {
        let switches = graph.switches();
        let mut nearest = vec![u16::MAX; switches];
        let mut orders = Vec::with_capacity(lanes);
        for _ in 0..lanes {
            let far: Vec<_> = nearest.iter().map(|&distance| (distance, draw())).collect();
            let root = (0..switches).max_by_key(|&switch| far[switch]).unwrap_or(0);
            let distances = graph.distances_to(root as u32);
            nearest.iter_mut().zip(&distances).for_each(|(nearest, &there)| *nearest = there.min(*nearest));
            let keys: Vec<_> = distances.iter().map(|&distance| (distance, draw())).collect();
            let mut order: Vec<u32> = (0..switches as u32).collect();
            order.sort_by_key(|&switch| keys[switch as usize]);
            orders.push(order);
        }
        Self(orders)
    }

    /// By channel, the lanes in which it rises.
    pub(super) fn rise(&self, graph: &Graph) -> Vec<Lanes> {
        let mut rise = vec![0; graph.channels()];
        let mut number = vec![0; graph.switches()];
        for (lane, order) in self.0.iter().enumerate() {
            (0_u32..).zip(order).for_each(|(place, &switch)| number[switch as usize] = place);
            for (rise, channel) in rise.iter_mut().zip(0..) {
                let (from, to) = graph.ends(channel);
                *rise |= Lanes::from(number[from as usize] < number[to as usize]) << lane;
            }
        }
        rise
    }

    /// Exchanges the numbers `place` and `place + 1` of a lane; whether a cable joins their switches.
    pub(super) fn exchange(&mut self, premises: &mut Premises, lane: usize, place: usize) -> bool {
        let order = &mut self.0[lane];
        order.swap(place, place + 1);
        let (one, other) = (order[place], order[place + 1]);
        let mut joined = false;
        for &channel in premises.graph.outgoing(one) {
            if premises.graph.ends(channel).1 == other {
                premises.rise[channel as usize] ^= 1 << lane;
                premises.rise[channel as usize ^ 1] ^= 1 << lane;
                joined = true;
            }
        }
        joined
    }
}
