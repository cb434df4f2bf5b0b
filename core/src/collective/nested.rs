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
            sets.taken_back();
            continue;
        }
        sets.kept();
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
    own: Vec<u32>,
    /// By round and node 0 if it has the chunk before, else what is above all costs.
    lacks: Vec<i32>,
    /// By round and receiver the least cost.
    least: Vec<i32>,
    /// The same of the rounds that a shift changes.
    fresh: Vec<i32>,
    /// The node that was shifted, its round before and after.
    shifted: (usize, usize, usize),
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
        let lacks: Vec<i32> = (0..rounds as u32)
            .flat_map(|round| own.iter().map(move |&when| if when <= round { 0 } else { i32::MAX }))
            .collect();
        let least: Vec<i32> = (0..rounds * count)
            .map(|place| cheapest(&from[place * count..][..count], &lacks[place / count * count..][..count]))
            .collect();
        Self { count, costs, from, own: own.to_vec(), lacks, fresh: least.clone(), least, shifted: (0, 0, 0) }
    }

    /// Shifts a node; what all cost more, then.
    fn tried(&mut self, shift: Shift) -> i64 {
        let (count, node) = (self.count, shift.node as usize);
        let before = self.own[node] as usize;
        let after = shift.other as usize + usize::from(shift.other as usize >= before);
        self.shifted = (node, before, after);
        // Its own cost is counted apart.
        self.own[node] = 0;
        let mut change = 0;
        for round in before.min(after)..before.max(after) {
            let row = round * count..(round + 1) * count;
            let (least, fresh) = (&self.least[row.clone()], &mut self.fresh[row.clone()]);
            let sent = &self.costs[(row.start + node) * count..][..count];
            if after < before {
                for ((fresh, &least), &sent) in fresh.iter_mut().zip(least).zip(sent) {
                    *fresh = least.min(sent);
                }
            } else {
                self.lacks[row.start + node] = i32::MAX;
                let lacks = &self.lacks[row.clone()];
                for (receiver, (&least, &sent)) in least.iter().zip(sent).enumerate() {
                    let table = &self.from[(row.start + receiver) * count..][..count];
                    fresh[receiver] = if least == sent { cheapest(table, lacks) } else { least };
                }
            }
            let own = self.own.iter().zip(least.iter().zip(&*fresh));
            change += own
                .map(|(&own, (&least, &fresh))| if own as usize == round + 1 { fresh - least } else { 0 })
                .map(i64::from)
                .sum::<i64>();
        }
        self.own[node] = after as u32;
        let rows = if after > before { &self.fresh } else { &self.least };
        let cost = |rows: &[i32], round: usize| i64::from(rows[(round - 1) * count + node]);
        change + cost(rows, after) - cost(&self.least, before)
    }

    /// Leaves the node where it was shifted to.
    fn kept(&mut self) {
        let (node, before, after) = self.shifted;
        let rows = before.min(after) * self.count..before.max(after) * self.count;
        self.least[rows.clone()].copy_from_slice(&self.fresh[rows.clone()]);
        if after < before {
            for row in self.lacks[rows].chunks_mut(self.count) {
                row[node] = 0;
            }
        }
    }

    /// Shifts the node back.
    fn taken_back(&mut self) {
        let (node, before, after) = self.shifted;
        self.own[node] = before as u32;
        if after > before {
            for row in self.lacks[before * self.count..after * self.count].chunks_mut(self.count) {
                row[node] = 0;
            }
        }
    }
}

/// The least cost from a node that has the chunk.
fn cheapest(costs: &[i32], lacks: &[i32]) -> i32 {
    costs.iter().zip(lacks).map(|(cost, lack)| cost | lack).min().unwrap_or(i32::MAX)
}
