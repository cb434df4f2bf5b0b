//! Chunks in nested sets: every node has a round, in which a chunk comes from the cheapest node of an earlier one.

/// A node moves to another round, and by how much the whole may become dearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// The node.
    pub node: u32,
    /// The other round, counted from 1 and without the one in which the node is.
    pub other: u32,
    /// The most that all may cost more.
    pub more: i64,
}

/// The rounds of nodes that cost least of those met, by shifts of single nodes that cost little more.
///
/// `costs` says by round, sender and receiver what a chunk costs. `own` are the rounds to begin with: 0 for
/// the owner of the chunk, at the first place, and from 1 on for all others.
///
/// ```
/// use flitloom_core::collective::{Shift, nested_rounds};
/// // Three nodes in a line: the last one is reached over the one in the middle.
/// let hops = [0, 1, 2, 1, 0, 1, 2, 1, 0].repeat(2);
/// let shift = Shift { node: 2, other: 1, more: 0 };
/// assert_eq!(nested_rounds(&hops, &[0, 1, 1], [shift]), [0, 1, 2]);
/// ```
pub fn nested_rounds(costs: &[i32], own: &[u32], shifts: impl IntoIterator<Item = Shift>) -> Vec<u32> {
    let mut sets = Sets::new(costs, own);
    let mut now = 0;
    let (mut best, mut found) = (now, own.to_vec());
    for shift in shifts {
        let change = sets.tried(shift);
        if change > shift.more {
            continue;
        }
        sets.shifted(shift);
        now += change;
        if now < best {
            best = now;
            found.copy_from_slice(&sets.own);
        }
    }
    found
}

/// Who has a chunk before every round, and what it costs from there.
struct Sets<'a> {
    count: usize,
    /// By round, sender and receiver.
    costs: &'a [i32],
    /// By round, receiver and sender.
    from: Vec<i32>,
    /// By round where its costs begin; rounds with the same costs share them.
    tables: Vec<usize>,
    own: Vec<u32>,
    /// By round the nodes that have the chunk before it, and those to which it comes in it.
    having: Vec<Members>,
    coming: Vec<Members>,
    /// By round and receiver the least cost.
    least: Vec<i32>,
}

impl<'a> Sets<'a> {
    fn new(costs: &'a [i32], own: &[u32]) -> Self {
        let count = own.len();
        let rounds = costs.len() / (count * count);
        let mut from = vec![0; costs.len()];
        for (table, turned) in costs.chunks(count * count).zip(from.chunks_mut(count * count)) {
            for (sender, row) in table.chunks(count).enumerate() {
                for (receiver, &cost) in row.iter().enumerate() {
                    turned[receiver * count + sender] = cost;
                }
            }
        }
        let size = count * count;
        let of = |round: usize| &costs[round * size..(round + 1) * size];
        let tables = (0..rounds)
            .map(|round| {
                let same = (0..round).find(|&other| of(other) == of(round));
                same.unwrap_or(round) * size
            })
            .collect();
        let mut found = Self {
            tables,
            count,
            costs,
            from,
            own: own.to_vec(),
            having: vec![Members::none_of(count); rounds],
            coming: vec![Members::none_of(count); rounds],
            least: vec![i32::MAX; rounds * count],
        };
        for (node, &when) in own.iter().enumerate() {
            if when > 0 {
                found.coming[when as usize - 1].put(node);
            }
            for round in when as usize..rounds {
                found.join(round, node);
            }
        }
        found
    }

    /// A round of a node before a shift and after it.
    fn turns(&self, shift: Shift) -> (usize, usize) {
        let before = self.own[shift.node as usize] as usize;
        (before, shift.other as usize + usize::from(shift.other as usize >= before))
    }

    /// What all cost more after a shift of a node.
    fn tried(&self, shift: Shift) -> i64 {
        let (node, (before, after)) = (shift.node as usize, self.turns(shift));
        let mut change = 0;
        for round in before.min(after)..before.max(after) {
            let row = round * self.count;
            let sent = &self.costs[self.tables[round] + node * self.count..][..self.count];
            // Its own cost is counted apart.
            for receiver in self.coming[round].all().filter(|receiver| *receiver != node) {
                let (least, sent) = (self.least[row + receiver], sent[receiver]);
                if after < before && sent < least {
                    change += i64::from(sent - least);
                } else if after > before && sent == least {
                    change += i64::from(self.without(round, receiver, node) - least);
                }
            }
        }
        let own = self.least[(before - 1) * self.count + node];
        let fresh = if after > before {
            self.without(after - 1, node, node)
        } else {
            self.least[(after - 1) * self.count + node]
        };
        change + i64::from(fresh) - i64::from(own)
    }

    /// The least cost of a receiver in a round, if a node has not the chunk before it.
    fn without(&self, round: usize, receiver: usize, node: usize) -> i32 {
        let costs = &self.from[self.tables[round] + receiver * self.count..][..self.count];
        let others = self.having[round].all().filter(|one| *one != node);
        others.map(|one| costs[one]).min().unwrap_or(i32::MAX)
    }

    /// Shifts a node.
    fn shifted(&mut self, shift: Shift) {
        let (node, (before, after)) = (shift.node as usize, self.turns(shift));
        self.own[node] = after as u32;
        self.coming[before - 1].take(node);
        self.coming[after - 1].put(node);
        for round in after..before {
            self.join(round, node);
        }
        for round in before..after {
            let row = round * self.count;
            for receiver in 0..self.count {
                if self.costs[self.tables[round] + node * self.count + receiver] == self.least[row + receiver]
                {
                    self.least[row + receiver] = self.without(round, receiver, node);
                }
            }
            self.having[round].take(node);
        }
    }

    /// Notes that a node has the chunk before a round.
    fn join(&mut self, round: usize, node: usize) {
        self.having[round].put(node);
        let row = round * self.count;
        let sent = &self.costs[self.tables[round] + node * self.count..][..self.count];
        for (least, &sent) in self.least[row..row + self.count].iter_mut().zip(sent) {
            *least = sent.min(*least);
        }
    }
}

/// Some of all nodes.
#[derive(Clone)]
struct Members {
    nodes: Vec<u32>,
    /// By node where it is among these.
    places: Vec<u32>,
}

impl Members {
    fn none_of(count: usize) -> Self {
        Self { nodes: Vec::new(), places: vec![0; count] }
    }

    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.nodes.iter().map(|&node| node as usize)
    }

    fn put(&mut self, node: usize) {
        self.places[node] = self.nodes.len() as u32;
        self.nodes.push(node as u32);
    }

    fn take(&mut self, node: usize) {
        let place = self.places[node];
        self.nodes.swap_remove(place as usize);
        if let Some(&other) = self.nodes.get(place as usize) {
            self.places[other as usize] = place;
        }
    }
}
