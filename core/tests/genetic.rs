//! The genetic search decides the same whatever engine, number of threads or short cut evaluates its
//! chromosomes, and what it records can be replayed to the cycle.

use crate::common::sampled;
use flitloom_core::{
    engine::{Network, Options, general},
    fabric::{Fabric, Shape},
    genetic::{
        Acceptance, Case, Chromosome, GeneticError, Groups, Objective, SearchOutcome, Settings, SortKey,
        Ties, extrapolate, replay, search,
    },
    probe::{ArbitrationCounts, LinkOccupation},
    router::{Arbitration, ChannelScheme, North, RouterConfig, Variant},
    routing::Datelines,
    throttle::{Interlock, Throttle},
    traffic::{Collective, Destinations, Pattern, Purpose, Workload, draw_below},
};
use std::{collections::BTreeSet, ops::ControlFlow};

fn network() -> Network {
    Network::new(Fabric::new(Shape::torus(&[8, 8]).unwrap()), RouterConfig::default()).unwrap()
}

fn bit_reverse(network: &Network) -> Destinations {
    Pattern::BitReverse.destinations(network.fabric().shape(), 0).unwrap()
}

fn collective(slices: u32) -> Collective {
    Collective { payload: 7 * slices, slices, interval: 9, ..Collective::default() }
}

fn small() -> Settings {
    Settings {
        chromosomes: 9,
        generations: 40,
        training: 10,
        crossover_interval: 5,
        // So that the order of the chromosomes shows within few generations.
        crossover_rate: 0.6,
        pairs: 9,
        synonyms: true,
        ..Settings::default()
    }
}

fn run(groups: Groups, slices: u32, settings: &Settings) -> SearchOutcome {
    run_on(&network(), groups, slices, settings)
}

fn run_on(network: &Network, groups: Groups, slices: u32, settings: &Settings) -> SearchOutcome {
    let destinations = bit_reverse(network);
    let case = Case::new(network, &destinations, collective(slices), groups).unwrap();
    search(&case, settings, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The same as far as it is known without averages.
fn without_averages(mut outcome: SearchOutcome) -> SearchOutcome {
    for generation in &mut outcome.history {
        assert!(generation.average.take().is_some_and(|average| average >= generation.best as f64));
    }
    outcome
}

/// The chromosome simulated from scratch, as any other workload.
fn simulate(chromosome: &Chromosome, slices: u32, options: &Options) -> (u64, [u64; 2], ArbitrationCounts) {
    let router = RouterConfig { arbitration: chromosome.arbitration.clone(), ..RouterConfig::default() };
    let network = Network::new(Fabric::new(Shape::torus(&[8, 8]).unwrap()), router).unwrap();
    let collective =
        Collective { interval: chromosome.interval, delays: chromosome.delays.clone(), ..collective(slices) };
    let packets = collective.packet_list(64, &bit_reverse(&network)).unwrap();
    let mut probe = (LinkOccupation::new(256), ArbitrationCounts::default());
    let outcome = general::simulate(&network, &Workload::Packets(packets), options, &mut probe).unwrap();
    (outcome.duration, [probe.0.effective_thickness(), probe.0.span()], probe.1)
}

#[test]
fn engines_and_short_cuts_do_not_change_a_decision() {
    let acceptances = [Acceptance::NotLater, Acceptance::NotWorse, Acceptance::Better];
    for (turn, groups) in [Groups::FULL, Groups::WITHOUT_TIMING, Groups::TIMING].into_iter().enumerate() {
        // All ways to accept with all groups, one of them with each other choice.
        let ways = if turn == 0 { &acceptances[..] } else { &acceptances[turn..=turn] };
        for &acceptance in sampled(ways, 3) {
            let plain = Settings { planes: false, skip_unused: false, averages: true, acceptance, ..small() };
            let expected = run(groups, 2, &plain);
            let skipping = run(groups, 2, &Settings { skip_unused: true, ..plain.clone() });
            assert!(skipping.simulations <= expected.simulations);
            if groups == Groups::WITHOUT_TIMING {
                assert!(skipping.simulations < expected.simulations);
            }
            assert_eq!(SearchOutcome { simulations: expected.simulations, ..skipping }, expected);
            let planes = run(groups, 2, &Settings { planes: true, ..plain.clone() });
            assert_eq!(planes, expected, "{groups:?}");
            for planes in [false, true] {
                let stopping = run(groups, 2, &Settings { planes, averages: false, ..plain.clone() });
                assert_eq!(stopping, without_averages(expected.clone()), "{groups:?}, planes: {planes}");
            }
        }
    }
}

/// Output registers, a checkerboard of datelines and another north, on the planes and in the general engine.
#[test]
fn the_published_router_is_searched_alike() {
    let router = RouterConfig {
        variant: Variant::Registers,
        datelines: Datelines::CHECKERBOARD,
        north: North::Minus,
        ..RouterConfig::default()
    };
    let network = Network::new(Fabric::new(Shape::torus(&[8, 8]).unwrap()), router).unwrap();
    for (slices, objective) in [(1, Objective::Span), (2, Objective::Duration), (2, Objective::Thickness)] {
        let [planes, general] = [true, false]
            .map(|planes| run_on(&network, Groups::FULL, slices, &Settings { planes, objective, ..small() }));
        assert_eq!(planes, SearchOutcome { simulations: planes.simulations, ..general }, "{objective:?}");
        assert_ne!(planes.history, run(Groups::FULL, slices, &Settings { objective, ..small() }).history);
    }
}

#[test]
fn threads_do_not_change_a_decision() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(Groups::FULL, 2, &small()))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn seeds_do() {
    assert_ne!(
        run(Groups::FULL, 2, &small()).history,
        run(Groups::FULL, 2, &Settings { seed: 2, ..small() }).history
    );
}

#[test]
fn records_replay_to_the_cycle() {
    for (slices, objective) in [
        (1, Objective::Thickness),
        (1, Objective::Span),
        (1, Objective::Estimate { slices: 4 }),
        (2, Objective::Duration),
    ] {
        for (reinitialise_slices, interlock_slices) in [(false, false), (true, false), (false, true)] {
            let settings = Settings { objective, reinitialise_slices, interlock_slices, ..small() };
            let outcome = run(Groups::FULL, slices, &settings);
            let throttle = if interlock_slices { Interlock.into() } else { Throttle::None };
            let options = Options { reinitialise_slices, throttle, ..Options::default() };
            let mut best = u64::MAX;
            for record in &outcome.records {
                let (duration, thickness, counts) = simulate(&record.chromosome, slices, &options);
                let seen = record.evaluation;
                let lengths = [seen.thickness, seen.span];
                assert_eq!((seen.duration, lengths, seen.counts), (duration, thickness, Some(counts)));
                assert_eq!(objective.score(&seen), record.score);
                best = best.min(record.score);
            }
            assert_eq!(outcome.history.last().unwrap().best, best);
            assert!(outcome.history.windows(2).all(|pair| pair[0].best >= pair[1].best));
        }
    }
}

#[test]
fn replays_run_as_routers_with_the_arbitration_of_the_chromosome() {
    let network = network();
    let destinations = bit_reverse(&network);
    let case = Case::new(&network, &destinations, collective(2), Groups::FULL).unwrap();
    let (nodes, ports, channels) = (64, 5, 3);
    let mut durations = BTreeSet::new();
    for seed in 0..60 {
        let draw = |index, bound| draw_below(seed, 0, Purpose::Shuffle, index as u64, bound);
        let mut port_lists = North::Plus.port_list(network.fabric().shape()).repeat(nodes * ports * channels);
        for (index, list) in port_lists.chunks_mut(ports).enumerate() {
            list.rotate_left(draw(2 * index, 5) as usize);
            list.swap(0, draw(2 * index + 1, 5) as usize);
        }
        let schemes = (0..nodes * ports).map(|port| ChannelScheme::PUBLISHED[port * 7 % 10]).collect();
        let arbitration = Arbitration { schemes, port_lists };
        let delays = (0..nodes as u64).map(|node| (node * seed) % 3).collect();
        let chromosome = Chromosome { interval: 9, delays, arbitration };
        let (duration, lengths, counts) = simulate(&chromosome, 2, &Options::default());
        let seen = replay(&case, &chromosome, &small()).unwrap();
        assert_eq!(
            (seen.duration, [seen.thickness, seen.span], seen.counts),
            (duration, lengths, Some(counts))
        );
        durations.insert(duration);
    }
    assert!(durations.len() > 4, "lists and schemes make a difference: {durations:?}");
}

#[test]
fn frozen_groups_keep_their_values() {
    let timing = run(Groups::TIMING, 2, &small());
    assert!(timing.records.iter().all(|record| record.chromosome.arbitration == Arbitration::default()));
    let without = run(Groups::WITHOUT_TIMING, 2, &small());
    assert!(without.records.iter().all(|record| record.chromosome.delays == [0; 64]));
    let only_lists = Groups { interval: false, delays: false, schemes: false, port_lists: true };
    let fixed = run(only_lists, 2, &small());
    assert!(fixed.records.iter().all(|record| record.chromosome.interval == 9));
}

#[test]
fn values_stay_within_the_limits_of_the_first_simulation() {
    let outcome = run(Groups::FULL, 2, &small());
    let limits = outcome.limits;
    assert_eq!((limits.first_interval, limits.last_interval), (8, limits.height - 8));
    for Chromosome { interval, delays, .. } in outcome.records.iter().map(|record| &record.chromosome) {
        assert!((8..=limits.last_interval).contains(interval));
        assert!(delays.iter().all(|&delay| delay <= limits.last_delay));
    }
}

#[test]
fn extrapolation_finds_the_best_interval() {
    let outcome = run(Groups::FULL, 1, &Settings { objective: Objective::Estimate { slices: 2 }, ..small() });
    let network = network();
    let destinations = bit_reverse(&network);
    let case = Case::new(&network, &destinations, collective(2), Groups::FULL).unwrap();
    let best = &outcome.best().unwrap().chromosome;
    let stacked = extrapolate(&case, best, &Settings::default(), None).unwrap();
    assert_eq!(stacked.thickness, outcome.best().unwrap().evaluation.thickness);
    let expected: Vec<u64> = (8..=stacked.thickness.max(8))
        .map(|interval| simulate(&Chromosome { interval, ..best.clone() }, 2, &Options::default()).0)
        .collect();
    assert_eq!(stacked.durations, expected);
    assert_eq!(Some(&stacked.duration), expected.iter().min());
    let again = replay(&case, &stacked.chromosome, &Settings::default()).unwrap();
    assert_eq!(again.duration, stacked.duration);
}

#[test]
fn every_rule_of_the_papers_runs() {
    let settings = [
        Settings { ties: Ties::Age, lifetime: 7, ..small() },
        Settings { watchdog: 7, ..small() },
        Settings { perturbation: 5, generations: 15, ..small() },
        Settings { sort_key: SortKey::ThicknessReversed, ..small() },
        Settings { sort_key: SortKey::BlockedLinks, ..small() },
        Settings { sort_key: SortKey::ThicknessOnly, ..small() },
    ];
    let plain = run(Groups::FULL, 2, &small());
    for settings in settings {
        let outcome = run(Groups::FULL, 2, &settings);
        assert_ne!(outcome.history, plain.history, "{settings:?}");
        let slow = Settings { planes: false, skip_unused: false, averages: true, ..settings };
        assert_eq!(without_averages(run(Groups::FULL, 2, &slow)).history, outcome.history);
    }
}

#[test]
fn a_watched_search_stops_and_keeps_what_it_found() {
    let network = network();
    let destinations = bit_reverse(&network);
    let case = Case::new(&network, &destinations, collective(2), Groups::FULL).unwrap();
    let mut count = 0;
    let outcome = search(&case, &small(), None, &mut |_| {
        count += 1;
        if count == 12 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert!(outcome.stopped && outcome.history.len() == 12 && outcome.best().is_some());
    assert_eq!(outcome.history, run(Groups::FULL, 2, &small()).history[..12]);
}

#[test]
fn bad_settings_are_refused() {
    let network = network();
    let destinations = bit_reverse(&network);
    let case = Case::new(&network, &destinations, collective(2), Groups::FULL).unwrap();
    let fails =
        |settings: Settings| search(&case, &settings, None, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(fails(Settings { chromosomes: 1, ..small() }), GeneticError::Chromosomes(1));
    assert_eq!(fails(Settings { generations: 0, ..small() }), GeneticError::Generations);
    assert_eq!(fails(Settings { lifetime: 1, watchdog: 1, ..small() }), GeneticError::Exclusive);
    assert!(matches!(fails(Settings { mutation_rate: 1.5, ..small() }), GeneticError::Rate { .. }));
    assert_eq!(fails(Settings { mutation_levels: 0, ..small() }), GeneticError::Levels(0));
    let fixed = Groups { interval: false, delays: false, schemes: false, port_lists: false };
    let case = Case::new(&network, &destinations, collective(2), fixed).unwrap();
    let result = search(&case, &small(), None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(result, Err(GeneticError::NoGenes));
    let wrong =
        Chromosome { interval: 8, delays: vec![0; 3], arbitration: Arbitration::uniform(ChannelScheme::C01) };
    assert_eq!(replay(&case, &wrong, &small()), Err(GeneticError::Delays { given: 3, needed: 64 }));
}
