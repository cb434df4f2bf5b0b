use crate::{
    fabric::{Direction, NodeId, Shape, Sign},
    visit::{Visited, Visitor},
};
use std::ops::Range;

/// Turn registers: for every node, direction d and direction e of another dimension, bit k says whether the
/// router k + 1 hops ahead in d saw, when it was told, a busy buffer just ahead in e.
#[derive(Clone, Debug)]
pub struct Turns {
    shape: Shape,
    /// The nodes that it knows of, numbered from 0.
    nodes: Range<usize>,
    length: usize,
    /// Words of one register.
    words: usize,
    /// Per node and direction and direction of another dimension.
    bits: Vec<u64>,
    next: Vec<u64>,
    /// Per node and direction: the node ahead, [`NONE`] without a link; those of the row before and of the
    /// row behind, which are in other parts, follow on its own.
    ahead: Vec<u32>,
    /// What registers of these rows are to be one hop further.
    told: [Vec<u64>; 2],
    /// Scratch, per node: bit by bit, the directions in which a buffer is busy just ahead.
    close: Vec<u16>,
    /// Per direction: those of other dimensions.
    others: Vec<Vec<u8>>,
}

const NONE: u32 = u32::MAX;

impl Turns {
    /// Those of an empty network, of so many bits each.
    pub fn new(shape: &Shape, length: u16) -> Self {
        let words = usize::from(length).div_ceil(64);
        let directions = shape.directions();
        let bits = vec![0; shape.nodes() * directions * (directions - 2) * words];
        Self {
            shape: shape.clone(),
            nodes: 0..shape.nodes(),
            length: length.into(),
            words,
            next: bits.clone(),
            bits,
            ahead: ahead(shape, 0..shape.nodes()),
            told: [Vec::new(), Vec::new()],
            close: Vec::new(),
            others: (0..directions as u8)
                .map(|direction| (0..directions as u8).filter(|turn| turn / 2 != direction / 2).collect())
                .collect(),
        }
    }

    /// The directions of the other dimensions.
    fn turned(&self, direction: Direction) -> impl Iterator<Item = Direction> {
        self.others[direction.index()].iter().map(|&turn| Direction::from_index(turn.into()))
    }

    /// Words of the registers of a direction of a node, of all its directions.
    fn of_direction(&self) -> usize {
        (self.shape.directions() - 2) * self.words
    }

    fn of_node(&self) -> usize {
        self.shape.directions() * self.of_direction()
    }

    /// Where the registers of a direction of a node begin.
    fn place(&self, node: NodeId, direction: Direction) -> usize {
        node as usize * self.of_node() + direction.index() * self.of_direction()
    }

    /// What the registers of a direction are to be at the router before a node, one hop further, given where
    /// that sees busy buffers.
    fn further(
        &self,
        node: NodeId,
        direction: Direction,
        close: impl Fn(Direction) -> bool,
        mut write: impl FnMut(u64),
    ) {
        for (turn, first) in self.turned(direction).zip((self.place(node, direction)..).step_by(self.words)) {
            let mut carry = u64::from(close(turn));
            for (word, &ahead) in (1..).zip(&self.bits[first..first + self.words]) {
                let used = if word == self.words { (self.length - 1) % 64 + 1 } else { 64 };
                write((ahead << 1 | carry) & u64::MAX >> (64 - used));
                carry = ahead >> 63;
            }
        }
    }

    /// Nodes of a row.
    fn row(&self) -> usize {
        self.shape.nodes() / self.shape.size(self.shape.dimensions() - 1) as usize
    }

    /// One cycle further, given which nodes see a busy buffer just ahead in which directions.
    #[inline(always)]
    pub fn observe(&mut self, is_close: impl Fn(NodeId, Direction) -> bool) {
        let (mut next, mut close) = (std::mem::take(&mut self.next), std::mem::take(&mut self.close));
        let (nodes, directions) = (self.nodes.len(), self.shape.directions());
        let (row, size) = (self.row(), self.of_direction());
        close.clear();
        for node in 0..nodes as NodeId {
            let bit =
                |direction: usize| u16::from(is_close(node, Direction::from_index(direction))) << direction;
            close.push((0..directions).map(bit).sum());
        }
        let of_nodes =
            self.ahead.chunks_exact(directions).zip(next.chunks_exact_mut((directions * size).max(1)));
        for (ahead, of_node) in of_nodes {
            let of_directions = ahead.iter().zip(of_node.chunks_exact_mut(size.max(1)));
            for (direction, (&ahead, to)) in
                of_directions.enumerate().filter(|(_, (ahead, _))| **ahead != NONE)
            {
                let ahead = ahead as usize;
                if let Some(other) = ahead.checked_sub(nodes) {
                    match self.told[other / row].get(other % row * size..) {
                        Some(told) if told.len() >= size => to.copy_from_slice(&told[..size]),
                        _ => to.fill(0),
                    }
                } else if self.words == 1 {
                    // The usual case, without what it takes to carry bits over.
                    let from = &self.bits[(ahead * directions + direction) * size..][..size];
                    let (close, unused) = (close[ahead], 64 - self.length);
                    for ((to, &from), &turn) in to.iter_mut().zip(from).zip(&self.others[direction]) {
                        *to = (from << 1 | u64::from(close >> turn & 1)) << unused >> unused;
                    }
                } else {
                    let close = |turn: Direction| close[ahead] >> turn.index() & 1 == 1;
                    let mut to = to.iter_mut();
                    self.further(ahead as NodeId, Direction::from_index(direction), close, |word| {
                        if let Some(to) = to.next() {
                            *to = word;
                        }
                    });
                }
            }
        }
        (self.next, self.close) = (std::mem::replace(&mut self.bits, next), close);
    }

    /// Whether a node knows of a busy buffer just behind a turn that is so many hops ahead.
    pub fn is_busy(&self, node: NodeId, direction: Direction, hops: u32, turn: Direction) -> bool {
        let bit = hops as usize - 1;
        self.turned(direction).position(|direction| direction == turn).is_some_and(|other| {
            let first = self.place(node, direction) + other * self.words;
            bit < self.length && self.bits[first + bit / 64] >> (bit % 64) & 1 == 1
        })
    }

    /// Whether no register shows anything.
    pub fn is_clear(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    /// Those of some of the nodes, whole rows.
    pub fn part(&self, nodes: Range<usize>) -> Self {
        let bits = self.bits[nodes.start * self.of_node()..nodes.end * self.of_node()].to_vec();
        Self {
            shape: self.shape.clone(),
            ahead: ahead(&self.shape, nodes.clone()),
            nodes,
            next: bits.clone(),
            bits,
            told: [Vec::new(), Vec::new()],
            close: Vec::new(),
            others: self.others.clone(),
            ..*self
        }
    }

    /// What the registers of a direction are to be a hop before a row, from its first node on.
    pub fn send_halo(
        &self,
        direction: Direction,
        first: usize,
        row: usize,
        is_close: impl Fn(NodeId, Direction) -> bool,
        words: &mut Vec<u64>,
    ) {
        for node in (first..first + row).map(|node| node as NodeId) {
            self.further(node, direction, |turn| is_close(node, turn), |word| words.push(word));
        }
    }

    /// Takes what the row before (0) or behind (1) told last, and returns what it told before that.
    pub fn receive_halo<'w>(&mut self, side: usize, words: &'w [u64]) -> &'w [u64] {
        let own = self.row() * self.of_direction();
        let (before, words) = words.split_at(words.len().saturating_sub(own));
        self.told[side].clear();
        self.told[side].extend_from_slice(words);
        before
    }

    /// Shows the registers to a visitor.
    pub(crate) fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What they were made of, and what does not outlive a cycle.
        let Self {
            shape: _,
            nodes: _,
            length: _,
            words: _,
            ahead: _,
            others: _,
            next: _,
            close: _,
            told: _,
            bits,
        } = self;
        visitor.numbers("turn registers", bits)
    }
}

/// The nodes ahead of some whole rows of a network.
fn ahead(shape: &Shape, nodes: Range<usize>) -> Vec<u32> {
    let (all, row) = (shape.nodes(), shape.nodes() / shape.size(shape.dimensions() - 1) as usize);
    let link = |node: usize, direction: Direction| {
        let other = match shape.neighbour(node as NodeId, direction) {
            None => return NONE,
            Some(other) => other as usize,
        };
        let other = match direction.sign() {
            _ if nodes.contains(&other) => other - nodes.start,
            Sign::Minus => nodes.len() + (other + row + all - nodes.start) % all,
            Sign::Plus => nodes.len() + row + (other + all - nodes.end % all) % all,
        };
        other as u32
    };
    let directions = || (0..shape.directions()).map(Direction::from_index);
    nodes
        .clone()
        .flat_map(|node| directions().map(move |direction| (node, direction)))
        .map(|(node, direction)| link(node, direction))
        .collect()
}
