//! Round robin in planes, and who crosses to which output.

// Not one closure or iterator adaptor works on vectors.
#![allow(clippy::needless_range_loop)]

use crate::bits::{Vector, words, words_mut};

/// Ports of a router.
pub(super) const PORTS: usize = 5;
/// Outputs to which dimension order leads from an input.
pub(super) const OUTPUTS: [&[usize]; PORTS] =
    [&[1, 2, 3, 4], &[0, 2, 3, 4], &[3, 4], &[2, 4], &[0, 1, 2, 3, 4]];

/// Of those that ask the first one from the turn on, around the circle. A turn is a plane per place: whether the
/// place comes at the turn or behind it.
#[inline(always)]
pub(super) fn pick<V: Vector, const N: usize>(asks: &[V; N], turn: &[V; N]) -> [V; N] {
    let mut picked = [V::zero(); N];
    let mut any = V::zero();
    for at in 0..N {
        any = any | (asks[at] & turn[at]);
    }
    // Where nobody asks at the turn or behind it, it is the first one that asks.
    let mut left = V::ones();
    for at in 0..N {
        let candidate = asks[at] & (turn[at] | !any) & left;
        picked[at] = candidate;
        left = left & !candidate;
    }
    picked
}

/// Turns go on to the place behind the one that was matched. Behind the last one there is none, which is as if
/// the turn were at the first.
#[inline(always)]
pub(super) fn go_on<V: Vector, const N: usize>(turn: &mut [V; N], matched: &[V; N]) {
    let mut any = V::zero();
    for at in 0..N {
        any = any | matched[at];
    }
    let mut before = V::zero();
    for at in 0..N {
        turn[at] = before | (turn[at] & !any);
        before = before | matched[at];
    }
}

/// Turns of a switch with so many input sub-ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns<V, const N: usize> {
    /// By output, over inputs.
    grants: [[V; N]; PORTS],
    /// By input, over outputs.
    accepts: [[V; PORTS]; N],
}

/// A turn of a router, from its planes.
fn turn_at<V: Vector, const N: usize>(planes: &[V; N], (word, bit): (usize, usize)) -> usize {
    let is_set = |at: &usize| words(&planes[*at..=*at])[word] >> bit & 1 == 1;
    (0..N).find(is_set).unwrap_or(0)
}

/// Gives a router a turn.
fn set_turn<V: Vector, const N: usize>(planes: &mut [V; N], (word, bit): (usize, usize), turn: usize) {
    for at in turn..N {
        words_mut(&mut planes[at..=at])[word] |= 1 << bit;
    }
}

impl<V: Vector, const N: usize> Turns<V, N> {
    pub(super) fn new() -> Self {
        Self { grants: [[V::zero(); N]; PORTS], accepts: [[V::zero(); PORTS]; N] }
    }

    /// The turns of a router at a bit of a word: by output, and by input.
    pub(super) fn of_router(&self, at: (usize, usize)) -> (Vec<usize>, Vec<usize>) {
        let grants = self.grants.iter().map(|planes| turn_at(planes, at)).collect();
        (grants, self.accepts.iter().map(|planes| turn_at(planes, at)).collect())
    }

    /// Gives a router turns, where it has none.
    pub(super) fn set_of_router(&mut self, at: (usize, usize), grants: &[usize], accepts: &[usize]) {
        self.grants.iter_mut().zip(grants).for_each(|(planes, &turn)| set_turn(planes, at, turn));
        self.accepts.iter_mut().zip(accepts).for_each(|(planes, &turn)| set_turn(planes, at, turn));
    }

    /// Matches inputs that ask for outputs.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        asks: &[[V; PORTS]; N],
        input_first: bool,
        iterations: u32,
    ) -> [[V; PORTS]; N] {
        let mut matched = if input_first { self.inputs_first(asks) } else { self.outputs_first(asks) };
        if iterations > 1 {
            let before = *self;
            self.learn(&matched);
            let mut left = *asks;
            for _ in 1..iterations {
                remove(&mut left, &matched);
                // Turns are those of the beginning.
                let more = before.outputs_first(&left);
                for input in 0..N {
                    for output in 0..PORTS {
                        matched[input][output] = matched[input][output] | more[input][output];
                    }
                }
            }
        } else {
            self.learn(&matched);
        }
        matched
    }

    /// Turns go on behind the partners of the first iteration.
    #[inline(always)]
    fn learn(&mut self, matched: &[[V; PORTS]; N]) {
        for output in 0..PORTS {
            let mut column = [V::zero(); N];
            for input in 0..N {
                column[input] = matched[input][output];
            }
            go_on(&mut self.grants[output], &column);
        }
        for input in 0..N {
            go_on(&mut self.accepts[input], &matched[input]);
        }
    }

    #[inline(always)]
    fn outputs_first(&self, asks: &[[V; PORTS]; N]) -> [[V; PORTS]; N] {
        let mut granted = [[V::zero(); PORTS]; N];
        for output in 0..PORTS {
            let mut column = [V::zero(); N];
            for input in 0..N {
                column[input] = asks[input][output];
            }
            let picked = pick(&column, &self.grants[output]);
            for input in 0..N {
                granted[input][output] = picked[input];
            }
        }
        for input in 0..N {
            granted[input] = pick(&granted[input], &self.accepts[input]);
        }
        granted
    }

    #[inline(always)]
    fn inputs_first(&self, asks: &[[V; PORTS]; N]) -> [[V; PORTS]; N] {
        let mut chosen = [[V::zero(); PORTS]; N];
        for input in 0..N {
            chosen[input] = pick(&asks[input], &self.accepts[input]);
        }
        for output in 0..PORTS {
            let mut column = [V::zero(); N];
            for input in 0..N {
                column[input] = chosen[input][output];
            }
            let picked = pick(&column, &self.grants[output]);
            for input in 0..N {
                chosen[input][output] = picked[input];
            }
        }
        chosen
    }
}

/// Takes those who are matched out of what asks.
#[inline(always)]
fn remove<V: Vector, const N: usize>(asks: &mut [[V; PORTS]; N], matched: &[[V; PORTS]; N]) {
    let mut outputs = [V::zero(); PORTS];
    for input in 0..N {
        for output in 0..PORTS {
            outputs[output] = outputs[output] | matched[input][output];
        }
    }
    for input in 0..N {
        let mut any = V::zero();
        for output in 0..PORTS {
            any = any | matched[input][output];
        }
        for output in 0..PORTS {
            asks[input][output] = asks[input][output] & !(any | outputs[output]);
        }
    }
}
