//! When a node makes a packet.

use super::{numbers::Generators, options::parts};
use crate::engine::pipelined::Numbers;

/// A process, for every node.
#[derive(Clone, Debug)]
pub(super) enum Process {
    /// With a probability per cycle.
    Bernoulli(f64),
    /// With one while the node is on.
    OnOff { on: f64, off: f64, rate: f64, is_on: Vec<bool>, began_on: Vec<bool> },
}

impl Process {
    /// Asks whether a packet is made.
    pub(super) fn fires(&mut self, node: usize, numbers: &mut Generators) -> bool {
        match self {
            Self::Bernoulli(rate) => numbers.fraction() < *rate,
            Self::OnOff { on, off, rate, is_on, .. } => {
                let drawn = numbers.fraction();
                is_on[node] = if is_on[node] { drawn >= *off } else { drawn < *on };
                is_on[node] && numbers.fraction() < *rate
            }
        }
    }

    /// Packets per cycle in the mean.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Bernoulli(rate) => *rate,
            Self::OnOff { on, off, rate, .. } => rate * on / (on + off),
        }
    }

    /// Where it asks with one fraction below a fixed one: this, in parts of 2^52.
    pub(super) fn parts(&self) -> Option<u64> {
        match self {
            // A fraction has 52 bits, so it is below a limit where it is below the next whole number of parts.
            Self::Bernoulli(rate) => Some((rate * (1_u64 << 52) as f64).ceil() as u64),
            Self::OnOff { .. } => None,
        }
    }

    /// Every node is on or off as at the beginning.
    pub(super) fn reset(&mut self) {
        if let Self::OnOff { is_on, began_on, .. } = self {
            is_on.clone_from(began_on);
        }
    }

    /// The process of a name; alpha, beta and r1 may stand in brackets, and one of them below 0 follows from the
    /// others.
    pub(super) fn from_text(
        text: &str,
        rate: f64,
        burst: [f64; 3],
        nodes: usize,
        numbers: &mut Generators,
    ) -> Result<Self, String> {
        let (name, inside) = text.split_once('(').unwrap_or((text, ""));
        match name {
            "bernoulli" => Ok(Self::Bernoulli(rate)),
            "on_off" => {
                let mut given = burst;
                let inside = inside.rsplit_once(')').map_or(inside, |(inside, _)| inside);
                let parts = parts(inside);
                for (slot, part) in given.iter_mut().zip(&parts) {
                    *slot = part.trim().parse().map_err(|_| format!("on_off: {part:?} is not a number"))?;
                }
                let [mut on, mut off, mut peak] = given;
                if given.iter().filter(|&&value| value < 0.0).count() != 1 || given.iter().any(|&v| v > 1.0) {
                    return Err(format!(
                        "on_off: burst_alpha, burst_beta, burst_r1 are {on}, {off}, {peak}; exactly one of \
                         them is below 0 and follows from the others, which are at most 1"
                    ));
                }
                if on < 0.0 {
                    on = off * rate / (peak - rate);
                } else if off < 0.0 {
                    off = on * (peak - rate) / rate;
                } else {
                    peak = rate * (on + off) / on;
                }
                let is_on: Vec<bool> = match parts.get(2).filter(|_| parts.len() > 3) {
                    // With a fourth number BookSim2 takes the whole part of the third one for the state of all nodes.
                    Some(_) => vec![given[2] as i64 != 0; nodes],
                    None => (0..nodes).map(|_| numbers.upto(1) == 1).collect(),
                };
                Ok(Self::OnOff { on, off, rate: peak, began_on: is_on.clone(), is_on })
            }
            _ => Err(format!("{text:?} is not an injection process; there are bernoulli, on_off")),
        }
    }
}
