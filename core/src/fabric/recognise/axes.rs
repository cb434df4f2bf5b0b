//! From cables sorted by dimension to sizes and coordinates.

use super::classes::Classes;
use super::edges::Edges;
use crate::fabric::{Grid, Lattice, MAX_DIMENSIONS};
use std::collections::BTreeMap;

/// Most axes before those of size two are joined to rings of four.
const MAX_AXES: usize = 2 * MAX_DIMENSIONS;

/// The grid, and where the switches stand that could be followed.
pub(super) fn axes(
    edges: &Edges,
    classes: &Classes,
    support: &[u32],
    sizes: Option<&[u32]>,
) -> Option<(Grid, Vec<Option<u32>>)> {
    let switches = edges.around.len();
    let roots = classes.large((switches / 4).max(1));
    if roots.is_empty() || roots.len() > MAX_AXES {
        return None;
    }
    let (places, lattice) = follow(edges, classes, support, &roots);
    let known: Vec<&Vec<i32>> = places.iter().flatten().collect();
    let (low, extents): (Vec<i32>, Vec<u32>) =
        (0..roots.len()).map(|axis| extent(&known, axis, &lattice)).unzip();
    let raw = Grid::new(lattice, extents);
    let shifted: Vec<Option<Vec<i32>>> = places
        .iter()
        .map(|place| {
            let place: Vec<i32> = place.as_ref()?.iter().zip(&low).map(|(entry, low)| entry - low).collect();
            let position = raw.position(&place)?;
            Some(raw.coordinates(position).iter().map(|&entry| entry as i32).collect())
        })
        .collect();
    join_axes(&raw, &shifted, sizes)
}

/// Follows the firmest cables to the coordinates of the largest part; other cables close ways.
fn follow(
    edges: &Edges,
    classes: &Classes,
    support: &[u32],
    roots: &[u32],
) -> (Vec<Option<Vec<i32>>>, Lattice) {
    let switches = edges.around.len();
    let axis: BTreeMap<u32, usize> = roots.iter().enumerate().map(|(axis, &root)| (root, axis)).collect();
    let mut steps: Vec<(u32, usize, i32)> = (0..edges.ends.len() as u32)
        .filter_map(|edge| {
            let (root, against) = classes.find(edge);
            Some((edge, *axis.get(&root)?, if against { -1 } else { 1 }))
        })
        .collect();
    steps.sort_by_key(|&(edge, ..)| std::cmp::Reverse(support[edge as usize]));
    let mut part: Vec<u32> = (0..switches as u32).collect();
    let mut members: Vec<Vec<u32>> = part.iter().map(|&switch| vec![switch]).collect();
    let mut places = vec![vec![0_i32; roots.len()]; switches];
    let mut left = Vec::new();
    for (edge, axis, step) in steps {
        let (a, b) = edges.ends[edge as usize];
        let (one, other) = (part[a as usize], part[b as usize]);
        if one == other {
            left.push((a, b, axis, step));
            continue;
        }
        // The smaller part moves to where the cable says it is.
        let mut shift: Vec<i32> =
            places[a as usize].iter().zip(&places[b as usize]).map(|(p, q)| p - q).collect();
        shift[axis] += step;
        let (stay, go) = if members[one as usize].len() >= members[other as usize].len() {
            (one, other)
        } else {
            shift.iter_mut().for_each(|entry| *entry = -*entry);
            (other, one)
        };
        let moved = std::mem::take(&mut members[go as usize]);
        for &switch in &moved {
            part[switch as usize] = stay;
            places[switch as usize].iter_mut().zip(&shift).for_each(|(entry, by)| *entry += by);
        }
        members[stay as usize].extend(moved);
    }
    let Some(largest) = (0..switches).max_by_key(|&root| members[root].len()) else {
        return (Vec::new(), Lattice::new(roots.len()));
    };
    let mut closings: BTreeMap<Vec<i32>, usize> = BTreeMap::new();
    for (a, b, axis, step) in left {
        if part[a as usize] != largest as u32 {
            continue;
        }
        let mut way: Vec<i32> =
            places[a as usize].iter().zip(&places[b as usize]).map(|(p, q)| p - q).collect();
        way[axis] += step;
        if let Some(&first) = way.iter().find(|&&entry| entry != 0) {
            way.iter_mut().for_each(|entry| *entry *= first.signum());
            *closings.entry(way).or_default() += 1;
        }
    }
    let lattice = closed(closings, members[largest].len(), roots.len());
    let places = places
        .into_iter()
        .zip(&part)
        .map(|(place, &root)| (root == largest as u32).then_some(place))
        .collect();
    (places, lattice)
}

/// The lattice of the commonest closings that leave a position to every switch.
fn closed(closings: BTreeMap<Vec<i32>, usize>, switches: usize, axes: usize) -> Lattice {
    let mut order: Vec<(Vec<i32>, usize)> = closings.into_iter().collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let most = order.first().map_or(0, |entry| entry.1);
    let mut lattice = Lattice::new(axes);
    for (way, count) in order {
        // Each dimension that closes does so more often than a few wrong cables can pretend. A long one has few
        // rings, each of which closes somewhere, while ways around short ones may close in many places.
        let mut next = lattice.clone();
        next.add(&way);
        let fits = next.volume().is_none_or(|volume| volume >= switches as u64);
        let sane = (0..axes).all(|axis| next.row(axis).is_none_or(|row| row[axis] > 2));
        let length: usize = way.iter().map(|entry| entry.unsigned_abs() as usize).sum();
        let enough = most.div_ceil(10).min(switches / (2 * length)).max(most.min(2));
        if count >= enough && fits && sane {
            lattice = next;
        }
    }
    lattice
}

/// Lowest coordinate and size of an axis; stray switches beyond thin planes do not count.
fn extent(places: &[&Vec<i32>], axis: usize, lattice: &Lattice) -> (i32, u32) {
    if lattice.row(axis).is_some() {
        return (0, 0);
    }
    let mut planes: BTreeMap<i32, usize> = BTreeMap::new();
    for place in places {
        *planes.entry(lattice.reduce(place)[axis]).or_default() += 1;
    }
    let most = planes.values().copied().max().unwrap_or(1);
    let full: Vec<i32> =
        planes.iter().filter(|&(_, &count)| 4 * count > most).map(|(&plane, _)| plane).collect();
    let (low, high) = (full.first().copied().unwrap_or(0), full.last().copied().unwrap_or(0));
    (low, (high - low) as u32 + 1)
}

/// One axis of the final grid: an axis as it was found, or two of size two as a ring of four.
enum Axis {
    One(usize),
    Ring(usize, usize),
}

fn join_axes(
    raw: &Grid,
    places: &[Option<Vec<i32>>],
    sizes: Option<&[u32]>,
) -> Option<(Grid, Vec<Option<u32>>)> {
    let order = by_neighbours(raw, places);
    let mut bits: Vec<usize> =
        order.iter().copied().filter(|&axis| raw.sizes()[axis] == 2 && !raw.wraps(axis)).collect();
    let mut whole: Vec<usize> = order.iter().copied().filter(|axis| !bits.contains(axis)).collect();
    let mut joined = Vec::new();
    if let Some(sizes) = sizes {
        for &size in sizes {
            if let Some(place) = whole.iter().position(|&axis| raw.sizes()[axis] == size) {
                joined.push(Axis::One(whole.remove(place)));
            } else if size == 4 && bits.len() >= 2 {
                joined.push(Axis::Ring(bits.remove(0), bits.remove(0)));
            } else if size == 2 && !bits.is_empty() {
                joined.push(Axis::One(bits.remove(0)));
            } else {
                return None;
            }
        }
        if !whole.is_empty() || !bits.is_empty() {
            return None;
        }
    } else {
        joined.extend(whole.iter().map(|&axis| Axis::One(axis)));
        joined.extend(bits.chunks(2).map(|pair| match *pair {
            [one, other] => Axis::Ring(one, other),
            _ => Axis::One(pair[0]),
        }));
    }
    if joined.len() > MAX_DIMENSIONS {
        return None;
    }
    let mut lattice = Lattice::new(joined.len());
    for axis in 0..raw.dimensions() {
        if let Some(row) = raw.lattice().row(axis) {
            let way: Vec<i32> =
                joined.iter().map(|entry| if let Axis::One(axis) = *entry { row[axis] } else { 0 }).collect();
            lattice.add(&way);
        }
    }
    for (dimension, entry) in joined.iter().enumerate() {
        if matches!(entry, Axis::Ring(..)) {
            let mut way = vec![0; joined.len()];
            way[dimension] = 4;
            lattice.add(&way);
        }
    }
    let extents = joined.iter().map(|entry| if let Axis::One(axis) = *entry { raw.sizes()[axis] } else { 4 });
    let grid = Grid::new(lattice, extents.collect());
    let wanted = places
        .iter()
        .map(|place| {
            let place = place.as_ref()?;
            let coordinates: Vec<i32> = joined
                .iter()
                .map(|entry| match *entry {
                    Axis::One(axis) => place[axis],
                    // The Gray code of the two bits runs around the ring.
                    Axis::Ring(one, other) => (place[one] ^ place[other]) + 2 * place[other],
                })
                .collect();
            grid.position(&coordinates)
        })
        .collect();
    Some((grid, wanted))
}

/// Axes in the order in which the lowest switches lie along them from the lowest switch of all.
fn by_neighbours(grid: &Grid, places: &[Option<Vec<i32>>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..grid.dimensions()).collect();
    let Some(origin) = places.iter().flatten().next() else { return order };
    let first_along = |axis: usize| {
        places.iter().position(|place| {
            place.as_ref().is_some_and(|place| {
                place[axis] != origin[axis]
                    && (0..grid.dimensions()).all(|other| other == axis || place[other] == origin[other])
            })
        })
    };
    order.sort_by_key(|&axis| first_along(axis).unwrap_or(usize::MAX));
    order
}

/// The same grid as its lowest switches suggest: they stand at the origin and beside it in the order of
/// the dimensions. With `fixed` the order of the dimensions stays.
pub(super) fn natural(grid: &Grid, positions: &[u32], fixed: bool) -> Option<(Grid, Vec<u32>)> {
    let places: Vec<Option<Vec<i32>>> = positions
        .iter()
        .map(|&position| Some(grid.coordinates(position).iter().map(|&entry| entry as i32).collect()))
        .collect();
    let dimensions = grid.dimensions();
    let mut order: Vec<usize> = (0..dimensions).collect();
    if !fixed {
        order = by_neighbours(grid, &places);
        if !grid.lattice().is_plain() {
            order.sort_by_key(|&dimension| grid.sizes()[dimension]);
        }
    }
    let origin = grid.coordinates(positions[0]);
    let backwards: Vec<bool> = (0..dimensions)
        .map(|dimension| {
            let size = grid.sizes()[dimension];
            if grid.wraps(dimension) {
                let rank = |by: i32| {
                    let mut place: Vec<i32> = origin.iter().map(|&entry| entry as i32).collect();
                    place[dimension] += by;
                    let there = grid.position(&place);
                    positions.iter().position(|&position| Some(position) == there).unwrap_or(usize::MAX)
                };
                let nearest =
                    (1..=size as i32 / 2).map(|by| (rank(by), rank(-by))).find(|(up, down)| up != down);
                nearest.is_some_and(|(up, down)| down < up)
            } else {
                2 * origin[dimension] + 1 > size
            }
        })
        .collect();
    let sign = |dimension: usize| if backwards[dimension] { -1 } else { 1 };
    let mut lattice = Lattice::new(dimensions);
    for row in (0..dimensions).filter_map(|dimension| grid.lattice().row(dimension)) {
        lattice.add(&order.iter().map(|&dimension| sign(dimension) * row[dimension]).collect::<Vec<_>>());
    }
    let sizes: Vec<u32> = order.iter().map(|&dimension| grid.sizes()[dimension]).collect();
    let turned = Grid::new(lattice, sizes);
    let moved = positions
        .iter()
        .map(|&position| {
            let place = grid.coordinates(position);
            let coordinates: Vec<i32> = order
                .iter()
                .map(|&dimension| {
                    let (here, size) = (place[dimension] as i32, grid.sizes()[dimension] as i32);
                    match (grid.wraps(dimension), backwards[dimension]) {
                        (true, _) => sign(dimension) * (here - origin[dimension] as i32),
                        (false, true) => size - 1 - here,
                        (false, false) => here,
                    }
                })
                .collect();
            turned.position(&coordinates)
        })
        .collect::<Option<_>>()?;
    Some((turned, moved))
}
