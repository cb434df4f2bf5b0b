use super::{Events, Flit, Probe, SavedProbe};
use crate::{
    fabric::LinkId,
    save::{Archive, SaveError},
};

/// A link that carries nothing and has nothing to carry.
pub const IDLE: u8 = 0;
/// A link that carries nothing because the buffers behind it are full.
pub const BLOCKED: u8 = 255;

/// What every link did in every cycle: the record behind the link-time charts of cup-stacking-2022,
/// Fig. 2 and cup-stacking-extended-2023, Fig. 6.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTime {
    links: usize,
    cells: Vec<u8>,
    full: bool,
}

impl LinkTime {
    /// Largest number of cells.
    pub const MAX_CELLS: usize = 1 << 27;

    /// An empty record for `links` links.
    pub fn new(links: usize) -> Self {
        Self { links, cells: Vec::new(), full: false }
    }

    /// Whether something is missing, since the record would have had more than
    /// [`MAX_CELLS`](Self::MAX_CELLS) cells.
    ///
    /// ```
    /// use flitloom_core::probe::{Flit, LinkTime, Probe};
    /// let mut record = LinkTime::new(4);
    /// let flit = Flit { source: 0, number: 0, start: 0, slice: 0, head: true, tail: true };
    /// record.flit_crosses(1 << 40, 0, 0, flit);
    /// assert!(record.is_full() && record.cells().is_empty());
    /// ```
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Number of links, the length of a row.
    pub fn links(&self) -> usize {
        self.links
    }

    /// Rows of one cycle each, cycle 0 first: [`IDLE`], [`BLOCKED`], or 1 plus the slice (slices
    /// beyond 253 share the last number).
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }

    fn set(&mut self, cycle: u64, link: LinkId, value: u8) {
        let row = (cycle as usize).saturating_mul(self.links);
        if row.saturating_add(self.links) > Self::MAX_CELLS {
            self.full = true;
            return;
        }
        if self.cells.len() < row + self.links {
            self.cells.resize(row + self.links, IDLE);
        }
        self.cells[row + link as usize] = value;
    }
}

impl SavedProbe for LinkTime {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { links, cells, full } = self;
        archive.list("cells of links", cells)?;
        archive.flag("cells that are missing", full)?;
        let left = if *links == 0 { cells.len() } else { cells.len() % *links };
        if left > 0 {
            Err(SaveError::Value { field: "cells of links", value: cells.len() as u64 })
        } else {
            Ok(())
        }
    }
}

impl Probe for LinkTime {
    fn wants(&self) -> Events {
        Events { blocked: true, ..Events::FLITS }
    }

    fn flit_crosses(&mut self, cycle: u64, link: LinkId, _channel: u8, flit: Flit) {
        self.set(cycle, link, 1 + flit.slice.min(253) as u8);
    }

    fn link_blocked(&mut self, cycle: u64, link: LinkId) {
        self.set(cycle, link, BLOCKED);
    }
}
