//! The last of the shortest routes of every pair, the highest of the ports that lead nearer: for tests only.

use super::{BySource, Method, Start};
use crate::routes::by_destination::Forwarding;
use crate::routes::by_source::Choices;

pub(super) const METHOD: Method = Method {
    by_source: Some(BySource {
        headers: |system, _request, keep_going| {
            let mut choices = Choices::found(system, keep_going)?.all_served()?;
            choices.pairs.iter_mut().for_each(|pair| pair.chosen = pair.count - 1);
            Ok(choices.chosen_headers().into())
        },
        searches: true,
    }),
    by_destination: Some(|graph, _order, roots| {
        let mut table = Forwarding::shortest(graph, roots.to_vec());
        for (row, &root) in table.next.chunks_mut(graph.switches()).zip(roots) {
            let distances = graph.distances_to(root);
            for (switch, entry) in (0..).zip(row).filter(|&(switch, _)| switch != root) {
                let nearer =
                    |&&channel: &&u32| distances[graph.ends(channel).1 as usize] < distances[switch as usize];
                *entry = graph.outgoing(switch).iter().rev().find(nearer).copied().unwrap_or(*entry);
            }
        }
        Some(Start { table, gently: false, rising: None })
    }),
    ..Method::any("highest-port", "tests")
};
