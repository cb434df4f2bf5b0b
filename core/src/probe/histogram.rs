use crate::save::{Archive, SaveError};

/// How often each value occurred: exactly below 2048, and in classes of less than 0.1 % of their values
/// above (the layout of HdrHistogram, Tene 2014), so that any number of values takes little memory.
///
/// ```
/// use flitloom_core::probe::Histogram;
/// let mut ages = Histogram::default();
/// for age in [10, 10, 12, 5000] {
///     ages.add(age);
/// }
/// let classes: Vec<_> = ages.classes().filter(|&(_, count)| count > 0).collect();
/// assert_eq!(classes, [(10, 2), (12, 1), (5000, 1)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Bits of a value that are kept.
    const BITS: u32 = 11;
    /// Classes per power of two.
    const CLASSES: u64 = 1 << (Self::BITS - 1);

    /// One more value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        let class = Self::class(value);
        if class >= self.counts.len() {
            self.counts.resize((class + 1).next_power_of_two(), 0);
        }
        self.counts[class] += 1;
    }

    /// The values of another one as well.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
    }

    /// All classes up to the first one behind the largest value: their least value, and how often their
    /// values occurred.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counts = self.counts[..self.used()].iter().copied().chain([0]);
        counts.enumerate().map(|(class, count)| (Self::least(class), count))
    }

    /// Classes up to that of the largest value.
    fn used(&self) -> usize {
        self.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1)
    }

    #[inline(always)]
    fn class(value: u64) -> usize {
        let shift = (u64::BITS - value.leading_zeros()).saturating_sub(Self::BITS);
        (u64::from(shift) * Self::CLASSES + (value >> shift)) as usize
    }

    fn least(class: usize) -> u64 {
        let shift = (class as u64 / Self::CLASSES).saturating_sub(1);
        (class as u64 - shift * Self::CLASSES) << shift
    }

    /// The counts as a field.
    pub(super) fn fields(&mut self, field: &'static str, archive: &mut Archive) -> Result<(), SaveError> {
        // How much room there is beyond the largest value is no part of the state.
        self.counts.truncate(self.used());
        archive.list(field, &mut self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_class_and_classes_are_narrow() {
        for value in (0..5000).chain((12..62).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 12_345]))
        {
            let class = Histogram::class(value);
            let (least, behind) = (Histogram::least(class), Histogram::least(class + 1));
            assert!((least..behind).contains(&value), "{value}: {least} to {behind}");
            assert!(behind - least == 1 || (behind - least) * 1000 < least, "{value}");
            assert!(behind - least == 1 || value >= 2048, "{value}");
        }
    }
}
