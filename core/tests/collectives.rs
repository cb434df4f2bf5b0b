//! Plans of collective operations, replayed by arithmetic of their own and held against formulas.

use crate::common::sampled;
use flitloom_core::{
    collective::{
        CollectiveKind, Move, Orbit, OrbitKind, PieceWays, Plan, Request, Schedule, Shift, Torus, exchange,
        gather, nested_rounds, plan, plan_demands, plan_torus, raises, spread_pieces,
    },
    fabric::{Fabric, Factor, Lines, Network, Shape, Steps, Ties},
    flow::demands::Demand,
    traffic::{Purpose, draw_below},
};
use std::collections::{HashMap, HashSet};

/// A point of a torus, moved; the twist adds half of the long sizes per turn around a short one.
fn moved(sizes: &[i64], twisted: bool, point: &[i64], by: &[i64]) -> Vec<i64> {
    let short = *sizes.iter().min().unwrap();
    let mut sum: Vec<i64> = point.iter().zip(by).map(|(a, b)| a + b).collect();
    let mut turns = 0;
    for (value, &size) in sum.iter_mut().zip(sizes).filter(|(_, size)| twisted && **size == short) {
        turns += value.div_euclid(size);
        *value = value.rem_euclid(size);
    }
    for (value, &size) in sum.iter_mut().zip(sizes) {
        let half = if twisted && size != short { turns * size / 2 } else { 0 };
        *value = (*value + half).rem_euclid(size);
    }
    sum
}

struct Replay {
    sizes: Vec<i64>,
    twisted: bool,
    vectors: Vec<Vec<i64>>,
}

impl Replay {
    fn new(torus: &Torus) -> Self {
        let sizes: Vec<i64> = torus.sizes().iter().map(|&size| size.into()).collect();
        let vector = |generator: &flitloom_core::collective::Generator| {
            let mut vector = vec![0; sizes.len()];
            vector[generator.dimension] =
                if generator.sign == flitloom_core::fabric::Sign::Plus { 1 } else { -1 };
            vector
        };
        let vectors = torus.generators().iter().map(vector).collect();
        Self { twisted: torus.is_twisted(), vectors, sizes }
    }

    fn point(&self, node: u32) -> Vec<i64> {
        let mut rest = i64::from(node);
        let coordinate = |&size: &i64| {
            let coordinate = rest % size;
            rest /= size;
            coordinate
        };
        self.sizes.iter().map(coordinate).collect()
    }

    fn after(&self, point: &[i64], generator: u32, sign: i64) -> Vec<i64> {
        let by: Vec<i64> = self.vectors[generator as usize].iter().map(|value| sign * value).collect();
        moved(&self.sizes, self.twisted, point, &by)
    }

    fn nodes(&self) -> usize {
        self.sizes.iter().product::<i64>() as usize
    }

    /// Follows an orbit; panics unless it does what it is for within its steps.
    fn run(&self, orbit: &Orbit, chunks: u32, latency: u32) {
        let mut used = HashSet::new();
        assert!(orbit.rows.iter().all(|row| used.insert((row.step, row.generator))), "a link is busy twice");
        let last = orbit.rows.iter().map(|row| row.step + 1 + latency).max().unwrap_or(0);
        assert_eq!(last, orbit.steps);
        let wait = 1 + latency;
        let origin = vec![0; self.sizes.len()];
        let mut rows = orbit.rows.clone();
        rows.sort_by_key(|row| row.step);
        match orbit.kind {
            OrbitKind::Gather => {
                let mut have: HashMap<(Vec<i64>, u32), u32> =
                    (0..chunks).map(|chunk| ((origin.clone(), chunk), 0)).collect();
                for row in &rows {
                    let end = self.point(row.offset);
                    let start = self.after(&end, row.generator, -1);
                    assert!(have.get(&(start, row.chunk)).is_some_and(|&since| since <= row.step));
                    assert!(have.insert((end, row.chunk), row.step + wait).is_none(), "brought twice");
                }
                assert_eq!(have.len(), self.nodes() * chunks as usize);
            }
            OrbitKind::Reduce => {
                // Number of contributions at an offset; what has been sent on is never added to again.
                let mut sums: HashMap<(Vec<i64>, u32), (usize, u32, bool)> = HashMap::new();
                for row in &rows {
                    let start = self.point(row.offset);
                    let end = self.after(&start, row.generator, 1);
                    let from = sums.entry((start, row.chunk)).or_insert((1, 0, false));
                    assert!(!from.2 && from.1 <= row.step);
                    from.2 = true;
                    let amount = from.0;
                    let to = sums.entry((end, row.chunk)).or_insert((1, 0, false));
                    assert!(!to.2);
                    *to = (to.0 + amount, to.1.max(row.step + wait), false);
                }
                for chunk in 0..chunks {
                    assert_eq!(sums[&(origin.clone(), chunk)].0, self.nodes());
                }
            }
            OrbitKind::Exchange => {
                let mut at: HashMap<(u32, u32), (Vec<i64>, u32)> = HashMap::new();
                for row in &rows {
                    let place = at.entry((row.offset, row.chunk)).or_insert((origin.clone(), 0));
                    assert!(place.1 <= row.step);
                    *place = (self.after(&place.0, row.generator, 1), row.step + wait);
                }
                assert_eq!(at.len(), (self.nodes() - 1) * chunks as usize);
                for ((offset, _), (point, _)) in at {
                    assert_eq!(point, self.point(offset));
                }
            }
        }
    }
}

fn shapes(most: u32) -> Vec<Vec<u32>> {
    fn grow(shape: &mut Vec<u32>, product: u32, most: u32, found: &mut Vec<Vec<u32>>) {
        if shape.len() >= 2 {
            found.push(shape.clone());
        }
        if shape.len() < 4 {
            for size in shape.last().copied().unwrap_or(2)..=most / product {
                shape.push(size);
                grow(shape, product * size, most, found);
                shape.pop();
            }
        }
    }
    let mut found = Vec::new();
    grow(&mut Vec::new(), 1, most, &mut found);
    found
}

/// Steps below which no plan can be, from formulas: received chunks, and the fullest cut through a dimension.
fn formulas(sizes: &[u32], chunks: u64) -> (u64, u64) {
    let nodes: u64 = sizes.iter().map(|&size| u64::from(size)).product();
    let links: u64 = sizes.iter().map(|&size| if size == 2 { 1 } else { 2 }).sum();
    let farthest: u64 = sizes.iter().map(|&size| u64::from(size / 2)).sum();
    let crossing = sizes.iter().map(|&size| {
        let size = u64::from(size);
        match size {
            2 => chunks * nodes / 2,
            even if even.is_multiple_of(2) => (chunks * nodes * even).div_ceil(8),
            odd => (chunks * nodes * (odd * odd - 1)).div_ceil(8 * odd),
        }
    });
    let crossing = crossing.max().unwrap_or(0).max(farthest);
    ((chunks * (nodes - 1)).div_ceil(links).max(farthest), crossing)
}

#[test]
fn all_shapes_up_to_512_nodes_meet_their_bounds() {
    let shapes = shapes(512);
    assert_eq!(shapes.len(), 2378);
    for sizes in sampled(shapes, 5) {
        let torus = Torus::new(&Lines::rings(&sizes, false)).unwrap();
        let replay = Replay::new(&torus);
        let gathered = gather(&torus, 1, 0, 1);
        replay.run(&gathered, 1, 0);
        assert_eq!(u64::from(gathered.steps), formulas(&sizes, 1).0, "all-gather on {sizes:?}");
        // Following every hop of the longest ones takes most of the time: a sample of them.
        let once = exchange(&torus, 1, 0, 1);
        let twice = exchange(&torus, 2, 0, 1);
        if twice.rows.len() < 6000 {
            replay.run(&once, 1, 0);
            replay.run(&twice, 2, 0);
        }
        assert_eq!(u64::from(twice.steps), formulas(&sizes, 2).1, "all-to-all of two chunks on {sizes:?}");
        let nodes: u32 = sizes.iter().product();
        let even = sizes.iter().all(|&size| size % 2 == 1 || (nodes / size).is_multiple_of(2) || size == 2);
        if even {
            assert_eq!(u64::from(once.steps), formulas(&sizes, 1).1, "all-to-all on {sizes:?}");
        }
    }
}

#[test]
fn twisted_tori_meet_the_known_steps() {
    for (sizes, steps) in
        [(vec![4, 4, 8], 74), (vec![4, 8, 8], 184), (vec![8, 8, 16], 1190), (vec![8, 16, 16], 2976)]
    {
        let torus = Torus::new(&Lines::rings(&sizes, true)).unwrap();
        let orbit = exchange(&torus, 1, 0, 1);
        assert_eq!(orbit.steps, steps, "{sizes:?}");
        Replay::new(&torus).run(&orbit, 1, 0);
    }
    let long = Torus::new(&Lines::rings(&[4, 4, 12], true)).unwrap();
    Replay::new(&long).run(&exchange(&long, 2, 0, 1), 2, 0);
    Replay::new(&long).run(&gather(&long, 3, 2, 1), 3, 2);
}

#[test]
fn sums_latency_chunks_and_parallel_links() {
    let request = |kind, chunks, latency| Request { kind, chunks, root: 0, latency, seed: 1 };
    for (sizes, twisted, widths) in [
        (vec![4, 6], false, vec![]),
        (vec![3, 5], false, vec![2, 1]),
        (vec![2, 3, 4], false, vec![]),
        (vec![2, 4, 4], true, vec![]),
        (vec![7], false, vec![3]),
    ] {
        let torus = Torus::new(&Lines { widths, ..Lines::rings(&sizes, twisted) }).unwrap();
        for (chunks, latency) in [(1, 0), (2, 0), (3, 1), (1, 4)] {
            for kind in [
                CollectiveKind::AllGather,
                CollectiveKind::ReduceScatter,
                CollectiveKind::AllReduce,
                CollectiveKind::AllToAll,
            ] {
                let plan = plan_torus(&torus, &request(kind, chunks, latency)).unwrap();
                assert!(u64::from(plan.steps) >= plan.bound.steps);
                let Schedule::Orbits(orbits) = plan.schedule else { panic!("no orbits") };
                orbits.iter().for_each(|orbit| Replay::new(&torus).run(orbit, chunks, latency));
            }
        }
    }
}

/// Follows moves over a graph, with contributions as sets; panics unless everybody ends with what it needs.
fn follow(graph: &Network, kind: CollectiveKind, plan: &Plan, members: &[u32], request: &Request) {
    let Schedule::Moves(moves) = &plan.schedule else { panic!("no moves") };
    let full: u128 = (1 << members.len()) - 1;
    let chunks = request.chunks;
    let place = |node: u32| members.iter().position(|&member| member == node).unwrap();
    let count = members.len() as u32;
    let mut state: HashMap<(u32, u32), u128> = HashMap::new();
    let mut wanted: Vec<(u32, u32)> = Vec::new();
    for (rank, &node) in (0..).zip(members) {
        for chunk in 0..chunks {
            match kind {
                CollectiveKind::AllGather | CollectiveKind::Gather => {
                    state.insert((node, rank * chunks + chunk), full);
                }
                CollectiveKind::Scatter => {
                    state.insert((request.root, rank * chunks + chunk), full);
                    wanted.push((node, rank * chunks + chunk));
                }
                CollectiveKind::Broadcast => {
                    state.insert((request.root, chunk), full);
                    wanted.push((node, chunk));
                }
                CollectiveKind::Reduce => {
                    state.insert((node, chunk), 1 << place(node));
                    wanted.push((request.root, chunk));
                }
                CollectiveKind::ReduceScatter | CollectiveKind::AllReduce => {
                    for owner in 0..count {
                        state.insert((node, owner * chunks + chunk), 1 << place(node));
                    }
                    wanted.push((node, rank * chunks + chunk));
                }
                CollectiveKind::AllToAll => {
                    for other in 0..count {
                        state.insert((node, (rank * count + other) * chunks + chunk), full);
                        wanted.push((members[other as usize], (rank * count + other) * chunks + chunk));
                    }
                }
            }
        }
    }
    let items = count * chunks;
    match kind {
        CollectiveKind::AllGather | CollectiveKind::AllReduce => {
            wanted = members.iter().flat_map(|&node| (0..items).map(move |item| (node, item))).collect();
        }
        CollectiveKind::Gather => wanted = (0..items).map(|item| (request.root, item)).collect(),
        _ => {}
    }
    let mut moves: Vec<Move> = moves.clone();
    moves.sort_unstable();
    let mut busy = HashSet::new();
    let mut landing: Vec<(u32, u32, u32, u128, bool)> = Vec::new();
    let land =
        |state: &mut HashMap<(u32, u32), u128>, landing: &mut Vec<(u32, u32, u32, u128, bool)>, now: u32| {
            landing.retain(|&(time, node, item, value, adds)| {
                if time <= now {
                    let held = state.entry((node, item)).or_insert(0);
                    assert!(!adds || *held & value == 0, "added twice");
                    *held = if adds { *held | value } else { value };
                }
                time > now
            });
        };
    for moved in &moves {
        assert!(busy.insert((moved.step, moved.link)), "a link is busy twice");
        land(&mut state, &mut landing, moved.step);
        let (from, to) = graph.links()[moved.link as usize];
        let value = *state
            .get(&(from, moved.item))
            .unwrap_or_else(|| panic!("{kind:?} {request:?}: {moved:?} is not at its sender"));
        landing.push((moved.step + 1 + request.latency, to, moved.item, value, moved.adds));
    }
    let last = landing.iter().map(|row| row.0).max().unwrap_or(0);
    land(&mut state, &mut landing, u32::MAX);
    assert_eq!(last, plan.steps);
    assert!(wanted.iter().all(|&key| state[&key] == full), "{kind:?}: something is missing");
}

#[test]
fn every_operation_works_on_graphs_without_symmetry() {
    let mut mesh = Fabric::new(Shape::mesh(&[3, 4]).unwrap());
    mesh.fail_cable(4, 5).unwrap();
    let mut torus = Fabric::new(Shape::torus(&[4, 4]).unwrap());
    torus.fail_node(5).unwrap();
    for fabric in [mesh, torus] {
        let graph = Network::of_grid(&fabric, &[]).unwrap();
        let all = graph.working();
        for members in [all.clone(), all[..6].to_vec(), vec![all[0], all[7], all[9]]] {
            for kind in CollectiveKind::ALL {
                for (chunks, latency) in [(1, 0), (3, 0), (2, 2)] {
                    let request = Request { kind, chunks, root: members[1], latency, seed: 3 };
                    let plan = flitloom_core::collective::plan_graph(&graph, &members, &request).unwrap();
                    assert!(u64::from(plan.steps) >= plan.bound.steps, "{kind:?} below its bound");
                    follow(&graph, kind, &plan, &members, &request);
                }
            }
        }
    }
}

#[test]
fn sums_come_together_where_links_are_to_spare() {
    let gathered = |graph: &Network, kind| {
        let request = Request { kind, chunks: 1, root: 0, latency: 0, seed: 1 };
        let all = graph.working();
        let plan = flitloom_core::collective::plan_graph(graph, &all, &request).unwrap();
        if kind == CollectiveKind::AllReduce {
            follow(graph, kind, &plan, &all, &request);
        }
        plan
    };
    // Sizes, whether they wrap around, failed cables, and steps of halves that overlap: one after the other they
    // take 36, 46, and 46.
    for (sizes, wraps, failed, steps) in [
        (vec![8, 8], true, vec![(0, 1)], 33),
        (vec![8, 8], true, vec![(0, 1), (0, 8), (20, 21), (33, 41)], 41),
        (vec![6, 6], false, vec![(0, 1)], 46),
        (vec![4, 4, 4], true, vec![(0, 1), (20, 21)], 22),
    ] {
        let wraps = vec![wraps; sizes.len()];
        let mut fabric = Fabric::new(Shape::new(&sizes, &wraps).unwrap());
        failed.iter().for_each(|&(a, b)| fabric.fail_cable(a, b).unwrap());
        let graph = Network::of_grid(&fabric, &[]).unwrap();
        let twice = 2 * gathered(&graph, CollectiveKind::AllGather).steps;
        let plan = gathered(&graph, CollectiveKind::AllReduce);
        assert!(plan.steps <= steps && steps < twice, "{sizes:?}: {} of {twice}", plan.steps);
        assert!(plan.bound.steps <= plan.steps.into());
    }
}

#[test]
fn a_node_with_few_links_has_a_way_before_and_behind_them() {
    // By hand: something of each of the sums leaves the end of a line by its one link, and has all other hops left;
    // with a latency every hop takes longer, but the link is free after a step.
    for (nodes, chunks, latency, steps) in [(4, 1, 0, 4 + 2), (5, 3, 0, 15 + 3), (4, 1, 2, 4 - 1 + 3 * 3)] {
        let graph = Network::of_grid(&Fabric::new(Shape::mesh(&[nodes]).unwrap()), &[]).unwrap();
        let request = Request { kind: CollectiveKind::AllReduce, chunks, root: 0, latency, seed: 1 };
        let plan = flitloom_core::collective::plan_graph(&graph, &graph.working(), &request).unwrap();
        assert!(plan.bound.steps >= steps, "{nodes}: {:?}", plan.bound);
        assert!(u64::from(plan.steps) >= plan.bound.steps);
        follow(&graph, request.kind, &plan, &graph.working(), &request);
    }
}

#[test]
fn damaged_tori_and_meshes_meet_their_cuts() {
    // Failures from a formula; every one of these was found at its bound by a prototype as well.
    for (sizes, wrap) in [(vec![6, 6], false), (vec![8, 8], true), (vec![4, 4, 4], true)] {
        let shape = Shape::new(&sizes, &vec![wrap; sizes.len()]).unwrap();
        for trial in 0..8_u32 {
            let mut fabric = Fabric::new(shape.clone());
            for number in 0..=trial % 4 {
                let node = (trial * 37 + number * 11 + 5) % shape.nodes() as u32;
                let direction = flitloom_core::fabric::Direction::from_index(
                    ((trial + number) as usize) % shape.directions(),
                );
                if let Some(other) = shape.neighbour(node, direction) {
                    fabric.fail_cable(node, other).unwrap();
                }
            }
            let graph = Network::of_grid(&fabric, &[]).unwrap();
            let members = graph.working();
            for kind in [CollectiveKind::AllGather, CollectiveKind::AllToAll] {
                let request = Request { kind, chunks: 1, root: 0, latency: 0, seed: 1 };
                let plan = flitloom_core::collective::plan_graph(&graph, &members, &request).unwrap();
                follow(&graph, kind, &plan, &members, &request);
                // Failed meshes are harder: their all-to-all may stay above its bound.
                let most = match kind {
                    CollectiveKind::AllGather => plan.bound.steps,
                    _ if wrap => plan.bound.steps + 1,
                    _ => u64::MAX,
                };
                assert!(u64::from(plan.steps) <= most, "{kind:?} on {sizes:?}: {} steps", plan.steps);
            }
        }
    }
}

#[test]
fn demands_of_any_size_and_impossible_requests() {
    let torus = Network::of_grid(&Fabric::new(Shape::torus(&[4, 4]).unwrap()), &[]).unwrap();
    let demands =
        [(0, 5), (0, 5), (3, 3), (15, 0)].map(|(source, destination)| Demand { source, destination });
    assert_eq!(plan_demands(&torus, &demands, 0, 1).unwrap().steps, 2);
    let cut = torus.clone().without(&[], &[(0, 1), (0, 4), (0, 3), (0, 12)]).unwrap();
    let request = Request { kind: CollectiveKind::AllGather, chunks: 1, root: 0, latency: 0, seed: 1 };
    assert!(plan(&cut, None, &request).is_err());
    assert!(plan(&torus, None, &Request { chunks: 0, ..request.clone() }).is_err());
    assert!(plan(&torus, None, &Request { chunks: u32::MAX, ..request.clone() }).is_err());
    assert!(plan(&torus, Some(&[3]), &request).is_err());
    assert!(plan(&torus, Some(&[3, 99]), &request).is_err());
    let wide = Network::of_grid(&Fabric::new(Shape::torus(&[4, 4]).unwrap()), &[65, 1]).unwrap();
    assert!(plan(&wide, None, &request).is_err());
}

/// Networks list their links as the groups of plans number them, and as shapes know neighbours.
#[test]
fn links_of_a_grid_are_those_of_its_group_and_of_its_shape() {
    let (ring, line, full) = (Factor::Ring, Factor::Line, Factor::Full);
    for (factors, widths, twisted) in [
        (vec![ring(4), ring(2), ring(5)], vec![1, 2, 1], false),
        (vec![full(6), ring(3)], vec![], false),
        (vec![full(5), line(2), full(4)], vec![2, 1, 3], false),
        (vec![ring(4), ring(8), ring(8)], vec![], true),
        (vec![ring(2), ring(4)], vec![1, 2], true),
        (vec![full(70), ring(3)], vec![], false),
    ] {
        let lines = Lines { factors, widths, twisted };
        let network = Network::of_lines(lines.clone(), Ties::default()).unwrap();
        let torus = Torus::of(&network).unwrap().unwrap();
        let after = torus.neighbours();
        let nodes = 0..torus.nodes() as u32;
        let expected: Vec<_> =
            nodes.flat_map(|node| after.iter().map(move |after| (node, after[node as usize]))).collect();
        assert_eq!(network.links(), expected, "{lines:?}");
        assert_eq!(network.grid().is_err(), lines.sizes()[0] == 70);
    }
    let steps = Steps::new(&[1, 4]).unwrap();
    for factors in
        [vec![line(4), ring(5)], vec![full(4), line(3)], vec![Factor::Circulant(8, steps), ring(3)]]
    {
        let shape = Shape::product(&factors).unwrap();
        let mut fabric = Fabric::new(shape);
        fabric.fail_node(6).unwrap();
        fabric.fail_cable(0, 1).unwrap();
        let network = Network::of_grid(&fabric, &[]).unwrap();
        assert!(Torus::of(&network).unwrap().is_none());
        let (mut listed, grid) = (network.links().to_vec(), network.grid().unwrap());
        let ends = |link| {
            let (node, direction) = grid.link_ends(link);
            (node, grid.working_neighbour(node, direction).unwrap())
        };
        let mut expected: Vec<_> = grid.working_links().map(ends).collect();
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected, "{factors:?}");
    }
    let mesh = Lines { factors: vec![line(4), line(8)], widths: vec![], twisted: true };
    assert!(Network::of_lines(mesh, Ties::default()).is_err());
}

/// What all nodes cost, each from the cheapest one of an earlier round, counted anew.
fn cost_of(costs: &[i32], own: &[u32]) -> i64 {
    let cost = |node: usize| {
        let table = &costs[(own[node] as usize - 1) * own.len() * own.len()..];
        let earlier = (0..own.len()).filter(|&sender| own[sender] < own[node]);
        i64::from(earlier.map(|sender| table[sender * own.len() + node]).min().unwrap())
    };
    (1..own.len()).map(cost).sum()
}

#[test]
fn shifts_of_nodes_to_other_rounds_are_those_that_cost_little_more() {
    let number = |node, index, bound| draw_below(7, node, Purpose::Search, index, bound);
    for (rounds, count) in [(2, 9), (3, 14), (5, 23)] {
        let costs: Vec<i32> = (0..rounds * count * count)
            .map(|place| {
                let (sender, receiver) = (place / count % count, place % count);
                if sender == receiver { 0 } else { number(0, place.into(), 40) as i32 }
            })
            .collect();
        let begin: Vec<u32> =
            (0..count).map(|node| if node == 0 { 0 } else { 1 + number(1, node.into(), rounds) }).collect();
        let shifts: Vec<Shift> = (0..600_u64)
            .map(|turn| Shift {
                node: 1 + number(2, turn, count - 1),
                other: 1 + number(3, turn, rounds - 1),
                more: i64::from(number(4, turn, 9)) * (600 - turn as i64) / 600,
            })
            .collect();
        let (mut own, mut best) = (begin.clone(), begin.clone());
        for shift in &shifts {
            let mut tried = own.clone();
            let before = own[shift.node as usize];
            tried[shift.node as usize] = shift.other + u32::from(shift.other >= before);
            if cost_of(&costs, &tried) <= cost_of(&costs, &own) + shift.more {
                own = tried;
                if cost_of(&costs, &own) < cost_of(&costs, &best) {
                    best.clone_from(&own);
                }
            }
        }
        assert!(cost_of(&costs, &best) < cost_of(&costs, &begin));
        assert_eq!(nested_rounds(&costs, &begin, shifts), best);
    }
}

/// What the busiest links of all rounds have, added up by arithmetic of its own.
fn busiest(ways: &PieceWays<'_>, pieces: &[u32]) -> Vec<f64> {
    let on = |place: usize| -> f64 {
        let rows = ways.loads.chunks(ways.rounds * ways.links);
        rows.zip(pieces).map(|(row, &share)| row[place] * f64::from(share)).sum()
    };
    (0..ways.rounds)
        .map(|round| (0..ways.links).map(|link| on(round * ways.links + link)).fold(0.0, f64::max))
        .collect()
}

#[test]
fn pieces_are_spread_until_no_single_one_helps() {
    let number = |node, index: usize, bound| draw_below(11, node, Purpose::Search, index as u64, bound);
    for (rounds, links, owners) in [(1, 3, 2), (2, 5, 4), (3, 12, 9)] {
        let count = 4 * owners;
        let loads: Vec<f64> = (0..count * rounds * links)
            .map(|place| f64::from(number(0, place, 4) * number(1, place, 2)) / 4.0)
            .collect();
        let whose: Vec<u32> = (0..count).map(|way| (way % owners) as u32).collect();
        let ways = PieceWays { rounds, links, loads: &loads, owners: &whose };
        // All pieces on the first way of every chunk.
        let first: Vec<u32> = (0..count).map(|way| if way < owners { 6 } else { 0 }).collect();
        let found = spread_pieces(&ways, &first);
        let total = |pieces: &[u32]| busiest(&ways, pieces).iter().sum::<f64>();
        assert_eq!(found.busiest, busiest(&ways, &found.pieces));
        assert!(total(&found.pieces) < total(&first));
        for owner in 0..owners {
            let mine = || (owner..count).step_by(owners);
            assert_eq!(mine().map(|way| found.pieces[way]).sum::<u32>(), 6);
            for (from, to) in mine().flat_map(|from| mine().map(move |to| (from, to))) {
                let mut tried = found.pieces.clone();
                if tried[from] > 0 && from != to {
                    tried[from] -= 1;
                    tried[to] += 1;
                    assert!(total(&tried) >= total(&found.pieces) - 1e-9, "{rounds} {from} {to}");
                }
            }
        }
    }
}

#[test]
fn potentials_are_raised_by_the_sum_of_what_rises() {
    let table = |node, rows: u32| -> Vec<f64> {
        (0..19 * rows)
            .map(|place| draw_below(3, node, Purpose::Search, place.into(), 1 << 20).into())
            .collect()
    };
    let (starts, ends) = (table(0, 4), table(1, 6));
    let rise =
        |start: &[f64], end: &[f64]| (0..19).map(|node| (end[node] - start[node]).max(0.0)).sum::<f64>();
    let expected: Vec<f64> = (starts.chunks(19))
        .flat_map(|start| ends.chunks(19).map(|end| rise(start, end)).collect::<Vec<_>>())
        .collect();
    // Whole numbers, so that sums are exact in any order.
    assert_eq!(raises(&starts, &ends, 19), expected);
}
