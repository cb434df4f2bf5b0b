//! The search among structured placements.

use super::{
    Score,
    dice::Dice,
    layout::{Course, Layout, Lean, factorisations},
    loads::Scorer,
    problem::{Finalists, Problem, Watch},
};
use crate::fabric::NodeId;

/// Layouts that are changed further.
const KEPT: usize = 12;
/// Factorisations looked at.
const FACTORISATIONS: usize = 512;

/// Boxes of the network, with the places of a node as a last dimension, that hold exactly as many ranks as there are.
struct Room {
    sizes: Vec<u32>,
    nodes: Vec<NodeId>,
}

/// Tries layouts until `effort` channels were touched, or a quarter of that and the bound is met; the best are told to
/// `finalists`. What it spent.
pub(super) fn search(
    problem: &Problem,
    dice: &mut Dice,
    effort: u64,
    bound: u64,
    watch: &mut Watch,
    finalists: &mut Finalists,
) -> u64 {
    let rooms = rooms(problem);
    if rooms.is_empty() {
        return 0;
    }
    let mut starts = Vec::new();
    for (room, place) in rooms.iter().enumerate() {
        starts.extend(
            factorisations(&place.sizes, &problem.axes, FACTORISATIONS).into_iter().map(|f| (room, f)),
        );
    }
    if starts.is_empty() {
        return 0;
    }
    dice.shuffle(&mut starts);
    let mut scorer = Scorer::new(problem.ways, problem.demand, effort);
    let mut kept: Vec<(Score, usize, Layout)> = Vec::new();
    let mut try_one =
        |room: usize, layout: Layout, kept: &mut Vec<(Score, usize, Layout)>, scorer: &mut Scorer| {
            let nodes = placed(problem, &rooms[room], &layout);
            let worst = if kept.len() < KEPT { u64::MAX } else { kept[KEPT - 1].0.fullest };
            let most = if problem.by_hops { u64::MAX } else { worst };
            let Some(score) = scorer.score(&nodes, most) else { return };
            let at = kept.partition_point(|(other, ..)| problem.key(other) <= problem.key(&score));
            if at >= KEPT
                || kept[..at].last().is_some_and(|(other, ..)| *other == score) && kept.len() >= KEPT / 2
            {
                return;
            }
            finalists.now = 0.5 * scorer.touched as f64 / effort.max(1) as f64;
            finalists.offer(problem, score, &nodes);
            kept.insert(at, (score, room, layout));
            kept.truncate(KEPT);
        };
    // Every factorisation in some forms, then changes of the best.
    let mut round = 0;
    while scorer.touched < effort / 3 && round < 24 && !watch.stopped() {
        for (room, factors) in &starts {
            if scorer.touched >= effort / 2 || watch.stopped() {
                break;
            }
            let layout = drawn(problem, &rooms[*room], factors, dice, round);
            try_one(*room, layout, &mut kept, &mut scorer);
        }
        round += 1;
    }
    while !kept.is_empty() && !watch.stopped() {
        // Once the bound is met, a little more shows whether something else is better, too.
        let met = problem.is_met(&kept[0].0, bound);
        if scorer.touched >= if met { effort / 4 } else { effort } {
            break;
        }
        if dice.below(8) == 0 {
            let (room, factors) = &starts[dice.below(starts.len())];
            try_one(*room, drawn(problem, &rooms[*room], factors, dice, 4), &mut kept, &mut scorer);
            continue;
        }
        let chosen = dice.below(kept.len()).min(dice.below(kept.len()));
        let (_, room, layout) = &kept[chosen];
        let (room, mut layout) = (*room, layout.clone());
        for _ in 0..1 + dice.below(3) {
            change(&mut layout, dice);
        }
        try_one(room, layout, &mut kept, &mut scorer);
        // Layouts whose scoring ends at once cost something, too.
        scorer.spend(problem.demand.ranks() as u64);
    }
    scorer.touched
}

/// Where a layout puts the ranks.
fn placed(problem: &Problem, room: &Room, layout: &Layout) -> Vec<NodeId> {
    let dimensions = room.sizes.len();
    let coordinates = layout.coordinates(&room.sizes, &problem.axes);
    coordinates
        .chunks(dimensions)
        .map(|place| {
            let index =
                place.iter().zip(&room.sizes).rev().fold(0, |index, (place, size)| index * size + place);
            room.nodes[index as usize]
        })
        .collect()
}

/// A layout of these factors; the first ones are plain or follow the axes' kinds.
fn drawn(problem: &Problem, room: &Room, factors: &[Vec<u32>], dice: &mut Dice, round: usize) -> Layout {
    let axes = problem.axes.len();
    let dimensions = factors[0].len();
    let mut order: Vec<Vec<usize>> = vec![(0..axes).collect(); dimensions];
    let mut way: Vec<Vec<usize>> = vec![(0..dimensions).collect(); axes];
    if round > 0 {
        order.iter_mut().for_each(|order| dice.shuffle(order));
        way.iter_mut().for_each(|way| dice.shuffle(way));
    }
    let courses = [Course::Comb, Course::Snake, Course::Plain];
    let course = (0..axes).map(|_| courses[if round < 2 { round } else { dice.below(3) }]).collect();
    let mut turns = vec![vec![round % 2 == 1; dimensions]; axes];
    let mut folds = vec![vec![round % 4 == 2; dimensions]; axes];
    if round > 3 {
        turns.iter_mut().flatten().for_each(|turn| *turn = dice.below(2) == 0);
        folds.iter_mut().flatten().for_each(|fold| *fold = dice.below(4) == 0);
    }
    let moves = room.sizes.iter().map(|size| (0..*size).collect()).collect();
    let leans = vec![None; dimensions];
    Layout { factors: factors.to_vec(), order, way, course, turns, folds, moves, leans }
}

fn change(layout: &mut Layout, dice: &mut Dice) {
    let (axis, dimension) = (dice.below(layout.factors.len()), dice.below(layout.factors[0].len()));
    match dice.below(7) {
        0 => {
            let count = layout.order[dimension].len();
            let (a, b) = (dice.below(count), dice.below(count));
            layout.order[dimension].swap(a, b);
        }
        1 => {
            let count = layout.way[axis].len();
            let (a, b) = (dice.below(count), dice.below(count));
            layout.way[axis].swap(a, b);
        }
        2 => layout.course[axis] = [Course::Plain, Course::Snake, Course::Comb][dice.below(3)],
        3 => layout.turns[axis][dimension] = !layout.turns[axis][dimension],
        4 => {
            let moves = &mut layout.moves[dimension];
            let (a, b) = (dice.below(moves.len()), dice.below(moves.len()));
            moves.swap(a, b);
        }
        5 => layout.leans[dimension] = lean(&layout.moves, dimension, dice),
        _ => layout.folds[axis][dimension] = !layout.folds[axis][dimension],
    }
}

/// A lean of a dimension along another one, or none.
fn lean(moves: &[Vec<u32>], dimension: usize, dice: &mut Dice) -> Option<Lean> {
    let along = dice.below(moves.len());
    let (size, other) = (moves[dimension].len(), moves[along].len());
    if along == dimension || size < 3 {
        return None;
    }
    let steps = [1, size - 1, size / 2];
    let (step, period) = (steps[dice.below(steps.len())] as u32, 1 << dice.below(other.ilog2() as usize + 1));
    Some(Lean { along, period, step })
}

/// The boxes at the first node that has room for one, all shapes of as many places as there are ranks.
fn rooms(problem: &Problem) -> Vec<Room> {
    let shape = problem.ways.shape();
    let ranks = problem.demand.ranks() as u32;
    let mut places = vec![0u32; shape.nodes()];
    problem.slots.iter().for_each(|node| places[*node as usize] += 1);
    let deepest = places.iter().copied().max().unwrap_or(0);
    let mut rooms = Vec::new();
    for deep in (1..=deepest).rev().filter(|deep| ranks.is_multiple_of(*deep)) {
        let mut boxes = Vec::new();
        boxes_of(shape.sizes(), ranks / deep, &mut Vec::new(), &mut boxes);
        for sizes in boxes {
            let free = (0..shape.nodes() as NodeId).find_map(|corner| {
                let nodes: Vec<NodeId> = cells(problem, corner, &sizes)?;
                nodes.iter().all(|node| places[*node as usize] >= deep).then_some(nodes)
            });
            if let Some(nodes) = free {
                let mut sizes = sizes;
                let nodes = if deep > 1 {
                    sizes.push(deep);
                    (0..deep).flat_map(|_| nodes.iter().copied()).collect()
                } else {
                    nodes
                };
                rooms.push(Room { sizes, nodes });
            }
        }
        if !rooms.is_empty() {
            break;
        }
    }
    rooms
}

fn boxes_of(sizes: &[u32], volume: u32, so_far: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
    let Some((first, others)) = sizes.split_first() else {
        if volume == 1 {
            found.push(so_far.clone());
        }
        return;
    };
    for size in (1..=(*first).min(volume)).rev().filter(|size| volume.is_multiple_of(*size)) {
        so_far.push(size);
        boxes_of(others, volume / size, so_far, found);
        so_far.pop();
    }
}

/// Nodes of a box from a corner on, the first dimension fastest; none if it leaves a mesh.
fn cells(problem: &Problem, corner: NodeId, sizes: &[u32]) -> Option<Vec<NodeId>> {
    let shape = problem.ways.shape();
    let start = shape.coordinates(corner);
    let volume: u32 = sizes.iter().product();
    let mut nodes = Vec::with_capacity(volume as usize);
    for mut index in 0..volume {
        let mut coordinates = start.clone();
        for (dimension, size) in sizes.iter().enumerate() {
            let place = start[dimension] + index % size;
            index /= size;
            if place >= shape.size(dimension) && !shape.wraps(dimension) {
                return None;
            }
            coordinates[dimension] = place % shape.size(dimension);
        }
        nodes.push(shape.node(&coordinates));
    }
    Some(nodes)
}
