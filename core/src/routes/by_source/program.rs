use super::{Choices, NO_ROUTE, System};
use crate::fabric::{NodeId, Shifts};
use std::collections::HashMap;

/// The rows a route crosses, and how often each.
type Crossings = Vec<(u32, u32)>;

/// The balancing problem as a linear program: split every demand over its routes so that the largest
/// load is least.
///
/// A row is a set of links that the translations of the rings carry into each other; every solution
/// can be averaged over these, so the bound is the same as without them. Failed or weighted systems
/// have one row per link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Number of links each row stands for.
    pub sizes: Vec<u64>,
    /// Load that is on each row whatever is chosen, summed over its links.
    pub fixed: Vec<u64>,
    /// Weight of each demand, summed over the pairs it stands for.
    pub weights: Vec<u64>,
    /// First option of each demand, and the total at the end.
    pub options: Vec<u32>,
    /// First entry of each option, and the total at the end.
    pub entries: Vec<u32>,
    /// Row of each entry.
    pub rows: Vec<u32>,
    /// How often the option's route crosses links of that row.
    pub hops: Vec<u32>,
}

impl Program {
    /// The program of a system's choices.
    pub fn new(system: &System, choices: &Choices, traffic: Option<&[u64]>) -> Self {
        let symmetric = choices.uniform && traffic.is_none();
        let (row_of, sizes) = rows(system, symmetric);
        let shifts = Shifts::all(system.fabric().shape());
        let represents = if symmetric { shifts.count() } else { 1 };
        let stands = |source: NodeId| !symmetric || shifts.is_corner(source);
        let mut program = Self { fixed: vec![0; sizes.len()], sizes, ..Self::default() };
        let nodes = system.nodes();
        let weight = |source: NodeId, destination: usize| {
            traffic.map_or(1, |traffic| traffic[source as usize * nodes + destination]) * represents
        };
        for source in (0..nodes as NodeId).filter(|&source| stands(source)) {
            let row = &choices.headers[source as usize * nodes..][..nodes];
            for (destination, &header) in row.iter().enumerate().filter(|entry| *entry.1 != NO_ROUTE) {
                let walk: Vec<u8> = system.walk(header).map(|hop| hop.index() as u8).collect();
                for link in system.links(source, &walk) {
                    program.fixed[row_of[link as usize] as usize] += weight(source, destination);
                }
            }
        }
        program.options.push(0);
        program.entries.push(0);
        let mut merged: HashMap<Vec<Crossings>, usize> = HashMap::new();
        let mut options = Vec::new();
        for pair in choices.pairs.iter().filter(|pair| stands(pair.source)) {
            let weight = weight(pair.source, pair.destination as usize);
            options.resize_with(usize::from(pair.count), Vec::new);
            for (choice, option) in (0..).zip(&mut options) {
                let links = system.links(pair.source, choices.walk(pair, choice));
                count(links.map(|link| row_of[link as usize]), option);
            }
            options.sort_unstable();
            options.dedup();
            if let [only] = options.as_slice() {
                for &(row, hops) in only {
                    program.fixed[row as usize] += weight * u64::from(hops);
                }
            } else if !symmetric {
                // The links of a route tell its ends: no two pairs have the same options.
                program.push(&options, weight);
            } else if let Some(&number) = merged.get(&options) {
                program.weights[number] += weight;
            } else {
                merged.insert(options.clone(), program.demands());
                program.push(&options, weight);
            }
        }
        program
    }

    /// Number of demands.
    pub fn demands(&self) -> usize {
        self.weights.len()
    }

    /// Adds a demand with several options.
    fn push(&mut self, options: &[Crossings], weight: u64) {
        for option in options {
            self.rows.extend(option.iter().map(|entry| entry.0));
            self.hops.extend(option.iter().map(|entry| entry.1));
            self.entries.push(self.rows.len() as u32);
        }
        self.weights.push(weight);
        self.options.push(self.entries.len() as u32 - 1);
    }

    /// The cheapest way for every demand at the given prices per row: the total cost, and the loads
    /// of the rows that it makes.
    pub(crate) fn respond(&self, prices: &[u64], loads: &mut [u64]) -> u128 {
        loads.copy_from_slice(&self.fixed);
        let mut total: u128 =
            self.fixed.iter().zip(prices).map(|(&load, &price)| u128::from(load) * u128::from(price)).sum();
        let mut option = 0;
        for (demand, &weight) in self.weights.iter().enumerate() {
            let end = self.options[demand + 1] as usize;
            let (mut best, mut least) = (option, u64::MAX);
            while option < end {
                let range = self.range_of(option);
                let cost: u64 = self.rows[range.clone()]
                    .iter()
                    .zip(&self.hops[range])
                    .map(|(&row, &hops)| prices[row as usize] * u64::from(hops))
                    .sum();
                if cost < least {
                    (best, least) = (option, cost);
                }
                option += 1;
            }
            total += u128::from(least) * u128::from(weight);
            let range = self.range_of(best);
            for (&row, &hops) in self.rows[range.clone()].iter().zip(&self.hops[range]) {
                loads[row as usize] += weight * u64::from(hops);
            }
        }
        total
    }

    fn range_of(&self, option: usize) -> std::ops::Range<usize> {
        self.entries[option] as usize..self.entries[option + 1] as usize
    }

    /// The row of every link in the program of a system's choices, `u32::MAX` for links that do not work.
    pub fn row_of(system: &System, choices: &Choices, weighted: bool) -> Vec<u32> {
        rows(system, choices.uniform && !weighted).0
    }

    /// The prices of the links, from those of the rows.
    pub(crate) fn link_prices(system: &System, symmetric: bool, prices: &[u64]) -> Vec<u64> {
        let (row_of, _) = rows(system, symmetric);
        row_of.iter().map(|&row| prices.get(row as usize).copied().unwrap_or(0)).collect()
    }

    /// Sums loads of links into loads of rows.
    pub(crate) fn row_loads(system: &System, symmetric: bool, loads: &[u64]) -> Vec<u64> {
        let (row_of, sizes) = rows(system, symmetric);
        let mut sums = vec![0; sizes.len()];
        for (link, &row) in row_of.iter().enumerate().filter(|entry| *entry.1 != u32::MAX) {
            sums[row as usize] += loads[link];
        }
        sums
    }
}

/// The row of every link (`u32::MAX` for links that do not work) and the size of every row.
fn rows(system: &System, symmetric: bool) -> (Vec<u32>, Vec<u64>) {
    let (fabric, shape) = (system.fabric(), system.fabric().shape());
    let shifts = Shifts::all(shape);
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut row_of = vec![u32::MAX; system.nodes() * shape.directions()];
    let mut sizes = Vec::new();
    for link in fabric.working_links() {
        let (node, direction) = fabric.link_ends(link);
        let key = if symmetric { fabric.link(shifts.corner(node), direction) } else { link };
        let row = *numbers.entry(key).or_insert_with(|| {
            sizes.push(0);
            sizes.len() as u32 - 1
        });
        sizes[row as usize] += 1;
        row_of[link as usize] = row;
    }
    (row_of, sizes)
}

/// Counts the rows of a route, in ascending order.
fn count(rows: impl Iterator<Item = u32>, counted: &mut Crossings) {
    counted.clear();
    counted.extend(rows.map(|row| (row, 1)));
    counted.sort_unstable();
    counted.dedup_by(|next, entry| {
        let same = next.0 == entry.0;
        entry.1 += u32::from(same);
        same
    });
}
