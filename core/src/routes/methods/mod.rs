//! Where tables begin before they are balanced: a closed list of methods.

mod balanced;
mod dor;
mod dragonfly;
mod ftree;

use super::by_destination::{DimensionOrder, Forwarding};
use crate::fabric::Graph;

/// Tables to begin with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The tables.
    pub table: Forwarding,
    /// Whether only entries of channels above the bound are to be pointed elsewhere, so that the others keep their
    /// pattern.
    pub gently: bool,
}

/// A way to begin.
pub struct Method {
    /// What users call it.
    pub name: &'static str,
    /// The kind of fabric that it is for, as recognition calls it, or `any`.
    pub kind: &'static str,
    /// What it is good for, in a line.
    pub about: &'static str,
    /// Tables for the switches that destinations hang off, if the fabric is one for this method.
    pub start: fn(&Graph, Option<&DimensionOrder>, &[u32]) -> Option<Start>,
}

/// All methods; the first that suits a fabric is the default.
pub static METHODS: &[&Method] = &[&ftree::METHOD, &dor::METHOD, &dragonfly::METHOD, &balanced::METHOD];

/// Tables of the named method, or of the first that suits the fabric, and which that is.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::methods::start};
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
    let mut named = METHODS.iter().filter(|method| name.is_none_or(|name| name == method.name));
    let found = named.find_map(|method| Some((*method, (method.start)(graph, order, roots)?)));
    found.unwrap_or_else(|| (&balanced::METHOD, balanced::begin(graph, order, roots)))
}
