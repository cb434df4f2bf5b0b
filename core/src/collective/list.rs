use super::{Graph, Move, moves::steps_of};

/// Steps for the hops of all paths: in every step each link carries, of the chunks that wait for it, the
/// one with the longest rest of its way. Item `i` takes path `i`.
pub fn list_schedule(graph: &Graph, paths: &[Vec<u32>], latency: u32) -> Vec<Move> {
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let mut waiting: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new(); longest + 1]; graph.links().len()];
    let mut count = vec![0_u32; graph.links().len()];
    let mut done = vec![0_usize; paths.len()];
    let enter = |waiting: &mut Vec<Vec<Vec<u32>>>, count: &mut Vec<u32>, item: u32, done: usize| {
        if let Some(&link) = paths[item as usize].get(done) {
            waiting[link as usize][paths[item as usize].len() - done].push(item);
            count[link as usize] += 1;
        }
    };
    for item in 0..paths.len() as u32 {
        enter(&mut waiting, &mut count, item, 0);
    }
    let mut left: usize = paths.iter().map(Vec::len).sum();
    let mut moves: Vec<Move> = Vec::with_capacity(left);
    let mut landed = 0;
    for step in 0.. {
        if left == 0 {
            break;
        }
        while landed < moves.len() && moves[landed].step + 1 + latency <= step {
            let item = moves[landed].item;
            enter(&mut waiting, &mut count, item, done[item as usize]);
            landed += 1;
        }
        for link in 0..graph.links().len() {
            if count[link] == 0 {
                continue;
            }
            let Some(item) = waiting[link].iter_mut().rev().find_map(Vec::pop) else { continue };
            count[link] -= 1;
            done[item as usize] += 1;
            moves.push(Move { step, link: link as u32, item, adds: false });
            left -= 1;
        }
    }
    debug_assert!(steps_of(&moves, latency) >= longest as u32);
    moves
}
