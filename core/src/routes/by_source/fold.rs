use super::choices::Pair;
use super::{Choices, System};
use crate::fabric::{NodeId, Shifts};

/// A healthy system folded along its rings. If all pairs that shifts carry into each other choose alike, all links
/// that they carry into each other have the same load, and the corners tell everything.
#[derive(PartialEq, Eq)]
pub(crate) struct Fold(Shifts);

impl Fold {
    /// Folds the shape of a system by the shifts of a period.
    pub(crate) fn new(system: &System, period: u32) -> Self {
        Self(Shifts::new(system.fabric().shape(), period))
    }

    /// The corner of a node.
    pub(crate) fn corner(&self, node: NodeId) -> NodeId {
        self.0.corner(node)
    }

    /// Number of nodes that share a corner.
    pub(crate) fn translates(&self) -> u64 {
        self.0.count()
    }

    /// Leaves only the pairs whose source is a corner; returns all of them.
    pub(crate) fn representatives(&self, choices: &mut Choices) -> Vec<Pair> {
        let corners: Vec<Pair> =
            choices.pairs.iter().copied().filter(|pair| self.0.is_corner(pair.source)).collect();
        std::mem::replace(&mut choices.pairs, corners)
    }

    /// Gives all pairs the choice of their representative.
    pub(crate) fn spread(&self, choices: &mut Choices, mut all: Vec<Pair>) {
        // Pairs of one displacement share a list; with the corner of the source it names the class.
        let mut number = vec![0_usize; choices.list_entries()];
        let mut lists = 0;
        for pair in &choices.pairs {
            let entry = &mut number[choices.list(pair) as usize];
            if *entry == 0 {
                lists += 1;
                *entry = lists;
            }
        }
        let mut place = vec![0_usize; self.0.corners().len()];
        let mut corners = 0;
        for (node, place) in (0..).zip(&mut place) {
            if self.0.is_corner(node) {
                *place = corners;
                corners += 1;
            }
        }
        let class = |pair: &Pair| {
            (number[choices.list(pair) as usize] - 1) * corners + place[self.corner(pair.source) as usize]
        };
        let mut chosen = vec![0_u16; lists * corners];
        for pair in &choices.pairs {
            chosen[class(pair)] = pair.chosen;
        }
        for pair in &mut all {
            pair.chosen = chosen[class(pair)];
        }
        choices.pairs = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fabric, Shape};
    use crate::routes::by_source::Quality;
    use crate::routing::{Rules, TurnPolicy};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn translates_that_choose_alike_load_alike(
            sizes in prop::collection::vec(2_u32..=6, 1..=3),
            period in 1_u32..=4,
            draws in prop::collection::vec(any::<u16>(), 64),
        ) {
            let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            let system = System::new(fabric, Rules::angara(sizes.len()), TurnPolicy::ClosedForm).unwrap();
            let fold = Fold::new(&system, period);
            let mut choices = Choices::found(&system, &mut |_| true).unwrap();
            let all = fold.representatives(&mut choices);
            for (pair, draw) in choices.pairs.iter_mut().zip(draws.iter().cycle()) {
                pair.chosen = draw % pair.count;
            }
            let chosen = choices.pairs.clone();
            fold.spread(&mut choices, all);
            for pair in &chosen {
                let same = choices.pairs.iter().find(|other| {
                    (other.source, other.destination) == (pair.source, pair.destination)
                });
                prop_assert_eq!(same.unwrap().chosen, pair.chosen);
            }
            let loads = Quality::of(&system, &choices.chosen_headers(), None).loads;
            for node in 0..system.nodes() as NodeId {
                let directions = system.fabric().shape().directions();
                let of = |node: NodeId| &loads[node as usize * directions..][..directions];
                prop_assert_eq!(of(node), of(fold.corner(node)));
            }
        }
    }
}
