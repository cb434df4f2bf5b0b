#![allow(missing_docs, clippy::unwrap_used)]
use flitloom_core::{fabric::*, schedule::*};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let sizes: Vec<u32> = a[1].split('x').map(|s| s.parse().unwrap()).collect();
    let limit: f64 = a[2].parse().unwrap();
    let shape = Shape::torus(&sizes).unwrap();
    let fabric = Fabric::new(shape.clone());
    let choice = [RouteChoice::BalancedTies, RouteChoice::AnyOrder, RouteChoice::TwoBends]
        [a[3].parse::<usize>().unwrap()];
    let demands = Operation::AllToAll.phases(&shape, 7).unwrap().remove(0);
    let p = Problem::new(&fabric, &demands, Slicing::OneInterval, choice).unwrap();
    let t0 = std::time::Instant::now();
    let stop = || t0.elapsed().as_secs_f64() > limit;
    let q = Quotient::new(&fabric, &p, usize::MAX);
    println!("quotient {:?} {:.2}", q.map(|q| q.problem().jobs().len()), t0.elapsed().as_secs_f64());
    let mut budget = Budget { moves: u64::MAX / 2, should_stop: &stop };
    let sol = solve(&fabric, &p, 1, &mut budget, &mut |pr| {
        if a.len() > 4 {
            eprintln!("{pr:?} {:.2}", t0.elapsed().as_secs_f64())
        }
    });
    println!("{:4} bound {} time {:.3}", sol.duration, sol.bound, t0.elapsed().as_secs_f64());
}
