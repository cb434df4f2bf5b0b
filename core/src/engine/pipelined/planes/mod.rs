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
    routers::{AnyRouters, Nodes, Wanted},
    rules::Rules,
};
use crate::bits::{Available, InstructionSet, OnVectors, Vector};
use state::Planes;
use std::marker::PhantomData;

/// Builds routers for some vectors, with such nodes.
struct Build<'a, N>(&'a Rules, PhantomData<N>);

impl<N: Nodes> OnVectors for Build<'_, N> {
    type Output = AnyRouters<N>;

    fn run<V: Vector>(self, proof: Available<V>) -> Self::Output {
        Box::new(Planes::<V>::new(self.0, proof))
    }
}

/// Routers without flits on the vectors of a set; `None` if these rules are not those of planes.
pub(super) fn on<N: Nodes>(set: InstructionSet, rules: &Rules) -> Option<AnyRouters<N>> {
    state::covers(rules).then(|| set.run(Build(rules, PhantomData)))
}

/// Routers without flits on the vectors that suit them. They see no single flits.
pub(super) fn make<N: Nodes>(rules: &Rules, wanted: Wanted) -> Option<AnyRouters<N>> {
    if wanted.single_flits {
        return None;
    }
    let sets = [InstructionSet::Avx512, InstructionSet::Avx2];
    on(sets.into_iter().find(|set| set.is_available()).unwrap_or(InstructionSet::Word), rules)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            lists::Lists,
            options::Options,
            phases::{Event, Phases},
            run::PacketRecord,
            subnet::Subnet,
        },
        on,
    };
    use crate::{bits::InstructionSet, drawn::drawn};
    use proptest::{prelude::*, sample::select};

    const ALLOCATORS: &[&str] = &["islip", "separable_input_first", "separable_output_first"];
    const SWITCHES: &[&str] = &["islip", "islip(2)", "separable_input_first", "separable_output_first"];
    const OPTIONS: &[(&str, &[&str])] = &[
        ("vc_allocator", ALLOCATORS),
        ("sw_allocator", SWITCHES),
        ("vc_buf_size", &["1", "2", "3", "8", "15", "16", "20", "64", "127"]),
        ("routing_delay", &["0", "1"]),
        ("credit_delay", &["0", "1", "2", "5"]),
        ("wait_for_tail_credit", &["0", "1"]),
        ("vc_busy_when_full", &["0", "1"]),
        ("packet_size", &["1", "2", "5", "20", "{1,4}"]),
        ("injection_rate", &["0.02", "0.1", "0.3"]),
        ("traffic", &["uniform", "uniform", "tornado", "neighbor", "diagonal"]),
        ("seed", &["1", "2", "3", "4"]),
        ("sim_count", &["1", "1", "2"]),
        ("sample_period", &["100"]),
        ("max_samples", &["4"]),
    ];
    /// Lines and squares, of up to 256 nodes and, now and then, of more.
    const SIZES: &[&str] = &["k=4 n=1", "k=70 n=1", "k=3 n=2", "k=5 n=2", "k=8 n=2", "k=12 n=2", "k=24 n=2"];
    /// Channels, connections per input port and what messages there are.
    const CHANNELS: &[&str] = &[
        "num_vcs=1",
        "num_vcs=3",
        "num_vcs=8",
        "num_vcs=4 input_speedup=2",
        "num_vcs=16 input_speedup=2",
        "num_vcs=16 use_read_write=1 read_reply_size=5 write_request_size=3",
    ];

    fn words() -> impl Strategy<Value = String> {
        let options: Vec<_> = OPTIONS
            .iter()
            .map(|&(name, values)| select(values).prop_map(move |value| format!("{name}={value}")))
            .collect();
        (select(SIZES), select(CHANNELS), options)
            .prop_map(|(size, channels, options)| format!("{size} {channels} {}", options.join(" ")))
    }

    /// What happens in a run, and its packets.
    fn run(mut phases: Phases) -> (String, Vec<PacketRecord>) {
        let (mut events, mut packets) = (Vec::<Event>::new(), Vec::new());
        while let Some(event) = phases.advance(&false.into()) {
            events.push(event);
            packets.append(&mut phases.take_log());
        }
        // Changes are not a number where nothing arrived.
        (format!("{events:?}"), packets)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(drawn(40)))]
        #[test]
        fn planes_do_what_lists_do(words in words()) {
            let mut options = Options::default();
            for word in "topology=mesh routing_function=dor".split(' ').chain(words.split(' ')) {
                let (name, value) = word.split_once('=').unwrap_or_default();
                prop_assert!(options.set(name, value));
            }
            let planes = Phases::new(&options, true).map_err(|error| TestCaseError::fail(error.text))?;
            let mut lists = planes.clone();
            lists.run.subnets = vec![Subnet::of(&lists.run.rules, Box::new(Lists::new(&lists.run.rules)))];
            let expected = run(lists);
            for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
                let mut on_set = planes.clone();
                let rules = &on_set.run.rules;
                let Some(words) = on(set, rules) else { return Err(TestCaseError::fail("no planes")) };
                on_set.run.subnets = vec![Subnet::of(rules, words)];
                prop_assert_eq!(&expected, &run(on_set), "{}", set.name());
            }
        }
    }
}
