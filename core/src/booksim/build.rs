//! From options to rules, classes and a run; what is not known here, or what BookSim2 does not survive, is refused.

use super::{
    batch::Batch,
    classes::{Class, class},
    networks,
    numbers::Generators,
    options::{OptionError, Options, is_list, parts, refuse},
    patterns::Digits,
    traffic_manager::TrafficManager,
};
use crate::{
    engine::{
        Rank,
        pipelined::{
            AllocatorKind, BufferPolicy, Config, Division, Kind, Limit, Policy, Priority, Ranges, RoundTrips,
            Rules, Run, Sharing, Subnet, Wanted,
        },
    },
    fault::Fault,
    names,
};
use std::ops::{Range, RangeInclusive};

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
        "feedback" | "simplefeedback" => Limit::RoundTrips(RoundTrips {
            one_by_one: text == "simplefeedback",
            scale: options.within("feedback_aging_scale", 0..=16)? as u32,
            offset: options.whole("feedback_offset")?,
        }),
        _ => {
            let policy = named(options, "buffer_policy", &BufferPolicy::NAMES)?;
            policy.limit(0).unwrap_or(Limit::None)
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
    AllocatorKind::named(options.text(name)).map_err(|error| OptionError::of(error.or_at(name)))
}

/// The member of a list with the name that an option gives.
fn named<T: Copy>(
    options: &Options,
    option: &'static str,
    list: &[(&'static str, T)],
) -> Result<T, OptionError> {
    let text = options.text(option);
    list.iter().find(|(name, _)| *name == text).map(|&(_, member)| member).ok_or_else(|| OptionError {
        option,
        text: format!("{text:?} is not known here; there are {}", names::all(list).join(", ")),
    })
}

/// Channels of all kinds of messages, and the kinds that there are.
fn ranges(options: &Options, channels: usize, classes: usize) -> Result<(Ranges, Range<usize>), OptionError> {
    let reads = options.wholes_per_class("use_read_write", classes)?;
    let (has_reads, has_others) = (reads.iter().any(|&one| one != 0), reads.contains(&0));
    let mut ranges = [(0, channels as u32 - 1); Kind::COUNT];
    let kinds = if has_reads { 0 } else { 4 }..if has_others { 5 } else { 4 };
    if !has_reads {
        return Ok((ranges, kinds));
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
    Ok((ranges, kinds))
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
    let delay = options.within("st_prepare_delay", 0..=1000)? + options.within("st_final_delay", 0..=1000)?;
    if delay < 1 {
        return refuse("st_final_delay", "BookSim2 does not survive a crossbar without a cycle; give 1");
    }
    Ok(delay as u32)
}

impl Options {
    /// Routers as a file of BookSim2 describes them.
    ///
    /// # Errors
    /// An option has a value that is not known, or that BookSim2 does not survive.
    pub fn config(&self) -> Result<Config, OptionError> {
        config(self)
    }

    /// The network of a file with its routers and routing function, for packets that do not come of the file.
    ///
    /// ```
    /// use flitloom_core::booksim::Options;
    /// let mut options = Options::default();
    /// assert!(options.set("topology", "torus") && options.set("k", "4") && options.set("routing_function", "dim_order"));
    /// assert_eq!(options.rules()?.nodes(), 16);
    /// # Ok::<(), flitloom_core::booksim::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// As [`config`](Self::config), or messages are of several kinds.
    pub fn rules(&self) -> Result<Rules, OptionError> {
        let config = config(self)?;
        if config.classes > 1 {
            return refuse("classes", "in experiments packets are of one class; give 1");
        }
        if config.kinds.len() > 1 || config.kinds.start != Kind::Any as usize {
            return refuse("use_read_write", "in experiments packets are of one kind; give 0");
        }
        if self.within("subnets", SUBNETS)? > 1 {
            return refuse("subnets", "in experiments there is one network; give 1");
        }
        networks::rules(self, config)
    }
}

fn config(options: &Options) -> Result<Config, OptionError> {
    check_router(options)?;
    let channels = options.within("num_vcs", Config::CHANNELS)?;
    let classes = options.within("classes", 1..=64)?;
    let holds_switch = options.flag("hold_switch_for_packet")?;
    if holds_switch && (classes > 1 || options.within("subnets", SUBNETS)? > 1) {
        let text = "BookSim2 does not survive it with several classes or subnets";
        return refuse("hold_switch_for_packet", text);
    }
    let cuts_by_next_port = options.flag("noq")?;
    if cuts_by_next_port && options.text("topology") == "dragonflynew" {
        return refuse("noq", "BookSim2 does not survive it on dragonflynew; give 0");
    }
    let is_speculative = options.flag("speculative")?;
    let speculative_allocator = match options.text("spec_sw_allocator") {
        _ if !is_speculative => None,
        Config::BY_PRIORITY => None,
        _ => Some(allocator(options, "spec_sw_allocator")?),
    };
    let (ranges, kinds) = ranges(options, channels, classes)?;
    let output_places = options.whole("output_buffer_size")?;
    let mut config = Config {
        classes,
        ranges,
        kinds,
        policy: policy(options, channels)?,
        waits_for_tail: options.is_set("wait_for_tail_credit")?,
        busy_when_full: options.flag("vc_busy_when_full")?,
        prefers_empty: options.flag("vc_prioritize_empty")?,
        donates: options.is_set("vc_priority_donation")?,
        shuffles: options.flag("vc_shuffle_requests")?,
        holds_switch,
        is_speculative,
        checks_eligibility: options.flag("spec_check_elig")?,
        checks_credits: options.flag("spec_check_cred")?,
        masks_by_requests: options.flag("spec_mask_by_reqs")?,
        switch_allocator: allocator(options, "sw_allocator")?,
        speculative_allocator,
        priority: named(options, "priority", &Priority::NAMES)?,
        input_speedup: options.within("input_speedup", Config::SPEEDUPS)?,
        output_speedup: options.within("output_speedup", Config::SPEEDUPS)?,
        internal_speedup: options.number("internal_speedup")?,
        routing_delay: options.within("routing_delay", Config::DELAYS)? as u32,
        crossbar_delay: crossbar_delay(options)?,
        credit_delay: options.within("credit_delay", Config::DELAYS)? as u32,
        cuts_by_next_port,
        output_places: (output_places >= 0).then_some(output_places as usize),
        ..Config::new(channels, BufferPolicy::Private, 1)
    };
    config.allocate_channels_by(options.text("vc_allocator")).map_err(OptionError::of)?;
    Ok(config)
}

/// Networks beside each other.
const SUBNETS: RangeInclusive<usize> = 1..=16;

/// Who runs a file.
#[derive(Debug, Default)]
pub struct Parts {
    /// Threads, each with a part of the routers; 0 is 1.
    pub threads: usize,
    /// Input ports of routers from which on a part of their own is worth it, if not the usual number.
    pub ports_of_a_part: Option<usize>,
    /// This process, if there are others that begin the same run.
    pub rank: Option<Rank>,
}

/// A run of a file of BookSim2 at its beginning.
pub(super) fn run(
    options: &Options,
    keeps_log: bool,
    Parts { threads, ports_of_a_part, rank }: Parts,
) -> Result<(Run<TrafficManager>, Division), OptionError> {
    let mut rules = networks::rules(options, config(options)?)?;
    let (nodes, count) = (rules.wiring.nodes(), rules.classes);
    let subnets = options.within("subnets", SUBNETS)?;
    let mut numbers = Generators::default();
    let (k, xr) = (options.within("k", 1..=1 << 16)? as u32, options.within("xr", 1..=1 << 10)? as u32);
    let digits = Digits { k, xr, count: options.within("n", 1..=32)? as u32, nodes: nodes as u32 };
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
    rules.largest = classes.iter().map(Class::largest).max().unwrap_or(1);
    let subnet = |name: &'static str| options.within(name, 0..=subnets - 1).map(|at| at as u16);
    let source = TrafficManager {
        subnet_of: [
            subnet("read_request_subnet")?,
            subnet("read_reply_subnet")?,
            subnet("write_request_subnet")?,
            subnet("write_reply_subnet")?,
        ],
        counts_queuing: options.whole("include_queuing")? == 1,
        log: keeps_log.then(Vec::new),
        patience: options.whole("deadlock_warn_timeout")?.max(0) as u32,
        batch: Batch::from_options(options, nodes)?,
        ..TrafficManager::new(classes, numbers, subnets as u32)
    };
    // Parts count what leaves by their links.
    let links = subnets == 1 && (threads > 1 || rank.is_some());
    let subnet = |_| Subnet::new(&rules, Wanted { links, ..Wanted::default() });
    let made = (0..subnets).map(subnet).collect();
    let mut run = Run::new(rules, made, source);
    let division = Division::new(&mut run, (threads, ports_of_a_part), rank).map_err(|error| {
        OptionError { option: "mpiexec", text: Fault { field: "".into(), ..error.fault() }.to_string() }
    })?;
    Ok((run, division))
}
