//! Routers in which nobody sees the order of lists, or only drawn numbers and flits that cross to one output in a step
//! do, with a crossbar of one cycle. They are kept as sets of channels, words of requests and arrays over all routers, and do
//! what the other routers do, to the same bit.

mod channels;
mod common;
mod divided;
mod form;
mod layout;
mod links;
mod matrix;
mod parts;
mod priorities;
mod saving;
mod seen;
mod sharing;
mod state;
mod step;
mod switch;
mod wheel;
mod worker;

pub(super) use {
    matrix::turn,
    parts::Part,
    state::{HEAD, Lane, NOBODY, PACKET, Sets, TAIL},
    worker::Worker,
};

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
        Sets,
    };
    use crate::drawn::drawn;
    use proptest::{
        prelude::*,
        sample::select,
        test_runner::{TestError, TestRunner},
    };
    use std::cell::Cell;

    type Chosen = Vec<(&'static str, &'static str)>;

    /// One of the values of every option.
    fn one_of(options: &[(&'static str, &[&'static str])]) -> impl Strategy<Value = Chosen> {
        let each = |&(name, values): &(&'static str, &[&'static str])| {
            select(values.to_vec()).prop_map(move |value| (name, value))
        };
        options.iter().map(each).collect::<Vec<_>>()
    }

    fn networks() -> impl Strategy<Value = Chosen> {
        prop_oneof![
            one_of(&[
                ("topology", &["mesh"]),
                (
                    "routing_function",
                    &["dor", "dor", "xy_yx", "adaptive_xy_yx", "romm", "valiant", "planar_adapt"]
                ),
                ("k", &["3", "4"]),
                ("num_vcs", &["3", "4", "8"]),
            ]),
            one_of(&[
                ("topology", &["torus"]),
                ("routing_function", &["dim_order", "dim_order_bal"]),
                ("k", &["3", "4"]),
                ("num_vcs", &["2", "4", "5"]),
            ]),
            one_of(&[
                ("topology", &["fattree"]),
                ("routing_function", &["nca", "anca"]),
                ("k", &["3"]),
                ("num_vcs", &["2", "3"]),
            ]),
        ]
    }

    const ALLOCATORS: &[&str] = &[
        "islip",
        "islip",
        "islip(2)",
        "select",
        "loa",
        "wavefront",
        "separable_input_first",
        "separable_output_first",
        "separable_input_first(matrix)",
    ];

    const REST: &[(&str, &[&str])] = &[
        ("vc_allocator", ALLOCATORS),
        ("sw_allocator", ALLOCATORS),
        ("vc_buf_size", &["1", "2", "3", "8"]),
        ("buffer_policy", &["private", "private", "shared", "limited", "dynamic", "shifting"]),
        ("private_bufs", &["-1", "1", "2"]),
        ("private_buf_size", &["1", "0"]),
        ("max_held_slots", &["4"]),
        ("routing_delay", &["0", "1", "2"]),
        ("credit_delay", &["0", "1", "2"]),
        ("input_speedup", &["1", "2", "2"]),
        ("output_speedup", &["1", "1", "2"]),
        ("internal_speedup", &["1.0", "1.0", "1.5", "2.0"]),
        ("speculative", &["0", "0", "1"]),
        ("spec_check_elig", &["0", "1"]),
        ("spec_check_cred", &["0", "1"]),
        ("wait_for_tail_credit", &["0", "1"]),
        ("vc_busy_when_full", &["0", "0", "1"]),
        (
            "priority",
            &["none", "none", "none", "age", "network_age", "local_age", "queue_length", "hop_count"],
        ),
        ("vc_priority_donation", &["0", "1"]),
        ("packet_size", &["1", "2", "5", "{1,4}"]),
        ("injection_rate", &["0.03", "0.1", "0.3"]),
        ("seed", &["1", "2", "3", "4"]),
        ("sample_period", &["100"]),
        ("max_samples", &["4"]),
    ];

    /// What happens in a run, and its packets.
    fn run(mut phases: Phases) -> (Vec<Event>, Vec<PacketRecord>) {
        let (mut events, mut packets) = (Vec::new(), Vec::new());
        while let Some(event) = phases.advance(&false.into()) {
            events.push(event);
            packets.append(&mut phases.take_log());
        }
        (events, packets)
    }

    /// Compares sets of channels with the others where they cover the options; whether they do.
    fn compare(network: Chosen, rest: Chosen) -> Result<bool, TestCaseError> {
        let mut options = Options::default();
        for (name, value) in network.into_iter().chain(rest) {
            prop_assert!(options.set(name, value));
        }
        let mut others = match Phases::new(&options, true) {
            Ok(phases) => phases,
            Err(error) => return Err(TestCaseError::reject(error.text)),
        };
        let Some(sets) = Sets::new(&others.run.rules) else { return Ok(false) };
        let mut phases = others.clone();
        phases.run.subnets = vec![Subnet::of(&phases.run.rules, Box::new(sets))];
        others.run.subnets = vec![Subnet::of(&others.run.rules, Box::new(Lists::new(&others.run.rules)))];
        let (expected, found) = (run(others), run(phases));
        // Changes are not a number where nothing arrived.
        prop_assert_eq!(format!("{:?}", expected.0), format!("{:?}", found.0));
        prop_assert_eq!(expected.1, found.1);
        Ok(true)
    }

    #[test]
    fn sets_do_what_lists_do() -> Result<(), TestError<(Chosen, Chosen)>> {
        let (all, sets) = (drawn(200), Cell::new(0));
        TestRunner::new(ProptestConfig::with_cases(all)).run(
            &(networks(), one_of(REST)),
            |(network, rest)| {
                sets.set(sets.get() + u32::from(compare(network, rest)?));
                Ok(())
            },
        )?;
        // About half of what is drawn is for sets of channels.
        assert!(sets.get() > all / 3, "only {} of {all} cases ran on sets of channels", sets.get());
        Ok(())
    }
}
