use super::{
    beam::{Segment, Sent, State, beam, packets},
    deal::{LINES, Pool},
    stage::Stage,
};
use crate::{
    schedule::Budget,
    traffic::{Purpose, draw},
};
use std::rc::Rc;

/// Residues on the forward side, stage by stage: every two of them once. A node that goes over to the other
/// side and comes back loses eight cycles, unless both pass it at the same time (residue 0); this order
/// loses at most eight cycles at any node.
const ORDER: [[u32; 2]; 6] = [[0, 2], [2, 3], [0, 3], [1, 3], [0, 1], [1, 2]];
/// How much wider beams are in the last stage, which has the least room.
const WIDER: usize = 3;
/// Beams through a stage before the one before it is tried again.
const PATIENCE: u32 = 6;

/// Two opposite octants at the same time: half of the nodes, by class, on either side.
///
/// Classes of the backward side have the opposite sign: its packets, too, go one class up with every hop.
pub(super) struct Pair {
    /// By stage and side; classes in the counting of the side.
    stages: Vec<[Stage; 2]>,
}

/// A stage of one side that is done, and what it leaves to the next ones.
#[derive(Clone)]
struct Done {
    segment: Rc<Segment>,
    /// By class of the forward side: when ports that change sides are free.
    free_from: [u32; LINES as usize],
    open_from: [u32; LINES as usize],
}

/// The class of the forward side that is a class of a side, and the other way round.
fn class_of(side: usize, class: u32) -> u32 {
    if side == 0 { class } else { (LINES - class) % LINES }
}

impl Pair {
    pub(super) fn new(forward: &Pool, backward: &Pool) -> Self {
        let stages = ORDER.map(|residues| {
            let others: Vec<u32> = (0..4).filter(|residue| !residues.contains(residue)).collect();
            let mirrored = [(4 - others[0]) % 4, (4 - others[1]) % 4];
            [Stage::new(forward, residues, 0), Stage::new(backward, mirrored, 0)]
        });
        Self { stages: stages.into() }
    }

    /// Per stage and class of the forward side: by when its ports must be free, so that all is sent by the
    /// horizon, and no stage takes more than its share of the time that can be lost.
    fn deadlines(&self, horizon: u32) -> Vec<[u32; LINES as usize]> {
        let (mut soonest, mut left) = ([0; LINES as usize], [horizon; LINES as usize]);
        let (mut earliest, mut latest) = (Vec::new(), Vec::new());
        for stage in &self.stages {
            self.classes(stage, |here, class, packets| {
                // A port is free again a packet after it was passed.
                soonest[here] += (class + LINES - soonest[here] % LINES) % LINES + LINES * packets;
            });
            earliest.push(soonest);
        }
        for stage in self.stages.iter().rev() {
            let mut ends = left;
            self.classes(stage, |here, class, packets| {
                ends[here] = left[here].saturating_sub((left[here] + LINES - class) % LINES);
                left[here] = ends[here].saturating_sub(LINES * packets);
            });
            latest.push(ends);
        }
        latest.reverse();
        let stages = self.stages.len() as u32;
        let share =
            |(number, (earliest, latest)): (u32, (&[u32; LINES as usize], &[u32; LINES as usize]))| {
                std::array::from_fn(|class| {
                    let turns = (left[class] / LINES * (number + 1)).div_ceil(stages);
                    latest[class].min(earliest[class] + LINES * turns)
                })
            };
        (0..).zip(earliest.iter().zip(&latest)).map(share).collect()
    }

    /// Gives every class: its number on the forward side and on its own, and how many packets it sends.
    fn classes(&self, stage: &[Stage; 2], mut give: impl FnMut(usize, u32, u32)) {
        for (side, half) in stage.iter().enumerate() {
            for (&class, packets) in half.classes.iter().zip(&half.packets) {
                give(class_of(side, class) as usize, class, packets.len() as u32);
            }
        }
    }

    /// The packets of both sides so that all have been sent by the horizon, about; at most so many
    /// beams, which keep so many states of every cycle.
    pub(super) fn search(
        &self,
        horizon: u32,
        (beams, width): (u64, usize),
        seed: u64,
        budget: &mut Budget,
    ) -> Option<[Vec<Sent>; 2]> {
        let deadlines = self.deadlines(horizon);
        // By number, stage by stage, the forward side first.
        let mut done: Vec<Done> = Vec::new();
        let mut tries = vec![0; 2 * self.stages.len() + 1];
        for run in 0..beams {
            let number = done.len();
            if number == 2 * self.stages.len() {
                break;
            }
            tries[number] += 1;
            if let Some(next) = self.advance(&done, &deadlines, width, (seed, run), budget) {
                done.push(next);
                tries[done.len()] = 0;
            } else if tries[number] >= PATIENCE {
                // Now and then two steps back.
                let steps = 1 + usize::from(run % 3 == 0);
                done.truncate(number.saturating_sub(steps));
            }
            if budget.moves == 0 {
                return None;
            }
        }
        if done.len() < 2 * self.stages.len() {
            return None;
        }
        let side = |side: usize| -> Vec<Rc<Segment>> {
            done.iter().skip(side).step_by(2).map(|done| Rc::clone(&done.segment)).collect()
        };
        Some([packets(&side(0))?, packets(&side(1))?])
    }

    /// One beam through the next stage of a side.
    fn advance(
        &self,
        done: &[Done],
        deadlines: &[[u32; LINES as usize]],
        width: usize,
        (seed, run): (u64, u64),
        budget: &mut Budget,
    ) -> Option<Done> {
        let (number, side) = (done.len() / 2, done.len() % 2);
        let mut stage = self.stages[number][side].clone();
        let before = done.len().checked_sub(2).map(|index| &done[index]);
        let others = (2 * number).checked_sub(1 + side).and_then(|index| done.get(index));
        let begin = before.map_or(0, |done| done.segment.end());
        for place in 0..4 {
            let class = class_of(side, stage.classes[place]) as usize;
            stage.deadlines[place] = deadlines[number][class];
            let stays = before.is_some_and(|done| done.segment.stage.place(stage.classes[place]).is_some());
            if let Some(others) = others.filter(|_| !stays) {
                stage.free_from[place] = others.free_from[class];
                stage.open_from[place] = others.open_from[class];
            }
        }
        let start = [State::empty()];
        let from = before.map_or(&start[..], |done| &done.segment.states);
        let width = if number + 1 == self.stages.len() { WIDER * width } else { width };
        let mut segment = beam(Rc::new(stage), from, begin, width, (seed, run), budget)?;
        // Classes that leave: the best state says when the others have to be through.
        let stage = Rc::clone(&segment.stage);
        let leaving: Vec<usize> = match self.stages.get(number + 1) {
            Some(next) => (0..4).filter(|&place| next[side].place(stage.classes[place]).is_none()).collect(),
            None => Vec::new(),
        };
        segment.keep(State::is_complete);
        let best = *segment.states.first()?;
        let (mut started, mut ended) = (best.started, best.ended);
        let share = (draw(seed, 7, Purpose::Search, run) >> 33) as usize % 4;
        for &place in &leaving {
            let mut ends: Vec<u16> = segment.states.iter().map(|state| state.ended[place]).collect();
            ends.sort_unstable();
            ended[place] = ends[ends.len() * (1 + share) / 5];
        }
        let fits = |state: &State, started: &[u16; 4], ended: &[u16; 4]| {
            leaving
                .iter()
                .all(|&place| state.started[place] <= started[place] && state.ended[place] <= ended[place])
        };
        if !segment.states.iter().any(|state| fits(state, &started, &ended)) {
            (started, ended) = (best.started, best.ended);
        }
        segment.keep(|state| fits(state, &started, &ended));
        let (mut free_from, mut open_from) = ([0; LINES as usize], [0; LINES as usize]);
        for &place in &leaving {
            let class = class_of(side, stage.classes[place]) as usize;
            free_from[class] = u32::from(started[place].saturating_sub(1)) + LINES;
            open_from[class] = u32::from(ended[place]) + LINES;
        }
        Some(Done { segment: Rc::new(segment), free_from, open_from })
    }
}
