//! Runs of files of BookSim2 do the same in every form of routers.

#[cfg(test)]
mod tests {
    use super::super::{options::Options, phases::Phases, traffic_manager::PacketRecord};
    use crate::{bits::InstructionSet, drawn::drawn, engine::pipelined::Form};
    use proptest::{prelude::*, sample::select};

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
                    &[
                        "dor",
                        "dor",
                        "xy_yx",
                        "adaptive_xy_yx",
                        "romm",
                        "valiant",
                        "planar_adapt",
                        "min_adapt"
                    ]
                ),
                ("k", &["3", "4"]),
                ("num_vcs", &["3", "4", "8"]),
            ]),
            one_of(&[
                ("topology", &["torus"]),
                ("routing_function", &["dim_order", "dim_order_bal", "min_adapt"]),
                ("k", &["3", "4"]),
                ("num_vcs", &["4", "4", "5"]),
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
        "rr_wavefront",
        "pim",
        "pim(2)",
        "max_size",
    ];

    const POLICIES: &[&str] = &[
        "private",
        "private",
        "private",
        "shared",
        "limited",
        "dynamic",
        "shifting",
        "feedback",
        "simplefeedback",
    ];

    const REST: &[(&str, &[&str])] = &[
        ("vc_allocator", ALLOCATORS),
        ("sw_allocator", ALLOCATORS),
        ("vc_buf_size", &["1", "2", "3", "8"]),
        ("buffer_policy", POLICIES),
        ("feedback_aging_scale", &["1", "3"]),
        ("feedback_offset", &["1000", "5"]),
        ("private_bufs", &["-1", "1", "2"]),
        ("private_buf_size", &["1", "0"]),
        ("max_held_slots", &["4", "2"]),
        ("routing_delay", &["0", "1", "2"]),
        ("credit_delay", &["0", "1", "2"]),
        ("st_final_delay", &["1", "1", "1", "2"]),
        ("st_prepare_delay", &["0", "0", "0", "1"]),
        ("input_speedup", &["1", "2", "2", "9"]),
        ("hold_switch_for_packet", &["0", "0", "1"]),
        ("vc_shuffle_requests", &["0", "0", "1"]),
        ("vc_prioritize_empty", &["0", "0", "1"]),
        ("spec_mask_by_reqs", &["0", "1"]),
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

    /// Of which no two exclude each other.
    const FURTHER: &[&[(&str, &str)]] = &[
        &[],
        &[],
        &[("speculative", "1")],
        &[("speculative", "1"), ("spec_sw_allocator", "islip")],
        &[("speculative", "1"), ("spec_sw_allocator", "pim"), ("output_speedup", "2")],
        &[("speculative", "1"), ("vc_allocator", "piggyback")],
        &[("speculative", "1"), ("vc_allocator", "piggyback"), ("spec_sw_allocator", "wavefront")],
        &[("output_speedup", "2"), ("input_speedup", "2")],
        &[("output_speedup", "2"), ("input_speedup", "2"), ("output_buffer_size", "1")],
        &[("internal_speedup", "1.5")],
        &[("internal_speedup", "2.0"), ("output_speedup", "2"), ("input_speedup", "2")],
        &[("output_buffer_size", "2")],
        &[
            ("topology", "mesh"),
            ("routing_function", "dor"),
            ("noq", "1"),
            ("routing_delay", "0"),
            ("num_vcs", "8"),
        ],
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

    /// Compares sets of channels with lists.
    fn compare(options: impl IntoIterator<Item = (&'static str, &'static str)>) -> Result<(), TestCaseError> {
        let mut all = Options::default();
        for (name, value) in options {
            prop_assert!(all.set(name, value));
        }
        let begun = Phases::new(&all, true).map_err(|error| TestCaseError::reject(error.text))?;
        prop_assert_eq!(run(&begun, Form::Lists), run(&begun, Form::Sets));
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(drawn(400)))]
        #[test]
        fn sets_do_what_lists_do(
            network in networks(),
            rest in one_of(REST),
            further in select(FURTHER.to_vec()),
        ) {
            compare(network.into_iter().chain(rest).chain(further.iter().copied()))?;
        }
    }

    /// Samples that are never enough, so that sources stop after a fixed time, as in the recorded runs.
    const PHASES: &str = "sim_type=throughput warmup_periods=1 max_samples=2 sample_period=100";

    /// Packets in the order of arrival as a line each, hashed (FNV-1a).
    fn hashed(packets: &[PacketRecord]) -> String {
        let line = |one: &PacketRecord| {
            let PacketRecord { packet, source, destination, created, injected, head, tail, hops, .. } = one;
            format!("{packet} {source} {destination} {created} {injected} {head} {tail} {hops}\n")
        };
        let hash =
            packets.iter().map(line).collect::<String>().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        format!("{hash:016x}")
    }

    #[test]
    fn lists_and_sets_do_what_booksim2_logged() {
        let recorded = include_str!("../../tests/reference/lists/recorded.txt");
        for line in recorded.lines() {
            let [packets, hash, words] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let mut options = Options::default();
            for word in words.split_whitespace().chain(PHASES.split_whitespace()) {
                let (name, value) = word.split_once('=').unwrap_or_default();
                assert!(options.set(name, value), "{word}");
            }
            let begun = Phases::new(&options, true).unwrap();
            for form in [Form::Lists, Form::Sets] {
                let (_, found) = run(&begun, form).unwrap();
                let counted = (found.len().to_string(), hashed(&found));
                assert_eq!(counted, (packets.to_owned(), hash.to_owned()), "{form:?} {words}");
            }
        }
        assert!(recorded.lines().count() >= 50);
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
        #![proptest_config(ProptestConfig::with_cases(drawn(24)))]
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
