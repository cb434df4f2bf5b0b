//! Pieces of chunks on their ways: moved to other ways of the same chunk until the busiest links have little.

use std::ops::Range;

/// How little links count that are less busy than the busiest one: shares of it are squared so many times.
const SHARP: [u32; 8] = [4, 5, 6, 7, 8, 9, 10, 12];
/// The same for searches that begin with the best of those.
const AGAIN: [u32; 3] = [6, 8, 10];
/// Times that all ways are looked at, at most, with each of these.
const SWEEPS: usize = 50;
/// What counts as less.
const LESS: f64 = 1e-9;
/// Share of the busiest link by which the measure of powers may differ from it.
const NEAR: f64 = 0.1;

/// Ways of chunks, and what a piece puts on links.
#[derive(Clone, Copy, Debug)]
pub struct PieceWays<'a> {
    /// Rounds that every way takes.
    pub rounds: usize,
    /// Links of every round.
    pub links: usize,
    /// By way, round and link what a piece puts there.
    pub loads: &'a [f64],
    /// By way whose chunk it is.
    pub owners: &'a [u32],
}

/// How many pieces take every way, and by round what the busiest link has, then.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// By way.
    pub pieces: Vec<u32>,
    /// By round.
    pub busiest: Vec<f64>,
}

/// Pieces on other ways, so that the busiest links of all rounds have little together.
///
/// Single pieces are moved while busiest links have less, or first while links that are nearly as busy have
/// less, too; the best of these is kept.
///
/// ```
/// use flitloom_core::collective::{PieceWays, spread_pieces};
/// // Four pieces of a chunk, over either of two links.
/// let ways = PieceWays { rounds: 1, links: 2, loads: &[1.0, 0.0, 0.0, 1.0], owners: &[0, 0] };
/// let found = spread_pieces(&ways, &[4, 0]);
/// assert_eq!((found.pieces, found.busiest), (vec![2, 2], vec![2.0]));
/// ```
pub fn spread_pieces(ways: &PieceWays<'_>, first: &[u32]) -> Spread {
    let table = Table::new(ways);
    let moved = |first: &[u32], squared| {
        let mut state = State::new(&table, first, squared);
        state.descend();
        state.pieces
    };
    let spread = |pieces: Vec<u32>| {
        let busiest = State::new(&table, &pieces, None).rows.iter().map(|row| row.most).collect();
        Spread { pieces, busiest }
    };
    let mut best = spread(moved(first, None));
    for (squared, again) in SHARP.map(|one| (one, false)).into_iter().chain(AGAIN.map(|one| (one, true))) {
        let begin = if again { &best.pieces } else { first };
        let found = spread(moved(&moved(begin, Some(squared)), None));
        if found.busiest.iter().sum::<f64>() < best.busiest.iter().sum::<f64>() - LESS {
            best = found;
        }
    }
    best
}

/// What pieces put on links, without links that have nothing of a way.
struct Table {
    rounds: usize,
    links: usize,
    /// By way and round the entries of it.
    begins: Vec<usize>,
    /// Link of every entry, and what a piece puts there.
    entries: Vec<(u32, f64)>,
    /// By owner its ways.
    ways: Vec<Vec<usize>>,
}

impl Table {
    fn new(ways: &PieceWays<'_>) -> Self {
        let (mut begins, mut entries) = (vec![0], Vec::new());
        for row in ways.loads.chunks(ways.links) {
            let used = row.iter().enumerate().filter(|(_, load)| **load > 0.0);
            entries.extend(used.map(|(link, &load)| (link as u32, load)));
            begins.push(entries.len());
        }
        let mut places = vec![Vec::new(); ways.owners.iter().max().map_or(0, |most| *most as usize + 1)];
        for (way, &owner) in ways.owners.iter().enumerate() {
            places[owner as usize].push(way);
        }
        Self { rounds: ways.rounds, links: ways.links, begins, entries, ways: places }
    }

    /// What a piece of a way puts on links in a round.
    fn of(&self, way: usize, round: usize) -> &[(u32, f64)] {
        let place = way * self.rounds + round;
        &self.entries[self.begins[place]..self.begins[place + 1]]
    }
}

/// A round, with what its busy links count.
#[derive(Clone)]
struct Row {
    /// On the busiest link.
    most: f64,
    /// What all links are compared with.
    scale: f64,
    /// Powers of what links have by the scale, added up.
    sum: f64,
    /// What the round counts.
    value: f64,
}

/// Pieces on ways, and what links have.
struct State<'a> {
    table: &'a Table,
    /// How many times shares of the busiest link are squared; none if only the busiest link counts.
    squared: Option<u32>,
    pieces: Vec<u32>,
    rows: Vec<Row>,
    /// By round and link what is there.
    sums: Vec<f64>,
    /// The power of it by the scale of the round.
    powers: Vec<f64>,
    /// How much the round counts more for a little more on the link, by the sum of powers.
    slopes: Vec<f64>,
    /// The sums and powers without a piece.
    less: (Vec<f64>, Vec<f64>),
    /// Rounds without a piece.
    left: Vec<Row>,
}

impl<'a> State<'a> {
    fn new(table: &'a Table, pieces: &[u32], squared: Option<u32>) -> Self {
        let mut sums = vec![0.0; table.rounds * table.links];
        for (way, &share) in pieces.iter().enumerate() {
            for round in 0..table.rounds {
                for &(link, load) in table.of(way, round) {
                    sums[round * table.links + link as usize] += load * f64::from(share);
                }
            }
        }
        let row = Row { most: 0.0, scale: 0.0, sum: 0.0, value: 0.0 };
        let mut found = Self {
            table,
            squared,
            pieces: pieces.to_vec(),
            rows: vec![row; table.rounds],
            powers: sums.clone(),
            slopes: sums.clone(),
            less: (sums.clone(), sums.clone()),
            left: Vec::new(),
            sums,
        };
        for round in 0..table.rounds {
            found.measure(round);
        }
        found
    }

    /// Moves pieces while that helps.
    fn descend(&mut self) {
        let (table, mut slopes) = (self.table, Vec::new());
        for _ in 0..SWEEPS {
            let mut moved = false;
            for ways in &table.ways {
                let mut known = false;
                for &from in ways.iter().filter(|_| ways.len() > 1) {
                    if self.pieces[from] == 0 {
                        continue;
                    }
                    if !known {
                        slopes.clear();
                        slopes.extend(ways.iter().map(|&way| (way, self.slope(way))));
                        known = true;
                    }
                    if let Some(to) = self.better(from, &slopes) {
                        self.put(from, to);
                        (moved, known) = (true, false);
                    }
                }
            }
            if !moved {
                break;
            }
        }
    }

    fn range(&self, round: usize) -> Range<usize> {
        round * self.table.links..(round + 1) * self.table.links
    }

    /// Finds what a round counts, anew.
    fn measure(&mut self, round: usize) {
        let range = self.range(round);
        let sums = &self.sums[range.clone()];
        let most = sums.iter().copied().fold(0.0, f64::max);
        let row = &mut self.rows[round];
        row.most = most;
        let near = most >= row.scale * (1.0 - NEAR) && most <= row.scale * (1.0 + NEAR);
        if self.squared.is_some() && most > 0.0 && !near {
            row.scale = most;
            for (power, &sum) in self.powers[range.clone()].iter_mut().zip(sums) {
                *power = power_of(sum / most, self.squared);
            }
        }
        let powers = &self.powers[range.clone()];
        row.sum = match self.squared {
            Some(_) => added(powers),
            None => sums.iter().filter(|sum| **sum >= most - LESS).count() as f64,
        };
        row.value = valued(row.scale, row.sum, most, self.squared);
        for ((slope, &sum), &power) in self.slopes[range].iter_mut().zip(sums).zip(powers) {
            *slope = match self.squared {
                Some(_) if power > 0.0 => power / sum,
                None if sum >= most - LESS => 1.0,
                _ => 0.0,
            };
        }
    }

    /// How much all rounds count more for a little more of a way.
    fn slope(&self, way: usize) -> f64 {
        let one = |round: usize| {
            let (row, slopes) = (&self.rows[round], &self.slopes[self.range(round)]);
            let steep: f64 =
                self.table.of(way, round).iter().map(|&(link, load)| slopes[link as usize] * load).sum();
            let by = if self.squared.is_some() { row.value / row.sum } else { 1.0 / row.sum };
            if steep > 0.0 { steep * by } else { 0.0 }
        };
        (0..self.table.rounds).map(one).sum()
    }

    /// The way on which a piece of another way counts least, if that is less than now.
    fn better(&mut self, from: usize, slopes: &[(usize, f64)]) -> Option<usize> {
        let own = slopes.iter().find(|(way, _)| *way == from).map_or(0.0, |(_, slope)| *slope);
        // What all rounds count is convex: where the slope does not fall, nothing does.
        let mut ways = slopes.iter().filter(|(_, slope)| *slope < own - LESS).peekable();
        ways.peek()?;
        self.take(from);
        let mut least = self.rows.iter().map(|row| row.value).sum::<f64>() - LESS;
        let mut found = None;
        for &(way, _) in ways {
            let value: f64 = (0..self.table.rounds).map(|round| self.with(way, round)).sum();
            if value < least {
                (least, found) = (value, Some(way));
            }
        }
        found
    }

    /// Finds what rounds have without a piece of a way.
    fn take(&mut self, way: usize) {
        let table = self.table;
        self.left.clone_from(&self.rows);
        for round in 0..table.rounds {
            let range = self.range(round);
            let sums = &mut self.less.0[range.clone()];
            sums.copy_from_slice(&self.sums[range.clone()]);
            let powers = &mut self.less.1[range.clone()];
            powers.copy_from_slice(&self.powers[range]);
            let row = &mut self.left[round];
            for &(link, load) in table.of(way, round) {
                let sum = &mut sums[link as usize];
                *sum = (*sum - load).max(0.0);
                powers[link as usize] = power_of(*sum / row.scale, self.squared);
            }
            row.most = sums.iter().copied().fold(0.0, f64::max);
            if self.squared.is_some() {
                row.sum = added(powers);
            }
        }
    }

    /// What a round counts with another piece of a way in the place of the one that was taken.
    fn with(&self, way: usize, round: usize) -> f64 {
        let (row, range) = (&self.left[round], self.range(round));
        let (sums, powers) = (&self.less.0[range.clone()], &self.less.1[range]);
        let (mut most, mut sum) = (row.most, row.sum);
        for &(link, load) in self.table.of(way, round) {
            let here = sums[link as usize] + load;
            most = most.max(here);
            if self.squared.is_some() {
                sum += power_of(here / row.scale, self.squared) - powers[link as usize];
            }
        }
        valued(row.scale, sum, most, self.squared)
    }

    /// Moves a piece.
    fn put(&mut self, from: usize, to: usize) {
        self.pieces[from] -= 1;
        self.pieces[to] += 1;
        let table = self.table;
        for round in 0..table.rounds {
            let first = round * table.links;
            for (way, sign) in [(from, -1.0), (to, 1.0)] {
                for &(link, load) in table.of(way, round) {
                    let place = first + link as usize;
                    self.sums[place] = (self.sums[place] + sign * load).max(0.0);
                    self.powers[place] = power_of(self.sums[place] / self.rows[round].scale, self.squared);
                }
            }
            self.measure(round);
        }
    }
}

/// What a round counts by the sum of powers of what its links have by a scale: from what the busiest link has
/// to that of all links, if all were as busy.
fn valued(scale: f64, sum: f64, most: f64, squared: Option<u32>) -> f64 {
    let Some(times) = squared else { return most };
    let root = (0..times).fold(sum, |root, _| root.sqrt());
    // Powers that are too large or too small to be numbers say nothing.
    if sum.is_finite() { (scale * root).max(most) } else { most }
}

/// A number squared so many times.
fn power_of(base: f64, squared: Option<u32>) -> f64 {
    (0..squared.unwrap_or(0)).fold(base, |power, _| power * power)
}

/// The sum of many numbers, some of which are added up side by side.
fn added(numbers: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let parts = numbers.chunks_exact(sums.len());
    let rest: f64 = parts.remainder().iter().sum();
    for part in parts {
        for (sum, number) in sums.iter_mut().zip(part) {
            *sum += number;
        }
    }
    sums.iter().sum::<f64>() + rest
}
