//! Core errors as the exceptions of `flitloom.errors`.

use flitloom_core::{
    collective::CollectiveError,
    engine::{NetworkError, SimulationError, WaitingChannel, pipelined::ConfigError, planes::Unsupported},
    fabric::{Direction, FabricError},
    fault::Fault,
    names::UnknownName,
    placement::DemandError,
    router::{ArbitrationError, RouterError},
    routes::by_source::TableError,
    routing::RulesError,
    save::SaveError,
    schedule::{PlanError, ScheduleError},
    throttle::ThrottleError,
    traffic::{AmongError, GoalError, GraphError, OperationError, PatternError, WorkloadError},
};
use pyo3::{call::PyCallArgs, prelude::*, types::PyDict};

/// An exception of `flitloom.errors`.
pub fn exception<'py>(py: Python<'py>, class: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let made = py
        .import("flitloom.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// What can be into_fault as a [`Fault`].
pub trait Faulty {
    /// What is wrong, in parts; without a field where only who asked knows it.
    fn into_fault(self) -> Fault;
}

/// Errors that say their parts.
macro_rules! faulty {
    ($($error:ty),+ $(,)?) => {
        $(impl Faulty for $error {
            fn into_fault(self) -> Fault {
                self.fault()
            }
        })+
    };
}

faulty!(
    AmongError,
    ArbitrationError,
    CollectiveError,
    ConfigError,
    DemandError,
    FabricError,
    GoalError,
    GraphError,
    NetworkError,
    OperationError,
    PatternError,
    PlanError,
    RouterError,
    RulesError,
    SaveError,
    ScheduleError,
    SimulationError,
    TableError,
    ThrottleError,
    UnknownName,
    WorkloadError
);

/// Errors that are one sentence.
macro_rules! sentences {
    ($($error:ty),+ $(,)?) => {
        $(impl Faulty for $error {
            fn into_fault(self) -> Fault {
                Fault::somewhere(self.to_string(), "")
            }
        })+
    };
}

sentences!(&str, String, Unsupported);

impl Faulty for Fault {
    fn into_fault(self) -> Fault {
        self
    }
}

/// A `SpecError` at the field that the error names, else at the given one.
pub fn spec_error(py: Python<'_>, place: &str, error: impl Faulty) -> PyErr {
    let fault = error.into_fault().or_at(place.to_owned());
    let text = fault.to_string();
    let (given, names) = fault.unknown.map_or_else(Default::default, |name| (name.given, name.known));
    exception(py, "SpecError", (text, &fault.field[..], fault.problem, fault.advice, given, names))
}

/// The exception for a failed simulation.
pub fn simulation_error(py: Python<'_>, error: SimulationError) -> PyErr {
    let fault = error.fault();
    let text = fault.to_string();
    match error {
        SimulationError::Unreachable { pairs, .. } => exception(py, "UnreachableError", (text, pairs)),
        SimulationError::Deadlock(report) => {
            let channels: PyResult<Vec<_>> = report
                .channels
                .iter()
                .map(|channel| waiting_channel(py, channel, &report.directions))
                .collect();
            match channels {
                Ok(channels) => {
                    exception(py, "DeadlockError", (text, report.cycle, channels, report.stuck_flits))
                }
                Err(error) => error,
            }
        }
        SimulationError::Blocked { cycle, stuck_flits, .. } => {
            exception(py, "DeadlockError", (text, cycle, Vec::<usize>::new(), stuck_flits))
        }
        SimulationError::CycleLimit { cycles, delivered } => {
            exception(py, "CycleLimitError", (text, cycles, delivered))
        }
        SimulationError::Interrupted(_) => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
        SimulationError::Nodes { .. } | SimulationError::Workload(_) => spec_error(py, "traffic", fault),
        _ if !fault.field.is_empty() => spec_error(py, "router", fault),
        _ => exception(py, "FlitloomError", (text,)),
    }
}

/// A waiting channel by name.
pub fn waiting_channel<'py>(
    py: Python<'py>,
    channel: &WaitingChannel,
    directions: &[String],
) -> PyResult<Bound<'py, PyDict>> {
    let name = |direction: Option<Direction>| direction.map(|direction| &directions[direction.index()]);
    let entry = PyDict::new(py);
    entry.set_item("node", channel.node)?;
    entry.set_item("arrived_along", name(channel.arrived_along))?;
    entry.set_item("channel", channel.channel)?;
    entry.set_item("wants", name(channel.wants))?;
    entry.set_item("wants_channel", channel.wants_channel)?;
    Ok(entry)
}
