//! Structured placements: axes of a logical mesh as digits of the coordinates.

/// How an axis goes through its box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// Digits count as in a number.
    Plain,
    /// Every second pass runs backwards, so that consecutive places are neighbours.
    Snake,
    /// Out along the first digit, back snaking through the others: a ring if the first digit is even.
    Comb,
}

/// A structured placement of a logical mesh on a box.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Per axis and dimension, how many of the dimension's places belong to the axis.
    pub(super) factors: Vec<Vec<u32>>,
    /// Per dimension, its axes from outside to inside.
    pub(super) order: Vec<Vec<usize>>,
    /// Per axis, its dimensions, the one that counts first first.
    pub(super) way: Vec<Vec<usize>>,
    /// Per axis.
    pub(super) course: Vec<Course>,
    /// Per axis and dimension: whether the digit runs backwards in every second outer place.
    pub(super) turns: Vec<Vec<bool>>,
    /// Per axis and dimension: whether the digit is folded, 0 2 4 .. 5 3 1.
    pub(super) folds: Vec<Vec<bool>>,
    /// Per dimension: the coordinate of every place that the digits say.
    pub(super) moves: Vec<Vec<u32>>,
    /// Per dimension, whether it leans: a step further round at every so many places along another one.
    pub(super) leans: Vec<Option<Lean>>,
}

/// Coordinates that shift along another dimension, as the threads of a screw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lean {
    /// The other dimension.
    pub(super) along: usize,
    /// Places of it per step.
    pub(super) period: u32,
    /// How far a step goes, modulo the size.
    pub(super) step: u32,
}

impl Layout {
    /// Coordinates of every rank, one after the other.
    pub(super) fn coordinates(&self, sizes: &[u32], axes: &[u32]) -> Vec<u32> {
        let dimensions = sizes.len();
        let digits: Vec<Vec<u32>> =
            (0..axes.len()).map(|axis| self.digits(axis, axes[axis], dimensions)).collect();
        let ranks: usize = axes.iter().map(|size| *size as usize).product();
        let mut coordinates = Vec::with_capacity(ranks * dimensions);
        let mut here = vec![0usize; axes.len()];
        for _ in 0..ranks {
            for (dimension, order) in self.order.iter().enumerate() {
                let mut place = 0;
                for &axis in order {
                    let factor = self.factors[axis][dimension];
                    let digit = digits[axis][here[axis] * dimensions + dimension];
                    let back = self.turns[axis][dimension] && place % 2 == 1;
                    place = place * factor + if back { factor - 1 - digit } else { digit };
                }
                coordinates.push(self.moves[dimension][place as usize]);
            }
            let place = coordinates.len() - dimensions;
            for (dimension, lean) in self.leans.iter().enumerate() {
                if let Some(lean) = lean {
                    let steps = coordinates[place + lean.along] / lean.period;
                    let here = &mut coordinates[place + dimension];
                    *here = (*here + lean.step * steps) % sizes[dimension];
                }
            }
            for (axis, size) in axes.iter().enumerate() {
                here[axis] += 1;
                if here[axis] < *size as usize {
                    break;
                }
                here[axis] = 0;
            }
        }
        coordinates
    }

    /// The digits of every place of an axis, per dimension.
    fn digits(&self, axis: usize, size: u32, dimensions: usize) -> Vec<u32> {
        let mut digits = vec![0; size as usize * dimensions];
        let way: Vec<(usize, u32)> = self.way[axis]
            .iter()
            .map(|d| (*d, self.factors[axis][*d]))
            .filter(|(_, factor)| *factor > 1)
            .collect();
        for index in 0..size {
            let row = &mut digits[index as usize * dimensions..][..dimensions];
            match self.course[axis] {
                Course::Plain => number(row, &way, index),
                Course::Snake => snake(row, &way, index),
                Course::Comb => comb(row, &way, index),
            }
            for &(dimension, factor) in &way {
                if self.folds[axis][dimension] {
                    row[dimension] = folded(row[dimension], factor);
                }
            }
        }
        digits
    }
}

fn number(row: &mut [u32], way: &[(usize, u32)], mut index: u32) {
    for &(dimension, factor) in way {
        row[dimension] = index % factor;
        index /= factor;
    }
}

fn snake(row: &mut [u32], way: &[(usize, u32)], mut index: u32) {
    for &(dimension, factor) in way {
        let (above, digit) = (index / factor, index % factor);
        row[dimension] = if above % 2 == 1 { factor - 1 - digit } else { digit };
        index = above;
    }
}

fn comb(row: &mut [u32], way: &[(usize, u32)], index: u32) {
    let Some(&(dimension, factor)) = way.first() else { return };
    let rest: u32 = way[1..].iter().map(|(_, factor)| factor).product();
    if index < factor || rest == 1 {
        row[dimension] = index;
        return;
    }
    let (column, place) = ((index - factor) / (rest - 1), (index - factor) % (rest - 1));
    row[dimension] = factor - 1 - column;
    snake(row, &way[1..], 1 + if column % 2 == 1 { rest - 2 - place } else { place });
}

/// Where place `index` of a ring of `size` lies on a line, so that neighbours are at most two apart.
fn folded(index: u32, size: u32) -> u32 {
    if 2 * index < size + size % 2 { 2 * index } else { 2 * (size - 1 - index) + 1 }
}

/// All ways to divide the places of every dimension among the axes, at most `most` of them: per axis and dimension a factor.
pub(super) fn factorisations(sizes: &[u32], axes: &[u32], most: usize) -> Vec<Vec<Vec<u32>>> {
    let mut all = vec![vec![vec![1; sizes.len()]; axes.len()]];
    for dimension in 0..sizes.len() {
        let mut more = Vec::new();
        for one in &all {
            let left: Vec<u32> =
                axes.iter().zip(one).map(|(size, factors)| size / factors.iter().product::<u32>()).collect();
            let later: u64 = sizes[dimension + 1..].iter().map(|size| u64::from(*size)).product();
            let mut found = Vec::new();
            divide(sizes[dimension], &left, &mut Vec::new(), &mut found);
            for factors in found {
                let rest: u64 =
                    left.iter().zip(&factors).map(|(left, factor)| u64::from(left / factor)).product();
                if rest != later {
                    continue;
                }
                let mut next = one.clone();
                for (axis, factor) in factors.into_iter().enumerate() {
                    next[axis][dimension] = factor;
                }
                more.push(next);
            }
        }
        more.truncate(most);
        all = more;
    }
    all
}

/// Factors, one per axis and each dividing what is left of it, whose product is `size`.
fn divide(size: u32, left: &[u32], so_far: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
    let Some((first, others)) = left.split_first() else {
        if size == 1 {
            found.push(so_far.clone());
        }
        return;
    };
    for factor in (1..=size.min(*first))
        .rev()
        .filter(|factor| size.is_multiple_of(*factor) && first.is_multiple_of(*factor))
    {
        so_far.push(factor);
        divide(size / factor, others, so_far, found);
        so_far.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(course: Course, sizes: &[u32]) -> Vec<Vec<u32>> {
        let size: u32 = sizes.iter().product();
        let dimensions = sizes.len();
        let layout = Layout {
            factors: vec![sizes.to_vec()],
            order: vec![vec![0]; dimensions],
            way: vec![(0..dimensions).collect()],
            course: vec![course],
            turns: vec![vec![false; dimensions]],
            folds: vec![vec![false; dimensions]],
            moves: sizes.iter().map(|size| (0..*size).collect()).collect(),
            leans: vec![None; dimensions],
        };
        layout.coordinates(sizes, &[size]).chunks(dimensions).map(<[u32]>::to_vec).collect()
    }

    fn apart(a: &[u32], b: &[u32]) -> u32 {
        a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum()
    }

    #[test]
    fn snakes_step_to_neighbours_and_combs_close() {
        for sizes in [&[4, 3][..], &[2, 5], &[6, 2, 3], &[4], &[2, 2, 2]] {
            for course in [Course::Snake, Course::Comb] {
                let cells = cells(course, sizes);
                let mut seen = cells.clone();
                seen.sort();
                seen.dedup();
                assert_eq!(seen.len(), cells.len());
                assert!(cells.windows(2).all(|two| apart(&two[0], &two[1]) == 1), "{course:?} {sizes:?}");
                if course == Course::Comb && sizes.len() > 1 {
                    assert_eq!(apart(&cells[0], &cells[cells.len() - 1]), 1, "{sizes:?}");
                }
            }
        }
    }

    #[test]
    fn a_folded_ring_has_no_long_step() {
        for size in 2..12 {
            let line: Vec<u32> = (0..size).map(|index| folded(index, size)).collect();
            let mut sorted = line.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..size).collect::<Vec<_>>());
            assert!((0..size as usize).all(|at| line[at].abs_diff(line[(at + 1) % size as usize]) <= 2));
        }
    }

    #[test]
    fn leaning_layouts_hold_every_place_once() {
        // A plane of 16x8 ranks in two turns around 8x8x2: over the edge of z it goes on a step further along y.
        let sizes = [8, 8, 2];
        for (step, period) in [(7, 1), (1, 2), (3, 1)] {
            let layout = Layout {
                factors: vec![vec![8, 1, 2], vec![1, 8, 1]],
                order: vec![vec![0, 1]; 3],
                way: vec![vec![0, 2, 1], vec![1, 0, 2]],
                course: vec![Course::Plain; 2],
                turns: vec![vec![false; 3]; 2],
                folds: vec![vec![false; 3]; 2],
                moves: sizes.iter().map(|size| (0..*size).rev().collect()).collect(),
                leans: vec![
                    None,
                    Some(Lean { along: 0, period, step }),
                    Some(Lean { along: 1, period: 4, step: 1 }),
                ],
            };
            let mut cells: Vec<_> =
                layout.coordinates(&sizes, &[16, 8]).chunks(3).map(<[u32]>::to_vec).collect();
            assert!(cells.iter().all(|cell| cell.iter().zip(sizes).all(|(at, size)| *at < size)));
            cells.sort();
            cells.dedup();
            assert_eq!(cells.len(), 128);
        }
    }

    #[test]
    fn factors_multiply_to_sizes_and_axes() {
        // 4 = 2^2 and 8 = 2^3 among 8 = 2^3 and 4 = 2^2: tables of exponents with these sums.
        let found = factorisations(&[4, 8], &[8, 4], 100);
        assert_eq!(found.len(), 3);
        assert!(found.contains(&vec![vec![4, 2], vec![1, 4]]));
    }
}
