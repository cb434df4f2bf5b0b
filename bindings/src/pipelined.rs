use crate::{ranks::Ranks, running::interruptible};
use flitloom_core::{
    booksim::{self, Event, OPTIONS, Options, PacketRecord, Parts, Phases},
    engine::pipelined::{Breach, ClassFacts, Delays, Rates},
    probe::Utilisation,
};
use numpy::IntoPyArray;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

/// The options of BookSim2 that have a say in what happens, with their defaults.
#[pyfunction]
pub fn pipelined_options() -> Vec<(&'static str, &'static str)> {
    OPTIONS.to_vec()
}

/// A run of the pipelined router, from a file of BookSim2.
#[pyclass(module = "flitloom._core")]
pub struct Pipelined {
    phases: Phases,
    records: Vec<PacketRecord>,
}

fn pairs(options: &[(String, String)]) -> impl Iterator<Item = (&String, &String)> {
    options.iter().map(|(name, value)| (name, value))
}

/// Options of a file. Fails with the one that is not known.
pub fn options_of<'a>(options: impl IntoIterator<Item = (&'a String, &'a String)>) -> PyResult<Options> {
    let mut all = Options::default();
    for (name, value) in options {
        if !all.set(name, value) {
            return Err(PyValueError::new_err((name.clone(), "is not an option".to_owned())));
        }
    }
    Ok(all)
}

/// The two ends of every cable.
type Cables = Vec<(u32, u32)>;

/// By node its router, how many routers there are, and their cables, of the network of a file. Fails with the option and
/// what is wrong with it.
#[pyfunction]
pub fn described_network(options: Vec<(String, String)>) -> PyResult<(Vec<u32>, usize, Cables)> {
    let refused = |option: &str, text: String| PyValueError::new_err((option.to_owned(), text));
    let rules = options_of(pairs(&options))?.rules().map_err(|error| refused(error.option, error.text))?;
    let cables = rules.cables().ok_or_else(|| {
        refused("topology", "has links that lead one way, which is no network of cables".to_owned())
    })?;
    Ok((rules.routers_of_nodes(), rules.routers(), cables))
}

#[pymethods]
impl Pipelined {
    /// A run at its beginning, on so many threads at most, or on the processes that `ranks` are. Fails with the option and
    /// what is wrong with it.
    #[new]
    fn new(
        options: Vec<(String, String)>,
        packets: bool,
        threads: usize,
        ranks: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let rank = ranks.map(Ranks::rank).transpose()?;
        let parts = Parts { threads, rank, ..Parts::default() };
        match Phases::in_parts(&options_of(pairs(&options))?, packets, parts) {
            Ok(phases) => Ok(Self { phases, records: Vec::new() }),
            Err(error) => Err(PyValueError::new_err((error.option, error.text))),
        }
    }

    /// Goes on to the next event; none at the end.
    fn advance<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (phases, records) = (&mut self.phases, &mut self.records);
        let event = interruptible(
            py,
            |interrupt| {
                let event = phases.advance(interrupt);
                records.extend(phases.take_log());
                event
            },
            |_| Ok(()),
        )?;
        event.map(|event| event_fields(py, &event)).transpose()
    }

    /// In how many parts it is.
    #[getter]
    fn parts(&self) -> usize {
        self.phases.parts()
    }

    /// The cycle that comes next.
    #[getter]
    fn now(&self) -> u32 {
        self.phases.now()
    }

    /// Flits that a node sends, and that the fullest link carries, for a unit of the injection rate; the latter is
    /// none where it is not known.
    fn demand(&self, py: Python<'_>) -> (f64, Option<f64>) {
        let phases = &self.phases;
        let demand = py.detach(|| phases.demand());
        (demand.flits, demand.fullest)
    }

    /// The packets that have arrived, if they are recorded: columns in the order of their arrival.
    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        type Column = (&'static str, fn(&PacketRecord) -> i64);
        let columns: [Column; 10] = [
            ("packet", |record| record.packet.into()),
            ("class", |record| record.class.into()),
            ("source", |record| record.source.into()),
            ("destination", |record| record.destination.into()),
            ("created", |record| record.created.into()),
            ("injected", |record| record.injected.into()),
            ("head", |record| record.head.into()),
            ("tail", |record| record.tail.into()),
            ("hops", |record| record.hops.into()),
            ("size", |record| record.size.into()),
        ];
        let result = PyDict::new(py);
        for (name, column) in columns {
            result.set_item(name, self.records.iter().map(column).collect::<Vec<_>>().into_pyarray(py))?;
        }
        Ok(result)
    }
}

/// A run of a file of BookSim2 at constant load, judged by how busy source queues are.
#[pyclass(module = "flitloom._core")]
pub struct Judged(booksim::Judged);

#[pymethods]
impl Judged {
    /// A run at its beginning. Fails with the option and what is wrong with it.
    #[new]
    fn new(options: Vec<(String, String)>) -> PyResult<Self> {
        let judged = booksim::Judged::new(&options_of(pairs(&options))?);
        judged.map(Self).map_err(|error| PyValueError::new_err((error.option, error.text)))
    }

    /// Goes on to a cycle. By class the verdict, the logarithm of the utilisation of the busiest source queue, its
    /// error and its node, nothing where the load of the class is not known; or what ends BookSim2 before.
    #[expect(clippy::type_complexity, reason = "what Python gets")]
    fn look(
        &mut self,
        py: Python<'_>,
        cycle: u32,
    ) -> PyResult<(Vec<Option<(&'static str, f64, f64, usize)>>, Option<(&'static str, u32)>)> {
        let found = interruptible(py, |interrupt| self.0.look(cycle, interrupt), |_| Ok(()))?;
        Ok(match found {
            Ok(found) => {
                let fields = |found: Utilisation| (found.verdict.name(), found.log, found.error, found.worst);
                (found.into_iter().map(|found| found.map(fields)).collect(), None)
            }
            Err((breach, cycle)) => (Vec::new(), Some((breach_name(breach), cycle))),
        })
    }
}

/// The name of what ends BookSim2.
fn breach_name(breach: Breach) -> &'static str {
    match breach {
        Breach::SharedPlace => "shared place",
        Breach::PlacePerOwner => "place per owner",
        Breach::ChannelTwice => "channel twice",
        Breach::Deadlock => "deadlock",
        Breach::Lost => "lost",
    }
}

fn event_fields<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    let kind = match event {
        Event::Sample { cycles, classes } => {
            told.set_item("cycles", cycles)?;
            let mut all = Vec::new();
            for (class, sample) in classes {
                let facts = facts(py, *class, &sample.facts)?;
                facts.set_item("latency_change", sample.changes.0)?;
                facts.set_item("rate_change", sample.changes.1)?;
                all.push(facts);
            }
            told.set_item("classes", all)?;
            "sample"
        }
        Event::Exceeded(class, limit) => {
            told.set_item("class", class)?;
            told.set_item("limit", limit)?;
            "exceeded"
        }
        Event::WarmedUp(now) => {
            told.set_item("now", now)?;
            "warmed_up"
        }
        Event::Broken(breach, now) => {
            told.set_item("now", now)?;
            told.set_item("breach", breach_name(*breach))?;
            "broken"
        }
        Event::Stuck => "stuck",
        Event::TooLong => "too_long",
        Event::Waiting => "waiting",
        Event::Remaining(left) => {
            told.set_item("left", left.clone())?;
            "remaining"
        }
        Event::Unstable => "unstable",
        Event::Emptying => "emptying",
        Event::BatchBegins { number, size } => {
            told.set_item("number", number)?;
            told.set_item("size", size)?;
            "batch begins"
        }
        Event::BatchSent { cycles } => {
            told.set_item("cycles", cycles)?;
            "batch sent"
        }
        Event::BatchArrived { cycles, last } => {
            told.set_item("cycles", cycles)?;
            told.set_item("last", last)?;
            "batch arrived"
        }
        Event::BatchCounted { cycles, classes, durations } => {
            told.set_item("cycles", cycles)?;
            told.set_item("durations", durations)?;
            told.set_item("classes", all_facts(py, classes)?)?;
            "batch counted"
        }
        Event::End { now, cycles, classes, durations } => {
            told.set_item("now", now)?;
            told.set_item("cycles", cycles)?;
            told.set_item("durations", durations)?;
            told.set_item("classes", all_facts(py, classes)?)?;
            "end"
        }
    };
    told.set_item("kind", kind)?;
    Ok(told)
}

fn all_facts<'py>(py: Python<'py>, classes: &[(usize, ClassFacts)]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    classes.iter().map(|(class, measured)| facts(py, *class, measured)).collect()
}

fn facts<'py>(py: Python<'py>, class: usize, facts: &ClassFacts) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("class", class)?;
    let delays = |delays: &Delays| (delays.count, delays.sum, delays.least, delays.most);
    told.set_item("packet", delays(&facts.packet))?;
    told.set_item("network", delays(&facts.network))?;
    told.set_item("flit", delays(&facts.flit))?;
    told.set_item("fragmentation", delays(&facts.fragmentation))?;
    told.set_item("hops", delays(&facts.hops))?;
    told.set_item("slowest_packet", facts.slowest_packet)?;
    told.set_item("slowest_flit", facts.slowest_flit)?;
    let rates = |rates: &Rates| {
        let (least, most) = rates.extremes();
        (rates.sum(), rates.counts[least], least, rates.counts[most], most, rates.counts.len())
    };
    told.set_item("sent_packets", rates(&facts.sent_packets))?;
    told.set_item("delivered_packets", rates(&facts.delivered_packets))?;
    told.set_item("sent_flits", rates(&facts.sent_flits))?;
    told.set_item("delivered_flits", rates(&facts.delivered_flits))?;
    told.set_item("in_flight", facts.in_flight)?;
    told.set_item("measured_in_flight", facts.measured_in_flight)?;
    Ok(told)
}
