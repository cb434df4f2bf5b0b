use crate::spec::Spec;
use flitloom_core::{
    engine::{
        self, general, Bottleneck, Network, Options, Outcome, Setup, Simulation, SimulationError,
        WaitingChannel,
    },
    fabric::{Direction, NodeId},
    probe::{Film, Verdict},
    traffic::Workload,
};
use serde_json::{json, Value};

/// Links times cycles of a film; more would not play.
const CELLS: u64 = 1 << 26;

/// Cycles of the first look at source queues, and of their windows.
const FIRST_LOOK: u64 = 10_000;
const WINDOW: u64 = 100;
/// Nodes times cycles of the last look.
const LOOKS: u64 = 1 << 23;

/// Columns behind each other, each of words of one width.
#[derive(Default)]
struct Columns {
    bytes: Vec<u8>,
    places: serde_json::Map<String, Value>,
}

impl Columns {
    fn bytes(&mut self, name: &str, values: &[u8]) {
        self.place(name, "u1", values.len());
        self.bytes.extend_from_slice(values);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn words(&mut self, name: &str, values: impl ExactSizeIterator<Item = i64>) {
        self.place(name, "i4", values.len());
        values.for_each(|value| self.bytes.extend((value as i32).to_le_bytes()));
    }

    fn place(&mut self, name: &str, kind: &str, length: usize) {
        self.places
            .insert(name.to_owned(), json!({ "type": kind, "offset": self.bytes.len(), "length": length }));
    }
}

/// Simulates a spec and returns the head of its film, as pages read it, and the columns.
///
/// # Errors
/// The spec does not make a simulation, or one that is too long.
pub fn film(spec: &Spec) -> Result<(Value, Vec<u8>), String> {
    let network = spec.network()?;
    let workload = spec.workload(&network)?;
    let shape = network.fabric().shape();
    let links = shape.nodes() * shape.directions();
    let limit = CELLS / links as u64;
    let options = Options {
        stop_at: spec.stop_at,
        cycle_limit: Some(limit + 1),
        seed: spec.seed,
        throttle: spec.throttle()?,
        ..Options::default()
    };
    let mut film = Film::new(links);
    let result = general::simulate(&network, &workload, &options, &mut film);
    let (outcome, deadlock) = match &result {
        Ok(outcome) => (Some(outcome), None),
        Err(SimulationError::Deadlock(report)) => (None, Some(report)),
        Err(SimulationError::CycleLimit { .. }) => {
            return Err(format!("not finished after the {limit} cycles that a page holds; stop earlier"));
        }
        Err(error) => return Err(error.to_string()),
    };
    // The engine that would be picked without a film has to agree.
    let fast = engine::simulate(&network, &workload, &options).ok();
    let rows = film.link_time.cells().len() / links;
    let cycles = outcome.map_or(rows, |outcome| rows.max(outcome.cycles as usize));
    let cells = by_link(film.link_time.cells(), links, cycles);
    let slices = film.packets.iter().map(|packet| packet.slice + 1).max().unwrap_or(0);
    let (bound, bottleneck) = bottleneck(&network, &workload);
    let mut head = json!({
        "kind": "run",
        "title": "live",
        "fabric": fabric(&network),
        "cycles": cycles,
        "slices": slices,
        "latency": network.router().latency,
        "bound": bound,
        "deadlock": deadlock.map(|report| json!({
            "cycle": report.cycle,
            "links": report.channels.iter().filter_map(|channel| link_into(&network, channel)).collect::<Vec<_>>(),
            "words": report.channels.iter().map(|channel| waiting(&network, channel)).collect::<Vec<_>>(),
        })),
        "facts": facts(&film, bound, outcome, fast.as_ref()),
    });
    if let Some(verdict) = verdict(spec, &network, &options)? {
        head["verdict"] = json!(verdict.name());
    }
    if let Some(report) = deadlock {
        let stuck = report.stuck_flits;
        head["facts"]["outcome"] =
            json!(format!("deadlock in cycle {}, {stuck} flits stuck for ever", report.cycle));
    }
    if let (Some(head), Some(more)) = (head.as_object_mut(), bottleneck.as_object()) {
        head.extend(more.clone());
    }
    let columns = columns(&film, &cells);
    head["columns"] = Value::Object(columns.places);
    Ok((head, columns.bytes))
}

/// Whether the source queues of a load grow: after more and more cycles, until that is known or takes too long.
fn verdict(spec: &Spec, network: &Network, options: &Options) -> Result<Option<Verdict>, String> {
    let nodes = network.fabric().shape().nodes() as u64;
    let most = (LOOKS / nodes).max(FIRST_LOOK);
    let Some((load, rate, length)) = spec.long_load(network, most)? else { return Ok(None) };
    let rules = Options { cycle_limit: None, stop_at: None, ..*options };
    let setup = Setup { windows: Some(WINDOW), options: rules, ..Setup::default() };
    let mut simulation =
        Simulation::new(network, &Workload::Load(load), &setup).map_err(|error| error.to_string())?;
    let mut cycles = FIRST_LOOK;
    loop {
        let until = Options { stop_at: Some(cycles), ..rules };
        if simulation.run(&until).is_err() {
            return Ok(None);
        }
        let Some(windows) = simulation.windows() else { return Ok(None) };
        let found = windows.utilisation(length, Some(rate)).verdict;
        if found != Verdict::Undecided || 2 * cycles > most {
            return Ok(Some(found));
        }
        cycles *= 2;
    }
}

/// What every link does in every cycle, link by link, from what all links do cycle by cycle.
fn by_link(cells: &[u8], links: usize, cycles: usize) -> Vec<u8> {
    let mut turned = vec![0; cycles * links];
    for (cycle, row) in cells.chunks_exact(links).enumerate() {
        row.iter().enumerate().for_each(|(link, &cell)| turned[link * cycles + cycle] = cell);
    }
    turned
}

/// The columns of packets and hops, hops by packet.
fn columns(film: &Film, cells: &[u8]) -> Columns {
    let mut columns = Columns::default();
    columns.bytes("link_time", cells);
    let packets = &film.packets;
    columns.words("source", packets.iter().map(|packet| packet.source.into()));
    let to =
        |packet: &flitloom_core::probe::FilmedPacket| packet.head_arrival.map_or(-1, |(node, _)| node.into());
    columns.words("destination", packets.iter().map(to));
    columns.words("slice", packets.iter().map(|packet| packet.slice.into()));
    columns.words("start", packets.iter().map(|packet| packet.start as i64));
    columns.words("injected", packets.iter().map(|packet| packet.injected as i64));
    columns
        .words("arrival", packets.iter().map(|packet| packet.tail_arrival.map_or(-1, |cycle| cycle as i64)));
    let mut hops = film.hops.clone();
    hops.sort_by_key(|hop| (hop.packet, hop.head));
    columns.words("packet", hops.iter().map(|hop| hop.packet as i64));
    columns.words("link", hops.iter().map(|hop| hop.link.into()));
    columns.words("channel", hops.iter().map(|hop| hop.channel.into()));
    columns.words("head", hops.iter().map(|hop| hop.head as i64));
    columns.words("flits", hops.iter().map(|hop| hop.flits.into()));
    columns.words("duration", hops.iter().map(|hop| (hop.last - hop.head) as i64));
    columns
}

fn fabric(network: &Network) -> Value {
    let shape = network.fabric().shape();
    let count = shape.directions();
    let mut missing = vec![true; shape.nodes() * count];
    network.fabric().working_links().for_each(|link| missing[link as usize] = false);
    let failed: Vec<usize> = (0..missing.len()).filter(|&link| missing[link]).collect();
    let names: Vec<String> = (0..count).map(|index| Direction::from_index(index).to_string()).collect();
    let sizes: Vec<u32> = (0..count / 2).map(|dimension| shape.size(dimension)).collect();
    let wraps: Vec<bool> = (0..count / 2).map(|dimension| shape.wraps(dimension)).collect();
    json!({ "sizes": sizes, "wraps": wraps, "directions": names, "failed_links": failed, "failed_nodes": [] })
}

fn facts(film: &Film, bound: Option<u64>, outcome: Option<&Outcome>, fast: Option<&Outcome>) -> Value {
    let mut facts = serde_json::Map::new();
    if let Some(outcome) = outcome {
        facts.insert("duration".into(), json!(format!("{} cycles", outcome.duration)));
    }
    if let Some(bound) = bound {
        facts.insert("lower bound".into(), json!(format!("{bound} cycles")));
    }
    let delivered = film.packets.iter().filter(|packet| packet.tail_arrival.is_some()).count();
    let injected = film.packets.len();
    facts.insert("packets delivered".into(), json!(format!("{delivered} of {injected} injected")));
    let crossed: u64 = film.hops.iter().map(|hop| u64::from(hop.flits)).sum();
    facts.insert("flits over links".into(), json!(crossed));
    if let Some(outcome) = outcome {
        facts.insert("fingerprint".into(), json!(format!("{:016x}", outcome.fingerprint)));
    }
    if let Some(outcome) = fast {
        facts.insert(
            "fingerprint of the faster engine".into(),
            json!(format!("{:016x}", outcome.fingerprint)),
        );
    }
    Value::Object(facts)
}

fn bottleneck(network: &Network, workload: &Workload) -> (Option<u64>, Value) {
    let Workload::Packets(packets) = workload else { return (None, json!({})) };
    let bound = engine::lower_bound(network, packets);
    let place = match bound.bottleneck {
        None => json!({}),
        Some(Bottleneck::Path { source, destination }) => {
            json!({ "bottleneck_nodes": [source, destination] })
        }
        Some(Bottleneck::Link(link)) => json!({ "bottleneck_link": link }),
        Some(Bottleneck::Injection(node) | Bottleneck::Ejection(node)) => {
            json!({ "bottleneck_nodes": [node] })
        }
    };
    (Some(bound.duration), place)
}

/// The link on which the flits of a waiting channel arrived.
fn link_into(network: &Network, channel: &WaitingChannel) -> Option<u32> {
    let came = channel.arrived_along?;
    let fabric = network.fabric();
    fabric.working_links().find(|&link| {
        let (_, direction) = fabric.link_ends(link);
        direction == came && target(network, link) == channel.node
    })
}

fn target(network: &Network, link: u32) -> NodeId {
    let (node, direction) = network.fabric().link_ends(link);
    network.fabric().shape().neighbour(node, direction).unwrap_or(node)
}

fn waiting(network: &Network, channel: &WaitingChannel) -> String {
    let came = channel.arrived_along.map_or("no link".to_owned(), |direction| direction.to_string());
    let wants = channel.wants.map_or("the processor".to_owned(), |direction| direction.to_string());
    format!(
        "at {}, arrived along {came} in channel {}, waits for {wants} in channel {}",
        network.fabric().shape().describe(channel.node),
        channel.channel,
        channel.wants_channel,
    )
}
