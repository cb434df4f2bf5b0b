//! Products of full meshes, rings and lines among graphs: which factors, and where every switch stands.
//!
//! In a Cartesian product, two cables of different factors that meet are sides of exactly one square without a
//! diagonal. So cables that meet otherwise are of one factor, as are opposite sides of such a square (the relations
//! behind the algorithms of Feigenbaum, Hershberger and Schaeffer 1985 and Feder 1992). Everything is then verified
//! cable by cable.

use super::{Factor, Graph, sets::Sets, walk};
use std::collections::{BTreeMap, BTreeSet};

/// A product with at least one full mesh of four or more switches; others are tori and meshes. Parts may be missing.
///
/// ```
/// use flitloom_core::fabric::{Factor, Graph, Product};
/// // Rows of four switches that are all joined, and two of each column.
/// let row = |first: u32| (0..4).flat_map(move |a| (0..a).map(move |b| (first + b, first + a)));
/// let cables: Vec<(u32, u32)> = row(0).chain(row(4)).chain((0..4).map(|n| (n, n + 4))).collect();
/// let product = Product::of(&Graph::new(vec![1; 8], &cables)?).unwrap();
/// assert_eq!(product.factors, [Factor::Full(4), Factor::Line(2)]);
/// assert_eq!(product.coordinates[6], [2, 1]);
/// // Without the cable between the switches 1 and 2.
/// let fewer: Vec<(u32, u32)> = cables.iter().copied().filter(|&cable| cable != (1, 2)).collect();
/// let product = Product::of(&Graph::new(vec![1; 8], &fewer)?).unwrap();
/// assert_eq!(product.missing_cables, [(1, 2)]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The factors, the one whose cables join the nearest numbers first.
    pub factors: Vec<Factor>,
    /// Of every switch, a number per factor: along a ring or line in its order.
    pub coordinates: Vec<Vec<u32>>,
    /// Coordinates without a switch.
    pub missing_switches: Vec<Vec<u32>>,
    /// Pairs of switches without the cable that belongs between them.
    pub missing_cables: Vec<(u32, u32)>,
}

impl Product {
    /// The product that a graph is, if it is one.
    pub fn of(graph: &Graph) -> Option<Self> {
        let switches = graph.switches();
        let mut net = Net { around: vec![BTreeSet::new(); switches] };
        for channel in 0..graph.channels() as u32 {
            let (from, to) = graph.ends(channel);
            net.around[from as usize].insert(to);
        }
        if !net.has_triangle() {
            return None;
        }
        let mut missing_cables = net.complete_meshes();
        if let Some(found) = net.factorise() {
            return found.without(switches, missing_cables);
        }
        net.add_switches()?;
        if let Some(found) = net.factorise() {
            return found.without(switches, missing_cables);
        }
        let completed = net.add_cables()?;
        missing_cables.extend(completed.0);
        completed.1.without(switches, missing_cables)
    }

    /// The first of so many switches are there.
    fn without(mut self, switches: usize, mut missing_cables: Vec<(u32, u32)>) -> Option<Self> {
        if !self.factors.iter().any(|factor| matches!(factor, Factor::Full(size) if *size > 3)) {
            return None;
        }
        self.missing_switches = self.coordinates.split_off(switches);
        // With more missing it could as well be something else.
        let cables = cables_of(&self.factors, self.coordinates.len());
        if missing_cables.len() > 1.max(cables / 16) || 4 * self.missing_switches.len() > switches {
            return None;
        }
        self.missing_switches.sort();
        missing_cables.sort_unstable();
        self.missing_cables = missing_cables;
        Some(self)
    }
}

/// Cables of a product in which nothing is missing.
fn cables_of(factors: &[Factor], switches: usize) -> usize {
    let of = |factor: &Factor| match factor.size() as usize {
        size if matches!(factor, Factor::Full(_)) => switches * (size - 1) / 2,
        size if matches!(factor, Factor::Line(_)) => switches / size * (size - 1),
        _ => switches,
    };
    factors.iter().map(of).sum()
}

/// Missing cables of rings and lines that are looked for: half as many ends as may be without one.
const CABLES: usize = 3;

/// Neighbours of every switch.
struct Net {
    around: Vec<BTreeSet<u32>>,
}

impl Net {
    fn joined(&self, one: u32, other: u32) -> bool {
        self.around[one as usize].contains(&other)
    }

    fn join(&mut self, one: u32, other: u32) {
        self.around[one as usize].insert(other);
        self.around[other as usize].insert(one);
    }

    fn common(&self, one: u32, other: u32) -> impl Iterator<Item = u32> {
        self.around[one as usize].intersection(&self.around[other as usize]).copied()
    }

    /// Whether any three switches are joined to each other.
    fn has_triangle(&self) -> bool {
        let meet = |(switch, list): (u32, &BTreeSet<u32>)| {
            list.iter().any(|&next| self.common(switch, next).next().is_some())
        };
        (0..).zip(&self.around).any(meet)
    }

    /// Switches two cables away from one, and those between.
    fn beyond(&self, switch: u32) -> BTreeMap<u32, Vec<u32>> {
        let mut beyond: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &next in &self.around[switch as usize] {
            for &far in &self.around[next as usize] {
                if far != switch && !self.joined(switch, far) {
                    beyond.entry(far).or_default().push(next);
                }
            }
        }
        beyond
    }

    /// Joins switches that have two joined neighbours in common: no product leaves such a cable out.
    fn complete_meshes(&mut self) -> Vec<(u32, u32)> {
        let mut missing = Vec::new();
        let mut open: Vec<u32> = (0..self.around.len() as u32).collect();
        while let Some(switch) = open.pop() {
            let joined = |(place, &one): (usize, &u32), between: &[u32]| {
                between[place + 1..].iter().any(|&two| self.joined(one, two))
            };
            let lacks = |between: &[u32]| between.iter().enumerate().any(|one| joined(one, between));
            let far = self.beyond(switch).into_iter().find(|(_, between)| lacks(between));
            if let Some((far, _)) = far {
                self.join(switch, far);
                missing.push((switch.min(far), switch.max(far)));
                open.extend([switch, far]);
            }
            // Many are missing only where the fabric is something else.
            if 8 * missing.len() > self.around.len() + 64 {
                break;
            }
        }
        missing
    }

    /// How many cables the switches of a product without lines lack.
    fn deficits(&self) -> BTreeMap<u32, usize> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        self.around.iter().for_each(|list| *counts.entry(list.len()).or_default() += 1);
        let usual = counts.iter().max_by_key(|&(_, &count)| count).map_or(0, |(&degree, _)| degree);
        (0..)
            .zip(&self.around)
            .filter(|(_, list)| list.len() < usual)
            .map(|(n, list)| (n, usual - list.len()))
            .collect()
    }

    /// A switch for each set of switches that lack one cable and are neighbours of one that is missing.
    fn add_switches(&mut self) -> Option<()> {
        let deficits = self.deficits();
        let lacking: Vec<u32> = deficits.keys().copied().collect();
        let first = lacking.first()?;
        let usual = self.around[*first as usize].len() + deficits[first];
        // Neighbours of a missing switch are joined, or one square of theirs has lost a corner.
        let beside = |one: u32, other: u32| self.joined(one, other) || self.common(one, other).count() == 1;
        let mut left = lacking.clone();
        let mut sets: Vec<Vec<u32>> = Vec::new();
        while let Some(start) = left.pop() {
            let next = |here| {
                let (near, far): (Vec<u32>, Vec<u32>) = left.iter().partition(|&&other| beside(here, other));
                left = far;
                near
            };
            sets.push(walk::met(start, next, |_, _| true));
        }
        for set in
            sets.into_iter().filter(|set| set.len() == usual && set.iter().all(|one| deficits[one] == 1))
        {
            let switch = self.around.len() as u32;
            self.around.push(BTreeSet::new());
            set.into_iter().for_each(|neighbour| self.join(switch, neighbour));
        }
        Some(())
    }

    /// Cables between switches that lack some, such that a product results, and that product.
    fn add_cables(&mut self) -> Option<(Vec<(u32, u32)>, Product)> {
        let deficits = self.deficits();
        if deficits.values().sum::<usize>() > 2 * CABLES {
            return None;
        }
        self.pair_up(deficits, &mut Vec::new())
    }

    fn pair_up(
        &mut self,
        mut open: BTreeMap<u32, usize>,
        added: &mut Vec<(u32, u32)>,
    ) -> Option<(Vec<(u32, u32)>, Product)> {
        let Some((one, lacks)) = open.pop_first() else {
            return self.factorise().map(|product| (added.clone(), product));
        };
        if lacks > 1 {
            open.insert(one, lacks - 1);
        }
        let others: Vec<u32> =
            open.keys().copied().filter(|&other| other != one && !self.joined(one, other)).collect();
        others.into_iter().find_map(|other| {
            let mut rest = open.clone();
            match rest.get_mut(&other) {
                Some(lacks) if *lacks > 1 => *lacks -= 1,
                _ => drop(rest.remove(&other)),
            }
            self.join(one, other);
            added.push((one, other));
            let found = self.pair_up(rest, added);
            added.pop();
            self.around[one as usize].remove(&other);
            self.around[other as usize].remove(&one);
            found
        })
    }

    /// The factors of a product in which nothing is missing.
    fn factorise(&self) -> Option<Product> {
        let edges = Edges::new(self);
        let classes = edges.classes(self)?;
        let mut found =
            classes.iter().map(|class| Found::new(self, &edges, class)).collect::<Option<Vec<Found>>>()?;
        join_squares(&mut found);
        let factors: Vec<Factor> = found.iter().map(|found| found.factor).collect();
        let positions: usize = factors.iter().map(|factor| factor.size() as usize).product();
        if positions != self.around.len() {
            return None;
        }
        let coordinates: Vec<Vec<u32>> = (0..self.around.len())
            .map(|switch| found.iter().map(|found| found.place[switch]).collect())
            .collect();
        // As many different places as switches, every cable along one factor, and as many as the factors have.
        let along = |&(a, b): &(u32, u32)| {
            let differ = coordinates[a as usize].iter().zip(&coordinates[b as usize]).filter(|(a, b)| a != b);
            differ.count() == 1
        };
        let distinct = coordinates.iter().collect::<BTreeSet<_>>().len() == positions;
        let complete = cables_of(&factors, positions) == edges.ends.len();
        (distinct && complete && edges.ends.iter().all(along)).then(|| Product {
            factors,
            coordinates,
            missing_switches: Vec::new(),
            missing_cables: Vec::new(),
        })
    }
}

/// All cables, once.
struct Edges {
    ends: Vec<(u32, u32)>,
    number: BTreeMap<(u32, u32), u32>,
}

impl Edges {
    fn new(net: &Net) -> Self {
        let ends: Vec<(u32, u32)> = (0..)
            .zip(&net.around)
            .flat_map(|(a, list)| list.iter().copied().filter(move |&b| a < b).map(move |b| (a, b)))
            .collect();
        let number = (0..).zip(&ends).map(|(number, &ends)| (ends, number)).collect();
        Self { ends, number }
    }

    fn between(&self, a: u32, b: u32) -> u32 {
        self.number[&(a.min(b), a.max(b))]
    }

    /// Cables by factor, those of the nearest numbers first; `None` if there are more than a product has.
    fn classes(&self, net: &Net) -> Option<Vec<Vec<u32>>> {
        let mut sets = Sets::new(self.ends.len());
        for (switch, list) in (0..).zip(&net.around) {
            let list: Vec<u32> = list.iter().copied().collect();
            // The squares through two cables that meet here: how many, and the far corner of the last.
            let mut squares = vec![(0, 0); list.len() * list.len()];
            for (far, between) in net.beyond(switch) {
                let places: Vec<usize> =
                    between.iter().filter_map(|one| list.binary_search(one).ok()).collect();
                for (nth, &a) in places.iter().enumerate() {
                    for &b in &places[..nth] {
                        let (count, corner) = &mut squares[a * list.len() + b];
                        (*count, *corner) = (*count + 1, far);
                    }
                }
            }
            for (place, &a) in list.iter().enumerate() {
                for (before, &b) in list[..place].iter().enumerate() {
                    match squares[place * list.len() + before] {
                        (1, corner) if !net.joined(a, b) => {
                            sets.join(self.between(switch, a), self.between(b, corner));
                            sets.join(self.between(switch, b), self.between(a, corner));
                        }
                        _ => sets.join(self.between(switch, a), self.between(switch, b)),
                    }
                }
            }
        }
        let mut classes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        (0..self.ends.len() as u32).for_each(|edge| classes.entry(sets.name(edge)).or_default().push(edge));
        let mut classes: Vec<Vec<u32>> = classes.into_values().collect();
        let nearest = |class: &Vec<u32>| {
            class.iter().map(|&edge| self.ends[edge as usize]).map(|(a, b)| (b - a, a)).min()
        };
        classes.sort_by_key(nearest);
        (1 << classes.len().min(31) <= net.around.len().max(2)).then_some(classes)
    }
}

/// A factor, and the place of every switch in it.
struct Found {
    factor: Factor,
    place: Vec<u32>,
}

impl Found {
    /// Switches that the cables of all other factors join have one place.
    fn new(net: &Net, edges: &Edges, class: &[u32]) -> Option<Self> {
        let mut own = vec![false; edges.ends.len()];
        class.iter().for_each(|&edge| own[edge as usize] = true);
        let mut place = vec![u32::MAX; net.around.len()];
        let mut size = 0;
        for start in 0..net.around.len() as u32 {
            if place[start as usize] != u32::MAX {
                continue;
            }
            place[start as usize] = size;
            let mut stack = vec![start];
            while let Some(here) = stack.pop() {
                for &next in &net.around[here as usize] {
                    if place[next as usize] == u32::MAX && !own[edges.between(here, next) as usize] {
                        place[next as usize] = size;
                        stack.push(next);
                    }
                }
            }
            size += 1;
        }
        let mut around: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); size as usize];
        for &edge in class {
            let (a, b) = edges.ends[edge as usize];
            let (a, b) = (place[a as usize], place[b as usize]);
            around[a as usize].insert(b);
            around[b as usize].insert(a);
        }
        let most = around.iter().map(BTreeSet::len).max()?;
        let least = around.iter().map(BTreeSet::len).min()?;
        let factor = match (least, most) {
            _ if size == 2 => Factor::Line(size),
            (least, _) if size > 3 && least == size as usize - 1 => Factor::Full(size),
            (2, 2) => Factor::Ring(size),
            (1, 2) => Factor::Line(size),
            _ => return None,
        };
        if !matches!(factor, Factor::Full(_)) {
            // From switch 0, or the end of a line nearest to it in number, on.
            let mut at = if matches!(factor, Factor::Ring(_)) {
                0
            } else {
                (0..size).find(|&n| around[n as usize].len() == 1)?
            };
            let mut walk = vec![u32::MAX; size as usize];
            for step in 0..size {
                walk[at as usize] = step;
                let next = around[at as usize].iter().copied().find(|&next| walk[next as usize] == u32::MAX);
                match next {
                    Some(next) => at = next,
                    None if step + 1 == size => {}
                    None => return None,
                }
            }
            place.iter_mut().for_each(|place| *place = walk[*place as usize]);
        }
        Some(Self { factor, place })
    }
}

/// A line of two times another one is a ring of four.
fn join_squares(factors: &mut Vec<Found>) {
    let short = |found: &Found| found.factor == Factor::Line(2);
    while let (Some(first), Some(second)) = (factors.iter().position(short), factors.iter().rposition(short))
        && first < second
    {
        let second = factors.remove(second);
        let ring = &mut factors[first];
        ring.factor = Factor::Ring(4);
        for (place, other) in ring.place.iter_mut().zip(&second.place) {
            // Around the square: (0, 0), (1, 0), (1, 1), (0, 1).
            *place = if *other == 0 { *place } else { 3 - *place };
        }
    }
}
