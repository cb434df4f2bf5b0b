//! Ways around a fabric that lead back to where they began, as a lattice of whole vectors.

/// A lattice of closed ways: a triangular basis, one row per dimension, `None` where no way closes.
///
/// Row `j` begins at dimension `j` with a positive entry. A plain torus has the sizes on the diagonal
/// and nothing beside them; a twisted one has entries to the right of the diagonal.
///
/// ```
/// use flitloom_core::fabric::Lattice;
/// let mut twisted = Lattice::new(3);
/// for way in [[4, 0, 4], [0, 4, 4], [0, 0, 8]] {
///     twisted.add(&way);
/// }
/// assert_eq!(twisted.reduce(&[5, 0, 1]), [1, 0, 5]);
/// assert_eq!(twisted.volume(), Some(128));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lattice {
    rows: Vec<Option<Vec<i32>>>,
}

impl Lattice {
    /// The lattice of a mesh: nothing closes.
    pub fn new(dimensions: usize) -> Self {
        Self { rows: vec![None; dimensions] }
    }

    /// Number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.rows.len()
    }

    /// The row that begins at a dimension.
    pub fn row(&self, dimension: usize) -> Option<&[i32]> {
        self.rows[dimension].as_deref()
    }

    /// Adds a closed way.
    pub fn add(&mut self, way: &[i32]) {
        let mut way = way.to_vec();
        for dimension in 0..way.len() {
            if way[dimension] == 0 {
                continue;
            }
            let Some(mut row) = self.rows[dimension].take() else {
                if way[dimension] < 0 {
                    way.iter_mut().for_each(|entry| *entry = -*entry);
                }
                self.rows[dimension] = Some(way);
                break;
            };
            // Euclid's algorithm on the two leading entries.
            while way[dimension] != 0 {
                let times = row[dimension].div_euclid(way[dimension]);
                row.iter_mut().zip(&way).for_each(|(entry, other)| *entry -= times * other);
                std::mem::swap(&mut row, &mut way);
            }
            if row[dimension] < 0 {
                row.iter_mut().for_each(|entry| *entry = -*entry);
            }
            self.rows[dimension] = Some(row);
        }
        self.tidy();
    }

    /// The representative of a position: every coordinate with a closed way lies below its size.
    pub fn reduce(&self, position: &[i32]) -> Vec<i32> {
        let mut position = position.to_vec();
        self.reduce_from(&mut position, 0);
        position
    }

    /// Whether a vector is a closed way.
    pub fn contains(&self, way: &[i32]) -> bool {
        self.reduce(way).iter().all(|&entry| entry == 0)
    }

    /// Number of positions, if every dimension closes.
    pub fn volume(&self) -> Option<u64> {
        self.rows.iter().enumerate().try_fold(1_u64, |product, (dimension, row)| {
            Some(product.saturating_mul(row.as_ref()?[dimension] as u64))
        })
    }

    /// Whether every closed way runs along one dimension: no twist.
    pub fn is_plain(&self) -> bool {
        self.rows.iter().enumerate().all(|(dimension, row)| {
            row.as_ref().is_none_or(|row| {
                row.iter().enumerate().all(|(other, &entry)| other == dimension || entry == 0)
            })
        })
    }

    fn reduce_from(&self, position: &mut [i32], start: usize) {
        for dimension in start..position.len() {
            if let Some(row) = &self.rows[dimension] {
                let times = position[dimension].div_euclid(row[dimension]);
                position.iter_mut().zip(row).for_each(|(entry, other)| *entry -= times * other);
            }
        }
    }

    /// Makes the basis the only one of its form: entries right of the diagonal are reduced too.
    fn tidy(&mut self) {
        for dimension in (0..self.rows.len()).rev() {
            if let Some(mut row) = self.rows[dimension].take() {
                self.reduce_from(&mut row, dimension + 1);
                self.rows[dimension] = Some(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_positions_differ_by_closed_ways(
            ways in prop::collection::vec(prop::array::uniform3(-9_i32..9), 0..5),
            position in prop::array::uniform3(-50_i32..50),
            steps in prop::collection::vec(-4_i32..4, 5),
        ) {
            let mut lattice = Lattice::new(3);
            ways.iter().for_each(|way| lattice.add(way));
            let mut moved = position;
            for (way, step) in ways.iter().zip(&steps) {
                prop_assert!(lattice.contains(way));
                moved.iter_mut().zip(way).for_each(|(entry, other)| *entry += step * other);
            }
            prop_assert_eq!(lattice.reduce(&moved), lattice.reduce(&position));
        }
    }

    #[test]
    fn the_volume_is_the_determinant() {
        let mut lattice = Lattice::new(2);
        lattice.add(&[4, 2]);
        assert_eq!(lattice.volume(), None);
        lattice.add(&[1, 3]);
        assert_eq!(lattice.volume(), Some(10));
        assert!(!lattice.is_plain());
    }
}
