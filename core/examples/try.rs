#![allow(missing_docs, clippy::unwrap_used)]
use flitloom_core::{fabric::*, schedule::*, traffic::Pattern};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u32 = a[1].parse().unwrap();
    let slices: u32 = a[2].parse().unwrap();
    let limit: f64 = a[3].parse().unwrap();
    let shape = Shape::torus(&[n, n]).unwrap();
    let fabric = Fabric::new(shape.clone());
    for name in ["bcmp", "brev", "brot", "shfl", "torn", "trns"] {
        if a.len() > 4 && !a[4].contains(name) {
            continue;
        }
        let d = Pattern::from_name(name, &shape).unwrap().destinations(&shape, 0).unwrap();
        let demands: Vec<Demand> = (0..shape.nodes() as u32)
            .map(|s| Demand { source: s, destination: d.of(s, 0), length: 8, slices })
            .collect();
        let p = Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::DimensionOrder).unwrap();
        let t0 = std::time::Instant::now();
        let q = Quotient::new(&fabric, &p, usize::MAX);
        let t1 = t0.elapsed().as_secs_f64();
        let q = q.as_ref().map_or(&p, |q| q.problem());
        let (b, _) = lower_bound(&q);
        let t2 = t0.elapsed().as_secs_f64();
        let g = duration_of(&q, &greedy(&q));
        let t3 = t0.elapsed().as_secs_f64();
        println!(
            "{name} classic {} quotient {} {t1:.3} bound {b} {:.3} greedy {g} {:.3}",
            classic_bound(&p),
            q.jobs().len(),
            t2 - t1,
            t3 - t2
        );
        let t0 = std::time::Instant::now();
        let stop = || t0.elapsed().as_secs_f64() > limit;
        let mut budget = Budget { moves: u64::MAX / 2, should_stop: &stop };
        let sol = solve(&fabric, &p, 1, &mut budget, &mut |pr| {
            if a.len() > 5 {
                eprintln!("{pr:?} {:.2}", t0.elapsed().as_secs_f64())
            }
        });
        println!("{name} {:4} moves {} time {:.3}", sol.duration, sol.moves, t0.elapsed().as_secs_f64());
    }
}
