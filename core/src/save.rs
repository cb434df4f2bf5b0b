//! Writing a simulation down and taking it up again.
//!
//! Every part of a state says once, in a function `fields`, what it is made of; the same function
//! saves and restores. State that belongs to nodes is written in the order of the nodes, so that it
//! does not depend on vectors or on how the network is divided.

use crate::fault::Fault;

/// What can be wrong with a saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveError {
    /// The bytes end early or go on too long.
    Short {
        /// The field that is missing.
        field: &'static str,
    },
    /// Another field stands there.
    Field {
        /// The field that should come.
        field: &'static str,
        /// What comes.
        found: String,
    },
    /// A list of another length.
    Length {
        /// The field.
        field: &'static str,
        /// Entries there.
        given: u64,
        /// Entries needed.
        needed: u64,
    },
    /// A value that cannot be.
    Value {
        /// The field.
        field: &'static str,
        /// The value there.
        value: u64,
    },
    /// The bytes go on after the last field.
    Long(usize),
}

crate::fault::displays_fault!(SaveError);

impl SaveError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let (problem, advice) = match self {
            Self::Short { field } => (
                format!("field {field}: the saved state ends there"),
                "the file is cut off or of another simulation",
            ),
            Self::Field { field, found } => (
                format!("field {field} is expected, {found} stands there"),
                "the file is of another version or simulation",
            ),
            Self::Length { field, given, needed } => {
                (format!("field {field} has {given} entries, this simulation {needed}"), "")
            }
            Self::Value { field, value } => {
                (format!("field {field}: {value} is out of range"), "the file is damaged")
            }
            Self::Long(bytes) => {
                (format!("{bytes} bytes follow the last field"), "the file is of another simulation")
            }
        };
        Fault::somewhere(problem, advice)
    }
}

/// A number, or a record of numbers, with a fixed form in bytes.
pub trait Plain: Copy {
    /// Bytes it takes.
    const BYTES: usize;
    /// Appends its bytes, the lowest first.
    fn put(self, bytes: &mut Vec<u8>);
    /// The number of as many bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($type:ty),+) => {
        $(impl Plain for $type {
            const BYTES: usize = size_of::<$type>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        })+
    };
}
plain!(u8, u16, u32, u64, u128, i16, i32, i64, f64);

/// Saved as 64 bits.
impl Plain for usize {
    const BYTES: usize = 8;

    fn put(self, bytes: &mut Vec<u8>) {
        (self as u64).put(bytes);
    }

    fn get(bytes: &[u8]) -> Self {
        u64::get(bytes) as Self
    }
}

impl Plain for bool {
    const BYTES: usize = 1;

    fn put(self, bytes: &mut Vec<u8>) {
        u8::from(self).put(bytes);
    }

    fn get(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

impl<T: Plain> Plain for Option<T> {
    const BYTES: usize = 1 + T::BYTES;

    fn put(self, bytes: &mut Vec<u8>) {
        self.is_some().put(bytes);
        match self {
            Some(value) => value.put(bytes),
            None => bytes.resize(bytes.len() + T::BYTES, 0),
        }
    }

    fn get(bytes: &[u8]) -> Self {
        bool::get(&bytes[..1]).then(|| T::get(&bytes[1..]))
    }
}

impl<T: Plain, const N: usize> Plain for [T; N] {
    const BYTES: usize = N * T::BYTES;

    fn put(self, bytes: &mut Vec<u8>) {
        self.into_iter().for_each(|value| value.put(bytes));
    }

    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|at| T::get(&bytes[at * T::BYTES..][..T::BYTES]))
    }
}

macro_rules! plain_tuple {
    ($($name:ident: $type:ident),+) => {
        impl<$($type: Plain),+> Plain for ($($type,)+) {
            const BYTES: usize = 0 $(+ $type::BYTES)+;

            fn put(self, bytes: &mut Vec<u8>) {
                let ($($name,)+) = self;
                $($name.put(bytes);)+
            }

            fn get(bytes: &[u8]) -> Self {
                let mut left = bytes;
                $(let $name = take_plain(&mut left);)+
                ($($name,)+)
            }
        }
    };
}
plain_tuple!(a: A, b: B);
plain_tuple!(a: A, b: B, c: C);

/// What the first bytes stand for, which are left out then.
pub(crate) fn take_plain<T: Plain>(bytes: &mut &[u8]) -> T {
    let (own, rest) = bytes.split_at(T::BYTES);
    *bytes = rest;
    T::get(own)
}

/// Makes a record of numbers one that is saved as such; all of its fields are named, so that a new one is not forgotten.
macro_rules! plain_record {
    ($record:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        impl $crate::save::Plain for $record {
            const BYTES: usize = 0 $(+ <$type as $crate::save::Plain>::BYTES)+;

            fn put(self, bytes: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::save::Plain::put($field, bytes);)+
            }

            fn get(bytes: &[u8]) -> Self {
                let mut left = bytes;
                $(let $field: $type = $crate::save::take_plain(&mut left);)+
                Self { $($field),+ }
            }
        }
    };
}
pub(crate) use plain_record;

/// A saved state being written or read.
///
/// ```
/// use flitloom_core::save::Archive;
/// let (mut cycle, mut flits) = (7_u64, vec![1_u16, 2, 3]);
/// let mut archive = Archive::writing();
/// archive.number("cycle", &mut cycle)?;
/// archive.slice("flits", &mut flits)?;
/// let mut archive = Archive::reading(archive.into_bytes());
/// let (mut other_cycle, mut other_flits) = (0_u64, vec![0_u16; 3]);
/// archive.number("cycle", &mut other_cycle)?;
/// archive.slice("flits", &mut other_flits)?;
/// archive.end()?;
/// assert_eq!((other_cycle, other_flits), (cycle, flits));
/// # Ok::<(), flitloom_core::save::SaveError>(())
/// ```
#[derive(Debug)]
pub struct Archive {
    bytes: Vec<u8>,
    /// Where reading goes on; `None` while writing.
    at: Option<usize>,
}

impl Archive {
    /// An empty one, to be written.
    pub fn writing() -> Self {
        Self { bytes: Vec::new(), at: None }
    }

    /// The bytes that something writes.
    ///
    /// ```
    /// use flitloom_core::save::Archive;
    ///
    /// let bytes = Archive::written(|archive| archive.number("cycles", &mut 7_u8));
    /// let mut cycles = 0_u8;
    /// Archive::reading(bytes).number("cycles", &mut cycles)?;
    /// assert_eq!(cycles, 7);
    /// # Ok::<(), flitloom_core::save::SaveError>(())
    /// ```
    pub fn written(write: impl FnOnce(&mut Self) -> Result<(), SaveError>) -> Vec<u8> {
        let mut archive = Self::writing();
        // Nothing can go wrong while writing.
        let written = write(&mut archive);
        debug_assert_eq!(written, Ok(()));
        archive.into_bytes()
    }

    /// A written one, to be read.
    pub fn reading(bytes: Vec<u8>) -> Self {
        Self { bytes, at: Some(0) }
    }

    /// Whether fields are taken from it.
    pub fn is_reading(&self) -> bool {
        self.at.is_some()
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Nothing may be left to read.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn end(&self) -> Result<(), SaveError> {
        match self.at.map(|at| self.bytes.len() - at) {
            None | Some(0) => Ok(()),
            Some(left) => Err(SaveError::Long(left)),
        }
    }

    fn take(&mut self, field: &'static str, count: usize) -> Result<&[u8], SaveError> {
        let at = self.at.unwrap_or(0);
        let end = at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(SaveError::Short { field })?;
        self.at = Some(end);
        Ok(&self.bytes[at..end])
    }

    /// The name and the number of entries that head every field.
    fn head(&mut self, field: &'static str, entries: usize) -> Result<usize, SaveError> {
        if self.at.is_none() {
            self.bytes.push(field.len() as u8);
            self.bytes.extend_from_slice(field.as_bytes());
            (entries as u64).put(&mut self.bytes);
            return Ok(entries);
        }
        let length = self.take(field, 1)?[0].into();
        let found = String::from_utf8_lossy(self.take(field, length)?).into_owned();
        if found != field {
            return Err(SaveError::Field { field, found });
        }
        let given = u64::get(self.take(field, 8)?);
        usize::try_from(given).map_err(|_| SaveError::Value { field, value: given })
    }

    /// One number.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn number<T: Plain>(&mut self, field: &'static str, value: &mut T) -> Result<(), SaveError> {
        self.slice(field, std::slice::from_mut(value))
    }

    /// Whether something is so.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn flag(&mut self, field: &'static str, value: &mut bool) -> Result<(), SaveError> {
        let mut number = u8::from(*value);
        self.number(field, &mut number)?;
        *value = number == 1;
        if number > 1 { Err(SaveError::Value { field, value: number.into() }) } else { Ok(()) }
    }

    /// A number or nothing.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn option<T: Plain>(&mut self, field: &'static str, value: &mut Option<T>) -> Result<(), SaveError> {
        let mut list: Vec<T> = value.iter().copied().collect();
        self.list(field, &mut list)?;
        let given = list.len() as u64;
        *value = list.pop();
        if given > 1 { Err(SaveError::Length { field, given, needed: 1 }) } else { Ok(()) }
    }

    /// As many numbers as there are places.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn slice<T: Plain>(&mut self, field: &'static str, values: &mut [T]) -> Result<(), SaveError> {
        let given = self.head(field, values.len())?;
        if given != values.len() {
            let (given, needed) = (given as u64, values.len() as u64);
            return Err(SaveError::Length { field, given, needed });
        }
        if self.at.is_none() {
            values.iter().for_each(|value| value.put(&mut self.bytes));
        } else {
            let taken = self.take(field, values.len() * T::BYTES)?;
            for (value, bytes) in values.iter_mut().zip(taken.chunks_exact(T::BYTES)) {
                *value = T::get(bytes);
            }
        }
        Ok(())
    }

    /// A list of any length.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn list<T: Plain>(&mut self, field: &'static str, values: &mut Vec<T>) -> Result<(), SaveError> {
        let given = self.head(field, values.len())?;
        if self.at.is_none() {
            values.iter().for_each(|value| value.put(&mut self.bytes));
        } else {
            let bytes = given.checked_mul(T::BYTES).ok_or(SaveError::Short { field })?;
            let taken = self.take(field, bytes)?;
            *values = taken.chunks_exact(T::BYTES).map(T::get).collect();
        }
        Ok(())
    }

    /// As many lists as there are places, each of any length.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn lists<'a, T: Plain, L>(
        &mut self,
        field: &'static str,
        lists: impl IntoIterator<Item = &'a mut L>,
    ) -> Result<(), SaveError>
    where
        L: Default + IntoIterator<Item = T> + FromIterator<T> + 'a,
    {
        let lists: Vec<&mut L> = lists.into_iter().collect();
        let mut all: Vec<T> = Vec::new();
        let mut lengths = Vec::with_capacity(lists.len());
        let (mut places, reads) = (lists, self.is_reading());
        for list in &mut places {
            let before = all.len();
            if !reads {
                all.extend(std::mem::take(*list));
            }
            lengths.push((all.len() - before) as u64);
        }
        self.slice(field, &mut lengths)?;
        self.list(field, &mut all)?;
        let (given, needed) =
            (all.len() as u64, lengths.iter().fold(0u64, |sum, &one| sum.saturating_add(one)));
        if given != needed {
            return Err(SaveError::Length { field, given, needed });
        }
        let mut all = all.into_iter();
        for (list, length) in places.into_iter().zip(lengths) {
            *list = all.by_ref().take(length as usize).collect();
        }
        Ok(())
    }

    /// As many records as there are places, as columns, one call per field.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn fixed<R, T: Plain>(
        &mut self,
        field: &'static str,
        records: &mut [R],
        mut of: impl FnMut(&mut R) -> &mut T,
    ) -> Result<(), SaveError> {
        let mut values: Vec<T> = records.iter_mut().map(|record| *of(record)).collect();
        self.slice(field, &mut values)?;
        records.iter_mut().zip(values).for_each(|(record, value)| *of(record) = value);
        Ok(())
    }

    /// A list of records as columns, one call per field; every record read begins as `empty`.
    ///
    /// # Errors
    /// What is read is something else.
    pub fn column<R: Clone, T: Plain>(
        &mut self,
        field: &'static str,
        records: &mut Vec<R>,
        empty: &R,
        mut of: impl FnMut(&mut R) -> &mut T,
    ) -> Result<(), SaveError> {
        let mut values: Vec<T> = records.iter_mut().map(|record| *of(record)).collect();
        self.list(field, &mut values)?;
        records.resize(values.len(), empty.clone());
        records.iter_mut().zip(values).for_each(|(record, value)| *of(record) = value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut archive = Archive::writing();
        let (mut number, mut list, mut nothing) = (7_u32, vec![1_u64, 2, u64::MAX], None::<u16>);
        archive.number("number", &mut number).unwrap();
        archive.list("list", &mut list).unwrap();
        archive.option("nothing", &mut nothing).unwrap();
        let bytes = archive.into_bytes();
        let mut archive = Archive::reading(bytes.clone());
        let (mut other, mut others, mut something) = (0_u32, Vec::new(), Some(3));
        archive.number("number", &mut other).unwrap();
        archive.list("list", &mut others).unwrap();
        archive.option("nothing", &mut something).unwrap();
        assert_eq!((other, others, something), (number, list, nothing));
        assert_eq!(archive.end(), Ok(()));
        for length in 0..bytes.len() {
            let mut archive = Archive::reading(bytes[..length].to_vec());
            let read = archive.number("number", &mut number);
            let read = read.and_then(|()| archive.list("list", &mut vec![0_u64]));
            let read = read.and_then(|()| archive.option("nothing", &mut something));
            assert!(matches!(read, Err(SaveError::Short { .. })), "{length}");
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Record {
        signed: i32,
        maybe: Option<(u16, bool)>,
        some: [u8; 2],
        fraction: f64,
        size: usize,
    }
    plain_record!(Record { signed: i32, maybe: Option<(u16, bool)>, some: [u8; 2], fraction: f64, size: usize });

    #[test]
    fn records_and_lists_of_lists_are_read_as_they_were_written() {
        let one = Record { signed: -3, maybe: Some((7, true)), some: [1, 2], fraction: 0.25, size: 1 << 40 };
        let mut lists = [vec![one, Record { maybe: None, ..one }], vec![], vec![one]];
        let before = lists.clone();
        let mut archive = Archive::writing();
        archive.lists("records", &mut lists).unwrap();
        assert_eq!(lists, before);
        let bytes = archive.into_bytes();
        let mut read: [Vec<Record>; 3] = Default::default();
        Archive::reading(bytes.clone()).lists("records", &mut read).unwrap();
        assert_eq!(read, before);
        let mut fewer: [Vec<Record>; 2] = Default::default();
        let wrong = Archive::reading(bytes).lists("records", &mut fewer);
        assert_eq!(wrong, Err(SaveError::Length { field: "records", given: 3, needed: 2 }));
    }

    #[test]
    fn another_field_is_named() {
        let mut archive = Archive::writing();
        archive.slice("owners", &mut [1_u8, 2]).unwrap();
        let bytes = archive.into_bytes();
        let wrong = Archive::reading(bytes.clone()).slice("queues", &mut [0_u8; 2]);
        assert_eq!(wrong, Err(SaveError::Field { field: "queues", found: "owners".into() }));
        let wrong = Archive::reading(bytes).slice("owners", &mut [0_u8; 3]);
        assert_eq!(wrong, Err(SaveError::Length { field: "owners", given: 2, needed: 3 }));
    }
}
