//! The reference's own throttles.

use crate::reference::{self, Watch};
use flitloom_core::{
    fabric::Shape,
    throttle::{Alo, Global, Pace, PathTurn, Spth, Throttle},
};

/// What the reference model has for a throttle of the core, in a network with so deep buffers and packets
/// of so many flits at most; interlocked slices are a rule of its own there.
pub fn twin(throttle: Throttle, shape: &Shape, buffer: u16, longest: u32) -> reference::Throttle {
    let largest = *shape.sizes().iter().max().unwrap();
    let half = (largest / 2) as usize;
    match throttle {
        Throttle::None | Throttle::Interlock(_) => reference::Throttle::None,
        Throttle::Spth(Spth { margin, length, own, shared }) => {
            let length = length.map_or(half, usize::from);
            let watch = Watch { margin: margin.into(), length, shared, following: false };
            reference::Throttle::Spth { watch, own }
        }
        Throttle::Alo(Alo { own }) => reference::Throttle::Alo { own },
        Throttle::Pace(Pace { interval }) => reference::Throttle::Pace { interval },
        Throttle::Global(Global { threshold }) => {
            reference::Throttle::Global { threshold: threshold.unwrap_or(0), tune: threshold.is_none() }
        }
        Throttle::PathTurn(PathTurn { release, margin, behind, shared }) => {
            // Room for another packet, or half a queue if that is more.
            let (depth, longest) = (usize::from(buffer), longest as usize);
            let usual = if 2 * longest > depth { depth / 2 } else { depth - longest };
            let margin = margin.map_or(usual, usize::from);
            // The way in a dimension and the time to wait are longer where there is no way around.
            let torus = (0..shape.dimensions()).all(|dimension| shape.wraps(dimension));
            let reach = |dimension| {
                let size = shape.size(dimension) as usize;
                if shape.wraps(dimension) { size / 2 } else { size - 1 }
            };
            let length = (0..shape.dimensions()).map(reach).max().unwrap().max(1);
            let watch = Watch { margin, length, shared, following: true };
            let usual = (longest * largest as usize * if torus { 1 } else { 4 }) as u64;
            let release = release.unwrap_or(usual);
            reference::Throttle::Pt { watch, release, behind: behind.unwrap_or(2).into() }
        }
        // Expressions that say what other throttles do.
        Throttle::When(_) => match throttle.to_string().as_str() {
            "when:empty and not owned" => reference::Throttle::Alo { own: true },
            "when:idle_channels >= 1" => reference::Throttle::Alo { own: false },
            "when:since_granted >= 7" => reference::Throttle::Pace { interval: 7 },
            _ => reference::Throttle::None,
        },
    }
}
