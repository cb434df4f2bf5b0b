use crate::schedule::Route;

/// Whether two routes that are started together never hold a resource at once, each use lasting `length` cycles.
pub(crate) fn apart(a: &Route, b: &Route, length: u32) -> bool {
    let mut at: Vec<(u32, u32)> = a.uses.iter().map(|held| (held.resource, held.offset)).collect();
    at.sort_unstable();
    b.uses.iter().all(|held| {
        let first = at.partition_point(|&(resource, _)| resource < held.resource);
        at[first..]
            .iter()
            .take_while(|&&(resource, _)| resource == held.resource)
            .all(|&(_, offset)| offset.abs_diff(held.offset) >= length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Use;
    use crate::traffic::{Purpose, draw_below};
    use std::collections::HashSet;

    /// Every resource and cycle that a route started at 0 holds.
    fn held(route: &Route, length: u32) -> HashSet<(u32, u32)> {
        let cycles =
            |&Use { resource, offset }: &Use| (offset..offset + length).map(move |cycle| (resource, cycle));
        route.uses.iter().flat_map(cycles).collect()
    }

    #[test]
    fn routes_are_apart_if_they_never_hold_a_resource_at_once() {
        let mut seen = [0; 2];
        for case in 0..2000 {
            let mut next = 0;
            let mut draw = |bound: u32| {
                next += 1;
                draw_below(case, 0, Purpose::Shuffle, next, bound)
            };
            let length = 1 + draw(5);
            let mut route = |uses: u32| Route {
                uses: (0..uses).map(|_| Use { resource: draw(6), offset: draw(12) }).collect(),
                span: 0,
                path: Box::default(),
            };
            let (a, b) = (route(3), route(4));
            let expected = held(&a, length).is_disjoint(&held(&b, length));
            assert_eq!(apart(&a, &b, length), expected, "{a:?} {b:?} {length}");
            seen[usize::from(expected)] += 1;
        }
        assert!(seen.iter().all(|&cases| cases > 200), "{seen:?}");
    }
}
