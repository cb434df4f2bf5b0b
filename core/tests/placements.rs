//! Placements: the ways whose channels are loaded are those of the routing function, and what a search returns is a placement.

use flitloom_core::{
    fabric::{Fabric, NodeId, Shape},
    placement::{
        Demand, Problem, Watch, Ways, channel_loads, fullest_channel, fullest_port, least_hops, score, search,
    },
    routing::dimension_order,
};
use proptest::prelude::*;

fn shapes() -> Vec<Shape> {
    vec![
        Shape::torus(&[4, 4, 2]).unwrap(),
        Shape::new(&[5, 4], &[true, false]).unwrap(),
        Shape::mesh(&[3, 2, 3]).unwrap(),
        Shape::twisted(&[4, 8]).unwrap(),
        Shape::twisted(&[4, 4, 8]).unwrap(),
        Shape::torus(&[9]).unwrap(),
    ]
}

#[test]
fn ways_are_those_of_dimension_order() {
    for shape in shapes() {
        let fabric = Fabric::new(shape.clone());
        let ways = Ways::new(shape.clone());
        let nodes = shape.nodes() as NodeId;
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            let mut found = Vec::new();
            ways.each(from, to, |channel| found.push(channel));
            assert_eq!(found, dimension_order::path(&fabric, from, to).collect::<Vec<_>>());
        }
        let all: u32 = ways.channels().iter().sum();
        assert_eq!(all as usize, fabric.working_links().count());
    }
}

proptest! {
    #[test]
    fn a_search_returns_a_placement_above_its_bounds(
        number in 0usize..6,
        ranks in 2u32..12,
        per_node in 1usize..3,
        rows in prop::collection::vec((0u32..12, 0u32..12, 0u64..9), 0..40),
        seed in 0u64..100,
        by_hops: bool,
    ) {
        let ways = Ways::new(shapes().swap_remove(number));
        let ranks = ranks.min((ways.shape().nodes() * per_node) as u32);
        let rows: Vec<_> = rows.into_iter().map(|(a, b, units)| (a % ranks, b % ranks, units)).collect();
        let demand = Demand::new(ranks, &rows).unwrap();
        let slots: Vec<NodeId> =
            (0..ways.shape().nodes() as NodeId).flat_map(|node| std::iter::repeat_n(node, per_node)).collect();
        let problem = Problem { ways: &ways, demand: &demand, slots: &slots, axes: vec![ranks], by_hops };
        let channel = fullest_channel(&ways, &demand, &[], per_node).unwrap();
        let hops = least_hops(&ways, &demand, per_node).unwrap();
        let bound = if by_hops { &hops } else { &channel };
        let find = || search(&problem, bound, seed, 20_000, &mut Watch::new(&|_| false));
        let found = find();
        prop_assert_eq!(&found.nodes, &find().nodes);
        let mut taken = vec![0; ways.shape().nodes()];
        for node in &found.nodes {
            taken[*node as usize] += 1;
        }
        prop_assert!(taken.iter().all(|taken| *taken <= per_node));
        let loads = channel_loads(&ways, &demand, &found.nodes);
        prop_assert_eq!(found.score, score(&loads));
        let distance = |a: u32, b: u32| u64::from(ways.shape().distance(found.nodes[a as usize], found.nodes[b as usize]));
        let walked: u64 = rows.iter().map(|(a, b, units)| units * distance(*a, *b)).sum();
        prop_assert_eq!(found.score.hops, walked);
        prop_assert!(found.score.fullest >= channel.value, "{channel:?}");
        prop_assert!(found.score.hops >= hops.value);
        let key = |score: flitloom_core::placement::Score| if by_hops { score.hops } else { score.fullest };
        prop_assert!(key(found.score) <= key(found.row_major));
        prop_assert!(fullest_port(&demand, &found.nodes, taken.len()) <= rows.iter().map(|row| row.2).sum::<u64>());
    }
}
