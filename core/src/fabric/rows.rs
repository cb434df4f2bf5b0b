/// Numbers in rows, one row after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    first: Vec<u32>,
    numbers: Vec<u32>,
}

impl Rows {
    /// Numbers from 0 on by the row of each; they ascend in every row.
    pub(super) fn new(count: usize, rows: impl Iterator<Item = u32> + Clone) -> Self {
        let mut first = vec![0_u32; count + 1];
        rows.clone().for_each(|row| first[row as usize + 1] += 1);
        (0..count).for_each(|row| first[row + 1] += first[row]);
        let (mut next, mut numbers) = (first.clone(), vec![0; first[count] as usize]);
        for (number, row) in (0..).zip(rows) {
            numbers[next[row as usize] as usize] = number;
            next[row as usize] += 1;
        }
        Self { first, numbers }
    }

    #[inline]
    pub(super) fn row(&self, row: u32) -> &[u32] {
        &self.numbers[self.first[row as usize] as usize..self.first[row as usize + 1] as usize]
    }
}
