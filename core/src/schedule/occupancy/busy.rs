/// The busy cycles of every resource, one bit per cycle.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    rows: Vec<Vec<u64>>,
    /// Starts in whose way something is, of the last question.
    blocked: Vec<u64>,
}

impl Busy {
    pub(super) fn new(resources: usize) -> Self {
        Self { rows: vec![Vec::new(); resources], blocked: Vec::new() }
    }

    /// Marks `[from, from + length)` of a resource as busy, or as free again.
    pub(super) fn set(&mut self, resource: u32, from: u32, length: u32, busy: bool) {
        let row = &mut self.rows[resource as usize];
        let (from, end) = (from as usize, (from + length) as usize);
        // Rows grow as needed: most resources of a large network with little traffic stay empty.
        if row.len() <= end / 64 {
            row.resize(end / 64 + 1, 0);
        }
        change(&mut row[from / 64..=end / 64], from % 64, end - from, busy);
    }

    /// A bit for every start up to `last` (and arbitrary ones beyond) at which something that holds
    /// the resources `uses` (with offsets) for `length` cycles each would be in the way of another
    /// than itself, which is there already if it has a start `own`.
    pub(super) fn blocked(
        &mut self,
        uses: &[crate::schedule::Use],
        length: u32,
        last: u32,
        own: Option<u32>,
    ) -> &[u64] {
        let words = (last.max(own.unwrap_or(0)) + length) as usize / 64 + 1;
        self.blocked.clear();
        self.blocked.resize(words, 0);
        for held in uses {
            let (skip, shift) = (held.offset as usize / 64, held.offset % 64);
            let Some(row) = self.rows[held.resource as usize].get(skip..) else { continue };
            if shift == 0 {
                for (blocked, word) in self.blocked.iter_mut().zip(row) {
                    *blocked |= word;
                }
            } else {
                for (blocked, word) in self.blocked.iter_mut().zip(row) {
                    *blocked |= word >> shift;
                }
                for (blocked, word) in self.blocked.iter_mut().zip(row.get(1..).unwrap_or(&[])) {
                    *blocked |= word << (64 - shift);
                }
            }
        }
        if let Some(own) = own {
            // What it holds itself lies there for every use alike, and nothing else does.
            let (from, end) = (own as usize, (own + length) as usize);
            change(&mut self.blocked[from / 64..=end / 64], from % 64, end - from, false);
        }
        // A start is blocked by a busy cycle within its length: widen in doubling steps.
        let mut width = 1;
        while width < length {
            let step = width.min(length - width);
            let (skip, shift) = (step as usize / 64, step % 64);
            for index in 0..words.saturating_sub(skip) {
                let mut moved = self.blocked[index + skip] >> shift;
                if shift > 0 && index + skip + 1 < words {
                    moved |= self.blocked[index + skip + 1] << (64 - shift);
                }
                self.blocked[index] |= moved;
            }
            width += step;
        }
        &self.blocked
    }
}

/// Sets or clears `length` bits from bit `from` of the first word on.
fn change(words: &mut [u64], from: usize, length: usize, set: bool) {
    let mut at = from;
    let end = from + length;
    while at < end {
        let (word, bit) = (at / 64, at % 64);
        let count = (64 - bit).min(end - at);
        let mask = (u64::MAX >> (64 - count)) << bit;
        words[word] = if set { words[word] | mask } else { words[word] & !mask };
        at += count;
    }
}
