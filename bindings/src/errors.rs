//! Core errors as the exceptions of `flitloom.errors`.

use flitloom_core::{
    engine::{SimulationError, WaitingChannel},
    fabric::Direction,
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

/// A `SpecError` at the given place; messages that name their field already keep it.
pub fn spec_error(py: Python<'_>, place: &str, error: impl ToString) -> PyErr {
    let text = error.to_string();
    let named = ["router.", "traffic.", "rules."].iter().any(|room| text.starts_with(room));
    let text = if named { text } else { format!("{place}: {text}") };
    exception(py, "SpecError", (text,))
}

/// The exception for a failed simulation.
pub fn simulation_error(py: Python<'_>, error: SimulationError) -> PyErr {
    let text = error.to_string();
    match error {
        SimulationError::Unreachable { pairs, .. } => exception(py, "UnreachableError", (text, pairs)),
        SimulationError::Deadlock(report) => {
            let channels: PyResult<Vec<_>> =
                report.channels.iter().map(|channel| waiting_channel(py, channel)).collect();
            match channels {
                Ok(channels) => {
                    exception(py, "DeadlockError", (text, report.cycle, channels, report.stuck_flits))
                }
                Err(error) => error,
            }
        }
        SimulationError::CycleLimit { cycles, delivered } => {
            exception(py, "CycleLimitError", (text, cycles, delivered))
        }
        SimulationError::Interrupted(_) => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
        SimulationError::PacketTooLong { .. } => spec_error(py, "router.buffer", text),
        SimulationError::Margin { .. } => exception(py, "SpecError", (text,)),
        SimulationError::GraphQueues => spec_error(py, "router.processor_queues", text),
        SimulationError::Router(_) | SimulationError::RoutesGiven(_) | SimulationError::Failures(_) => {
            spec_error(py, "router.routing", text)
        }
        SimulationError::Nodes { .. } | SimulationError::Workload(_) => spec_error(py, "traffic", text),
        _ => exception(py, "FlitloomError", (text,)),
    }
}

/// A waiting channel by name.
pub fn waiting_channel<'py>(py: Python<'py>, channel: &WaitingChannel) -> PyResult<Bound<'py, PyDict>> {
    let name = |direction: Option<Direction>| direction.map(|direction| direction.to_string());
    let entry = PyDict::new(py);
    entry.set_item("node", channel.node)?;
    entry.set_item("arrived_along", name(channel.arrived_along))?;
    entry.set_item("channel", channel.channel)?;
    entry.set_item("wants", name(channel.wants))?;
    entry.set_item("wants_channel", channel.wants_channel)?;
    Ok(entry)
}
