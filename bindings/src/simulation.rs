use crate::{errors::simulation_error, network::Network, running::interruptible, traffic::Workload};
use flitloom_core::{
    engine::{self, Bottleneck, Outcome, general},
    probe::{LinkOccupation, LinkTime, PacketRecord, PacketRecords},
    traffic,
};
use numpy::{IntoPyArray, PyArray1};
use pyo3::{prelude::*, types::PyDict};

/// Simulates a workload and returns its totals, with the records asked for under `links`, `packets`
/// and `link_time`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what to stop at and what to record")]
pub fn simulate<'py>(
    py: Python<'py>,
    network: &Network,
    workload: &Workload,
    stop_at: Option<u64>,
    cycle_limit: Option<u64>,
    links: bool,
    packets: bool,
    link_time: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let shape = network.inner.fabric().shape();
    let count = shape.nodes() * shape.directions();
    let mut occupation = links.then(|| LinkOccupation::new(count));
    let mut records = packets.then(PacketRecords::default);
    let mut time = link_time.then(|| LinkTime::new(count));
    let outcome = interruptible(
        py,
        |interrupt| {
            let options =
                engine::Options { stop_at, cycle_limit, interrupt: Some(interrupt), ..Default::default() };
            let (network, workload) = (&network.inner, &workload.inner);
            if time.is_some() {
                let mut probe = ((occupation.take(), records.take()), time.take());
                let outcome = general::simulate(network, workload, &options, &mut probe);
                ((occupation, records), time) = probe;
                outcome
            } else if links || packets {
                let mut probe = (occupation.take(), records.take());
                let outcome = general::simulate(network, workload, &options, &mut probe);
                (occupation, records) = probe;
                outcome
            } else {
                engine::simulate(network, workload, &options)
            }
        },
        |_| Ok(()),
    )?
    .map_err(|error| simulation_error(py, error))?;
    let result = totals(py, &outcome)?;
    if let Some(occupation) = occupation {
        let thickness = occupation.effective_thickness();
        let unused = |cycle: u64| if cycle == u64::MAX { -1 } else { cycle as i64 };
        let last = occupation.last.iter().zip(&occupation.flits);
        let table = PyDict::new(py);
        table.set_item("effective_thickness", thickness)?;
        table.set_item("first", column(py, occupation.first.iter().map(|&cycle| unused(cycle))))?;
        table.set_item(
            "last",
            column(py, last.map(|(&cycle, &flits)| if flits == 0 { -1 } else { cycle as i64 })),
        )?;
        table.set_item("flits", column(py, occupation.flits.iter().map(|&flits| flits as i64)))?;
        result.set_item("links", table)?;
    }
    if let Some(records) = records {
        result.set_item("packets", packet_table(py, &records.into_sorted())?)?;
    }
    if let Some(time) = time {
        let width = time.links();
        result.set_item("link_time", (time.cells().to_vec().into_pyarray(py), width))?;
    }
    Ok(result)
}

/// A duration no arbitration can beat on the same routes, and what it rests on; `None` for a load.
#[pyfunction]
pub fn lower_bound(network: &Network, workload: &Workload) -> Option<(u64, String)> {
    let traffic::Workload::Packets(packets) = &workload.inner else { return None };
    let bound = engine::lower_bound(&network.inner, packets);
    let fabric = network.inner.fabric();
    let at = |node| fabric.shape().describe(node);
    let bottleneck = match bound.bottleneck {
        None => "no packets".to_owned(),
        Some(Bottleneck::Path { source, destination }) => {
            format!("way from {} to {}", at(source), at(destination))
        }
        Some(Bottleneck::Link(link)) => {
            let (node, direction) = fabric.link_ends(link);
            format!("link {}{direction}", at(node))
        }
        Some(Bottleneck::Injection(node)) => format!("injection at {}", at(node)),
        Some(Bottleneck::Ejection(node)) => format!("ejection at {}", at(node)),
    };
    Some((bound.duration, bottleneck))
}

/// The totals of an outcome by name.
pub fn totals<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let totals = PyDict::new(py);
    totals.set_item("duration", outcome.duration)?;
    totals.set_item("cycles", outcome.cycles)?;
    totals.set_item("packets_injected", outcome.packets_injected)?;
    totals.set_item("packets_delivered", outcome.packets_delivered)?;
    totals.set_item("flits_delivered", outcome.flits_delivered)?;
    totals.set_item("flit_hops", outcome.flit_hops)?;
    totals.set_item("latency_sum", outcome.latency_sum)?;
    totals.set_item("fingerprint", outcome.fingerprint)?;
    Ok(totals)
}

fn packet_table<'py>(py: Python<'py>, records: &[PacketRecord]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let add = |name: &str, get: fn(&PacketRecord) -> u64| {
        table.set_item(name, column(py, records.iter().map(|record| get(record) as i64)))
    };
    add("source", |record| record.source.into())?;
    add("destination", |record| record.destination.into())?;
    add("number", |record| record.number)?;
    add("slice", |record| record.slice.into())?;
    add("generated", |record| record.generated)?;
    add("injected", |record| record.injected)?;
    add("head_arrival", |record| record.head_arrival)?;
    add("tail_arrival", |record| record.tail_arrival)?;
    add("hops", |record| record.hops.into())?;
    Ok(table)
}

fn column(py: Python<'_>, values: impl Iterator<Item = i64>) -> Bound<'_, PyArray1<i64>> {
    PyArray1::from_iter(py, values)
}
