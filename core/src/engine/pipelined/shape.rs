//! Meshes and tori: coordinates, ports and wires.

/// A mesh or a torus with `radix` nodes in each of `dimensions` dimensions, dimension 0 fastest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub radix: u32,
    pub dimensions: u32,
    pub wraps: bool,
}

impl Shape {
    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        (self.radix as usize).pow(self.dimensions)
    }

    /// Ports of a router; the last one leads to the processor.
    pub(super) fn ports(&self) -> usize {
        2 * self.dimensions as usize + 1
    }

    /// The port of the processor.
    pub(super) fn processor(&self) -> usize {
        2 * self.dimensions as usize
    }

    /// A coordinate of a node.
    pub(super) fn coordinate(&self, node: u32, dimension: u32) -> u32 {
        node / self.radix.pow(dimension) % self.radix
    }

    /// The lowest dimension in which two nodes differ.
    pub(super) fn lowest(&self, from: u32, to: u32) -> Option<u32> {
        (0..self.dimensions).find(|&d| self.coordinate(from, d) != self.coordinate(to, d))
    }

    /// The highest dimension in which two nodes differ.
    pub(super) fn highest(&self, from: u32, to: u32) -> Option<u32> {
        (0..self.dimensions).rev().find(|&d| self.coordinate(from, d) != self.coordinate(to, d))
    }

    /// The port that leads from one node closer to another along a dimension of a mesh.
    pub(super) fn towards(&self, from: u32, to: u32, dimension: u32) -> usize {
        let down = self.coordinate(from, dimension) > self.coordinate(to, dimension);
        2 * dimension as usize + usize::from(down)
    }

    /// The node behind a port.
    pub(super) fn neighbour(&self, node: u32, port: usize) -> u32 {
        let stride = self.radix.pow(port as u32 / 2);
        let x = node / stride % self.radix;
        let y = if port.is_multiple_of(2) { (x + 1) % self.radix } else { (x + self.radix - 1) % self.radix };
        node - x * stride + y * stride
    }
}
