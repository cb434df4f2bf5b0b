use super::{NO_ROUTE, System, TableError};
use crate::fabric::{NodeId, Sign};
use crate::routing::{Route, dimension_order};

/// Plain ordered routes without first and last steps: per dimension the shorter way, ties as in
/// [`crate::routing::dimension_order`]. The order of directions is that of the rules.
pub(crate) fn headers(
    system: &System,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<u32>, TableError> {
    let (fabric, shape) = (system.fabric(), system.fabric().shape());
    let nodes = system.nodes() as NodeId;
    let mut headers = vec![NO_ROUTE; (nodes * nodes) as usize];
    let mut unserved = Vec::new();
    for source in (0..nodes).filter(|&source| fabric.node_works(source)) {
        if !keep_going(f64::from(source) / f64::from(nodes)) {
            return Err(TableError::Interrupted);
        }
        for destination in (0..nodes).filter(|&node| node != source && fabric.node_works(node)) {
            let mut route = Route::default();
            for dimension in 0..shape.dimensions() {
                let (from, to) =
                    (shape.coordinate(source, dimension), shape.coordinate(destination, dimension));
                let size = shape.size(dimension);
                let ahead = to as i32 - from as i32;
                route.hops[dimension] = match dimension_order::sign(size, shape.wraps(dimension), from, to) {
                    Some(Sign::Plus) if ahead < 0 => ahead + size as i32,
                    Some(Sign::Minus) if ahead > 0 => ahead - size as i32,
                    _ => ahead,
                };
            }
            if system.route_works(source, &route) {
                headers[(source * nodes + destination) as usize] = system.layout().pack(&route);
            } else {
                unserved.push((source, destination));
            }
        }
    }
    if unserved.is_empty() { Ok(headers) } else { Err(TableError::unserved(&unserved)) }
}
