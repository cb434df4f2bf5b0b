//! Nodes that make no packet while so many of theirs are under way.

/// The start and the destination of a packet of a node by its number: not before the cycle behind the start of its
/// predecessor, nor before the first one with room for it. `None` if the node makes none any more.
pub type Starts<'a> = &'a dyn Fn(usize, usize, usize, usize) -> Option<(usize, usize)>;

pub struct Closed<'a> {
    limit: usize,
    starts: Starts<'a>,
    /// By node: packets made, the cycle behind the last start, and when packets arrived.
    made: Vec<usize>,
    from: Vec<usize>,
    arrivals: Vec<Vec<usize>>,
}

impl<'a> Closed<'a> {
    pub fn new(nodes: usize, limit: usize, starts: Starts<'a>) -> Self {
        Self { limit, starts, made: vec![0; nodes], from: vec![0; nodes], arrivals: vec![Vec::new(); nodes] }
    }

    /// The next packet of a node, as far as it is known.
    pub fn next(&self, node: usize) -> Option<(usize, usize)> {
        let number = self.made[node];
        let room = match number.checked_sub(self.limit) {
            None => 0,
            Some(before) => self.arrivals[node].get(before)? + 1,
        };
        (self.starts)(node, number, self.from[node], room)
    }

    pub fn make(&mut self, node: usize, start: usize) {
        self.made[node] += 1;
        self.from[node] = start + 1;
    }

    pub fn arrived(&mut self, source: usize, now: usize) {
        self.arrivals[source].push(now);
    }

    /// Whether any node may make another packet.
    pub fn has_more(&self) -> bool {
        (0..self.made.len()).any(|node| self.next(node).is_some())
    }
}
