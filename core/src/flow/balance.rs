use super::{
    demands::Demand,
    loads::{fullest, of_paths},
};
use crate::power::power_of;
use crate::{
    fabric::{Digraph, walk::Ways},
    traffic::{Purpose, draw, draw_below},
};

/// Chooses one path per demand so that the fullest link carries as few as possible, at best `goal`.
///
/// Paths given are kept at first (empty ones are found); then demands over the fullest links are moved to
/// the way with the least rise of a steep sum over all links, until nothing improves or `moves` are used
/// up. Returns the paths and the load of the fullest link, or the first demand that no way serves.
pub(crate) fn balance_paths(
    graph: &Digraph,
    demands: &[Demand],
    mut paths: Vec<Vec<u32>>,
    goal: u64,
    moves: u64,
    seed: u64,
) -> Result<(Vec<Vec<u32>>, u64), Demand> {
    paths.resize(demands.len(), Vec::new());
    let mut load: Vec<i64> = of_paths(graph.links().len(), &paths);
    let mut ways = Ways::new(graph.nodes());
    let mut order: Vec<u32> = (0..demands.len() as u32).collect();
    order.retain(|&number| paths[number as usize].is_empty());
    order.sort_by_cached_key(|&number| draw(seed, 0, Purpose::Search, number.into()));
    let scale = goal.max(1) as f64;
    for number in order {
        let Demand { source, destination } = demands[number as usize];
        if source == destination {
            continue;
        }
        graph
            .find_ways(&mut ways, source, Some(destination), |link| 1.0 + load[link as usize] as f64 / scale);
        let path = graph.path(&ways, source, destination).ok_or(demands[number as usize])?;
        path.iter().for_each(|&link| load[link as usize] += 1);
        paths[number as usize] = path;
    }
    let mut best = (fullest(&load), paths.clone());
    let mut used = 0;
    // How much more one path more costs a full link; more and more, if nothing improves.
    let mut power = (fullest(&load) / 16).clamp(16, 1 << 16) as u32;
    let mut idle = 0;
    let mut round = 0;
    while best.0 > goal as i64 && used < moves && idle < 12 {
        round += 1;
        let limit = fullest(&load) as f64;
        // What one more path costs a link; a hop always costs a little.
        let price = |load: i64| {
            let share = |load: i64| power_of(load as f64 / limit, power);
            share(load + 1) - share(load) + 1e-9
        };
        let prices_upto: Vec<f64> = (0..=limit as i64 + 1).map(price).collect();
        // The highest sixteenth of what is too much, two levels at least.
        let excess = fullest(&load) - goal as i64;
        let threshold = (goal as i64).max(fullest(&load) - (excess / 16).max(2));
        let mut full: Vec<u32> = (0..load.len() as u32)
            .filter(|&link| load[link as usize] > threshold.min(fullest(&load) - 1))
            .collect();
        full.sort_by_key(|&link| std::cmp::Reverse(load[link as usize]));
        let is_full: Vec<bool> = (0..load.len() as u32).map(|link| full.contains(&link)).collect();
        let mut through: Vec<Vec<u32>> = vec![Vec::new(); load.len()];
        for (number, path) in (0..).zip(&paths) {
            for &link in path.iter().filter(|&&link| is_full[link as usize]) {
                through[link as usize].push(number);
            }
        }
        let before: Vec<i64> =
            vec![fullest(&load), load.iter().filter(|&&load| load as f64 >= limit).count() as i64];
        for &link in &full {
            let users = &mut through[link as usize];
            let mut turn = 0;
            while !users.is_empty() && load[link as usize] > threshold && used < moves {
                let pick = draw_below(seed, link, Purpose::Search, (round << 24) | turn, users.len() as u32);
                turn += 1;
                used += 1;
                let number = users.swap_remove(pick as usize) as usize;
                if !paths[number].contains(&link) {
                    continue;
                }
                let Demand { source, destination } = demands[number];
                paths[number].iter().for_each(|&link| load[link as usize] -= 1);
                let at =
                    |link: u32| prices_upto[(load[link as usize].max(0) as usize).min(prices_upto.len() - 1)];
                let old: f64 = paths[number].iter().map(|&link| at(link)).sum();
                graph.find_ways(&mut ways, source, Some(destination), at);
                let new =
                    graph.path(&ways, source, destination).filter(|_| ways.cost[destination as usize] < old);
                if let Some(new) = new {
                    paths[number] = new;
                }
                paths[number].iter().for_each(|&link| load[link as usize] += 1);
            }
        }
        let after = vec![fullest(&load), load.iter().filter(|&&load| load as f64 >= limit).count() as i64];
        if after[0] < best.0 {
            best = (after[0], paths.clone());
        }
        if after < before {
            idle = 0;
        } else {
            idle += 1;
            if idle % 3 == 0 {
                power = (2 * power).min(1 << 16);
            }
        }
    }
    Ok((best.1, best.0.max(0) as u64))
}
