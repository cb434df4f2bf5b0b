//! Service levels that are the same there and back.

use super::{Assignment, DimensionOrder, Mode, SERVICE_LEVELS, Turn};

impl Assignment<'_> {
    /// Levels that are the same there and back.
    pub(super) fn run_both_ways(&mut self, turn: Turn) {
        let switches = self.graph.switches();
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); switches];
        for (destination, &root) in self.table.roots.iter().enumerate() {
            rows[root as usize].push(destination as u32);
        }
        let mut pairs: Vec<(usize, usize, Vec<Vec<u32>>)> = Vec::new();
        for a in 0..switches {
            for b in (a + 1..switches).filter(|&b| !rows[a].is_empty() && !rows[b].is_empty()) {
                let mut paths = Vec::new();
                for (source, destinations) in [(a, &rows[b]), (b, &rows[a])] {
                    for &destination in destinations {
                        let mut path = Vec::new();
                        if self.walk(source as u32, destination, &mut path) {
                            paths.push(path);
                        }
                    }
                }
                paths.sort_unstable();
                paths.dedup();
                pairs.push((a, b, paths));
            }
        }
        if matches!(turn, Turn::Longest) {
            let longest = |paths: &Vec<Vec<u32>>| paths.iter().map(Vec::len).max();
            pairs.sort_by_key(|(_, _, paths)| std::cmp::Reverse(longest(paths)));
        }
        for (a, b, paths) in pairs {
            let found = self.find_for_all(&paths).filter(|_| self.dependencies.work() <= self.limit_of_work);
            let Some(level) = found else {
                self.left.push((b as u32, a as u32));
                return;
            };
            for (source, destinations) in [(a, &rows[b]), (b, &rows[a])] {
                for &destination in destinations {
                    self.levels[destination as usize * switches + source] = level;
                }
            }
        }
    }

    /// The first level that takes several paths.
    fn find_for_all(&mut self, paths: &[Vec<u32>]) -> Option<u8> {
        if self.mode == Mode::Portable {
            return self.find_constant(paths);
        }
        let own = self.order.map_or(0, DimensionOrder::levels) as u8;
        let datelines = self.order.and_then(|order| {
            let mut levels = paths.iter().map(|path| order.level(self.graph, path).0);
            let first = levels.next()?;
            levels.all(|level| level == first).then_some(first)
        });
        datelines.into_iter().chain(own..SERVICE_LEVELS as u8).find(|&level| self.place_all(paths, level))
    }
}
