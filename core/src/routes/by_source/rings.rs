use super::{NO_ROUTE, System};
use crate::routing::Route;

/// The exactly balanced table of a healthy torus whose sizes are odd or multiples of 4, or `None` for
/// any other system.
///
/// Every pair takes the shorter way around each ring; at half a ring's length it goes plus from even
/// coordinates and minus from odd ones. All links of a dimension then carry the same load, which is
/// the bound in closed form.
pub(crate) fn headers(system: &System) -> Option<Vec<u32>> {
    let shape = system.fabric().shape();
    let exact = |size: u32| size.is_multiple_of(4) || size % 2 == 1;
    let applies = system.fabric().is_healthy()
        && (0..shape.dimensions()).all(|dimension| shape.wraps(dimension) && exact(shape.size(dimension)));
    if !applies {
        return None;
    }
    let nodes = system.nodes();
    let mut headers = Vec::with_capacity(nodes * nodes);
    for source in 0..nodes as u32 {
        // The header fields of the dimensions are disjoint, so a row is a sum of one table each.
        let mut row = vec![0_u32];
        for dimension in (0..shape.dimensions()).rev() {
            let (size, from) = (shape.size(dimension) as i32, shape.coordinate(source, dimension) as i32);
            let field = |to: i32| {
                let ahead = (to - from).rem_euclid(size);
                let plus = 2 * ahead < size || 2 * ahead == size && from % 2 == 0;
                let mut route = Route::default();
                route.hops[dimension] = if plus { ahead } else { ahead - size };
                system.layout().pack(&route)
            };
            let fields: Vec<u32> = (0..size).map(field).collect();
            row = row.iter().flat_map(|&outer| fields.iter().map(move |&inner| outer | inner)).collect();
        }
        row[source as usize] = NO_ROUTE;
        headers.extend(row);
    }
    Some(headers)
}
