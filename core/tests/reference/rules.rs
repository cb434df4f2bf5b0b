//! The rules of the router, one function each, written without a look at the core's own.

use super::Rules;
use flitloom_core::{
    fabric::{NodeId, Shape, Ties},
    router::ChannelScheme,
};

/// A port is a side of the router: `2 * dimension` looks towards higher coordinates, one more
/// towards lower ones, the last is the processor. Flits that travel +x leave by port 0 and come in
/// by port 1. A full mesh has two ports for every distance up to half its size, in ascending order, a circulant for
/// every step; at half its size a node has only that of the two which stays between 0 and the size.
pub type Port = usize;

/// The distances that links of a dimension span.
fn spans(shape: &Shape, dimension: usize) -> Vec<u32> {
    let size = shape.sizes()[dimension];
    let all = || if shape.is_full(dimension) { (1..=size / 2).collect() } else { vec![1] };
    shape.steps(dimension).map_or_else(all, <[u32]>::to_vec)
}

/// Whether links of a dimension span other distances than one.
fn spans_more(shape: &Shape, dimension: usize) -> bool {
    shape.is_full(dimension) || shape.steps(dimension).is_some()
}

/// Per port that is a link: its dimension, the distance it spans, and whether it looks up.
pub fn sides(shape: &Shape) -> Vec<(usize, u32, bool)> {
    let mut sides = Vec::new();
    for dimension in 0..shape.dimensions() {
        for span in spans(shape, dimension) {
            sides.push((dimension, span, true));
            sides.push((dimension, span, false));
        }
    }
    sides
}

/// The port of a dimension that spans a distance.
fn side(shape: &Shape, wanted: (usize, u32, bool)) -> Port {
    sides(shape).iter().position(|&side| side == wanted).unwrap()
}

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

/// A dimension of size 2 is one pair of links and never wraps, but in a twisted torus.
pub fn wraps(shape: &Shape, dimension: usize) -> bool {
    shape.is_twisted() || shape.wraps(dimension) && shape.sizes()[dimension] > 2
}

/// Whether a step over the edge of a dimension also moves half of every longer one: in a twisted torus that of
/// every dimension of the least size.
fn moves_others(shape: &Shape, dimension: usize) -> bool {
    shape.is_twisted() && shape.sizes()[dimension] == *shape.sizes().iter().min().unwrap()
}

/// The node behind a port, if there is a link.
pub fn neighbour(shape: &Shape, node: NodeId, port: Port) -> Option<NodeId> {
    let (dimension, span, up) = sides(shape)[port];
    let size = shape.sizes()[dimension];
    let mut coordinates = coordinates(shape, node);
    let here = coordinates[dimension];
    if spans_more(shape, dimension) {
        let stays = if up { here + span < size } else { here >= span };
        if 2 * span == size && !stays {
            return None;
        }
        coordinates[dimension] = if up { here + span } else { here + size - span } % size;
        return Some(node_at(shape, &coordinates));
    }
    let at_rim = if up { here == size - 1 } else { here == 0 };
    if at_rim && !wraps(shape, dimension) {
        return None;
    }
    coordinates[dimension] = if up { (here + 1) % size } else { (here + size - 1) % size };
    if at_rim && moves_others(shape, dimension) {
        for other in (0..shape.dimensions()).filter(|&other| !moves_others(shape, other)) {
            let size = shape.sizes()[other];
            coordinates[other] = (coordinates[other] + size / 2) % size;
        }
    }
    Some(node_at(shape, &coordinates))
}

/// Dimension-order routing: the port by which a packet leaves `here`; the processor port when it
/// has arrived.
pub fn route(shape: &Shape, here: NodeId, destination: NodeId, rules: &Rules) -> Port {
    if shape.is_twisted() {
        return twisted_route(shape, here, destination, rules);
    }
    let (from, to) = (coordinates(shape, here), coordinates(shape, destination));
    for dimension in 0..shape.dimensions() {
        let (a, b, size) = (from[dimension], to[dimension], shape.sizes()[dimension]);
        if a == b {
            continue;
        }
        if shape.is_full(dimension) {
            // The one link that leads there.
            let there = |&port: &Port| {
                let side = sides(shape)[port];
                side.0 == dimension
                    && neighbour(shape, here, port)
                        .is_some_and(|node| coordinates(shape, node)[dimension] == b)
            };
            return (0..sides(shape).len()).find(there).unwrap();
        }
        if let Some(steps) = shape.steps(dimension) {
            let (step, hops) = *split(size, steps, a, b).iter().find(|&&(_, hops)| hops != 0).unwrap();
            let up = if 2 * step == size { a < size / 2 } else { hops > 0 };
            return side(shape, (dimension, step, up));
        }
        let [plus, minus] = [true, false].map(|up| side(shape, (dimension, 1, up)));
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
        // A tie takes the way that wraps around, or half of the places go either way.
        let goes_down = if shape.ties() == Ties::Balanced { a % 2 == 1 } else { a < size / 2 };
        let goes_minus = if rules.ties { goes_down } else { !goes_down };
        return if goes_minus { minus } else { plus };
    }
    sides(shape).len()
}

/// The hops of every step of a circulant, the longest first, on the way from one coordinate to another: ways of
/// ever more hops are tried until some lead there. Of these the destination prefers those with more hops of the
/// longest step, then of the next, if it is in the lower half, and those with fewer, which may be negative, if it is in
/// the upper half.
fn split(size: u32, steps: &[u32], from: u32, to: u32) -> Vec<(u32, i64)> {
    let longest_first: Vec<u32> = steps.iter().rev().copied().collect();
    let leads = |hops: &Vec<i64>| {
        let moved: i64 = hops.iter().zip(&longest_first).map(|(hops, &step)| hops * i64::from(step)).sum();
        (i64::from(from) + moved - i64::from(to)) % i64::from(size) == 0
    };
    let found = (0..).find_map(|length| {
        let ways = hops_of_length(longest_first.len(), length).into_iter().filter(leads);
        if to < size / 2 { ways.max() } else { ways.min() }
    });
    longest_first.into_iter().zip(found.unwrap()).collect()
}

/// All lists of so many numbers whose absolute values have a sum.
fn hops_of_length(count: usize, length: i64) -> Vec<Vec<i64>> {
    if count == 0 {
        return if length == 0 { vec![vec![]] } else { vec![] };
    }
    let begun = |first: i64| {
        let rest = hops_of_length(count - 1, length - first.abs()).into_iter();
        rest.map(move |rest| [vec![first], rest].concat())
    };
    (-length..=length).flat_map(begun).collect()
}

/// Pairs of sides whose links close rings in which packets make several hops at once: dimensions that wrap, and
/// steps of circulants that some way repeats. Per port.
pub fn closing(shape: &Shape) -> Vec<bool> {
    let repeats = |dimension: usize, span: u32| {
        let (size, Some(steps)) = (shape.sizes()[dimension], shape.steps(dimension)) else {
            return wraps(shape, dimension);
        };
        let mut ways = (0..size).flat_map(|from| (0..size).map(move |to| split(size, steps, from, to)));
        ways.any(|way| way.contains(&(span, 2)) || way.contains(&(span, -2)))
    };
    sides(shape).into_iter().map(|(dimension, span, _)| repeats(dimension, span)).collect()
}

/// The nodes on the way of a packet without a given route, both ends included.
pub fn way(shape: &Shape, from: NodeId, destination: NodeId, rules: &Rules) -> Vec<NodeId> {
    let mut nodes = vec![from];
    let mut here = from;
    while here != destination {
        here = neighbour(shape, here, route(shape, here, destination, rules)).unwrap();
        nodes.push(here);
    }
    nodes
}

/// The node after so many hops in a dimension, some of which may be negative.
fn walk(shape: &Shape, node: NodeId, dimension: usize, hops: i64) -> NodeId {
    let port = 2 * dimension + usize::from(hops < 0);
    (0..hops.abs()).fold(node, |node, _| neighbour(shape, node, port).unwrap())
}

/// The same in a twisted torus: all displacements are tried, and the shortest are those that count. Of several
/// a dimension takes the one that goes plus from the upper half of its coordinates, minus from the lower.
fn twisted_route(shape: &Shape, here: NodeId, destination: NodeId, rules: &Rules) -> Port {
    let mut found: Vec<(NodeId, Vec<i64>)> = vec![(here, Vec::new())];
    for dimension in 0..shape.dimensions() {
        let ring = i64::from(shape.sizes()[dimension]) * if moves_others(shape, dimension) { 2 } else { 1 };
        let longer = |(node, way): (NodeId, Vec<i64>)| {
            (-ring / 2..=ring / 2).map(move |hops| {
                let way: Vec<i64> = way.iter().copied().chain([hops]).collect();
                (walk(shape, node, dimension, hops), way)
            })
        };
        found = found.into_iter().flat_map(longer).collect();
    }
    let length = |way: &[i64]| way.iter().map(|hops| hops.abs()).sum::<i64>();
    let there = found.into_iter().filter(|&(node, _)| node == destination);
    let mut ways: Vec<Vec<i64>> = there.map(|(_, way)| way).collect();
    let least = ways.iter().map(|way| length(way)).min().unwrap();
    ways.retain(|way| length(way) == least);
    let mut node = here;
    for dimension in 0..shape.dimensions() {
        let upper = coordinates(shape, node)[dimension] >= shape.sizes()[dimension] / 2;
        let all = ways.iter().map(|way| way[dimension]);
        let hops = if upper == rules.ties { all.max() } else { all.min() }.unwrap();
        if hops != 0 {
            return 2 * dimension + usize::from(hops < 0);
        }
        ways.retain(|way| way[dimension] == hops);
        node = walk(shape, node, dimension, hops);
    }
    2 * shape.dimensions()
}

/// Whether the link behind a port crosses a dateline: in every dimension that wraps there is one
/// between N/2-1 and N/2, and one between N-1 and 0.
pub fn dateline(shape: &Shape, node: NodeId, port: Port) -> bool {
    let (dimension, span, _) = sides(shape)[port];
    let size = shape.sizes()[dimension];
    let Some(other) = neighbour(shape, node, port) else { return false };
    let (a, b) = (coordinates(shape, node)[dimension], coordinates(shape, other)[dimension]);
    if shape.steps(dimension).is_some() {
        let (ring, [a, b]) = in_ring(size, span, [a, b]);
        let ends = [a.min(b), a.max(b)];
        return ends == [ring / 2 - 1, ring / 2] || ends == [0, ring - 1];
    }
    if moves_others(shape, dimension) {
        // Such a ring goes through the dimension twice; both steps over its edge are lines.
        return at_edge(shape, node, port);
    }
    let ends = [a.min(b), a.max(b)];
    wraps(shape, dimension) && (ends == [size / 2 - 1, size / 2] || ends == [0, size - 1])
}

/// The nodes of a ring of a step of a circulant, and the places of two coordinates in it: it begins at its lowest
/// coordinate.
fn in_ring(size: u32, span: u32, coordinates: [u32; 2]) -> (u32, [u32; 2]) {
    let around = |first: u32| {
        let mut ring = vec![first];
        while (ring.last().unwrap() + span) % size != first {
            ring.push((ring.last().unwrap() + span) % size);
        }
        ring
    };
    let first = *around(coordinates[0]).iter().min().unwrap();
    let ring = around(first);
    (ring.len() as u32, coordinates.map(|wanted| ring.iter().position(|&at| at == wanted).unwrap() as u32))
}

/// Whether a port looks over the edge of its dimension.
fn at_edge(shape: &Shape, node: NodeId, port: Port) -> bool {
    let here = coordinates(shape, node)[port / 2];
    here == if port.is_multiple_of(2) { shape.sizes()[port / 2] - 1 } else { 0 }
}

/// Whether the link behind a port joins the two ends of a ring.
pub fn wraps_around(shape: &Shape, node: NodeId, port: Port) -> bool {
    let (dimension, span, _) = sides(shape)[port];
    if moves_others(shape, dimension) {
        // A ring begins in the lower half of the first longer dimension.
        let long = (0..shape.dimensions()).find(|&other| !moves_others(shape, other)).unwrap();
        let lower = |node| coordinates(shape, node)[long] < shape.sizes()[long] / 2;
        let begins = if port.is_multiple_of(2) { neighbour(shape, node, port).unwrap() } else { node };
        return at_edge(shape, node, port) && lower(begins);
    }
    let Some(other) = neighbour(shape, node, port) else { return false };
    let (a, b) = (coordinates(shape, node)[dimension], coordinates(shape, other)[dimension]);
    if shape.steps(dimension).is_some() {
        let (_, [a, b]) = in_ring(shape.sizes()[dimension], span, [a, b]);
        return a.abs_diff(b) > 1;
    }
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

/// The list in which VC allocation looks at the input ports at first: the plus ports from the
/// last dimension to the first (of a full mesh the widest span first), the minus ports likewise, then P
/// (N, E, S, W, P in two dimensions).
pub fn first_list(shape: &Shape, north_is_minus: bool) -> Vec<Port> {
    let sides = sides(shape);
    let links = sides.len();
    let mut list = Vec::new();
    list.extend((0..links).rev().filter(|&port| sides[port].2));
    list.extend((0..links).rev().filter(|&port| !sides[port].2));
    list.push(links);
    if north_is_minus {
        // The ports of the last dimension stand first and in the middle.
        for place in 0..spans(shape, shape.dimensions() - 1).len() {
            list.swap(place, links / 2 + place);
        }
    }
    list
}

/// Turns a list until `granted` is last; the cyclic order never changes.
pub fn turn(list: &mut [Port], granted: Port) {
    while list.last() != Some(&granted) {
        list.rotate_left(1);
    }
}
