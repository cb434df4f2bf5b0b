//! The rules of the router, one function each, written without a look at the core's own.

use super::Rules;
use flitloom_core::{
    fabric::{NodeId, Shape},
    router::ChannelScheme,
};

/// A port is a side of the router: `2 * dimension` looks towards higher coordinates, one more
/// towards lower ones, the last is the processor. Flits that travel +x leave by port 0 and come in
/// by port 1.
pub type Port = usize;

/// The port at the other end of the link behind `port`.
pub fn facing(port: Port) -> Port {
    if port.is_multiple_of(2) { port + 1 } else { port - 1 }
}

/// Coordinates, first dimension first: node = x + Nx * (y + Ny * (z + ...)).
pub fn coordinates(shape: &Shape, node: NodeId) -> Vec<u32> {
    let mut rest = node;
    let mut coordinates = Vec::new();
    for &size in shape.sizes() {
        coordinates.push(rest % size);
        rest /= size;
    }
    coordinates
}

/// The node at coordinates.
pub fn node_at(shape: &Shape, coordinates: &[u32]) -> NodeId {
    let mut node = 0;
    for (&coordinate, &size) in coordinates.iter().zip(shape.sizes()).rev() {
        node = node * size + coordinate;
    }
    node
}

/// A dimension of size 2 is one pair of links and never wraps.
pub fn wraps(shape: &Shape, dimension: usize) -> bool {
    shape.wraps(dimension) && shape.sizes()[dimension] > 2
}

/// The node behind a port, if there is a link.
pub fn neighbour(shape: &Shape, node: NodeId, port: Port) -> Option<NodeId> {
    let dimension = port / 2;
    let size = shape.sizes()[dimension];
    let mut coordinates = coordinates(shape, node);
    let here = coordinates[dimension];
    let at_rim = if port == 2 * dimension { here == size - 1 } else { here == 0 };
    if at_rim && !wraps(shape, dimension) {
        return None;
    }
    coordinates[dimension] = if port == 2 * dimension { (here + 1) % size } else { (here + size - 1) % size };
    Some(node_at(shape, &coordinates))
}

/// Dimension-order routing: the port by which a packet leaves `here`; the processor port when it
/// has arrived.
pub fn route(shape: &Shape, here: NodeId, destination: NodeId, rules: &Rules) -> Port {
    let (from, to) = (coordinates(shape, here), coordinates(shape, destination));
    for dimension in 0..shape.dimensions() {
        let (a, b, size) = (from[dimension], to[dimension], shape.sizes()[dimension]);
        if a == b {
            continue;
        }
        let (plus, minus) = (2 * dimension, 2 * dimension + 1);
        if !wraps(shape, dimension) {
            return if b > a { plus } else { minus };
        }
        let links_plus = (b + size - a) % size;
        let links_minus = (a + size - b) % size;
        if links_plus < links_minus {
            return plus;
        }
        if links_minus < links_plus {
            return minus;
        }
        // A tie takes the way that wraps around.
        let lower_half = a < size / 2;
        let goes_minus = if rules.ties_wrap { lower_half } else { !lower_half };
        return if goes_minus { minus } else { plus };
    }
    2 * shape.dimensions()
}

/// Whether the link behind a port crosses a dateline: in every dimension that wraps there is one
/// between N/2-1 and N/2, and one between N-1 and 0.
pub fn dateline(shape: &Shape, node: NodeId, port: Port) -> bool {
    let dimension = port / 2;
    let size = shape.sizes()[dimension];
    let Some(other) = neighbour(shape, node, port) else { return false };
    let (a, b) = (coordinates(shape, node)[dimension], coordinates(shape, other)[dimension]);
    let ends = [a.min(b), a.max(b)];
    wraps(shape, dimension) && (ends == [size / 2 - 1, size / 2] || ends == [0, size - 1])
}

/// Whether the link behind a port joins the two ends of a ring.
pub fn wraps_around(shape: &Shape, node: NodeId, port: Port) -> bool {
    let dimension = port / 2;
    let Some(other) = neighbour(shape, node, port) else { return false };
    let (a, b) = (coordinates(shape, node)[dimension], coordinates(shape, other)[dimension]);
    wraps(shape, dimension) && a.abs_diff(b) > 1
}

/// The channel after one more link: one higher across a dateline, but never above the last one.
/// Dimensions that do not wrap have no datelines.
pub fn channel_after(channel: usize, crosses: bool, channels: usize, rules: &Rules) -> usize {
    if rules.datelines && crosses && channel + 1 < channels { channel + 1 } else { channel }
}

/// The channels of an output port in the order in which they may send; `under_way` says whether of a
/// packet in the channel used last the header has been sent and the tail has not.
pub fn channel_order(scheme: ChannelScheme, last: usize, under_way: bool, channels: usize) -> Vec<usize> {
    use ChannelScheme::*;
    let n = channels as i64;
    let last = last as i64;
    let (first, step) = match scheme {
        C00 => (last, 1),
        C01 => (last + 1, 1),
        C02 => (last, -1),
        C03 => (last - 1, -1),
        C04 => (0, 1),
        C05 => (1, 1),
        C06 => (2, 1),
        C07 => (0, -1),
        C08 => (1, -1),
        C09 => (2, -1),
        Packet if under_way => (last, 1),
        Packet => (last + 1, 1),
    };
    (0..n).map(|k| (first + step * k).rem_euclid(n) as usize).collect()
}

/// The list in which queue selection looks at the input ports at first: the plus ports from the
/// last dimension to the first, the minus ports likewise, then P (N, E, S, W, P in two dimensions).
pub fn first_list(shape: &Shape) -> Vec<Port> {
    let dimensions = shape.dimensions();
    let mut list = Vec::new();
    list.extend((0..dimensions).rev().map(|dimension| 2 * dimension));
    list.extend((0..dimensions).rev().map(|dimension| 2 * dimension + 1));
    list.push(2 * dimensions);
    list
}

/// Turns a list until `granted` is last; the cyclic order never changes.
pub fn turn(list: &mut [Port], granted: Port) {
    while list.last() != Some(&granted) {
        list.rotate_left(1);
    }
}
