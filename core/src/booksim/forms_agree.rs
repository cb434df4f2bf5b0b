//! Runs of files of BookSim2 do the same in every form of routers.

#[cfg(test)]
mod tests {
    use super::super::{options::Options, phases::Phases, traffic_manager::PacketRecord};
    use crate::{bits::InstructionSet, drawn::drawn, engine::pipelined::Form};
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

    /// What happens in a run in a form of routers, and its packets; `None` if the form does not cover it.
    fn run(begun: &Phases, form: Form) -> Option<(String, Vec<PacketRecord>)> {
        let mut phases = begun.clone();
        phases.run = begun.run.with_form(form)?;
        let (mut events, mut packets) = (Vec::new(), Vec::new());
        while let Some(event) = phases.advance(&false.into()) {
            events.push(event);
            packets.append(&mut phases.take_log());
        }
        // Changes are not a number where nothing arrived.
        Some((format!("{events:?}"), packets))
    }

    /// Compares sets of channels with the others where they cover the options; whether they do.
    fn compare(network: Chosen, rest: Chosen) -> Result<bool, TestCaseError> {
        let mut options = Options::default();
        for (name, value) in network.into_iter().chain(rest) {
            prop_assert!(options.set(name, value));
        }
        let begun = Phases::new(&options, true).map_err(|error| TestCaseError::reject(error.text))?;
        let Some(found) = run(&begun, Form::Sets) else { return Ok(false) };
        prop_assert_eq!(run(&begun, Form::Lists), Some(found));
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

    const PLANES_ALLOCATORS: &[&str] = &["islip", "separable_input_first", "separable_output_first"];
    const PLANES_SWITCHES: &[&str] =
        &["islip", "islip(2)", "separable_input_first", "separable_output_first"];
    const OF_PLANES: &[(&str, &[&str])] = &[
        ("vc_allocator", PLANES_ALLOCATORS),
        ("sw_allocator", PLANES_SWITCHES),
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
        let options: Vec<_> = OF_PLANES
            .iter()
            .map(|&(name, values)| select(values).prop_map(move |value| format!("{name}={value}")))
            .collect();
        (select(SIZES), select(CHANNELS), options)
            .prop_map(|(size, channels, options)| format!("{size} {channels} {}", options.join(" ")))
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
            let begun = Phases::new(&options, true).map_err(|error| TestCaseError::fail(error.text))?;
            let expected = run(&begun, Form::Lists);
            for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
                prop_assert_eq!(&expected, &run(&begun, Form::Planes(set)), "{}", set.name());
            }
        }
    }
}
