//! Cuts: pairs that must cross a set of channels.

mod hardest;

use super::proof::{CutBound, Prover};
use crate::fabric::{Graph, Placed};
pub(crate) use hardest::measure;
pub use hardest::{hardest_cut, narrowest_cuts};

pub(super) const BOUND: Prover = Prover { name: "cuts", prove: best };

fn best(graph: &Graph, placed: Option<&Placed>) -> CutBound {
    let parts = graph.parts();
    let whole = graph.hosts_by_part(&parts);
    let mut best = CutBound::none();
    let mut starts: Vec<(f64, Vec<bool>, String)> = Vec::new();
    if let Some(placed) = placed {
        starts.extend(planes(graph, placed, &parts));
    }
    // Around single switches a cut is its cables; only the best of them need to be looked at.
    let mut single: Vec<(f64, u32)> = (0..graph.switches() as u32)
        .filter(|&switch| !graph.outgoing(switch).is_empty())
        .map(|switch| {
            let hosts = u64::from(graph.hosts(switch));
            let cut = Cut {
                pairs: hosts * (whole[parts[switch as usize] as usize] - hosts),
                channels: graph.outgoing(switch).len() as u64,
            };
            (cut.ratio(), switch)
        })
        .collect();
    single.sort_by(|a, b| b.0.total_cmp(&a.0));
    for &(ratio, switch) in single.iter().take(REFINED) {
        let mut side = vec![false; graph.switches()];
        side[switch as usize] = true;
        starts.push((ratio, side, "the switch".into()));
    }
    starts.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, side, name) in starts.iter().take(1) {
        consider(graph, &mut best, side, name, &parts);
    }
    let mut refined: Vec<Vec<bool>> = starts.into_iter().take(REFINED).map(|(_, side, _)| side).collect();
    if placed.is_none() {
        refined.extend(halves(graph));
    }
    for mut side in refined {
        refine(graph, &mut side, &parts);
        consider(graph, &mut best, &side, "a part of the fabric", &parts);
    }
    best
}

/// Cuts that are refined.
const REFINED: usize = 4;

struct Cut {
    pairs: u64,
    channels: u64,
}

impl Cut {
    /// Only pairs that some way joins cross a cut.
    fn of(graph: &Graph, side: &[bool], parts: &[u32]) -> Option<Self> {
        let mut inside = vec![0_u64; parts.len()];
        let mut outside = inside.clone();
        for (switch, &part) in parts.iter().enumerate() {
            let sums = if side[switch] { &mut inside } else { &mut outside };
            sums[part as usize] += u64::from(graph.hosts(switch as u32));
        }
        let channels = (0..graph.channels() as u32)
            .filter(|&channel| {
                let (from, to) = graph.ends(channel);
                side[from as usize] && !side[to as usize]
            })
            .count() as u64;
        let pairs = inside.iter().zip(&outside).map(|(inside, outside)| inside * outside).sum();
        (channels > 0).then_some(Self { pairs, channels })
    }

    fn ratio(&self) -> f64 {
        self.pairs as f64 / self.channels as f64
    }
}

pub(crate) fn consider(graph: &Graph, best: &mut CutBound, side: &[bool], name: &str, parts: &[u32]) {
    let Some(cut) = Cut::of(graph, side, parts) else { return };
    let value = cut.pairs.div_ceil(cut.channels);
    if value > best.value {
        let side = (0..side.len() as u32).filter(|&switch| side[switch as usize]).collect();
        let (prices, proof) = (Vec::new(), name.into());
        *best = CutBound { value, pairs: cut.pairs, channels: cut.channels, side, prices, proof };
    }
}

/// Arcs of about half the planes of every dimension against the rest.
fn planes(graph: &Graph, placed: &Placed, parts: &[u32]) -> Vec<(f64, Vec<bool>, String)> {
    let mut cuts = Vec::new();
    let grid = &placed.grid;
    for dimension in 0..grid.dimensions() {
        let size = grid.sizes()[dimension];
        let name = ["x", "y", "z", "u", "v", "w"][dimension];
        let widths = if grid.wraps(dimension) { (size / 4).max(1)..=size / 2 } else { 1..=size - 1 };
        for width in widths {
            let begins = if grid.wraps(dimension) { 0..size } else { 0..1 };
            for begin in begins {
                let inside = |coordinate: u32| (coordinate + size - begin) % size < width;
                let side: Vec<bool> = (0..graph.switches() as u32)
                    .map(|switch| inside(placed.places[switch as usize][dimension]))
                    .collect();
                if let Some(cut) = Cut::of(graph, &side, parts) {
                    let last = (begin + width - 1) % size;
                    cuts.push((cut.ratio(), side, format!("the planes {name} = {begin} to {last}")));
                }
            }
        }
    }
    cuts
}

/// Nearest halves around some switches.
fn halves(graph: &Graph) -> Vec<Vec<bool>> {
    let switches = graph.switches();
    (0..switches)
        .step_by(switches.div_ceil(8).max(1))
        .map(|start| {
            let distances = graph.distances_to(start as u32);
            let mut order: Vec<usize> = (0..switches).collect();
            order.sort_by_key(|&switch| distances[switch]);
            let mut side = vec![false; switches];
            order[..switches / 2].iter().for_each(|&switch| side[switch] = true);
            side
        })
        .collect()
}

/// Moves single switches to the other side while that makes the cut tighter.
fn refine(graph: &Graph, side: &mut [bool], parts: &[u32]) {
    let Some(cut) = Cut::of(graph, side, parts) else { return };
    let (mut channels, mut pairs, mut best) = (cut.channels as i64, cut.pairs, cut.ratio());
    let whole = graph.hosts_by_part(parts);
    let mut inside = vec![0_u64; whole.len()];
    for (switch, &part) in parts.iter().enumerate().filter(|&(switch, _)| side[switch]) {
        inside[part as usize] += u64::from(graph.hosts(switch as u32));
    }
    for _ in 0..20 {
        let mut moved = false;
        for switch in 0..graph.switches() as u32 {
            let here = side[switch as usize];
            let same = graph
                .outgoing(switch)
                .iter()
                .filter(|&&channel| side[graph.ends(channel).1 as usize] == here)
                .count() as i64;
            let change = 2 * same - graph.outgoing(switch).len() as i64;
            let hosts = u64::from(graph.hosts(switch));
            let part = parts[switch as usize] as usize;
            let (now, all) = (inside[part], whole[part]);
            let then = if here { now - hosts } else { now + hosts };
            let pairs_then = pairs - now * (all - now) + then * (all - then);
            let ratio = pairs_then as f64 / (channels + change) as f64;
            if channels + change > 0 && ratio > best {
                inside[part] = then;
                (side[switch as usize], pairs, channels, best) =
                    (!here, pairs_then, channels + change, ratio);
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}
