//! Meshes and tori: coordinates, ports and wires.

use crate::engine::pipelined::Wiring;

/// A mesh or a torus with `radix` nodes in each of `dimensions` dimensions, dimension 0 fastest.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub radix: u32,
    pub dimensions: u32,
    pub wraps: bool,
    /// By node and dimension.
    coordinates: Vec<u16>,
}

impl Shape {
    /// A grid of so many nodes in each of so many dimensions.
    pub(super) fn new(radix: u32, dimensions: u32, wraps: bool) -> Self {
        let coordinates = (0..radix.pow(dimensions))
            .flat_map(|node| (0..dimensions).map(move |d| (node / radix.pow(d) % radix) as u16))
            .collect();
        Self { radix, dimensions, wraps, coordinates }
    }

    /// Routers and links, those between routers of a latency.
    pub(super) fn wiring(&self, latency: u32) -> Wiring {
        let (nodes, ports) = (self.nodes(), self.ports());
        let mut wiring = Wiring::new(nodes, std::iter::repeat_n((ports, ports), nodes));
        for node in 0..nodes as u32 {
            for port in 0..self.processor() {
                wiring.connect((node, port), (self.neighbour(node, port), port ^ 1), latency);
            }
            wiring.attach(node, (node, self.processor()), (node, self.processor()), 1);
        }
        wiring
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        (self.radix as usize).pow(self.dimensions)
    }

    /// Ports of a router; the last one leads to the processor.
    pub(super) fn ports(&self) -> usize {
        2 * self.dimensions as usize + 1
    }

    /// The port of the processor.
    #[inline]
    pub(super) fn processor(&self) -> usize {
        2 * self.dimensions as usize
    }

    /// A coordinate of a node.
    #[inline]
    pub(super) fn coordinate(&self, node: u32, dimension: u32) -> u32 {
        u32::from(self.coordinates[(node * self.dimensions + dimension) as usize])
    }

    /// The lowest dimension in which two nodes differ.
    #[inline]
    pub(super) fn lowest(&self, from: u32, to: u32) -> Option<u32> {
        (0..self.dimensions).find(|&d| self.coordinate(from, d) != self.coordinate(to, d))
    }

    /// The highest dimension in which two nodes differ.
    pub(super) fn highest(&self, from: u32, to: u32) -> Option<u32> {
        (0..self.dimensions).rev().find(|&d| self.coordinate(from, d) != self.coordinate(to, d))
    }

    /// The port that leads from one node closer to another along a dimension of a mesh.
    #[inline]
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
