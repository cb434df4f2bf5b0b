//! Films show what the reference model does, of packets that arrive and of those stuck in a deadlock.

use crate::common::{self, Case, CaseSpace, cases};
use crate::reference::What;
use flitloom_core::{
    engine::general,
    fabric::{LinkId, NodeId},
    probe::Film,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Source and number of a packet, link and channel.
type Place = (NodeId, u64, LinkId, u8);

/// First and last cycle and flits of every passage of a packet over a link's channel.
fn passages(case: &Case) -> BTreeMap<(Place, u64), (u64, u32)> {
    let mut events: Vec<_> = common::reference(case)
        .events
        .into_iter()
        .filter_map(|event| match event.what {
            What::Crosses { link, channel, source, number, index } => {
                Some(((source, number, link, channel), event.cycle, index))
            }
            _ => None,
        })
        .collect();
    events.sort_unstable();
    let mut passages = BTreeMap::new();
    let mut heads = BTreeMap::new();
    for (place, cycle, index) in events {
        if index == 0 {
            heads.insert(place, cycle);
        }
        let passage = passages.entry((place, heads[&place])).or_insert((cycle, 0));
        *passage = (cycle, passage.1 + 1);
    }
    passages
}

fn equal(case: &Case) -> Result<(), TestCaseError> {
    let shape = case.network().fabric().shape().clone();
    let mut film = Film::new(shape.nodes() * shape.directions());
    let _ = general::simulate(&case.network(), &case.workload(), &case.options(), &mut film);
    let seen: BTreeMap<_, _> = film
        .hops
        .iter()
        .map(|hop| {
            let packet = film.packets[hop.packet];
            let place = (packet.source, packet.number, hop.link, hop.channel);
            let length = case.packets()[packet.source as usize][packet.number as usize].length;
            assert_eq!(hop.complete, hop.flits == length);
            ((place, hop.head), (hop.last, hop.flits))
        })
        .collect();
    prop_assert_eq!(seen, passages(case));
    Ok(())
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn films_show_what_the_reference_does(case in CaseSpace::default().packet_lists()) {
        equal(&case)?;
    }

    #[test]
    fn films_show_deadlocks(case in CaseSpace { router_rules: false, ..CaseSpace::tight_rings() }.packet_lists()) {
        equal(&case)?;
    }
}
