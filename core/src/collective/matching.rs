//! Who brings what: one thing for as many takers as possible (Kuhn 1955).

/// Finds a taker for a thing that can have some of them, moving others to their other takers if needed.
pub(super) fn augment(
    item: u32,
    chosen: &mut [Option<u32>],
    seen: &mut [bool],
    takes: &impl Fn(usize, u32) -> bool,
) -> bool {
    for taker in 0..chosen.len() {
        if seen[taker] || !takes(taker, item) {
            continue;
        }
        seen[taker] = true;
        let settled = match chosen[taker] {
            None => true,
            Some(other) => augment(other, chosen, seen, takes),
        };
        if settled {
            chosen[taker] = Some(item);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_things_give_way_where_they_have_another_taker() {
        // Thing 0 is taken by both, thing 1 by the first taker only, thing 2 by nobody that is free.
        let takes = |taker: usize, item: u32| item == 0 || taker == 0;
        let mut chosen = [None; 2];
        let found = [0, 1, 2].map(|item| augment(item, &mut chosen, &mut [false; 2], &takes));
        assert_eq!((found, chosen), ([true, true, false], [Some(1), Some(0)]));
    }
}
