use super::{Slope, proven, scale, whole};
use crate::{
    fabric::{Network, NodeId, walk::Ways},
    flow::{
        demands::Demand,
        loads::{fullest, of_paths, send},
    },
    power::power_of,
};

/// Largest length of a link in a proof.
const SCALE: f64 = 1e6;

/// Lengths of links that prove a load: some link carries at least the sum of the demands' shortest
/// distances, divided by the sum of all lengths.
///
/// Lengths are found by projected subgradients with Polyak's step towards `aim`, a load that is reached, from
/// the best of the `starts` and of equal lengths; `rounds` shortest-path sweeps are spent, fewer if the proof
/// reaches `aim - 1` strictly.
pub fn prove_load(
    graph: &Network,
    demands: &[Demand],
    aim: u64,
    rounds: u32,
    starts: Vec<Vec<f64>>,
) -> (Vec<u64>, u64) {
    let links = graph.links().len();
    let targets = Demand::by_source(graph.nodes(), demands);
    let mut best = (0.0, vec![1.0 / links as f64; links]);
    for mut start in starts.into_iter().chain([best.1.clone()]) {
        scale(&mut start);
        let mut total = 0.0;
        from_each(graph, &targets, &start, |ways, targets| {
            total += targets.iter().map(|&target| ways.cost[target as usize]).sum::<f64>();
        });
        if total > best.0 {
            best = (total, start);
        }
    }
    let mut length = best.1.clone();
    let mut direction = vec![0.0; links];
    let mut relax = 1.0;
    let mut idle = 0;
    for _ in 0..rounds {
        let mut load = vec![0.0; links];
        let mut total = 0.0;
        from_each(graph, &targets, &length, |ways, targets| {
            let mut weight = vec![0.0; graph.nodes()];
            for &target in targets {
                weight[target as usize] += 1.0;
                total += ways.cost[target as usize];
            }
            let mut order: Vec<NodeId> = (0..graph.nodes() as NodeId).collect();
            order.retain(|&node| ways.over[node as usize] != u32::MAX);
            order.sort_by(|&a, &b| ways.cost[b as usize].total_cmp(&ways.cost[a as usize]));
            send(order, &mut weight, &mut load, |node, _| {
                let link = ways.over[node as usize];
                Some((link, graph.links()[link as usize].0))
            });
        });
        if total > best.0 + 1e-9 {
            best = (total, length.clone());
            idle = 0;
        } else {
            idle += 1;
            if idle % 20 == 0 {
                relax *= 0.7;
            }
        }
        if best.0 > (aim as f64 - 1.0) * (1.0 + 1e-6) + 1e-6 {
            break;
        }
        for (direction, load) in direction.iter_mut().zip(&load) {
            *direction = 0.7 * *direction + 0.3 * load;
        }
        let slope = Slope::of(&direction);
        if slope.square < 1e-12 {
            break;
        }
        slope.climb(&mut length, &direction, relax * (aim as f64 - total).max(1e-3 * aim as f64));
    }
    let whole = whole(&best.1, SCALE);
    let steps = proven_load(graph, demands, &whole);
    (whole, steps)
}

/// Tells the shortest ways from every source to its targets under lengths of links.
fn from_each(
    graph: &Network,
    targets: &[Vec<NodeId>],
    lengths: &[f64],
    mut tell: impl FnMut(&Ways<f64>, &[NodeId]),
) {
    let mut ways = Ways::new(graph.nodes());
    for (source, targets) in (0..).zip(targets).filter(|(_, targets)| !targets.is_empty()) {
        graph.find_ways(&mut ways, source, None, |link| lengths[link as usize]);
        tell(&ways, targets);
    }
}

/// Lengths that grow steeply with the load of the paths on every link: near those that prove the load, if the
/// paths were balanced well.
pub(crate) fn steep_lengths(graph: &Network, paths: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let load: Vec<u32> = of_paths(graph.links().len(), paths);
    let most = f64::from(fullest(&load).max(1));
    let steep =
        |power: u32| load.iter().map(|&load| power_of(f64::from(load) / most, power) + 1e-12).collect();
    [4, 16, 64, 256, 1024].map(steep).into()
}

/// The load that whole lengths prove, rounded up.
pub fn proven_load(graph: &Network, demands: &[Demand], lengths: &[u64]) -> u64 {
    // Sums of whole numbers far below 2^53 are exact.
    let exact: Vec<f64> = lengths.iter().map(|&length| length as f64).collect();
    let mut sum = 0_u128;
    from_each(graph, &Demand::by_source(graph.nodes(), demands), &exact, |ways, targets| {
        sum += targets.iter().map(|&target| ways.cost[target as usize] as u128).sum::<u128>();
    });
    let all: u128 = lengths.iter().map(|&length| u128::from(length)).sum();
    proven(sum, all)
}
