//! Graphs whose switches have two colours such that every cable joins one of each.

use super::Graph;

impl Graph {
    /// A colour for every switch such that no cable joins two of one colour, the first switch of every
    /// [part](Self::parts) without it; or, where there is none, the switches of an odd cycle.
    ///
    /// ```
    /// use flitloom_core::fabric::Graph;
    /// let ring = |switches: u32| {
    ///     let cables: Vec<_> = (0..switches).map(|switch| (switch, (switch + 1) % switches)).collect();
    ///     Graph::new(vec![1; switches as usize], &cables)
    /// };
    /// assert_eq!(ring(4)?.two_colours(), Ok(vec![false, true, false, true]));
    /// assert_eq!(ring(5)?.two_colours(), Err(vec![0, 1, 2, 3, 4]));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn two_colours(&self) -> Result<Vec<bool>, Vec<u32>> {
        let mut before: Vec<u32> = (0..self.switches() as u32).collect();
        let mut colours: Vec<Option<bool>> = vec![None; self.switches()];
        for start in 0..self.switches() as u32 {
            if colours[start as usize].is_some() {
                continue;
            }
            colours[start as usize] = Some(false);
            let mut met = vec![start];
            let mut place = 0;
            while let Some(&here) = met.get(place) {
                place += 1;
                let own = colours[here as usize];
                for there in self.outgoing(here).iter().map(|&channel| self.ends(channel).1) {
                    if colours[there as usize].is_none() {
                        colours[there as usize] = own.map(|colour| !colour);
                        before[there as usize] = here;
                        met.push(there);
                    } else if colours[there as usize] == own {
                        return Err(cycle(&before, here, there));
                    }
                }
            }
        }
        Ok(colours.into_iter().map(|colour| colour == Some(true)).collect())
    }
}

/// The cycle that a cable closes between two switches of a tree, by the switch before each.
fn cycle(before: &[u32], one: u32, other: u32) -> Vec<u32> {
    let to_the_root = |from: u32| {
        let step = |&at: &u32| Some(before[at as usize]).filter(|&next| next != at);
        std::iter::successors(Some(from), step).collect::<Vec<u32>>()
    };
    let (mut here, mut there) = (to_the_root(one), to_the_root(other));
    let mut meeting = here[here.len() - 1];
    while here.last() == there.last() && !here.is_empty() {
        meeting = here[here.len() - 1];
        here.pop();
        there.pop();
    }
    here.push(meeting);
    here.reverse();
    here.extend(there);
    here
}
