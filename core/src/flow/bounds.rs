//! Lower bounds on how full the fullest channel is: a closed list.

use super::proof::{CutBound, Prover};
use super::{cuts, distances};
use crate::fabric::{Graph, Placed};

/// All bounds that take little time; of equal ones the first counts.
pub static BOUNDS: &[&Prover] = &[
    &distances::BOUND,
    &cuts::BOUND,
    #[cfg(test)]
    &super::one_switch::BOUND,
];

/// The best of all [`BOUNDS`].
///
/// ```
/// use flitloom_core::{fabric::Graph, flow::bounds::bound};
/// let path = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3)])?;
/// assert_eq!(bound(&path, None).value, 4);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn bound(graph: &Graph, placed: Option<&Placed>) -> CutBound {
    let better = |best: CutBound, found: CutBound| if found.value > best.value { found } else { best };
    let found = BOUNDS.iter().map(|prover| (prover.prove)(graph, placed));
    found.reduce(better).unwrap_or_else(CutBound::none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::by_destination::Forwarding;

    /// Pairs that no way joins cross no cut: two rings of four in one file have the bound of one.
    #[test]
    fn a_fabric_in_two_parts_has_the_bound_of_the_worse() {
        let ring = |first: u32| (0..4).map(move |switch| (first + switch, first + (switch + 1) % 4));
        let apart = Graph::new(vec![3; 8], &ring(0).chain(ring(4)).collect::<Vec<_>>()).unwrap();
        let alone = Graph::new(vec![3; 4], &ring(0).collect::<Vec<_>>()).unwrap();
        assert_eq!(bound(&apart, None).value, bound(&alone, None).value);
        assert_eq!(apart.pairs_apart(), 2 * 12 * 12);
    }

    #[test]
    fn no_table_goes_below_a_bound() {
        let star: Vec<(u32, u32)> = (1..6).map(|leaf| (0, leaf)).collect();
        let ring: Vec<(u32, u32)> = (0..6).map(|here| (here, (here + 1) % 6)).collect();
        for (hosts, cables) in [([1; 6], ring), ([4, 1, 1, 1, 1, 1], star)] {
            let graph = Graph::new(hosts.to_vec(), &cables).unwrap();
            let roots = (0..6).flat_map(|switch| vec![switch; hosts[switch as usize] as usize]).collect();
            let load = Forwarding::spread(&graph, roots).loads(&graph).into_iter().max().unwrap();
            for prover in BOUNDS {
                let found = (prover.prove)(&graph, None).value;
                assert!((1..=load).contains(&found), "{}: {found} of {load}", prover.name);
            }
        }
    }
}
