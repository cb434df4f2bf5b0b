use std::collections::VecDeque;

/// Strongly connected components of a directed graph, by Tarjan's algorithm without recursion.
///
/// Returns the component of every vertex. Components are numbered in topological order: an edge
/// between two of them goes from the lower to the higher number. Linear in vertices and edges
/// (Tarjan 1972, Depth-first search and linear graph algorithms).
pub(crate) fn components<I>(vertices: usize, targets: impl Fn(u32) -> I) -> Vec<u32>
where
    I: Iterator<Item = u32>,
{
    const UNSEEN: u32 = u32::MAX;
    let mut order = vec![UNSEEN; vertices];
    let mut lowest = vec![0_u32; vertices];
    let mut component = vec![UNSEEN; vertices];
    let (mut next_order, mut found) = (0_u32, 0_u32);
    let mut open = Vec::new();
    let mut path: Vec<(u32, I)> = Vec::new();
    for root in 0..vertices as u32 {
        if order[root as usize] != UNSEEN {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(vertex) = enter.take() {
                order[vertex as usize] = next_order;
                lowest[vertex as usize] = next_order;
                next_order += 1;
                open.push(vertex);
                path.push((vertex, targets(vertex)));
            }
            let Some((vertex, rest)) = path.last_mut() else { break };
            let vertex = *vertex as usize;
            match rest.next() {
                Some(target) if order[target as usize] == UNSEEN => enter = Some(target),
                Some(target) => {
                    if component[target as usize] == UNSEEN {
                        lowest[vertex] = lowest[vertex].min(order[target as usize]);
                    }
                }
                None => {
                    path.pop();
                    if let Some(&(parent, _)) = path.last() {
                        lowest[parent as usize] = lowest[parent as usize].min(lowest[vertex]);
                    }
                    if lowest[vertex] == order[vertex] {
                        while let Some(member) = open.pop() {
                            component[member as usize] = found;
                            if member as usize == vertex {
                                break;
                            }
                        }
                        found += 1;
                    }
                }
            }
        }
    }
    // Tarjan closes the last component of the order first.
    for entry in &mut component {
        *entry = found - 1 - *entry;
    }
    component
}

/// A shortest cycle through one of the given edges, the lowest vertex first; the first of several, by the order of the
/// edges and targets. No edge leads back to its own vertex.
pub(crate) fn shortest_cycle<I>(
    vertices: usize,
    edges: impl Iterator<Item = (u32, u32)>,
    targets: impl Fn(u32) -> I,
) -> Option<Vec<u32>>
where
    I: Iterator<Item = u32>,
{
    let mut best: Option<Vec<u32>> = None;
    let mut parent = vec![u32::MAX; vertices];
    let mut touched = Vec::new();
    for (from, to) in edges {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if limit == 2 {
            break;
        }
        let mut open = VecDeque::from([(to, 1_usize)]);
        parent[to as usize] = to;
        touched.push(to);
        while let Some((vertex, length)) = open.pop_front() {
            if vertex == from {
                let mut cycle = vec![from];
                while let Some(&last) = cycle.last()
                    && last != to
                {
                    cycle.push(parent[last as usize]);
                }
                cycle.reverse();
                best = Some(cycle);
                break;
            }
            // Others as far away may be where the cycle closes.
            if length + 1 >= limit {
                continue;
            }
            for target in targets(vertex) {
                if parent[target as usize] == u32::MAX {
                    parent[target as usize] = vertex;
                    touched.push(target);
                    open.push_back((target, length + 1));
                }
            }
        }
        for vertex in touched.drain(..) {
            parent[vertex as usize] = u32::MAX;
        }
    }
    best.map(|mut cycle| {
        let start = (0..cycle.len()).min_by_key(|&index| cycle[index]);
        cycle.rotate_left(start.unwrap_or(0));
        cycle
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::graph::DiGraph;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_petgraph(
            vertices in 1_u32..40,
            raw in prop::collection::vec((0_u32..40, 0_u32..40), 0..120),
        ) {
            let edges: Vec<_> = raw.iter().map(|&(a, b)| (a % vertices, b % vertices)).collect();
            let ours = components(vertices as usize, |vertex| {
                edges.iter().filter(move |edge| edge.0 == vertex).map(|edge| edge.1).collect::<Vec<_>>().into_iter()
            });
            let mut graph = DiGraph::<(), (), u32>::new();
            for _ in 0..vertices {
                graph.add_node(());
            }
            graph.extend_with_edges(&edges);
            let theirs = petgraph::algo::kosaraju_scc(&graph);
            prop_assert_eq!(theirs.len() as u32, ours.iter().max().unwrap() + 1);
            for group in theirs {
                prop_assert!(group.iter().all(|vertex| ours[vertex.index()] == ours[group[0].index()]));
            }
            for (a, b) in edges {
                prop_assert!(ours[a as usize] <= ours[b as usize]);
            }
        }

        #[test]
        fn no_cycle_is_shorter(
            vertices in 1_u32..12,
            raw in prop::collection::vec((0_u32..12, 0_u32..12), 0..40),
        ) {
            let mut edges: Vec<_> = raw.iter().map(|&(a, b)| (a % vertices, b % vertices)).collect();
            edges.retain(|&(from, to)| from != to);
            edges.sort_unstable();
            edges.dedup();
            let targets = |vertex| edges.iter().filter(move |edge| edge.0 == vertex).map(|edge| edge.1);
            let found = shortest_cycle(vertices as usize, edges.iter().copied(), targets);
            // Walks of ever more steps, from every vertex.
            let mut reach: Vec<Vec<u32>> = (0..vertices).map(|start| vec![start]).collect();
            let steps = (1..=vertices as usize).find(|_| {
                for here in &mut reach {
                    let mut next: Vec<u32> = here.iter().flat_map(|&vertex| targets(vertex)).collect();
                    next.sort_unstable();
                    next.dedup();
                    *here = next;
                }
                (0..vertices).any(|start| reach[start as usize].contains(&start))
            });
            prop_assert_eq!(found.as_ref().map(Vec::len), steps);
            if let Some(cycle) = found {
                let next = cycle.iter().cycle().skip(1);
                prop_assert!(cycle.iter().zip(next).all(|(&a, &b)| edges.contains(&(a, b))));
            }
        }
    }
}
