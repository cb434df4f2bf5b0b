//! Where a part of the network ends.
//!
//! Nodes of other parts to which links lead lie in planes before and behind a part's own nodes. Where rings of
//! the last dimension are cut, these are the rows before and behind a part. In a twisted torus a step over the
//! edge of a short dimension may lead half way round the last one: there, every row sees an opposite row, too. Where
//! the last dimension is a full mesh, every row sees all others; in a circulant it sees those that its steps lead to.

use crate::fabric::{Direction, NodeId, Shape, Sign};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// What a part sees of another one: some rows of it, to which links of as many own rows lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Halo {
    /// The row before (0) or behind (1) along the last dimension, or others (from 2 on).
    pub side: usize,
    /// The other part, and the number of its halo that sees these own rows.
    pub part: usize,
    pub there: usize,
    /// Ports that lead across, and ports of the others that lead here, both ascending.
    pub out: Vec<usize>,
    pub back: Vec<usize>,
    /// Nodes of the rows.
    pub nodes: usize,
    /// First node of the own rows, and of the others' where they lie here.
    pub own: isize,
    pub others: isize,
    /// First of the others in the network.
    pub from: usize,
    /// Per port that leads across: its links.
    pub links: Vec<Vec<Across>>,
    /// Whether the links of every port lead from every node here to the same place there.
    pub is_straight: bool,
}

/// Links from so many nodes in a row, at most 64, to as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Across {
    /// The first own node.
    pub own: isize,
    /// The place of the first of the others, from the first node of a halo on.
    pub place: usize,
    pub count: usize,
}

/// Rows of a part and those of another one to which links lead.
#[derive(Debug, PartialEq, Eq)]
struct Band {
    part: usize,
    own: usize,
    others: usize,
    rows: usize,
    out: Vec<usize>,
}

impl Band {
    /// The same rows as the other part sees them.
    fn is_of(&self, other: &Self) -> bool {
        (self.own, self.others, self.rows) == (other.others, other.own, other.rows)
    }

    fn side(&self, shape: &Shape) -> usize {
        let last = shape.dimensions() - 1;
        let [before, behind] = [Sign::Minus, Sign::Plus].map(|sign| shape.direction(last, sign).index());
        match self.out[..] {
            // Along a full mesh or circulant, a row is linked to several others in one direction.
            _ if shape.is_stepped(last) => 2,
            [out] if out == before => 0,
            [out] if out == behind => 1,
            _ => 2,
        }
    }
}

/// What a part of a network sees of the other parts: ranges of nodes, whole rows each.
pub(super) fn halos(shape: &Shape, parts: &[Range<usize>], part: usize) -> Vec<Halo> {
    let row = shape.stride(shape.dimensions() - 1) as usize;
    let (first, nodes) = (parts[part].start, parts[part].len());
    let mut behind = nodes + row;
    let mut halos: Vec<Halo> = Vec::new();
    let mut of_others = BTreeMap::new();
    for band in bands(shape, parts, part) {
        let others = of_others.entry(band.part).or_insert_with(|| bands(shape, parts, band.part));
        let there = others.iter().position(|other| other.part == part && other.is_of(&band));
        let (side, extent) = (band.side(shape), band.rows * row);
        let others = match side {
            0 => -(row as isize),
            1 => nodes as isize,
            _ => {
                behind += extent;
                (behind - extent) as isize
            }
        };
        let mut back: Vec<usize> =
            band.out.iter().map(|&out| Direction::from_index(out).opposite().index()).collect();
        back.sort_unstable();
        let (own, from) = (band.own * row - first, band.others * row);
        let links: Vec<_> = (band.out.iter())
            .map(|&out| {
                across(shape, first, own..own + extent, from..from + extent, Direction::from_index(out))
            })
            .collect();
        let straight = |all: &Vec<Across>| {
            let leads = |one: &Across| one.own as usize - own == one.place;
            all.iter().all(leads) && all.iter().map(|one| one.count).sum::<usize>() == extent
        };
        halos.push(Halo {
            side: if side < 2 { side } else { 2 + halos.len() },
            part: band.part,
            // Links lead both ways, so there is one.
            there: there.unwrap_or_default(),
            out: band.out,
            back,
            nodes: extent,
            own: own as isize,
            others,
            from,
            is_straight: links.iter().all(straight),
            links,
        });
    }
    halos
}

/// The links of a direction from own nodes, numbered from the first of a part on, to nodes of the network.
fn across(
    shape: &Shape,
    first: usize,
    own: Range<usize>,
    others: Range<usize>,
    direction: Direction,
) -> Vec<Across> {
    let mut all: Vec<Across> = Vec::new();
    for node in own {
        let other = shape.neighbour((first + node) as NodeId, direction).map(|other| other as usize);
        let Some(other) = other.filter(|other| others.contains(other)) else { continue };
        let (own, place) = (node as isize, other - others.start);
        match all.last_mut() {
            Some(last)
                if last.count < 64
                    && (last.own + last.count as isize, last.place + last.count) == (own, place) =>
            {
                last.count += 1;
            }
            _ => all.push(Across { own, place, count: 1 }),
        }
    }
    all
}

/// Rows of other parts to which links of a part lead, as few as there are stretches of them.
fn bands(shape: &Shape, parts: &[Range<usize>], part: usize) -> Vec<Band> {
    let row = shape.stride(shape.dimensions() - 1) as usize;
    let part_of = |node: usize| parts.partition_point(|part| part.end <= node);
    let mut bands: Vec<Band> = Vec::new();
    for direction in (0..shape.directions()).map(Direction::from_index) {
        let across = |node: usize| {
            let other = shape.neighbour(node as NodeId, direction)? as usize;
            (!parts[part].contains(&other)).then_some((node / row, other / row))
        };
        let rows: BTreeSet<_> = parts[part].clone().filter_map(across).collect();
        let mut stretches: Vec<Band> = Vec::new();
        for (own, others) in rows {
            let part = part_of(others * row);
            let before = stretches.iter_mut().find(|band| {
                (band.part, band.own + band.rows, band.others + band.rows) == (part, own, others)
            });
            match before {
                Some(band) => band.rows += 1,
                None => stretches.push(Band { part, own, others, rows: 1, out: Vec::new() }),
            }
        }
        for stretch in stretches {
            let Band { part, own, others, rows, .. } = stretch;
            let same =
                |band: &&mut Band| (band.part, band.own, band.others, band.rows) == (part, own, others, rows);
            match bands.iter_mut().find(same) {
                Some(band) => band.out.push(direction.index()),
                None => bands.push(Band { out: vec![direction.index()], ..stretch }),
            }
        }
    }
    bands
}

/// Places before and behind the nodes of a part that its halos take.
pub(super) fn extent(nodes: usize, halos: &[Halo]) -> [usize; 2] {
    let before = halos.iter().map(|halo| -halo.others).max().unwrap_or(0).max(0);
    let end = halos.iter().map(|halo| halo.others + halo.nodes as isize).max().unwrap_or(0);
    [before as usize, (end as usize).saturating_sub(nodes)]
}

/// Where a part has a neighbour in a direction of one of its nodes, both numbered in the network and here.
pub(super) fn place_of(
    other: usize,
    own: usize,
    direction: Direction,
    part: &Range<usize>,
    halos: &[Halo],
) -> isize {
    if part.contains(&other) {
        return (other - part.start) as isize;
    }
    let own = own as isize;
    let halo = halos.iter().find(|halo| {
        halo.out.contains(&direction.index())
            && (halo.from..halo.from + halo.nodes).contains(&other)
            && (halo.own..halo.own + halo.nodes as isize).contains(&own)
    });
    halo.map_or(0, |halo| halo.others + (other - halo.from) as isize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Factor, Steps};

    fn parts(shape: &Shape, count: usize) -> Vec<Range<usize>> {
        let rows = shape.size(shape.dimensions() - 1) as usize;
        let row = shape.nodes() / rows;
        (0..count).map(|part| part * rows / count * row..(part + 1) * rows / count * row).collect()
    }

    #[test]
    fn every_link_across_has_its_place_and_its_counterpart() {
        let shapes = [
            Shape::torus(&[3, 8]),
            Shape::torus(&[5]),
            Shape::mesh(&[4, 5]),
            Shape::torus(&[3, 2]),
            Shape::twisted(&[4, 8]),
            Shape::twisted(&[8, 4]),
            Shape::twisted(&[4, 2]),
            Shape::twisted(&[2, 4, 4]),
            Shape::twisted(&[4, 2, 4]),
            Shape::twisted(&[2, 2, 8]),
            Shape::product(&[Factor::Full(4), Factor::Ring(6)]),
            Shape::product(&[Factor::Ring(3), Factor::Full(6)]),
            Shape::product(&[Factor::Line(2), Factor::Full(5), Factor::Full(3)]),
            Shape::product(&[Factor::Full(7)]),
            Shape::product(&[Factor::Circulant(10, Steps::ascending([1, 5])), Factor::Ring(3)]),
            Shape::product(&[Factor::Ring(3), Factor::Circulant(12, Steps::ascending([1, 4, 6]))]),
            Shape::product(&[Factor::Circulant(9, Steps::ascending([2, 3]))]),
        ];
        for shape in shapes.map(Result::unwrap) {
            let rows = shape.size(shape.dimensions() - 1) as usize;
            for count in 2..=rows {
                let parts = parts(&shape, count);
                let all: Vec<_> = (0..count).map(|part| halos(&shape, &parts, part)).collect();
                for (part, nodes) in parts.iter().enumerate() {
                    let mut places = BTreeSet::new();
                    for (number, halo) in all[part].iter().enumerate() {
                        let back = &all[halo.part][halo.there];
                        assert_eq!((back.part, back.there, &back.out), (part, number, &halo.back));
                        assert_eq!(back.from, nodes.start + halo.own as usize);
                        // What comes over a link comes from the place that the other part's links name.
                        for (out, links) in halo.out.iter().zip(&halo.links) {
                            let counted: usize = links.iter().map(|link| link.count).sum();
                            let mirror = back.out.iter().position(|port| *port == (out ^ 1)).unwrap();
                            assert_eq!(counted, back.links[mirror].iter().map(|link| link.count).sum());
                        }
                        for place in halo.others..halo.others + halo.nodes as isize {
                            assert!(!(0..nodes.len() as isize).contains(&place) && places.insert(place));
                        }
                    }
                    let [before, behind] = extent(nodes.len(), &all[part]);
                    assert!(places.iter().all(|&place| {
                        -(before as isize) <= place && place < (nodes.len() + behind) as isize
                    }));
                    for (own, node) in nodes.clone().enumerate() {
                        for direction in (0..shape.directions()).map(Direction::from_index) {
                            let Some(other) = shape.neighbour(node as NodeId, direction) else { continue };
                            let place = place_of(other as usize, own, direction, nodes, &all[part]);
                            let inside = nodes.contains(&(other as usize));
                            assert_eq!(inside, (0..nodes.len() as isize).contains(&place));
                            assert_eq!(inside, !places.contains(&place));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn plain_tori_see_two_rows_and_twisted_ones_opposite_rows_too() {
        let seen = |shape: &Shape, count| {
            let all = halos(shape, &parts(shape, count), 0);
            all.into_iter().map(|halo| (halo.side < 2, halo.part, halo.nodes)).collect::<Vec<_>>()
        };
        let plain = Shape::torus(&[4, 8]).unwrap();
        assert_eq!(seen(&plain, 4), [(true, 1, 4), (true, 3, 4)]);
        // Rows of four nodes; the third of four parts is opposite.
        let long = Shape::twisted(&[4, 8]).unwrap();
        assert_eq!(seen(&long, 4), [(false, 2, 8), (true, 1, 4), (true, 3, 4)]);
        // Of three parts, what is opposite lies in two.
        assert_eq!(seen(&long, 3), [(false, 1, 4), (false, 2, 4), (true, 1, 4), (true, 2, 4)]);
        // A step over the edge of the last dimension moves within the row.
        let short = Shape::twisted(&[8, 4]).unwrap();
        assert_eq!(seen(&short, 4), [(true, 1, 8), (true, 3, 8)]);
    }
}
