use super::{Move, moves::steps_of};
use crate::{
    fabric::Network,
    flow::loads::{fullest, of_paths},
};
use std::cmp::Reverse;

/// Steps for the hops of all paths: item `i` takes path `i`, and no link ever waits while a chunk waits for it.
///
/// Of the chunks that wait for a link, the one with the longest rest of its way goes first. Where that takes
/// more steps than the fullest link has chunks, those go first that feed a link with much to carry and few
/// chunks near it, if that is shorter.
pub(super) fn list_schedule(graph: &Network, paths: &[Vec<u32>], latency: u32) -> Vec<Move> {
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let load: Vec<u32> = of_paths(graph.links().len(), paths);
    let fullest = fullest(&load);
    let moves = longest_first(graph, paths, latency);
    debug_assert!(steps_of(&moves, latency) >= longest as u32);
    if steps_of(&moves, latency) <= fullest + latency {
        return moves;
    }
    let other = feeding_first(graph, paths, latency, load);
    if steps_of(&other, latency) < steps_of(&moves, latency) { other } else { moves }
}

/// What is under way.
struct Course<'a> {
    paths: &'a [Vec<u32>],
    latency: u32,
    /// Hops of every item so far.
    done: Vec<usize>,
    moves: Vec<Move>,
    landed: usize,
    left: usize,
}

impl<'a> Course<'a> {
    fn new(paths: &'a [Vec<u32>], latency: u32) -> Self {
        let left = paths.iter().map(Vec::len).sum();
        let moves = Vec::with_capacity(left);
        Self { paths, latency, done: vec![0; paths.len()], moves, landed: 0, left }
    }

    /// The hops that are left of the way of an item.
    fn rest(&self, item: u32) -> &'a [u32] {
        &self.paths[item as usize][self.done[item as usize]..]
    }

    /// An item that has arrived by a step, if there is another one.
    fn arrived(&mut self, step: u32) -> Option<u32> {
        let moved = self.moves.get(self.landed).filter(|moved| moved.step + 1 + self.latency <= step)?;
        self.landed += 1;
        Some(moved.item)
    }

    fn send(&mut self, step: u32, link: usize, item: u32) {
        self.done[item as usize] += 1;
        self.moves.push(Move { step, link: link as u32, item, adds: false });
        self.left -= 1;
    }
}

fn longest_first(graph: &Network, paths: &[Vec<u32>], latency: u32) -> Vec<Move> {
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let mut course = Course::new(paths, latency);
    // By link and hops that are left.
    let mut waiting: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new(); longest + 1]; graph.links().len()];
    let mut count = vec![0_u32; graph.links().len()];
    let enter = |waiting: &mut Vec<Vec<Vec<u32>>>, count: &mut Vec<u32>, rest: &[u32], item: u32| {
        if let Some(&link) = rest.first() {
            waiting[link as usize][rest.len()].push(item);
            count[link as usize] += 1;
        }
    };
    for item in 0..paths.len() as u32 {
        enter(&mut waiting, &mut count, course.rest(item), item);
    }
    for step in 0.. {
        if course.left == 0 {
            break;
        }
        while let Some(item) = course.arrived(step) {
            enter(&mut waiting, &mut count, course.rest(item), item);
        }
        for link in 0..graph.links().len() {
            if count[link] > 0
                && let Some(item) = waiting[link].iter_mut().rev().find_map(Vec::pop)
            {
                count[link] -= 1;
                course.send(step, link, item);
            }
        }
    }
    course.moves
}

/// As [`longest_first`]; `load` are the chunks of every link.
fn feeding_first(graph: &Network, paths: &[Vec<u32>], latency: u32, mut load: Vec<u32>) -> Vec<Move> {
    let mut course = Course::new(paths, latency);
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); graph.links().len()];
    // Chunks that wait for a link or are under way to it.
    let mut near = vec![0_i64; graph.links().len()];
    let enter = |waiting: &mut Vec<Vec<u32>>, rest: &[u32], item: u32| {
        if let Some(&link) = rest.first() {
            waiting[link as usize].push(item);
        }
    };
    for item in 0..paths.len() as u32 {
        enter(&mut waiting, course.rest(item), item);
    }
    for (near, waiting) in near.iter_mut().zip(&waiting) {
        *near = waiting.len() as i64;
    }
    for step in 0.. {
        if course.left == 0 {
            break;
        }
        while let Some(item) = course.arrived(step) {
            enter(&mut waiting, course.rest(item), item);
        }
        for link in 0..graph.links().len() {
            let urgency = |&item: &u32| {
                let rest = course.rest(item);
                let next =
                    rest.get(1).map(|&next| 2 * i64::from(load[next as usize]) - 3 * near[next as usize]);
                (next.map(|next| next + rest.len() as i64), Reverse(item))
            };
            let first = (0..waiting[link].len()).max_by_key(|&place| urgency(&waiting[link][place]));
            if let Some(first) = first {
                let item = waiting[link].swap_remove(first);
                load[link] -= 1;
                near[link] -= 1;
                if let Some(&next) = course.rest(item).get(1) {
                    near[next as usize] += 1;
                }
                course.send(step, link, item);
            }
        }
    }
    course.moves
}
