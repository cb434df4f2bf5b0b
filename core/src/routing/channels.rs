//! Which virtual channel a packet uses after a hop: the one place of the dateline rule.
//!
//! Every wrapping dimension of size N, or ring of N nodes in a twisted torus or of a step of a circulant, has two
//! datelines: the mid line between coordinates (there, places in the ring) `N/2 - 1`
//! and `N/2`, and the wrap line between `N - 1` and `0` (cup-stacking-extended-2023, A.1). A packet
//! that crosses one goes one channel up, on that link and after, to the last channel at most. Papers
//! differ in which lines count for whom, so that is data: [`Datelines`].

use crate::fabric::{Direction, NodeId, Shape, Sign};

/// How a packet came to the router from which it makes a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Came {
    /// From a neighbour.
    Underway,
    /// From the processor: the hop is its first.
    Injected,
}

impl Came {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Underway, Self::Injected];

    /// How a packet came whose last hop was in direction `along`, if it made any.
    pub fn of(along: Option<Direction>) -> Self {
        if along.is_some() { Self::Underway } else { Self::Injected }
    }
}

/// A dateline of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Between coordinates `N/2 - 1` and `N/2`.
    Mid,
    /// Between `N - 1` and `0`.
    Wrap,
}

impl Line {
    /// The dateline that lies below a coordinate of a wrapping dimension, between it and the one
    /// before.
    pub fn below(size: u32, upper: u32) -> Option<Self> {
        match upper {
            0 => Some(Self::Wrap),
            _ if upper == size / 2 => Some(Self::Mid),
            _ => None,
        }
    }

    /// The dateline crossed by the link that leaves `node` in `direction`. A dimension that does not
    /// wrap has none, nor has a step of a circulant that is never repeated: its channels cannot form a cycle.
    ///
    /// ```
    /// use flitloom_core::{fabric::{Direction, Shape, Sign}, routing::Line};
    /// let ring = Shape::torus(&[16])?;
    /// let plus = Direction::new(0, Sign::Plus);
    /// assert_eq!(Line::crossed(&ring, 7, plus), Some(Line::Mid));
    /// assert_eq!(Line::crossed(&ring, 15, plus), Some(Line::Wrap));
    /// assert_eq!(Line::crossed(&ring, 8, plus), None);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn crossed(shape: &Shape, node: NodeId, direction: Direction) -> Option<Self> {
        let (size, here) = shape.ring_through(node, direction)?;
        let upper = match direction.sign() {
            Sign::Plus => (here + 1) % size,
            Sign::Minus => here,
        };
        Self::below(size, upper)
    }
}

/// For which hops a packet goes one channel up: a set of [`Came`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Rises(u8);

impl Rises {
    /// For none.
    pub const NEVER: Self = Self(0);
    /// For all.
    pub const ALWAYS: Self = Self(3);
    /// For all but the first hop of a packet.
    pub const UNLESS_INJECTED: Self = Self(1);

    /// Whether a hop of a packet that came so is among them.
    #[inline(always)]
    pub const fn on(self, came: Came) -> bool {
        self.0 >> came as u8 & 1 == 1
    }

    /// Whether there are any.
    pub const fn ever(self) -> bool {
        self.0 != 0
    }

    /// Those that are in both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Which datelines count for which hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Datelines {
    /// Hops over the mid line that count.
    pub mid: Rises,
    /// Hops over the wrap line that count.
    pub wrap: Rises,
    /// Of both, those that count where they leave a node whose coordinates have an odd sum.
    pub odd: Rises,
}

impl Datelines {
    /// The readings that routers have by name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("both", Self::BOTH),
        ("wrap", Self::WRAP_ONLY),
        ("passing", Self::WRAP_UNLESS_INJECTED),
        ("checkerboard", Self::CHECKERBOARD),
    ];

    /// Both lines count for every hop (cup-stacking-extended-2023, A.1).
    pub const BOTH: Self = Self { mid: Rises::ALWAYS, wrap: Rises::ALWAYS, odd: Rises::ALWAYS };
    /// The wrap line does not count for a packet injected right before it.
    pub const WRAP_UNLESS_INJECTED: Self = Self { wrap: Rises::UNLESS_INJECTED, ..Self::BOTH };
    /// Neither line counts for a packet injected right before it at a node whose coordinates have an odd sum:
    /// the only reading that agrees with every value of the cup-stacking papers.
    pub const CHECKERBOARD: Self = Self { odd: Rises::UNLESS_INJECTED, ..Self::BOTH };
    /// Only the wrap line counts (Dally and Seitz 1987).
    pub const WRAP_ONLY: Self = Self { mid: Rises::NEVER, ..Self::BOTH };
    /// No line counts: a packet keeps its channel.
    pub const NONE: Self = Self { mid: Rises::NEVER, wrap: Rises::NEVER, odd: Rises::NEVER };

    /// The hops that count over a line, or over none.
    pub fn at(self, line: Option<Line>) -> Rises {
        match line {
            Some(Line::Mid) => self.mid,
            Some(Line::Wrap) => self.wrap,
            None => Rises::NEVER,
        }
    }
}

/// Which channel a packet uses after a hop.
///
/// ```
/// use flitloom_core::{fabric::{Direction, Shape, Sign}, routing::{ChannelRule, Datelines}};
/// let ring = Shape::torus(&[16])?;
/// let rule = ChannelRule::new(3, Datelines::BOTH);
/// let plus = Direction::new(0, Sign::Plus);
/// assert_eq!(rule.after(&ring, 0, 7, Some(plus), plus), 1);
/// assert_eq!(rule.after(&ring, 2, 15, None, plus), 2, "there is no channel above the last");
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelRule {
    channels: u8,
    datelines: Datelines,
}

impl ChannelRule {
    /// A rule for links of so many channels (at least 1).
    pub const fn new(channels: u8, datelines: Datelines) -> Self {
        Self { channels, datelines }
    }

    /// Channels per link.
    pub const fn channels(self) -> u8 {
        self.channels
    }

    /// Which datelines count.
    pub const fn datelines(self) -> Datelines {
        self.datelines
    }

    /// The hops over the link that leaves `node` in `direction` on which a packet goes up.
    pub fn rises(self, shape: &Shape, node: NodeId, direction: Direction) -> Rises {
        let rises = self.datelines.at(Line::crossed(shape, node, direction));
        // Nearly everywhere the answer is no, or does not depend on the node.
        if !rises.ever() || self.datelines.odd == Rises::ALWAYS {
            return rises;
        }
        let sum: u32 = (0..shape.dimensions()).map(|dimension| shape.coordinate(node, dimension)).sum();
        if sum % 2 == 1 { rises.and(self.datelines.odd) } else { rises }
    }

    /// The channel of a hop of a packet in `channel`, which goes up or not.
    #[inline(always)]
    pub const fn next(self, channel: u8, rises: bool) -> u8 {
        if rises && channel + 1 < self.channels { channel + 1 } else { channel }
    }

    /// The channel of the link that leaves `node` in direction `out`, for a packet in `channel` whose
    /// last hop was in direction `along`.
    pub fn after(
        self,
        shape: &Shape,
        channel: u8,
        node: NodeId,
        along: Option<Direction>,
        out: Direction,
    ) -> u8 {
        self.next(channel, self.rises(shape, node, out).on(Came::of(along)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ring written out: which links of a ring of 6 cross what.
    #[test]
    fn lines_of_a_ring_of_six() {
        let ring = Shape::torus(&[6]).unwrap();
        let [plus, minus] = [Sign::Plus, Sign::Minus].map(|sign| Direction::new(0, sign));
        let lines =
            |direction| -> Vec<_> { (0..6).map(|node| Line::crossed(&ring, node, direction)).collect() };
        let (mid, wrap) = (Some(Line::Mid), Some(Line::Wrap));
        assert_eq!(lines(plus), [None, None, mid, None, None, wrap]);
        assert_eq!(lines(minus), [wrap, None, None, mid, None, None]);
        let path = Shape::mesh(&[6]).unwrap();
        assert!((0..6).all(|node| Line::crossed(&path, node, plus).is_none()));
    }

    #[test]
    fn what_counts_depends_on_where_a_packet_came_from() {
        let torus = Shape::torus(&[4, 4]).unwrap();
        let [east, north] = [0, 2].map(Direction::from_index);
        let rule = ChannelRule::new(4, Datelines::WRAP_UNLESS_INJECTED);
        // Node 3 is at (3, 0): its way east wraps, node 1's crosses the mid line.
        assert_eq!(rule.after(&torus, 0, 3, Some(east), east), 1);
        assert_eq!(rule.after(&torus, 0, 3, Some(north), east), 1);
        assert_eq!(rule.after(&torus, 0, 3, None, east), 0);
        assert_eq!(rule.after(&torus, 0, 1, None, east), 1);
        assert_eq!(rule.after(&torus, 0, 0, None, east), 0);
        // Nodes 1, 3 and 4 = (0, 1) have odd sums, node 5 = (1, 1) an even one.
        let rule = ChannelRule::new(4, Datelines::CHECKERBOARD);
        for (node, out) in [(1, east), (3, east), (4, north)] {
            assert_eq!(rule.after(&torus, 0, node, None, out), 0);
            assert_eq!(rule.after(&torus, 0, node, Some(out), out), 1);
        }
        for (node, out) in [(5, east), (5, north), (7, east)] {
            assert_eq!(rule.after(&torus, 0, node, None, out), 1);
        }
    }
}
