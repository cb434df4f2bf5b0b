//! How much messages raise the potentials of nodes.

/// Sums that are added up side by side.
const LANES: usize = 8;

/// By sender and receiver how much a message raises the potentials of all nodes: rows of them at the senders
/// before a round, and at the receivers after it.
///
/// ```
/// // From 1 to 3 at one node; what falls at the other one does not count.
/// assert_eq!(flitloom_core::collective::raises(&[1.0, 2.0], &[3.0, 0.0], 2), [2.0]);
/// ```
pub fn raises(starts: &[f64], ends: &[f64], nodes: usize) -> Vec<f64> {
    let rows = starts.chunks(nodes).flat_map(|start| ends.chunks(nodes).map(move |end| raised(start, end)));
    rows.collect()
}

fn raised(start: &[f64], end: &[f64]) -> f64 {
    let rise = |(before, after): (&f64, &f64)| if after > before { after - before } else { 0.0 };
    let (starts, ends) = (start.chunks_exact(LANES), end.chunks_exact(LANES));
    let rest: f64 = starts.remainder().iter().zip(ends.remainder()).map(rise).sum();
    let mut sums = [0.0; LANES];
    for (start, end) in starts.zip(ends) {
        for (sum, pair) in sums.iter_mut().zip(start.iter().zip(end)) {
            *sum += rise(pair);
        }
    }
    sums.iter().sum::<f64>() + rest
}
