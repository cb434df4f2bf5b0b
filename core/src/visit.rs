//! Going through what a state is made of.
//!
//! Every state takes its fields apart without `..` and shows them, one after another, to a visitor, with what they
//! belong to: to nodes, to everybody, or to the whole alone. What follows from other fields, what does not outlive
//! a cycle and what the state was made of is named and not shown. So a new field does not compile until it is
//! decided what it is; saving, restoring, dividing, putting together and counting bytes need no other list.
//!
//! ```compile_fail
//! struct Queues { flits: Vec<u64>, places: Vec<u64> }
//! fn visit(queues: &mut Queues) {
//!     let Queues { flits } = queues;
//! }
//! ```

use crate::save::{Archive, Plain, SaveError};
use std::ops::Range;

/// What a visit comes to.
pub(crate) type Visited = Result<(), SaveError>;

/// Something that changes while a network runs.
pub(crate) trait State {
    /// Shows everything that outlives a cycle and follows from nothing else.
    ///
    /// # Errors
    /// What is restored does not fit.
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited;
}

/// Planes of one bit per node, in words.
pub trait NodeBits {
    /// How many.
    fn planes(&self) -> usize;
    /// The word of a plane with the bits of 64 nodes.
    fn word_of(&mut self, plane: usize, word: usize) -> &mut u64;
    /// Words of a plane that are saved.
    fn saved_words(&self, nodes: usize) -> usize {
        nodes.div_ceil(64)
    }
}

/// A set of nodes, or nothing.
impl NodeBits for Vec<u64> {
    fn planes(&self) -> usize {
        usize::from(!self.is_empty())
    }

    fn word_of(&mut self, _plane: usize, word: usize) -> &mut u64 {
        &mut self[word]
    }
}

/// What is done with everything that a state is made of.
pub trait Visitor {
    /// Bits of nodes.
    fn bits(&mut self, field: &'static str, bits: &mut impl NodeBits) -> Visited;

    /// A number of records of nodes, as many for every node.
    fn records<R, T: Plain>(
        &mut self,
        field: &'static str,
        records: &mut [R],
        of: impl FnMut(&mut R) -> &mut T,
    ) -> Visited;

    /// Numbers of nodes, as many for every node.
    fn numbers<T: Plain>(&mut self, field: &'static str, numbers: &mut [T]) -> Visited {
        self.records(field, numbers, |number| number)
    }

    /// A list of things of which every node has so many, by their numbers.
    fn places(&mut self, field: &'static str, per_node: usize, list: &mut Vec<u32>) -> Visited;

    /// A list of cycles and nodes.
    fn timed(&mut self, fields: [&'static str; 2], list: &mut Vec<(u64, u32)>) -> Visited;

    /// What is the same wherever a part of the network is.
    fn same(&mut self, fields: impl FnOnce(&mut Archive) -> Visited) -> Visited;

    /// What is so in the whole if it is in any part.
    fn any(&mut self, field: &'static str, value: &mut bool) -> Visited;

    /// What only the whole is asked for: parts are divided and put together otherwise.
    fn whole(&mut self, fields: impl FnOnce(&mut Archive) -> Visited) -> Visited;

    /// Planes that follow from what is shown, or do not outlive a cycle: they take memory, and nothing else.
    fn follow(&mut self, _planes: &[&dyn NodeBits]) {}

    /// Whether it changes what it visits.
    fn changes(&self) -> bool;

    /// Whether it visits some of the nodes only.
    fn divides(&self) -> bool;

    /// The nodes of what is visited.
    fn nodes(&self) -> usize;
}

/// Saves and restores a network of so many nodes.
pub(crate) struct Saved<'a> {
    archive: &'a mut Archive,
    nodes: usize,
}

impl<'a> Saved<'a> {
    pub(crate) fn new(archive: &'a mut Archive, nodes: usize) -> Self {
        Self { archive, nodes }
    }
}

impl Visitor for Saved<'_> {
    fn bits(&mut self, field: &'static str, bits: &mut impl NodeBits) -> Visited {
        let words = bits.saved_words(self.nodes);
        let places: Vec<_> =
            (0..bits.planes()).flat_map(|plane| (0..words).map(move |word| (plane, word))).collect();
        let mut all: Vec<u64> = places.iter().map(|&(plane, word)| *bits.word_of(plane, word)).collect();
        self.archive.slice(field, &mut all)?;
        places.into_iter().zip(all).for_each(|((plane, word), value)| *bits.word_of(plane, word) = value);
        Ok(())
    }

    fn records<R, T: Plain>(
        &mut self,
        field: &'static str,
        records: &mut [R],
        of: impl FnMut(&mut R) -> &mut T,
    ) -> Visited {
        self.archive.fixed(field, records, of)
    }

    fn places(&mut self, field: &'static str, per_node: usize, list: &mut Vec<u32>) -> Visited {
        self.archive.list(field, list)?;
        below(field, self.nodes * per_node, list.iter().copied())
    }

    fn timed(&mut self, [cycles, nodes]: [&'static str; 2], list: &mut Vec<(u64, u32)>) -> Visited {
        self.archive.column(cycles, list, &(0, 0), |timed| &mut timed.0)?;
        self.archive.column(nodes, list, &(0, 0), |timed| &mut timed.1)?;
        below(nodes, self.nodes, list.iter().map(|timed| timed.1))
    }

    fn same(&mut self, fields: impl FnOnce(&mut Archive) -> Visited) -> Visited {
        fields(self.archive)
    }

    fn any(&mut self, field: &'static str, value: &mut bool) -> Visited {
        self.archive.flag(field, value)
    }

    fn whole(&mut self, fields: impl FnOnce(&mut Archive) -> Visited) -> Visited {
        fields(self.archive)
    }

    fn changes(&self) -> bool {
        self.archive.is_reading()
    }

    fn divides(&self) -> bool {
        false
    }

    fn nodes(&self) -> usize {
        self.nodes
    }
}

/// Every value is below a limit.
pub(crate) fn below(field: &'static str, limit: usize, mut values: impl Iterator<Item = u32>) -> Visited {
    match values.find(|&value| value as usize >= limit) {
        None => Ok(()),
        Some(value) => Err(SaveError::Value { field, value: value.into() }),
    }
}

/// Some of the nodes of a network, taken from one state or given to another, in which they may have other numbers.
struct Window {
    archive: Archive,
    nodes: Range<usize>,
    /// Nodes of the state.
    of: usize,
}

/// Copies what is known of some nodes into a state in which the first of them has another number; `all` are the
/// nodes of both.
pub(crate) fn copy_nodes<S: State>(
    to: &mut S,
    first: usize,
    from: &mut S,
    nodes: Range<usize>,
    all: [usize; 2],
) {
    let mut taken = Window { archive: Archive::writing(), nodes: nodes.clone(), of: all[1] };
    let copied = from.visit(&mut taken).and_then(|()| {
        let archive = Archive::reading(taken.archive.into_bytes());
        let mut given = Window { archive, nodes: first..first + nodes.len(), of: all[0] };
        to.visit(&mut given)?;
        given.archive.end()
    });
    // States of the same network fit each other.
    debug_assert_eq!(copied, Ok(()));
}

impl Visitor for Window {
    fn bits(&mut self, field: &'static str, bits: &mut impl NodeBits) -> Visited {
        let pieces = || self.nodes.clone().step_by(64).map(|node| (node, (self.nodes.end - node).min(64)));
        let mut all = Vec::new();
        for plane in 0..bits.planes() {
            for (node, count) in pieces() {
                let (word, shift) = (node / 64, node % 64);
                let mut value = *bits.word_of(plane, word) >> shift;
                if shift + count > 64 {
                    value |= *bits.word_of(plane, word + 1) << (64 - shift);
                }
                all.push(value & u64::MAX >> (64 - count));
            }
        }
        self.archive.slice(field, &mut all)?;
        if !self.archive.is_reading() {
            return Ok(());
        }
        let mut all = all.into_iter();
        for plane in 0..bits.planes() {
            for ((node, count), value) in pieces().zip(&mut all) {
                let (word, shift) = (node / 64, node % 64);
                let mask = u64::MAX >> (64 - count);
                let low = bits.word_of(plane, word);
                *low = *low & !(mask << shift) | value << shift;
                if shift + count > 64 {
                    let high = bits.word_of(plane, word + 1);
                    *high = *high & !(mask >> (64 - shift)) | value >> (64 - shift);
                }
            }
        }
        Ok(())
    }

    fn records<R, T: Plain>(
        &mut self,
        field: &'static str,
        records: &mut [R],
        of: impl FnMut(&mut R) -> &mut T,
    ) -> Visited {
        let each = records.len() / self.of;
        self.archive.fixed(field, &mut records[self.nodes.start * each..self.nodes.end * each], of)
    }

    fn places(&mut self, field: &'static str, per_node: usize, list: &mut Vec<u32>) -> Visited {
        let first = (self.nodes.start * per_node) as u32;
        let mut some: Vec<u32> = Vec::new();
        if !self.archive.is_reading() {
            let end = (self.nodes.end * per_node) as u32;
            some.extend(list.iter().filter(|&place| (first..end).contains(place)).map(|place| place - first));
        }
        self.archive.list(field, &mut some)?;
        if self.archive.is_reading() {
            list.extend(some.into_iter().map(|place| first + place));
        }
        Ok(())
    }

    fn timed(&mut self, [cycles, nodes]: [&'static str; 2], list: &mut Vec<(u64, u32)>) -> Visited {
        let (first, end) = (self.nodes.start as u32, self.nodes.end as u32);
        let mut some = Vec::new();
        if !self.archive.is_reading() {
            let here = list.iter().filter(|(_, node)| (first..end).contains(node));
            some.extend(here.map(|&(cycle, node)| (cycle, node - first)));
        }
        self.archive.column(cycles, &mut some, &(0, 0), |timed| &mut timed.0)?;
        self.archive.column(nodes, &mut some, &(0, 0), |timed| &mut timed.1)?;
        if self.archive.is_reading() {
            list.extend(some.into_iter().map(|(cycle, node)| (cycle, first + node)));
        }
        Ok(())
    }

    fn same(&mut self, fields: impl FnOnce(&mut Archive) -> Visited) -> Visited {
        fields(&mut self.archive)
    }

    fn any(&mut self, field: &'static str, value: &mut bool) -> Visited {
        let own = *value;
        self.archive.flag(field, value)?;
        *value |= own;
        Ok(())
    }

    fn whole(&mut self, _fields: impl FnOnce(&mut Archive) -> Visited) -> Visited {
        Ok(())
    }

    fn changes(&self) -> bool {
        self.archive.is_reading()
    }

    fn divides(&self) -> bool {
        true
    }

    fn nodes(&self) -> usize {
        self.of
    }
}

/// Counts the bytes that a state of so many nodes takes.
pub(crate) struct Bytes {
    pub bytes: u64,
    pub nodes: usize,
}

impl Visitor for Bytes {
    fn bits(&mut self, _field: &'static str, bits: &mut impl NodeBits) -> Visited {
        self.follow(&[bits]);
        Ok(())
    }

    fn follow(&mut self, planes: &[&dyn NodeBits]) {
        let count: usize = planes.iter().map(|planes| planes.planes()).sum();
        self.bytes += (count * self.nodes).div_ceil(8) as u64;
    }

    fn records<R, T: Plain>(
        &mut self,
        _field: &'static str,
        records: &mut [R],
        _of: impl FnMut(&mut R) -> &mut T,
    ) -> Visited {
        self.bytes += (records.len() * T::BYTES) as u64;
        Ok(())
    }

    fn places(&mut self, _field: &'static str, _per_node: usize, list: &mut Vec<u32>) -> Visited {
        self.bytes += 4 * list.len() as u64;
        Ok(())
    }

    fn timed(&mut self, _fields: [&'static str; 2], list: &mut Vec<(u64, u32)>) -> Visited {
        self.bytes += 12 * list.len() as u64;
        Ok(())
    }

    fn same(&mut self, _fields: impl FnOnce(&mut Archive) -> Visited) -> Visited {
        Ok(())
    }

    fn any(&mut self, _field: &'static str, _value: &mut bool) -> Visited {
        Ok(())
    }

    fn whole(&mut self, fields: impl FnOnce(&mut Archive) -> Visited) -> Visited {
        let mut archive = Archive::writing();
        fields(&mut archive)?;
        self.bytes += archive.into_bytes().len() as u64;
        Ok(())
    }

    fn changes(&self) -> bool {
        false
    }

    fn divides(&self) -> bool {
        false
    }

    fn nodes(&self) -> usize {
        self.nodes
    }
}
