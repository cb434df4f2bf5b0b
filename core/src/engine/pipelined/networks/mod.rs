//! Networks of flitloom's own: tori and meshes of any sizes, and graphs with tables by destination.

mod grid;
mod switched;

pub(super) use grid::Grid;
pub use switched::{Lanes, Switched};
