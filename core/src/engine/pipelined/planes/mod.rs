//! Routers of meshes with dimension order as bit planes: credits, links, the crossbar, the switch and what channels
//! hold are planes with one bit per router, packets are records. They do what sets of channels do, to the same bit.

mod channel_list;
mod form;
mod heads;
mod layout;
mod leaving;
mod links;
mod matching;
mod mesh;
mod queues;
mod records;
mod resuming;
mod saving;
mod state;
mod switch;

use super::{
    routers::{AnyRouters, Wanted},
    rules::Rules,
    source::Source,
};
use crate::bits::{Available, InstructionSet, OnVectors, Vector};
use state::Planes;
use std::marker::PhantomData;

/// Builds routers for some vectors, with such a source of packets.
struct Build<'a, S>(&'a Rules, PhantomData<S>);

impl<S: Source> OnVectors for Build<'_, S> {
    type Output = AnyRouters<S>;

    fn run<V: Vector>(self, proof: Available<V>) -> Self::Output {
        Box::new(Planes::<V>::new(self.0, proof))
    }
}

/// Routers without flits on the vectors of a set; `None` if these rules are not those of planes.
pub(super) fn on<S: Source>(set: InstructionSet, rules: &Rules) -> Option<AnyRouters<S>> {
    state::covers(rules).then(|| set.run(Build(rules, PhantomData)))
}

/// Routers without flits on the vectors that suit them. They see no single flits.
pub(super) fn make<S: Source>(rules: &Rules, wanted: Wanted) -> Option<AnyRouters<S>> {
    if wanted.records || wanted.single_flits {
        return None;
    }
    let sets = [InstructionSet::Avx512, InstructionSet::Avx2];
    on(sets.into_iter().find(|set| set.is_available()).unwrap_or(InstructionSet::Word), rules)
}
