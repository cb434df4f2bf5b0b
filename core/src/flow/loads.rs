//! Loads of channels: how much of what is sent each carries, counted once for all.

use std::ops::AddAssign;

/// What a channel may carry: whole numbers, or shares of them.
pub trait Load: Copy + Default + PartialOrd + AddAssign {}

impl<N: Copy + Default + PartialOrd + AddAssign> Load for N {}

/// How many of some paths cross each of so many channels.
///
/// ```
/// let paths = [vec![0, 2], vec![2], vec![]];
/// assert_eq!(flitloom_core::flow::loads::of_paths::<u64>(4, &paths), [1, 0, 2, 0]);
/// ```
pub fn of_paths<N: Load + From<u8>>(channels: usize, paths: &[Vec<u32>]) -> Vec<N> {
    let mut loads = vec![N::default(); channels];
    paths.iter().flatten().for_each(|&channel| loads[channel as usize] += N::from(1));
    loads
}

/// Sends all that is at some vertices on to where they lead, and adds it to the channels that it takes; every vertex
/// stands before the one it leads to.
///
/// `lead` is told a vertex and the loads so far, and says over which channel it leads where, if anywhere.
///
/// ```
/// use flitloom_core::flow::loads::send;
/// // Two leaves below a vertex below a root, vertex i over channel i.
/// let (mut at, mut loads) = ([2, 1, 1, 0_u64], [0; 3]);
/// send([0, 1, 2], &mut at, &mut loads, |here, _| Some((here, if here < 2 { 2 } else { 3 })));
/// assert_eq!((at[3], loads), (4, [2, 1, 4]));
/// ```
pub fn send<N: Load>(
    order: impl IntoIterator<Item = u32>,
    at: &mut [N],
    loads: &mut [N],
    mut lead: impl FnMut(u32, &[N]) -> Option<(u32, u32)>,
) {
    for here in order {
        if let Some((channel, there)) = lead(here, loads) {
            let sent = at[here as usize];
            loads[channel as usize] += sent;
            at[there as usize] += sent;
        }
    }
}

/// What the fullest channel carries.
///
/// ```
/// assert_eq!(flitloom_core::flow::loads::fullest(&[3, 7, 7]), 7);
/// assert_eq!(flitloom_core::flow::loads::fullest::<u64>(&[]), 0);
/// ```
pub fn fullest<N: Load>(loads: &[N]) -> N {
    loads.iter().copied().fold(N::default(), |most, load| if load > most { load } else { most })
}
