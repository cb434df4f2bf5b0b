use crate::fabric::{Direction, NodeId, Shape, Sign};

/// The signs in which the packets of a quadrant or octant travel: per dimension, whether in minus direction.
///
/// The *class* of a node is the sum of its coordinates, each with the sign of the travel, modulo the number of
/// classes. Every hop leads one class up, whatever its dimension, as every cycle does a slot. Packets of the
/// opposite travel, one class down with every hop, mirror this on the opposite links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Travel(pub Vec<bool>);

impl Travel {
    /// The class of a node.
    pub(super) fn class(&self, shape: &Shape, classes: u32, node: NodeId) -> u32 {
        let signed = |(dimension, &minus): (usize, &bool)| {
            let coordinate = shape.coordinate(node, dimension) % classes;
            if minus { classes - coordinate } else { coordinate }
        };
        self.0.iter().enumerate().map(signed).sum::<u32>() % classes
    }

    /// The direction along a dimension.
    pub(super) fn direction(&self, dimension: usize) -> Direction {
        Direction::new(dimension, if self.0[dimension] { Sign::Minus } else { Sign::Plus })
    }

    /// The directions of hops along dimensions.
    pub(super) fn way(&self, along: impl Iterator<Item = usize>) -> Vec<u32> {
        along.map(|dimension| self.direction(dimension).index() as u32).collect()
    }
}

/// The class some hops, or cycles, further up, or down.
pub(super) fn class_after(class: u32, hops: u32, down: bool, classes: u32) -> u32 {
    let hops = hops % classes;
    (class + if down { classes - hops } else { hops }) % classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hop_leads_one_class_up() {
        let shape = Shape::torus(&[4, 8, 4]).unwrap();
        for signs in 0..8 {
            let travel = Travel((0..3).map(|dimension| signs >> dimension & 1 == 1).collect());
            for node in 0..shape.nodes() as NodeId {
                for dimension in 0..3 {
                    let next = shape.neighbour(node, travel.direction(dimension)).unwrap();
                    let class = travel.class(&shape, 4, node);
                    assert_eq!(travel.class(&shape, 4, next), class_after(class, 1, false, 4));
                    assert_eq!(class_after(travel.class(&shape, 4, next), 1, true, 4), class);
                }
            }
        }
    }
}
