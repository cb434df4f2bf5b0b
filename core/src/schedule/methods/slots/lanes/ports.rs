use super::quadrants::Exchange;

/// When the last of the packets that are left for a port of a diagonal passes it, at the earliest:
/// those of one side after those of the other, once the port is free. 0 if there are none.
///
/// The slots of the two sides pass a node at different times, so that a port that still has to serve
/// both is later than its packets alone would tell.
pub(super) fn last_start(exchange: &Exchange, line: usize, free_from: u32, left: [u32; 2]) -> u32 {
    let lines = exchange.lines;
    let phases = [line as u32, exchange.turn + lines - line as u32];
    let next = |side: usize, from: u32| from + (phases[side] + lines - from % lines) % lines;
    let both = |first: usize| {
        let turning = next(first, free_from) + lines * (left[first] - 1) + exchange.length;
        next(1 - first, turning) + lines * (left[1 - first] - 1)
    };
    match left {
        [0, 0] => 0,
        [_, 0] => next(0, free_from) + lines * (left[0] - 1),
        [0, _] => next(1, free_from) + lines * (left[1] - 1),
        _ => both(0).min(both(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves a port cycle by cycle, with every order of the sides.
    fn by_trial(exchange: &Exchange, line: usize, time: u32, left: [u32; 2]) -> u32 {
        let sides = (0..2).filter(|&side| left[side] > 0);
        let ends = sides.map(|side| {
            let mut start = time;
            while exchange.line(side, start) != line {
                start += 1;
            }
            let mut rest = left;
            rest[side] -= 1;
            if rest == [0, 0] { start } else { by_trial(exchange, line, start + exchange.length, rest) }
        });
        ends.min().unwrap_or(0)
    }

    #[test]
    fn one_change_of_sides_is_best() {
        for (lines, length, turn) in [(8, 8, 0), (8, 8, 2), (8, 7, 1), (5, 5, 3), (6, 5, 4)] {
            let exchange = Exchange { lines, length, turn, ..Exchange::default() };
            for (line, time, forward, backward) in (0..lines as usize)
                .flat_map(|line| (0..9 * 16).map(move |case| (line, case / 16, case % 4, case / 4 % 4)))
            {
                let left = [forward, backward];
                assert_eq!(
                    last_start(&exchange, line, time, left),
                    by_trial(&exchange, line, time, left),
                    "{lines} {length} {turn}: {line} from {time}, {left:?}"
                );
            }
        }
    }
}
