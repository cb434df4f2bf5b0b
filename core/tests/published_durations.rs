//! Durations on the 16x16 torus that an independent prototype of the same router text printed; most
//! of them are also the published ones (cup-stacking-2022, Table 2).

use flitloom_core::{
    engine::{Network, general},
    fabric::{Fabric, Shape},
    probe::LinkOccupation,
    router::RouterConfig,
    traffic::{Collective, Pattern, Workload},
};

fn run(name: &str, payload: u32) -> (u64, u64) {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let destinations = Pattern::from_name(name, &shape).unwrap().destinations(&shape, 0).unwrap();
    let collective = Collective { payload, ..Collective::default() };
    let packets = collective.packet_list(shape.nodes(), &destinations).unwrap();
    let mut links = LinkOccupation::new(shape.nodes() * shape.directions());
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let outcome =
        general::simulate(&network, &Workload::Packets(packets), &Default::default(), &mut links).unwrap();
    (outcome.duration, links.effective_thickness())
}

#[test]
fn whole_packets_take_the_published_time() {
    for (name, short, thickness, middle, long) in [
        ("bcmp", 65, 45, 114, 212),
        ("brev", 103, 100, 194, 376),
        ("brot", 92, 70, 165, 326),
        ("shfl", 95, 68, 246, 528),
        ("torn", 67, 64, 123, 235),
        ("trns", 74, 64, 130, 242),
    ] {
        assert_eq!(run(name, 7), (short, thickness), "{name}, 8 flits");
        assert_eq!(run(name, 14).0, middle, "{name}, 15 flits");
        assert_eq!(run(name, 28).0, long, "{name}, 29 flits");
    }
}
