//! How tables are made: one closed list of methods, by source, by destination or both.

mod balanced;
mod bfs;
mod coherent;
mod colours;
mod dor;
mod dragonfly;
mod ftree;
mod genetic;
#[cfg(test)]
mod highest_port;
mod sssp;

use super::by_destination::{DimensionOrder, Forwarding, Rising};
use super::by_source::{KeepGoing, Made, Request, System, TableError};
use crate::fabric::Graph;
pub use colours::rising;
use rayon::prelude::*;

/// A way to make tables.
#[derive(Debug)]
pub struct Method {
    /// What users call it.
    pub name: &'static str,
    /// The kind of fabric that it is for, as recognition calls it, or `any`; by destination, those for a kind are for
    /// switches without coordinates.
    pub kind: &'static str,
    /// What it is good for, in a line.
    pub about: &'static str,
    /// How it makes tables by source, if it does.
    pub by_source: Option<BySource>,
    /// Where its tables by destination begin, for the switches that destinations hang off, if the fabric is one for it.
    pub by_destination: Option<Begin>,
}

/// How a method makes tables by source.
#[derive(Debug)]
pub struct BySource {
    /// Makes them; `keep_going` is told the fraction done now and then and ends it by returning false.
    pub headers: Headers,
    /// Whether it searches among all legal shortest routes, so that it serves every pair that has one.
    pub searches: bool,
}

/// Makes tables by source.
pub type Headers = fn(&System, &Request, KeepGoing<'_>) -> Result<Made, TableError>;

/// Where tables by destination begin.
pub type Begin = fn(&Graph, Option<&DimensionOrder>, &[u32]) -> Option<Start>;

/// Tables to begin with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The tables.
    pub table: Forwarding,
    /// Whether only entries of channels above the bound are to be pointed elsewhere, so that the others keep their
    /// pattern.
    pub gently: bool,
    /// Where lanes rise, if the method says that; lanes are chosen by pair where it does not.
    pub rising: Option<Rising>,
}

/// All methods.
pub static METHODS: &[&Method] = &[
    &ftree::METHOD,
    &balanced::METHOD,
    &sssp::METHOD,
    &bfs::METHOD,
    &genetic::METHOD,
    &dor::METHOD,
    &coherent::METHOD,
    &dragonfly::METHOD,
    &colours::METHOD,
    #[cfg(test)]
    &highest_port::METHOD,
];

impl Method {
    /// A method for no kind of fabric before others, which makes nothing yet.
    const fn any(name: &'static str, about: &'static str) -> Self {
        Self { name, kind: "any", about, by_source: None, by_destination: None }
    }

    /// Those that make tables by source, with their names.
    ///
    /// ```
    /// use flitloom_core::{names, routes::methods::Method};
    /// let names = names::all(&Method::by_source());
    /// assert_eq!(names, ["balanced", "sssp", "bfs", "genetic", "dor", "coherent"]);
    /// ```
    pub fn by_source() -> Vec<(&'static str, &'static Self)> {
        Self::all(|method| method.by_source.is_some())
    }

    /// Those that make tables by destination, with their names: those for a kind of fabric come before those for any.
    /// The first that suits a fabric is the default.
    pub fn by_destination() -> Vec<(&'static str, &'static Self)> {
        let mut all = Self::all(|method| method.by_destination.is_some());
        all.sort_by_key(|(_, method)| method.kind == "any");
        all
    }

    fn all(which: impl Fn(&Self) -> bool) -> Vec<(&'static str, &'static Self)> {
        METHODS.iter().filter(|method| which(method)).map(|method| (method.name, *method)).collect()
    }
}

impl Start {
    /// Shortest ways, but where a rule names others: of a destination's row and root it makes what is told a switch and
    /// says, if it knows, which next switches will do. Destinations take turns with parallel cables.
    fn by_rule<Row, Next>(graph: &Graph, roots: &[u32], rule: impl Fn(usize, u32) -> Row + Sync) -> Self
    where
        Row: Fn(u32) -> Option<Next>,
        Next: Fn(u32) -> bool,
    {
        let mut table = Forwarding::spread(graph, roots.to_vec());
        let switches = graph.switches();
        table.next.par_chunks_mut(switches).zip(roots).enumerate().for_each(|(destination, (row, &root))| {
            let of_row = rule(destination, root);
            for (switch, entry) in (0..switches as u32).zip(row).filter(|&(switch, _)| switch != root) {
                let Some(leads) = of_row(switch) else { continue };
                let cables = graph.outgoing(switch).iter().filter(|&&channel| leads(graph.ends(channel).1));
                let cables: Vec<u32> = cables.copied().collect();
                if !cables.is_empty() {
                    *entry = cables[destination % cables.len()];
                }
            }
        });
        Self { table, gently: true, rising: None }
    }
}

/// Tables by destination of the named method, or of the first that suits the fabric, and which that is.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::methods::start};
/// let spine: Vec<(u32, u32)> = (0..3).flat_map(|leaf| [(leaf, 3), (leaf, 4)]).collect();
/// let graph = Graph::new(vec![1, 1, 1, 0, 0], &spine)?;
/// assert_eq!(start(None, &graph, None, &[0, 1, 2]).0.name, "ftree");
/// assert_eq!(start(Some("balanced"), &graph, None, &[0, 1, 2]).0.name, "balanced");
/// // What a method cannot do, another one does.
/// let ring = Graph::new(vec![1; 3], &[(0, 1), (1, 2), (2, 0)])?;
/// assert_eq!(start(Some("ftree"), &ring, None, &[0, 1, 2]).0.name, "balanced");
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn start(
    name: Option<&str>,
    graph: &Graph,
    order: Option<&DimensionOrder>,
    roots: &[u32],
) -> (&'static Method, Start) {
    let suits = |method: &Method| order.is_none() || method.kind == "any";
    let begun = |(known, method): (&str, &'static Method)| {
        let wanted = name.is_none_or(|name| name == known) && suits(method);
        Some((method, method.by_destination.filter(|_| wanted)?(graph, order, roots)?))
    };
    let found = Method::by_destination().into_iter().find_map(begun);
    found.unwrap_or_else(|| (&balanced::METHOD, balanced::begin(graph, order, roots)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fabric, Shape};
    use crate::routes::by_destination::{LaneRule, check};
    use crate::routes::by_source::{check_table, on_demand, route};
    use crate::routing::Rules;

    #[test]
    fn tables_by_source_pass_the_check() {
        let mut fabric = Fabric::new(Shape::torus(&[4, 3]).unwrap());
        for failed in [None, Some(5)] {
            failed.into_iter().for_each(|node| fabric.fail_node(node).unwrap());
            let (system, _) = on_demand(&fabric, &Rules::angara(2)).unwrap();
            for (name, method) in Method::by_source() {
                let searches = method.by_source.as_ref().unwrap().searches;
                match route(system.clone(), method, &Request::default(), &mut |_| true) {
                    Ok(answer) => {
                        let report = check_table(&answer.table, false, &mut |_| true).unwrap();
                        assert!(report.verdict.passed(), "{name}: {:?}", report.verdict.findings);
                    }
                    Err(error) => assert!(failed.is_some() && !searches, "{name}: {error}"),
                }
            }
        }
    }

    #[test]
    fn tables_by_destination_reach_all_hosts() {
        let leaves: Vec<(u32, u32)> = (0..4).flat_map(|leaf| [(leaf, 4), (leaf, 5)]).collect();
        let full: Vec<(u32, u32)> = (0..6).flat_map(|a| (0..a).map(move |b| (b, a))).collect();
        let ring: Vec<(u32, u32)> = (0..6).map(|a| (a, (a + 1) % 6)).collect();
        for cables in [leaves, full, ring] {
            let graph = Graph::new(vec![1; 6], &cables).unwrap();
            let roots: Vec<u32> = (0..6).collect();
            for (name, method) in Method::by_destination() {
                let Some(start) = method.by_destination.unwrap()(&graph, None, &roots) else { continue };
                let verdict = check(&graph, &start.table, None, &LaneRule::Identity(1));
                assert_eq!(verdict.problem_count(), 0, "{name}");
            }
        }
    }
}
