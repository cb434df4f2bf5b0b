//! What is asked of tables that are to survive failures, and what is answered.

use super::super::Forwarding;
use crate::fabric::Graph;

/// What is asked of tables that are to survive failures.
#[derive(Clone, Copy, Debug)]
pub struct SurviveRequest {
    /// Lanes that pairs may use; more than 8 are not.
    pub lanes: usize,
    /// Pairs on the fullest channel that are good enough.
    pub load: u64,
    /// What is drawn.
    pub seed: u64,
    /// How often the ways to a destination are looked at.
    pub looks: u64,
}

/// Tables that survive failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surviving {
    /// The tables.
    pub table: Forwarding,
    /// Service level by `destination * switches + switch of the source`, the same there and back.
    pub levels: Vec<u8>,
    /// By lane the switches in the order of their numbers, in which all ways are legal.
    pub orders: Vec<Vec<u32>>,
    /// Pairs by cable that are left when every entry over it takes its backup port.
    pub left: Vec<u64>,
}

impl Surviving {
    /// Whether the way of every pair is legal in its lane, there and back: then nothing can deadlock.
    ///
    /// One pass over the entries, from the destinations on.
    pub fn is_certified(&self, graph: &Graph) -> bool {
        let switches = graph.switches();
        let mut numbers = vec![vec![u32::MAX; switches]; self.orders.len()];
        for (numbers, order) in numbers.iter_mut().zip(&self.orders) {
            (0..).zip(order).for_each(|(number, &switch)| numbers[switch as usize] = number);
        }
        self.table.roots.iter().enumerate().all(|(destination, &root)| {
            // By switch the lanes in which its way is legal, and those in which it only rises.
            let mut lanes = vec![(u16::MAX, u16::MAX); switches];
            let order = self.table.towards(graph, destination);
            order.len() == switches
                && order.iter().rev().filter(|&&switch| switch != root).all(|&switch| {
                    let place = destination * switches + switch as usize;
                    let there = graph.ends(self.table.next[place]).1;
                    let rises = |numbers: &Vec<u32>| numbers[switch as usize] < numbers[there as usize];
                    let rise = (0..)
                        .zip(&numbers)
                        .fold(0, |rise, (lane, numbers)| rise | u16::from(rises(numbers)) << lane);
                    let (legal, rising) = lanes[there as usize];
                    lanes[switch as usize] = (rise & rising | !rise & legal, rise & rising);
                    graph.hosts(switch) == 0 || lanes[switch as usize].0 >> self.levels[place] & 1 == 1
                })
        })
    }
}
