//! Dimension order on products of full meshes, rings and lines: one hop in a full mesh, the nearer way on a ring.
//! In a product in which nothing is missing it carries all pairs evenly, and full meshes and lines need one lane.

use super::{DimensionOrder, Forwarding, Graph, Method, Start};
use crate::fabric::{Factor, Product};
use rayon::prelude::*;
use std::collections::HashMap;

pub(super) const METHOD: Method = Method {
    name: "dor",
    kind: "product",
    about: "all pairs on products of full meshes, rings and lines: dimension order",
    start,
};

fn start(graph: &Graph, order: Option<&DimensionOrder>, roots: &[u32]) -> Option<Start> {
    if order.is_some() {
        return None;
    }
    let product = Product::of(graph)?;
    let at: HashMap<&[u32], u32> = product.coordinates.iter().map(Vec::as_slice).zip(0..).collect();
    let mut table = Forwarding::spread(graph, roots.to_vec());
    let switches = graph.switches();
    table.next.par_chunks_mut(switches).enumerate().for_each(|(destination, row)| {
        let root = roots[destination];
        let distances = graph.distances_to(root);
        for (switch, entry) in (0..switches as u32).zip(row).filter(|&(switch, _)| switch != root) {
            let place =
                hop(&product, &product.coordinates[switch as usize], &product.coordinates[root as usize]);
            let Some(&next) = at.get(place.as_slice()) else { continue };
            // Around what is missing any shortest route does.
            if distances[next as usize] < distances[switch as usize] {
                let cables =
                    graph.outgoing(switch).iter().copied().filter(|&channel| graph.ends(channel).1 == next);
                let cables: Vec<u32> = cables.collect();
                if !cables.is_empty() {
                    *entry = cables[destination % cables.len()];
                }
            }
        }
    });
    Some(Start { table, gently: true })
}

/// Where dimension order goes next: along the first factor in which the places differ.
fn hop(product: &Product, here: &[u32], there: &[u32]) -> Vec<u32> {
    let mut next = here.to_vec();
    if let Some(factor) = (0..here.len()).find(|&factor| here[factor] != there[factor]) {
        let (from, to) = (here[factor], there[factor]);
        next[factor] = match product.factors[factor] {
            Factor::Full(_) => to,
            Factor::Line(_) if to > from => from + 1,
            Factor::Line(_) => from - 1,
            // No fabric is recognised as one; its routes stay shortest ones.
            Factor::Circulant(..) => from,
            Factor::Ring(size) => {
                let ahead = (to + size - from) % size;
                // Half the switches go either way to the one opposite.
                let forwards = 2 * ahead < size || 2 * ahead == size && from % 2 == 0;
                (from + if forwards { 1 } else { size - 1 }) % size
            }
        };
    }
    next
}
