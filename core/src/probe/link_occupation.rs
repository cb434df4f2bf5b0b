use super::{Flit, Probe, SavedProbe};
use crate::{
    fabric::LinkId,
    save::{Archive, SaveError},
};

/// First and last cycle in which flits cross each link, and how many do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOccupation {
    /// First cycle per link; `u64::MAX` for a link never used.
    pub first: Vec<u64>,
    /// Last cycle per link; 0 for a link never used.
    pub last: Vec<u64>,
    /// Flits per link.
    pub flits: Vec<u64>,
}

impl LinkOccupation {
    /// A record for `links` links.
    pub fn new(links: usize) -> Self {
        Self { first: vec![u64::MAX; links], last: vec![0; links], flits: vec![0; links] }
    }

    /// A flit crosses a link.
    pub(crate) fn add(&mut self, link: usize, cycle: u64) {
        self.first[link] = self.first[link].min(cycle);
        self.last[link] = cycle;
        self.flits[link] += 1;
    }

    /// Occupation `O_k` of a link: cycles from the first to the last flit, both included
    /// (cup-stacking-2022, 4.3); 0 for a link never used.
    pub fn occupation(&self, link: usize) -> u64 {
        if self.flits[link] == 0 { 0 } else { self.last[link] - self.first[link] + 1 }
    }

    /// Effective thickness `T_e`, as the cup-stacking papers define it: the largest occupation of any link.
    pub fn effective_thickness(&self) -> u64 {
        (0..self.flits.len()).map(|link| self.occupation(link)).max().unwrap_or(0)
    }

    /// Effective thickness `T_e`, as the cup-stacking papers print it: the span of the network, cycles from
    /// the first flit over any link to the last one over any link, the first not included; 0 if no link is used.
    ///
    /// ```
    /// use flitloom_core::probe::LinkOccupation;
    /// let mut seen = LinkOccupation::new(3);
    /// (seen.first[0], seen.last[0], seen.flits[0]) = (2, 9, 8);
    /// (seen.first[2], seen.last[2], seen.flits[2]) = (5, 12, 8);
    /// assert_eq!((seen.effective_thickness(), seen.span()), (8, 10));
    /// ```
    pub fn span(&self) -> u64 {
        let used = (0..self.flits.len()).filter(|&link| self.flits[link] > 0);
        let (first, last) = used.fold((u64::MAX, 0), |(first, last), link| {
            (first.min(self.first[link]), last.max(self.last[link]))
        });
        last.saturating_sub(first)
    }

    /// The cycle after the one in which the last flit crossed a link; 0 if none did.
    ///
    /// ```
    /// use flitloom_core::probe::LinkOccupation;
    /// let mut seen = LinkOccupation::new(2);
    /// assert_eq!(seen.end(), 0);
    /// (seen.first[1], seen.last[1], seen.flits[1]) = (2, 9, 8);
    /// assert_eq!(seen.end(), 10);
    /// ```
    pub fn end(&self) -> u64 {
        let ends = self.last.iter().zip(&self.flits).map(|(last, &flits)| last + flits.min(1));
        ends.max().unwrap_or(0)
    }
}

impl SavedProbe for LinkOccupation {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { first, last, flits } = self;
        archive.slice("first cycles of links", first)?;
        archive.slice("last cycles of links", last)?;
        archive.slice("flits of links", flits)
    }
}

impl Probe for LinkOccupation {
    fn flit_crosses(&mut self, cycle: u64, link: LinkId, _channel: u8, _flit: Flit) {
        let link = link as usize;
        self.first[link] = self.first[link].min(cycle);
        self.last[link] = cycle;
        self.flits[link] += 1;
    }
}
