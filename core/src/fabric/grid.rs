use super::{Direction, Lattice, Sign};

/// Positions of a torus, a mesh or a twisted torus, by index: the first dimension fastest.
///
/// ```
/// use flitloom_core::fabric::{Direction, Grid, Lattice, Sign};
/// let mut twisted = Lattice::new(2);
/// twisted.add(&[4, 4]);
/// twisted.add(&[0, 8]);
/// let grid = Grid::new(twisted, vec![4, 8]);
/// // One step over the edge of the short dimension also moves half of the long one.
/// let over = grid.neighbour(3, Direction::new(0, Sign::Plus));
/// assert_eq!(over.map(|position| grid.coordinates(position)), Some(vec![0, 4]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    lattice: Lattice,
    sizes: Vec<u32>,
}

impl Grid {
    /// A grid from its closed ways and its sizes; sizes of dimensions that close follow from the ways.
    pub fn new(lattice: Lattice, mut sizes: Vec<u32>) -> Self {
        for (dimension, size) in sizes.iter_mut().enumerate() {
            if let Some(row) = lattice.row(dimension) {
                *size = row[dimension] as u32;
            }
        }
        Self { lattice, sizes }
    }

    /// A torus or mesh without a twist.
    pub fn plain(sizes: &[u32], wraps: &[bool]) -> Self {
        let mut lattice = Lattice::new(sizes.len());
        for (dimension, &size) in sizes.iter().enumerate() {
            if wraps[dimension] && size > 2 {
                let mut way = vec![0; sizes.len()];
                way[dimension] = size as i32;
                lattice.add(&way);
            }
        }
        Self { lattice, sizes: sizes.to_vec() }
    }

    /// The closed ways.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// Size of every dimension.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.sizes.len()
    }

    /// Whether a dimension has links over its edge.
    pub fn wraps(&self, dimension: usize) -> bool {
        self.lattice.row(dimension).is_some()
    }

    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.sizes.iter().map(|&size| size as usize).product()
    }

    /// Coordinates of a position.
    pub fn coordinates(&self, mut position: u32) -> Vec<u32> {
        self.sizes
            .iter()
            .map(|&size| {
                let coordinate = position % size;
                position /= size;
                coordinate
            })
            .collect()
    }

    /// The position of coordinates that may lie outside; `None` beyond the rim of a mesh.
    pub fn position(&self, coordinates: &[i32]) -> Option<u32> {
        let reduced = self.lattice.reduce(coordinates);
        let mut position = 0;
        for (&coordinate, &size) in reduced.iter().zip(&self.sizes).rev() {
            if coordinate < 0 || coordinate >= size as i32 {
                return None;
            }
            position = position * size + coordinate as u32;
        }
        Some(position)
    }

    /// The next position in a direction, or `None` at the rim of a mesh.
    pub fn neighbour(&self, position: u32, direction: Direction) -> Option<u32> {
        let mut coordinates: Vec<i32> =
            self.coordinates(position).iter().map(|&entry| entry as i32).collect();
        coordinates[direction.dimension()] += if direction.sign() == Sign::Plus { 1 } else { -1 };
        self.position(&coordinates)
    }

    /// Neighbours of all positions by direction, [`Grid::NONE`] where there is none.
    pub fn neighbours(&self) -> Vec<u32> {
        (0..self.positions() as u32)
            .flat_map(|position| {
                (0..2 * self.dimensions()).map(move |index| {
                    self.neighbour(position, Direction::from_index(index)).unwrap_or(Self::NONE)
                })
            })
            .collect()
    }

    /// No position.
    pub const NONE: u32 = u32::MAX;
}

/// Where the switches of a graph stand on a grid.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The grid.
    pub grid: Grid,
    /// Coordinates of every switch.
    pub places: Vec<Vec<u32>>,
}

impl Placed {
    /// Switches at coordinates of a grid; `None` where one lies outside of it.
    pub fn new(grid: Grid, coordinates: &[Vec<i32>]) -> Option<Self> {
        let place = |at: &Vec<i32>| Some(grid.coordinates(grid.position(at)?));
        Some(Self { places: coordinates.iter().map(place).collect::<Option<_>>()?, grid })
    }
}
