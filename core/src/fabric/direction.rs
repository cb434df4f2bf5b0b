use std::fmt;

/// Sign of a direction along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// Towards higher coordinates.
    Plus,
    /// Towards lower coordinates.
    Minus,
}

/// One of the `2 * dimensions` directions a link can have; in a product with full meshes or circulants more, whose dimensions
/// the [`Shape`](super::Shape) knows.
///
/// ```
/// use flitloom_core::fabric::{Direction, Sign};
/// let west = Direction::new(0, Sign::Minus);
/// assert_eq!(west.to_string(), "-x");
/// assert_eq!(west.opposite().to_string(), "+x");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Direction(u8);

impl Direction {
    /// The direction along `dimension` with the given sign.
    #[inline]
    pub const fn new(dimension: usize, sign: Sign) -> Self {
        Self((2 * dimension + matches!(sign, Sign::Minus) as usize) as u8)
    }

    /// The direction with the given [`index`](Self::index).
    #[inline]
    pub const fn from_index(index: usize) -> Self {
        Self(index as u8)
    }

    /// `2 * dimension`, plus one for the minus sign.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The dimension it runs along, in a torus or mesh ([`Shape::dimension_of`](super::Shape::dimension_of) in
    /// any shape).
    #[inline]
    pub const fn dimension(self) -> usize {
        self.0 as usize / 2
    }

    /// Its sign.
    #[inline]
    pub const fn sign(self) -> Sign {
        if self.0.is_multiple_of(2) { Sign::Plus } else { Sign::Minus }
    }

    /// The letter of its dimension: x, y, z, u, v, w.
    #[inline]
    pub const fn axis(self) -> char {
        ['x', 'y', 'z', 'u', 'v', 'w'][self.dimension()]
    }

    /// The other way along the same dimension.
    #[inline]
    pub const fn opposite(self) -> Self {
        Self(self.0 ^ 1)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.sign() == Sign::Plus { '+' } else { '-' };
        write!(out, "{sign}{}", self.axis())
    }
}
