use super::{Came, DependencyGraph, Rules};
use crate::fabric::{Direction, Fabric, LinkId};
use fixedbitset::FixedBitSet;

/// Turns against the order of directions that first and last steps may take, and turns in that order
/// that no route may take so that others are safe.
///
/// A turn is a link and the direction in which a packet leaves its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSet {
    directions: usize,
    turns: FixedBitSet,
    withheld: FixedBitSet,
}

named! {
    /// Which turns against the order are permitted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TurnPolicy {
        /// None: first and last steps only where the order allows them anyway.
        None = "none",
        /// The rule of used direction sets (angara-routing-2021, Theorem 2).
        DirectionSets = "direction-sets",
        /// All that can never be part of a cycle: same-sign turns with at least one dimension that does
        /// not wrap. On a healthy torus this is the exact largest set an exhaustive search finds.
        ClosedForm = "closed-form",
        /// The closed form, then every further turn that an exact reachability test admits.
        Exact = "exact",
    }
}

impl TurnSet {
    /// No turns.
    pub fn none(fabric: &Fabric) -> Self {
        let directions = fabric.shape().directions();
        let turns = FixedBitSet::with_capacity(fabric.shape().nodes() * directions * directions);
        Self { directions, withheld: turns.clone(), turns }
    }

    /// The turns of a policy.
    ///
    /// ```
    /// use flitloom_core::fabric::{Fabric, Shape};
    /// use flitloom_core::routing::{Rules, TurnPolicy, TurnSet};
    /// let rules = Rules::angara(2);
    /// let count = |sizes: &[u32]| -> Result<usize, flitloom_core::fabric::FabricError> {
    ///     let fabric = Fabric::new(Shape::torus(sizes)?);
    ///     Ok(TurnSet::of(TurnPolicy::ClosedForm, &fabric, &rules).len())
    /// };
    /// assert_eq!(count(&[4, 4])?, 0, "two rings close a cycle");
    /// assert_eq!(count(&[4, 2])?, 8, "at each end of the mesh dimension, from it into the ring");
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn of(policy: TurnPolicy, fabric: &Fabric, rules: &Rules) -> Self {
        match policy {
            TurnPolicy::None => Self::none(fabric),
            TurnPolicy::DirectionSets => direction_sets(fabric, rules),
            TurnPolicy::ClosedForm => closed_form(fabric, rules),
            TurnPolicy::Exact => {
                let mut turns = closed_form(fabric, rules);
                let mut graph = DependencyGraph::of_rules(fabric, rules, &turns);
                let mut ranks = graph.ranks();
                for (link, out) in candidates(fabric, rules) {
                    if !turns.contains(link, out) && graph.try_insert_ranked(&mut ranks, link, out) {
                        turns.insert(link, out);
                    }
                }
                turns
            }
        }
    }

    /// Every same-sign turn against the order, deadlock or not.
    pub fn all_same_sign(fabric: &Fabric, rules: &Rules) -> Self {
        let mut turns = Self::none(fabric);
        for (link, out) in candidates(fabric, rules) {
            turns.insert(link, out);
        }
        turns
    }

    /// Adds a turn.
    pub fn insert(&mut self, link: LinkId, out: Direction) {
        self.turns.insert(link as usize * self.directions + out.index());
    }

    /// Takes a turn out.
    pub fn remove(&mut self, link: LinkId, out: Direction) {
        self.turns.set(link as usize * self.directions + out.index(), false);
    }

    /// Adds a turn to the set and the graph, unless it would close a cycle; says whether it is in.
    ///
    /// Exact: a cycle arises if and only if the channel turned into already reaches the other.
    pub fn try_insert(&mut self, graph: &mut DependencyGraph, link: LinkId, out: Direction) -> bool {
        let fits = graph.try_insert(link, 0, out, 0);
        if fits {
            self.insert(link, out);
        }
        fits
    }

    /// Whether a turn against the order is permitted.
    pub fn contains(&self, link: LinkId, out: Direction) -> bool {
        self.turns.contains(link as usize * self.directions + out.index())
    }

    /// Withholds a turn in the order of directions.
    pub fn withhold(&mut self, link: LinkId, out: Direction) {
        self.withheld.insert(link as usize * self.directions + out.index());
    }

    /// All withheld turns as (link, direction out), in ascending order.
    pub fn withheld(&self) -> impl Iterator<Item = (LinkId, Direction)> + '_ {
        self.withheld
            .ones()
            .map(|turn| ((turn / self.directions) as LinkId, Direction::from_index(turn % self.directions)))
    }

    /// Whether a packet that comes over a link along a direction may leave its end in direction `out`:
    /// on along the same direction, in the order unless withheld, or by a turn against it.
    pub fn permits(&self, rules: &Rules, link: LinkId, along: Direction, out: Direction) -> bool {
        let turn = link as usize * self.directions + out.index();
        if rules.rank(along) > rules.rank(out) {
            self.turns.contains(turn)
        } else {
            along == out || !self.withheld.contains(turn)
        }
    }

    /// Number of turns against the order.
    pub fn len(&self) -> usize {
        self.turns.count_ones(..)
    }

    /// Whether there are none against the order.
    pub fn is_empty(&self) -> bool {
        self.turns.is_clear()
    }

    /// All turns against the order as (link, direction out), in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (LinkId, Direction)> + '_ {
        self.turns
            .ones()
            .map(|turn| ((turn / self.directions) as LinkId, Direction::from_index(turn % self.directions)))
    }
}

/// Same-sign turns against the order between working links that a first or last step may take; any
/// other turn lengthens a route for nothing.
fn candidates<'a>(fabric: &'a Fabric, rules: &'a Rules) -> impl Iterator<Item = (LinkId, Direction)> + 'a {
    fabric.working_links().flat_map(move |link| {
        let (node, along) = fabric.link_ends(link);
        let here = fabric.working_neighbour(node, along);
        rules
            .order()
            .iter()
            .copied()
            .filter(move |&out| {
                let step = rules.first_steps().contains(&along) || rules.last_steps().contains(&out);
                alike(rules, out, along) && rules.rank(out) < rules.rank(along) && step
            })
            .filter(move |&out| here.is_some_and(|here| fabric.link_works(here, out)))
            .map(move |out| (link, out))
    })
}

/// Whether two directions are of one sign, or of one half of an order whose halves hold each dimension once.
fn alike(rules: &Rules, one: Direction, other: Direction) -> bool {
    if rules.in_halves() {
        rules.in_first_half(one) == rules.in_first_half(other)
    } else {
        one.sign() == other.sign()
    }
}

fn closed_form(fabric: &Fabric, rules: &Rules) -> TurnSet {
    let mut turns = TurnSet::none(fabric);
    // The argument needs that no packet ever goes from a negative to a positive direction, or, in an order
    // that is mirrored along some dimensions, from its second half to its first.
    if rules.in_halves() {
        for (link, out) in candidates(fabric, rules) {
            let (_, along) = fabric.link_ends(link);
            let wraps = |direction: Direction| fabric.shape().wraps(direction.dimension());
            if !wraps(along) || !wraps(out) {
                turns.insert(link, out);
            }
        }
    }
    turns
}

/// Theorem 2: a turn `(v, D_j) -> (u, D_k)` is safe if no way from `(u, D_k)` uses `D_j` again.
/// Turns are tried in the order of channels, that is of coordinates and then directions, and the
/// direction sets rebuilt after each; as published, also turns from negative to positive directions,
/// which no step can use.
fn direction_sets(fabric: &Fabric, rules: &Rules) -> TurnSet {
    let channels = channels_by_coordinates(fabric, rules);
    let turns = channels.flat_map(|link| rules.order().iter().map(move |&out| (link, out)));
    safe_direction_sets(fabric, rules, turns)
}

fn channels_by_coordinates<'a>(fabric: &'a Fabric, rules: &'a Rules) -> impl Iterator<Item = LinkId> + 'a {
    let nodes = fabric.shape().nodes_by_coordinates().into_iter();
    nodes
        .flat_map(|node| rules.order().iter().map(move |&along| (node, along)))
        .filter(|&(node, along)| fabric.link_works(node, along))
        .map(|(node, along)| fabric.link(node, along))
}

/// The same among the turns alone that a step can use.
#[cfg(test)]
pub(crate) fn useful_direction_sets(fabric: &Fabric, rules: &Rules) -> TurnSet {
    safe_direction_sets(fabric, rules, candidates(fabric, rules))
}

/// Tries turns one after the other.
fn safe_direction_sets(
    fabric: &Fabric,
    rules: &Rules,
    tried: impl Iterator<Item = (LinkId, Direction)>,
) -> TurnSet {
    let mut turns = TurnSet::none(fabric);
    let mut graph = DependencyGraph::of_rules(fabric, rules, &turns);
    let directions = fabric.shape().directions() as u32;
    let mut backward: Vec<Vec<u32>> = vec![Vec::new(); graph.vertices()];
    for from in 0..graph.vertices() as u32 {
        for to in graph.targets(from) {
            backward[to as usize].push(from);
        }
    }
    let mut used: Vec<u32> = (0..graph.vertices() as u32).map(|vertex| 1 << (vertex % directions)).collect();
    let mut open: Vec<u32> = (0..graph.vertices() as u32).collect();
    spread(&mut used, &backward, &mut open);
    for (link, out) in tried {
        let (node, along) = fabric.link_ends(link);
        let here = fabric.working_neighbour(node, along).filter(|&here| fabric.link_works(here, out));
        let Some(here) = here.filter(|_| rules.rank(out) < rules.rank(along) && out != along.opposite())
        else {
            continue;
        };
        let into = fabric.link(here, out);
        if used[into as usize] >> along.index() & 1 == 0 {
            turns.insert(link, out);
            graph.insert(link, 0, out, 0);
            backward[into as usize].push(link);
            spread(&mut used, &backward, &mut vec![into]);
        }
    }
    turns
}

/// Hands the direction sets of the open channels on to all channels that reach them.
fn spread(used: &mut [u32], backward: &[Vec<u32>], open: &mut Vec<u32>) {
    while let Some(vertex) = open.pop() {
        for &before in &backward[vertex as usize] {
            let grown = used[before as usize] | used[vertex as usize];
            if grown != used[before as usize] {
                used[before as usize] = grown;
                open.push(before);
            }
        }
    }
}

impl DependencyGraph {
    /// Every dependency that rules allow on the working links, extra turns included.
    ///
    /// Within a ring the packet goes on in its direction; between rings it follows the order of
    /// directions or one of the turns. With several channels it follows the datelines.
    pub fn of_rules(fabric: &Fabric, rules: &Rules, turns: &TurnSet) -> Self {
        let rule = rules.flow().channel_rule();
        let mut graph = Self::new(fabric, rule.channels());
        for link in fabric.working_links() {
            let (node, direction) = fabric.link_ends(link);
            let Some(here) = fabric.working_neighbour(node, direction) else { continue };
            for out in (0..fabric.shape().directions()).map(Direction::from_index) {
                let permitted = turns.permits(rules, link, direction, out);
                if out == direction.opposite() || !permitted || !fabric.link_works(here, out) {
                    continue;
                }
                // A packet on the last channel meets no further dateline on the ways the rules are for.
                let full = rule.rises(fabric.shape(), here, out).on(Came::of(Some(direction)));
                for channel in 0..rule.channels() - u8::from(full) {
                    let next = rule.after(fabric.shape(), channel, here, Some(direction), out);
                    graph.insert(link, channel, out, next);
                }
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Shape, Sign};
    use crate::routing::Flow;
    use proptest::prelude::*;

    #[test]
    fn turns_are_told_as_they_were_put_in() {
        let fabric = Fabric::new(Shape::torus(&[3, 4, 2]).unwrap());
        let mut turns = TurnSet::none(&fabric);
        let given: Vec<(LinkId, Direction)> =
            (0..6).map(|index| (7 * index as LinkId + 5, Direction::from_index(5 - index))).collect();
        for &(link, out) in &given {
            turns.withhold(link, out);
            turns.insert(link + 1, out);
        }
        assert_eq!(turns.withheld().collect::<Vec<_>>(), given);
        assert!(turns.iter().eq(given.iter().map(|&(link, out)| (link + 1, out))));
        turns.remove(6, Direction::from_index(5));
        assert!(turns.iter().eq(given[1..].iter().map(|&(link, out)| (link + 1, out))));
    }

    #[test]
    fn steps_turn_into_directions_of_their_own_sign() {
        let fabric = Fabric::new(Shape::mesh(&[3, 3]).unwrap());
        let along = |sign| (0..2).map(|dimension| Direction::new(dimension, sign)).collect::<Vec<_>>();
        let order = (0..4).map(Direction::from_index).collect();
        let steps = (along(Sign::Plus), along(Sign::Minus));
        let rules = Rules::new("own", order, true, steps.0, steps.1, Flow::Bubble).unwrap();
        let turns: Vec<_> = TurnSet::of(TurnPolicy::Exact, &fabric, &rules).iter().collect();
        // Only a step along y can turn against this order, into x.
        assert!(!turns.is_empty());
        for (link, out) in turns {
            let (_, along) = fabric.link_ends(link);
            assert_eq!((along.dimension(), out.dimension()), (1, 0));
            assert_eq!(along.sign(), out.sign());
        }
    }

    #[test]
    fn direction_sets_hold_turns_against_the_order_alone() {
        for sizes in [&[4, 4][..], &[3, 3, 3], &[5, 2]] {
            let fabric = Fabric::new(Shape::torus(sizes).unwrap());
            for rules in [Rules::angara(sizes.len()), Rules::dimension_order(sizes.len())] {
                for (link, out) in TurnSet::of(TurnPolicy::DirectionSets, &fabric, &rules).iter() {
                    let (_, along) = fabric.link_ends(link);
                    assert!(rules.rank(out) < rules.rank(along), "{sizes:?} {along} then {out}");
                    assert_ne!(out, along.opposite(), "{sizes:?}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_closed_form_is_the_exact_set_on_healthy_tori(sizes in prop::collection::vec(2_u32..=5, 2..=3)) {
            let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            let rules = Rules::angara(sizes.len());
            let closed = TurnSet::of(TurnPolicy::ClosedForm, &fabric, &rules);
            // Exhaustive, from nothing.
            let mut turns = TurnSet::none(&fabric);
            let mut graph = DependencyGraph::of_rules(&fabric, &rules, &turns);
            for (link, out) in candidates(&fabric, &rules) {
                let before = turns.len();
                prop_assert_eq!(turns.try_insert(&mut graph, link, out), turns.len() > before);
            }
            prop_assert_eq!(&turns, &closed);
            prop_assert_eq!(&turns, &TurnSet::of(TurnPolicy::Exact, &fabric, &rules));
        }

        #[test]
        fn ranks_change_nothing_about_the_exact_set(
            sizes in prop::collection::vec(2_u32..=5, 2..=3),
            failed in prop::collection::vec(0_u32..64, 0..4),
        ) {
            let mut fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            for node in failed {
                fabric.fail_node(node % fabric.shape().nodes() as u32).unwrap();
            }
            let rules = Rules::angara(sizes.len());
            let mut turns = closed_form(&fabric, &rules);
            let mut graph = DependencyGraph::of_rules(&fabric, &rules, &turns);
            for (link, out) in candidates(&fabric, &rules) {
                if !turns.contains(link, out) {
                    turns.try_insert(&mut graph, link, out);
                }
            }
            prop_assert_eq!(turns, TurnSet::of(TurnPolicy::Exact, &fabric, &rules));
        }

        #[test]
        fn every_policy_is_free_of_deadlock(
            sizes in prop::collection::vec(2_u32..=4, 2..=3),
            failed in prop::collection::vec(0_u32..64, 0..3),
        ) {
            let mut fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            for node in failed {
                fabric.fail_node(node % fabric.shape().nodes() as u32).unwrap();
            }
            let rules = Rules::angara(sizes.len());
            for (name, policy) in TurnPolicy::NAMES {
                let turns = TurnSet::of(policy, &fabric, &rules);
                let graph = DependencyGraph::of_rules(&fabric, &rules, &turns);
                prop_assert!(graph.order(true).is_ok(), "{}", name);
            }
        }
    }
}
