//! From options to rules, classes and a run; what is not known here, or what BookSim2 does not survive, is refused.

use super::{
    allocators::AllocatorKind,
    batch::Batch,
    buffers::{Limit, Policy, RoundTrips, Sharing},
    classes::{Class, class},
    flit::Packets,
    measures::ClassFacts,
    networks::Network,
    numbers::Numbers,
    options::{OptionError, Options, is_list, parts, refuse},
    patterns::Digits,
    priority::Priority,
    routers::Wanted,
    routing::Routing,
    rules::Rules,
    run::Run,
    shape::Shape,
    subnet::Subnet,
    waiting::Waiting,
    wiring::Wiring,
};
use std::{collections::VecDeque, ops::Range, sync::Arc};

fn shape(options: &Options) -> Result<Shape, OptionError> {
    let wraps = match options.text("topology") {
        "mesh" => false,
        "torus" => true,
        // A network that is no grid.
        _ => return Ok(Shape::new(1, 1, false)),
    };
    let (radix, dimensions) = (options.within("k", 1, 4096)?, options.within("n", 1, 8)?);
    let fits = (radix as u64).checked_pow(dimensions as u32).is_some_and(|nodes| nodes <= 1 << 16);
    if !fits {
        return refuse("k", format!("{radix}^{dimensions} nodes are more than {}", 1 << 16));
    }
    if options.whole("c")? != 1 {
        return refuse("c", "several nodes per router are not known on meshes and tori; 1 is");
    }
    Ok(Shape::new(radix as u32, dimensions as u32, wraps))
}

fn routing(options: &Options, shape: &Shape) -> Result<Routing, OptionError> {
    let known: &[(&str, Routing)] = if shape.wraps { &Routing::TORUS } else { &Routing::MESH };
    let text = options.text("routing_function");
    if let Some(&(_, routing)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(routing);
    }
    if text == "valiant" && shape.wraps {
        return refuse(
            "routing_function",
            "valiant on a torus reads a variable that BookSim2 never sets, so there is nothing to reproduce",
        );
    }
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    let what = if shape.wraps { "tori" } else { "meshes" };
    refuse(
        "routing_function",
        format!("{text:?} is not known on {what} here; there are {}", names.join(", ")),
    )
}

fn policy(options: &Options, channels: usize) -> Result<Policy, OptionError> {
    let per_channel = options.whole("vc_buf_size")?;
    let all = options.whole("buf_size")?;
    let text = options.text("buffer_policy");
    let limit = match text {
        "private" => {
            if all == 0 {
                return refuse("buf_size", "BookSim2 does not survive 0; give -1, or a size");
            }
            let (name, places) =
                if all > 0 { ("buf_size", all / channels as i64) } else { ("vc_buf_size", per_channel) };
            if places < 1 {
                return refuse(name, "a channel needs at least one place");
            }
            return Ok(Policy::Private(places as u32));
        }
        "shared" => Limit::None,
        "limited" => Limit::Fixed(0),
        "dynamic" => Limit::Dynamic,
        "shifting" => Limit::Shifting,
        "feedback" | "simplefeedback" => Limit::RoundTrips(RoundTrips {
            one_by_one: text == "simplefeedback",
            scale: options.within("feedback_aging_scale", 0, 16)? as u32,
            offset: options.whole("feedback_offset")?,
        }),
        _ => {
            let text =
                format!("{text:?} is not known here; there are private, shared, limited, dynamic, shifting");
            return refuse("buffer_policy", text);
        }
    };
    let places = if all >= 0 { all } else { per_channel * channels as i64 };
    if !(1..1 << 20).contains(&places) {
        return refuse(
            "buf_size",
            format!("{places} places of a port are not within 1 to {}", (1 << 20) - 1),
        );
    }
    let groups = match options.whole("private_bufs")? {
        0 => 1,
        groups if groups < 0 => channels,
        groups if groups as usize > channels => return refuse("private_bufs", "more groups than channels"),
        groups => groups as usize,
    };
    let owned = match options.text("private_buf_size") {
        text if is_list(text) => options.wholes_per_class("private_buf_size", groups)?,
        _ => match options.whole("private_buf_size")? {
            size if size < 0 => vec![places / groups as i64; groups],
            size => vec![size; groups],
        },
    };
    if owned.iter().any(|&size| size < 0) {
        return refuse("private_buf_size", "BookSim2 does not survive a size below 0 in a list");
    }
    if owned.iter().sum::<i64>() > places {
        return refuse("private_buf_size", format!("the groups own more than the {places} places of a port"));
    }
    let owned: Vec<u32> = owned.into_iter().map(|size| size as u32).collect();
    let limit = match limit {
        Limit::Fixed(_) => match options.whole("max_held_slots")? {
            most if most < 0 => Limit::Fixed(places as u32),
            most => Limit::Fixed(most as u32),
        },
        other => other,
    };
    let group = groups_of_channels(options, channels, groups)?;
    let common = places as u32 - owned.iter().sum::<u32>();
    Ok(Policy::Shared(Sharing { places: places as u32, group, owned, common, limit }))
}

/// By channel the group of places that it belongs to: without other words group i of G has the channels from i V / G
/// on, cut off to whole numbers.
fn groups_of_channels(options: &Options, channels: usize, groups: usize) -> Result<Vec<u16>, OptionError> {
    let ends = |name: &'static str, equal: &dyn Fn(usize) -> usize| {
        let text = options.text(name);
        if !is_list(text) && options.whole(name)? < 0 {
            return Ok((0..groups).map(|group| equal(group) as i64).collect());
        }
        let ends = parts(text).len();
        if ends < groups {
            let text =
                format!("{ends} numbers for {groups} groups (private_bufs); BookSim2 reads beyond the list");
            return refuse(name, text);
        }
        options.wholes_per_class(name, groups)
    };
    let first = ends("private_buf_start_vc", &|group| group * channels / groups)?;
    let last = ends("private_buf_end_vc", &|group| (group + 1) * channels / groups - 1)?;
    let mut of: Vec<Option<u16>> = vec![None; channels];
    for (group, (&first, &last)) in first.iter().zip(&last).enumerate() {
        if first < 0 || first > last || last >= channels as i64 {
            let text =
                format!("group {group} has channels {first} to {last}; there are 0 to {}", channels - 1);
            return refuse("private_buf_end_vc", text);
        }
        let (first, last) = (first as usize, last as usize);
        for (channel, slot) in of.iter_mut().enumerate().take(last + 1).skip(first) {
            if slot.replace(group as u16).is_some() {
                return refuse("private_buf_start_vc", format!("channel {channel} is in two groups"));
            }
        }
    }
    let missing = || OptionError {
        option: "private_buf_end_vc",
        text: "a channel is in no group, which BookSim2 does not survive".into(),
    };
    of.into_iter().map(|group| group.ok_or_else(missing)).collect()
}

fn allocator(options: &Options, name: &'static str) -> Result<AllocatorKind, OptionError> {
    AllocatorKind::from_text(options.text(name), 1, "round_robin")
        .map_err(|text| OptionError { option: name, text })
}

fn ranges(options: &Options, channels: usize, reads: bool) -> Result<[(u32, u32); 5], OptionError> {
    let all = (0, channels as u32 - 1);
    let mut ranges = [all; 5];
    if !reads {
        return Ok(ranges);
    }
    let names: [(&'static str, &'static str); 4] = [
        ("read_request_begin_vc", "read_request_end_vc"),
        ("read_reply_begin_vc", "read_reply_end_vc"),
        ("write_request_begin_vc", "write_request_end_vc"),
        ("write_reply_begin_vc", "write_reply_end_vc"),
    ];
    let half = channels as i64 / 2;
    for (kind, (begin, end)) in names.into_iter().enumerate() {
        let (low, high) = if kind % 2 == 0 { (0, half - 1) } else { (half, channels as i64 - 1) };
        let (a, b) = (options.whole(begin)?, options.whole(end)?);
        let (a, b) = (if a < 0 { low } else { a }, if b < 0 { high } else { b });
        if a > b || b >= channels as i64 {
            return refuse(end, format!("{a} to {b} are not channels; there are 0 to {}", channels - 1));
        }
        ranges[kind] = (a as u32, b as u32);
    }
    Ok(ranges)
}

/// Routers, links and which way packets go.
pub(super) struct Ground {
    pub shape: Shape,
    pub routing: Routing,
    /// What is no grid of BookSim2.
    pub network: Option<Network>,
    pub wiring: Wiring,
}

impl Ground {
    /// That of a network that has a routing function of its own.
    pub(super) fn of(network: Network, wiring: Wiring) -> Self {
        Self { shape: Shape::new(1, 1, false), routing: Routing::OfNetwork, network: Some(network), wiring }
    }

    /// What a file of BookSim2 says.
    fn from_options(options: &Options) -> Result<Self, OptionError> {
        let shape = shape(options)?;
        if matches!(options.text("topology"), "mesh" | "torus") {
            let latency = if shape.wraps && options.whole("use_noc_latency")? == 1 { 2 } else { 1 };
            let (routing, wiring) = (routing(options, &shape)?, shape.wiring(latency));
            return Ok(Self { shape, routing, network: None, wiring });
        }
        let (network, wiring) = Network::new(options)?;
        Ok(Self::of(network, wiring))
    }
}

/// Refuses what no router is known for here.
fn check_router(options: &Options) -> Result<(), OptionError> {
    if options.text("router") != "iq" {
        return refuse("router", format!("{:?} is not known here; there is iq", options.text("router")));
    }
    for name in ["noq", "hold_switch_for_packet"] {
        if options.whole(name)? < 0 {
            return refuse(
                name,
                "BookSim2 takes a number below 0 for 0 in one place and for 1 in another; give 0 or 1",
            );
        }
    }
    for name in ["vc_alloc_delay", "sw_alloc_delay"] {
        let delay = options.whole(name)?;
        if delay != 1 {
            let text =
                format!("BookSim2 does not survive {delay} (its issue 34: an assertion fails); give 1");
            return refuse(name, text);
        }
    }
    if options.whole("link_failures")? != 0 {
        return refuse("link_failures", "BookSim2 does not survive failed links; give 0");
    }
    Ok(())
}

/// Cycles of the crossbar.
fn crossbar_delay(options: &Options) -> Result<u32, OptionError> {
    let delay = options.within("st_prepare_delay", 0, 1000)? + options.within("st_final_delay", 0, 1000)?;
    if delay < 1 {
        return refuse("st_final_delay", "BookSim2 does not survive a crossbar without a cycle; give 1");
    }
    Ok(delay as u32)
}

/// How often routers step in a cycle, and the places behind the crossbar, if they are limited.
fn internal_speedup(options: &Options) -> Result<(f64, Option<usize>), OptionError> {
    let internal_speedup = options.number("internal_speedup")?;
    if internal_speedup < 1.0 {
        let text = "below 1 BookSim2 loses flits that arrive while nothing steps; give at least 1";
        return refuse("internal_speedup", text);
    }
    if internal_speedup > 64.0 {
        return refuse("internal_speedup", "more than 64 is not known here");
    }
    let output_places = match options.whole("output_buffer_size")? {
        places if places < 0 => None,
        places => Some(places as usize),
    };
    if output_places.is_some() && internal_speedup > 1.0 {
        return refuse(
            "output_buffer_size",
            "BookSim2 does not survive it with internal_speedup > 1; give -1",
        );
    }
    Ok((internal_speedup, output_places))
}

/// Allocators of the switch, and whether channels are allocated beside it.
struct SwitchAllocation {
    is_piggyback: bool,
    is_speculative: bool,
    allocator: AllocatorKind,
    speculative_allocator: Option<AllocatorKind>,
}

/// How the switch is allocated, with so many sub-ports per input and output.
fn switch_allocation(options: &Options, speedups: (usize, usize)) -> Result<SwitchAllocation, OptionError> {
    let (input_speedup, output_speedup) = speedups;
    let is_piggyback = options.text("vc_allocator") == "piggyback";
    let is_speculative = options.flag("speculative")?;
    if is_piggyback && !is_speculative {
        return refuse("vc_allocator", "piggyback needs speculative = 1");
    }
    if is_piggyback && output_speedup > 1 {
        let text = "piggyback with output_speedup > 1: BookSim2 does not survive two taking the last channel";
        return refuse("vc_allocator", text);
    }
    let allocator_of_switch = allocator(options, "sw_allocator")?;
    let speculative_allocator = match options.text("spec_sw_allocator") {
        "prio" => None,
        _ if !is_speculative => None,
        _ => Some(allocator(options, "spec_sw_allocator")?),
    };
    if output_speedup > input_speedup
        && (allocator_of_switch == AllocatorKind::MaxSize
            || speculative_allocator == Some(AllocatorKind::MaxSize))
    {
        let text = "max_size for the switch: BookSim2 does not survive more outputs than inputs";
        return refuse("output_speedup", text);
    }
    Ok(SwitchAllocation {
        is_piggyback,
        is_speculative,
        allocator: allocator_of_switch,
        speculative_allocator,
    })
}

fn priority(options: &Options) -> Result<Priority, OptionError> {
    let text = options.text("priority");
    let Some(&(_, priority)) = Priority::NAMES.iter().find(|(name, _)| *name == text) else {
        let names: Vec<_> = Priority::NAMES.iter().map(|(name, _)| *name).collect();
        return refuse("priority", format!("{text:?} is not known here; there are {}", names.join(", ")));
    };
    Ok(priority)
}

/// Channels of all kinds of messages, and the kinds that there are.
type Ranges = ([(u32, u32); 5], Range<usize>);

/// Which channels kinds of messages have; as many as routes need.
fn checked_ranges(
    options: &Options,
    (channels, classes): (usize, usize),
    (routing, shape, network): (Routing, &Shape, Option<&Network>),
) -> Result<Ranges, OptionError> {
    let reads = options.wholes_per_class("use_read_write", classes)?;
    let (has_reads, has_others) = (reads.iter().any(|&one| one != 0), reads.contains(&0));
    let ranges = ranges(options, channels, has_reads)?;
    if has_reads && routing == Routing::MinimalAdaptive && ranges.iter().any(|&(a, _)| a > 0) {
        let text = "min_adapt with channels of messages that do not begin at 0: BookSim2's escape channels \
                    then leave them";
        return refuse("routing_function", text);
    }
    let kinds = if has_reads { 0 } else { 4 }..if has_others { 5 } else { 4 };
    let used = &ranges[kinds.clone()];
    let parts = network.map_or_else(|| routing.parts(shape), Network::least_channels);
    if used.iter().any(|(a, b)| b - a + 1 < parts) {
        return refuse("num_vcs", format!("this routing function needs at least {parts} for a packet"));
    }
    let halves = match routing {
        Routing::DimensionOrder | Routing::DimensionOrderBalanced => shape.wraps,
        Routing::PlanarAdaptive | Routing::OfNetwork | Routing::PerNode | Routing::PerCoordinate => false,
        Routing::MinimalAdaptive if shape.wraps => {
            if used.iter().any(|(a, b)| b - a < 3) {
                return refuse("num_vcs", "min_adapt on a torus needs at least 4");
            }
            false
        }
        _ => true,
    };
    if halves && used.iter().any(|(a, b)| a == b) {
        return refuse(
            "num_vcs",
            "this routing function divides the channels of a packet; it needs at least 2",
        );
    }
    Ok((ranges, kinds))
}

/// Whether packets have the channels of their next output port, of so many.
fn cuts_by_next_port(options: &Options, used: &[(u32, u32)], ports: usize) -> Result<bool, OptionError> {
    if !options.flag("noq")? {
        return Ok(false);
    }
    if options.text("topology") == "dragonflynew" {
        return refuse("noq", "BookSim2 does not survive it on dragonflynew; give 0");
    }
    if options.whole("routing_delay")? != 0 {
        return refuse("noq", "BookSim2 takes it with routing_delay = 0 only");
    }
    if used.iter().any(|(a, b)| ((b - a + 1) as usize) < ports) {
        return refuse("num_vcs", format!("noq needs a channel per port of a router, {ports}"));
    }
    Ok(true)
}

/// The rules of all routers.
fn rules(options: &Options, ground: Ground) -> Result<Rules, OptionError> {
    let Ground { shape, routing, network, wiring } = ground;
    check_router(options)?;
    let channels = options.within("num_vcs", 1, 64)?;
    let classes = options.within("classes", 1, 64)?;
    let subnets = options.within("subnets", 1, 16)?;
    let crossbar_delay = crossbar_delay(options)?;
    let (internal_speedup, output_places) = internal_speedup(options)?;
    let input_speedup = options.within("input_speedup", 1, 64)?;
    let output_speedup = options.within("output_speedup", 1, 64)?;
    if network.is_none() && output_speedup > shape.ports() {
        return refuse("output_speedup", "more than the ports of a router");
    }
    let holds_switch = options.flag("hold_switch_for_packet")?;
    if holds_switch && (classes > 1 || subnets > 1) {
        let text = "BookSim2 does not survive it with several classes or subnets";
        return refuse("hold_switch_for_packet", text);
    }
    let waits_for_tail = options.is_set("wait_for_tail_credit")?;
    let switch = switch_allocation(options, (input_speedup, output_speedup))?;
    let SwitchAllocation { is_piggyback, is_speculative, allocator: switch_allocator, speculative_allocator } =
        switch;
    let priority = priority(options)?;
    let of_packets = (routing, &shape, network.as_ref());
    let (ranges, kinds) = checked_ranges(options, (channels, classes), of_packets)?;
    let channel_allocator =
        if is_piggyback { AllocatorKind::Islip(1) } else { allocator(options, "vc_allocator")? };
    let has_no_priorities = priority == Priority::None;
    let is_plain_channels = has_no_priorities
        && channel_allocator.is_plain(1)
        && channels <= 64
        && routing != Routing::MinimalAdaptive
        && !options.flag("vc_shuffle_requests")?
        && !options.flag("vc_prioritize_empty")?;
    let is_plain_switch = has_no_priorities
        && switch_allocator.is_plain(u32::MAX)
        && !is_speculative
        && wiring.most_ports() * input_speedup.max(output_speedup) <= 64;
    let cuts_by_next_port = cuts_by_next_port(options, &ranges[kinds], wiring.most_ports())?;
    let policy = policy(options, channels)?;
    let credit_delay = options.within("credit_delay", 0, 1000)?;
    Ok(Rules {
        policy,
        wiring,
        network,
        shape,
        channels,
        classes,
        routing,
        ranges,
        waits_for_tail,
        busy_when_full: options.flag("vc_busy_when_full")?,
        prefers_empty: options.flag("vc_prioritize_empty")?,
        donates: options.is_set("vc_priority_donation")?,
        shuffles: options.flag("vc_shuffle_requests")?,
        holds_switch,
        is_speculative,
        is_piggyback,
        checks_eligibility: options.flag("spec_check_elig")?,
        checks_credits: options.flag("spec_check_cred")?,
        masks_by_requests: options.flag("spec_mask_by_reqs")?,
        channel_allocator,
        switch_allocator,
        speculative_allocator,
        priority,
        input_speedup,
        output_speedup,
        internal_speedup,
        routing_delay: options.within("routing_delay", 0, 1000)? as u32,
        crossbar_delay,
        credit_delay: credit_delay as u32,
        output_places,
        largest: 1,
        cuts_by_next_port,
        is_plain_channels,
        is_plain_switch,
    })
}

/// A run of a file of BookSim2 at its beginning.
pub(super) fn run(options: &Options, keeps_log: bool) -> Result<Run, OptionError> {
    run_on(options, Ground::from_options(options)?, keeps_log)
}

/// A run on a network at its beginning.
pub(super) fn run_on(options: &Options, ground: Ground, keeps_log: bool) -> Result<Run, OptionError> {
    let mut rules = rules(options, ground)?;
    let (nodes, count) = (rules.wiring.nodes(), rules.classes);
    let subnets = options.within("subnets", 1, 16)?;
    let mut numbers = Numbers::default();
    let (k, xr) = (options.within("k", 1, 1 << 16)? as u32, options.within("xr", 1, 1 << 10)? as u32);
    let digits = Digits { k, xr, count: options.within("n", 1, 32)? as u32, nodes: nodes as u32 };
    let mut classes = Vec::new();
    for index in 0..count {
        classes.push(class(options, index, count, &digits, &mut numbers)?);
    }
    let seed = options.text("seed");
    let seed =
        seed.parse::<i64>().ok().and_then(|seed| i32::try_from(seed).ok()).ok_or_else(|| OptionError {
            option: "seed",
            text: format!("{seed:?} is not a whole number (a seed of the clock cannot be repeated)"),
        })?;
    numbers.seed(seed as u32);
    let largest = classes.iter().map(Class::largest).max().unwrap_or(1);
    rules.largest = largest;
    let subnet = |name: &'static str| options.within(name, 0, subnets as i64 - 1).map(|at| at as u32);
    Ok(Run {
        nodes,
        numbers,
        now: 0,
        subnets: (0..subnets).map(|_| Subnet::new(&rules, Wanted::default())).collect(),
        packets: Packets::new(largest),
        waiting: vec![Waiting::default(); nodes * count],
        at_work: vec![0; nodes.div_ceil(64)],
        replies: vec![VecDeque::new(); nodes],
        sequence: vec![0; nodes],
        last_class: vec![0; nodes * subnets],
        last_channel: vec![None; nodes * subnets * count],
        subnet_of: [
            subnet("read_request_subnet")?,
            subnet("read_reply_subnet")?,
            subnet("write_request_subnet")?,
            subnet("write_reply_subnet")?,
        ],
        counts_queuing: options.whole("include_queuing")? == 1,
        next_packet: 0,
        next_flit: 0,
        facts: vec![ClassFacts::new(nodes); count],
        created_in_flight: vec![0; count],
        warms_up: true,
        measures: false,
        drains_after: None,
        sources_work: true,
        log: keeps_log.then(Vec::new),
        arrived: Vec::new(),
        ends: Vec::new(),
        quiet: 0,
        patience: options.whole("deadlock_warn_timeout")?.max(0) as u32,
        warnings: 0,
        standstill: 0,
        breach: None,
        batch: Batch::from_options(options, nodes)?,
        last_retired: None,
        feed: None,
        exits: Vec::new(),
        classes,
        rules: Arc::new(rules),
    })
}
