use super::{
    demands::Demand,
    loads::{fullest, of_paths},
};
use crate::power::power_of;
use crate::{
    fabric::{Network, walk::Ways},
    traffic::{Purpose, draw, draw_below},
};

/// Demands by links from which on those from one node get their first paths together, in this many shares.
const MANY: u64 = 1 << 27;
const SHARES: u64 = 8;

/// Chooses one path per demand so that the fullest link carries as few as possible, at best `goal`.
///
/// Paths given are kept at first (empty ones are found); then demands over the fullest links are moved to
/// the way with the least rise of a steep sum over all links, until nothing improves or `moves` are used
/// up. Returns the paths and the load of the fullest link, or the first demand that no way serves.
pub(crate) fn balance_paths(
    graph: &Network,
    demands: &[Demand],
    mut paths: Vec<Vec<u32>>,
    goal: u64,
    moves: u64,
    seed: u64,
) -> Result<(Vec<Vec<u32>>, u64), Demand> {
    paths.resize(demands.len(), Vec::new());
    let load: Vec<i64> = of_paths(graph.links().len(), &paths);
    let mut balance = Balance { graph, demands, paths, load, ways: Ways::new(graph.nodes()), goal, seed };
    balance.serve_empty()?;
    let mut best = (fullest(&balance.load), balance.paths.clone());
    let mut left = moves;
    // How much more one path more costs a full link; more and more, if nothing improves.
    let mut power = (fullest(&balance.load) / 16).clamp(16, 1 << 16) as u32;
    let mut idle = 0;
    let mut round = 0;
    while best.0 > goal as i64 && left > 0 && idle < 12 {
        round += 1;
        let limit = fullest(&balance.load);
        let before = balance.at_least(limit);
        balance.relieve(power, round, &mut left);
        let after = balance.at_least(limit);
        if after.0 < best.0 {
            best = (after.0, balance.paths.clone());
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

/// One path per demand, and what the links carry with them.
struct Balance<'a> {
    graph: &'a Network,
    demands: &'a [Demand],
    paths: Vec<Vec<u32>>,
    load: Vec<i64>,
    ways: Ways<f64>,
    goal: u64,
    seed: u64,
}

impl Balance<'_> {
    /// Finds a path for every demand without one, or the first demand that no way serves.
    fn serve_empty(&mut self) -> Result<(), Demand> {
        let Self { graph, demands, paths, load, ways, goal, seed } = self;
        let mut order: Vec<u32> = (0..demands.len() as u32).collect();
        order.retain(|&number| paths[number as usize].is_empty());
        order.retain(|&number| demands[number as usize].source != demands[number as usize].destination);
        let many = order.len() as u64 * load.len() as u64 > MANY;
        let group = |number: u32| {
            let drawn = draw(*seed, 0, Purpose::Search, number.into());
            if many { (drawn % SHARES, demands[number as usize].source) } else { (drawn, number) }
        };
        order.sort_by_cached_key(|&number| group(number));
        let scale = (*goal).max(1) as f64;
        let mut known = None;
        for number in order {
            let Demand { source, destination } = demands[number as usize];
            if known != Some(group(number)) {
                known = Some(group(number));
                let price = |link: u32| 1.0 + load[link as usize] as f64 / scale;
                graph.find_ways(ways, source, Some(destination).filter(|_| !many), price);
            }
            let path = graph.path(ways, source, destination).ok_or(demands[number as usize])?;
            path.iter().for_each(|&link| load[link as usize] += 1);
            paths[number as usize] = path;
        }
        Ok(())
    }

    /// The load of the fullest link, and how many links carry `limit` or more.
    fn at_least(&self, limit: i64) -> (i64, usize) {
        (fullest(&self.load), self.load.iter().filter(|&&load| load >= limit).count())
    }

    /// Links above the threshold, fullest first: the highest sixteenth of what is too much, two levels at least.
    fn full_links(&self, threshold: i64) -> Vec<u32> {
        let limit = threshold.min(fullest(&self.load) - 1);
        let mut full: Vec<u32> =
            (0..self.load.len() as u32).filter(|&link| self.load[link as usize] > limit).collect();
        full.sort_by_key(|&link| std::cmp::Reverse(self.load[link as usize]));
        full
    }

    /// Moves demands over full links to the cheapest way, until those links are below the threshold.
    fn relieve(&mut self, power: u32, round: u64, left: &mut u64) {
        let limit = fullest(&self.load);
        // What one more path costs a link; a hop always costs a little.
        let price = |load: i64| {
            let share = |load: i64| power_of(load as f64 / limit as f64, power);
            share(load + 1) - share(load) + 1e-9
        };
        let prices_upto: Vec<f64> = (0..=limit + 1).map(price).collect();
        let excess = limit - self.goal as i64;
        let threshold = (self.goal as i64).max(limit - (excess / 16).max(2));
        let full = self.full_links(threshold);
        let is_full: Vec<bool> = (0..self.load.len() as u32).map(|link| full.contains(&link)).collect();
        let mut through: Vec<Vec<u32>> = vec![Vec::new(); self.load.len()];
        for (number, path) in (0..).zip(&self.paths) {
            for &link in path.iter().filter(|&&link| is_full[link as usize]) {
                through[link as usize].push(number);
            }
        }
        for &link in &full {
            let users = &mut through[link as usize];
            let mut turn = 0;
            while !users.is_empty() && self.load[link as usize] > threshold && *left > 0 {
                let at = (round << 24) | turn;
                let pick = draw_below(self.seed, link, Purpose::Search, at, users.len() as u32);
                turn += 1;
                *left -= 1;
                let number = users.swap_remove(pick as usize) as usize;
                if self.paths[number].contains(&link) {
                    self.move_path(number, &prices_upto);
                }
            }
        }
    }

    /// Takes the cheapest way for a demand, if it costs less than its path.
    fn move_path(&mut self, number: usize, prices_upto: &[f64]) {
        let Self { graph, demands, paths, load, ways, .. } = self;
        let Demand { source, destination } = demands[number];
        paths[number].iter().for_each(|&link| load[link as usize] -= 1);
        let at = |link: u32| prices_upto[(load[link as usize].max(0) as usize).min(prices_upto.len() - 1)];
        let old: f64 = paths[number].iter().map(|&link| at(link)).sum();
        graph.find_ways(ways, source, Some(destination), at);
        let new = graph.path(ways, source, destination).filter(|_| ways.cost[destination as usize] < old);
        if let Some(new) = new {
            paths[number] = new;
        }
        paths[number].iter().for_each(|&link| load[link as usize] += 1);
    }
}
