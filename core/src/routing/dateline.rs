use crate::fabric::{Direction, NodeId, Shape, Sign};

/// Whether the link that leaves `node` in `direction` crosses a dateline.
///
/// In every wrapping dimension of size N the datelines lie between coordinates `N/2 - 1` and `N/2`,
/// and between `N - 1` and `0` (cup-stacking-extended-2023, A.1). A dimension that does not wrap
/// has none: its channels cannot form a cycle.
///
/// ```
/// use flitloom_core::{fabric::{Direction, Shape, Sign}, routing::crosses_dateline};
/// let ring = Shape::torus(&[16])?;
/// let plus = Direction::new(0, Sign::Plus);
/// assert!(crosses_dateline(&ring, 7, plus) && crosses_dateline(&ring, 15, plus));
/// assert!(!crosses_dateline(&ring, 8, plus));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn crosses_dateline(shape: &Shape, node: NodeId, direction: Direction) -> bool {
    let dimension = direction.dimension();
    let size = shape.size(dimension);
    let here = shape.coordinate(node, dimension);
    // The dateline is named by the coordinate on its upper side.
    let upper = match direction.sign() {
        Sign::Plus => (here + 1) % size,
        Sign::Minus => here,
    };
    shape.wraps(dimension) && (upper == 0 || upper == size / 2)
}

/// The channel a packet in `channel` uses on a link: one higher across a dateline, up to the last.
pub fn next_channel(channel: u8, crosses: bool, channels: u8) -> u8 {
    (channel + u8::from(crosses)).min(channels - 1)
}
