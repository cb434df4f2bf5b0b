//! Closed lists of the core by the names that users write: the one place from which specs, help and
//! documents take them.

use crate::errors::spec_error;
use flitloom_core::{
    bits::InstructionSet,
    collective::CollectiveKind,
    engine::pipelined::{AllocatorKind, ArbiterKind, BufferPolicy, Priority},
    fabric,
    genetic::{Acceptance, Beginning, IntervalLimit, Objective, SortKey, Ties},
    names,
    probe::Verdict,
    router::{ChannelScheme, FlowControl, North, ProcessorQueues, Variant},
    routes::{by_source::Regime, methods::Method},
    routing::{Datelines, RoutingFunction, Rules, TurnPolicy},
    schedule::{MethodName, RouteChoice},
    throttle::{Throttle, VARIABLES},
    traffic::{CollectiveOperation, Pattern, Process},
};
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

/// A name, and what it stands for.
type Described = (&'static str, &'static str);

/// The member of a list with a name, or a `SpecError` at the given place.
pub fn named<T: Copy>(py: Python<'_>, place: &str, list: &[(&'static str, T)], name: &str) -> PyResult<T> {
    names::find(list, name).map_err(|error| spec_error(py, place, error))
}

/// Names by list.
pub fn lists(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let routings = RoutingFunction::ALL.iter().filter(|function| function.is_of_routers());
    let throttles = Throttle::all().into_iter().filter(|throttle| throttle.stands_alone());
    let turns = ["on-demand"].into_iter().chain(names::all(&TurnPolicy::NAMES));
    let lists: [(&str, Vec<&str>); 35] = [
        ("acceptances", names::all(&Acceptance::NAMES)),
        ("allocators", names::all(&AllocatorKind::NAMES)),
        ("arbiters", names::all(&ArbiterKind::NAMES)),
        ("beginnings", names::all(&Beginning::NAMES)),
        ("buffer_policies", names::all(&BufferPolicy::NAMES)),
        ("collectives", CollectiveKind::ALL.map(CollectiveKind::name).to_vec()),
        ("datelines", names::all(&Datelines::NAMES)),
        ("flow_controls", names::all(&FlowControl::NAMES)),
        ("forwarding_kinds", Method::by_destination().iter().map(|(_, method)| method.kind).collect()),
        ("forwarding_methods", names::all(&Method::by_destination())),
        ("instruction_sets", InstructionSet::ALL.map(InstructionSet::name).to_vec()),
        ("interval_limits", names::all(&IntervalLimit::NAMES)),
        ("norths", names::all(&North::NAMES)),
        ("objectives", names::all(&Objective::NAMES)),
        ("operations", CollectiveOperation::NAMES.to_vec()),
        ("patterns", Pattern::NAMES.to_vec()),
        ("priorities", names::all(&Priority::NAMES)),
        ("processes", Process::NAMES.to_vec()),
        ("processor_queues", names::all(&ProcessorQueues::NAMES)),
        ("published_patterns", Pattern::PUBLISHED.to_vec()),
        ("published_schemes", ChannelScheme::PUBLISHED.map(ChannelScheme::name).to_vec()),
        ("regimes", names::all(&Regime::NAMES)),
        ("routes", names::all(&RouteChoice::NAMES)),
        ("routings", routings.map(|function| function.name()).collect()),
        ("rules", Rules::NAMES.to_vec()),
        ("schedule_methods", MethodName::ALL.iter().map(|method| method.name()).collect()),
        ("schemes", ChannelScheme::ALL.map(ChannelScheme::name).to_vec()),
        ("sort_keys", names::all(&SortKey::NAMES)),
        ("table_methods", names::all(&Method::by_source())),
        ("throttles", throttles.map(Throttle::name).collect()),
        ("tie_rules", names::all(&fabric::Ties::NAMES)),
        ("ties", names::all(&Ties::NAMES)),
        ("turns", turns.collect()),
        ("variants", names::all(Variant::NAMES)),
        ("verdicts", names::all(&Verdict::NAMES)),
    ];
    let dict = PyDict::new(py);
    for (list, names) in lists {
        dict.set_item(list, PyTuple::new(py, names)?)?;
    }
    Ok(dict)
}

/// The routing functions of routers: short name, name written out, what they do.
#[pyfunction]
pub fn routing_functions() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = RoutingFunction::ALL.iter().filter(|function| function.is_of_routers());
    all.map(|function| (function.name(), function.long_name(), function.summary())).collect()
}

/// What the expression of the throttle `when` may use: name and what it is.
#[pyfunction]
pub fn throttle_variables() -> Vec<(&'static str, &'static str)> {
    VARIABLES.to_vec()
}

/// The throttles: name, what they do, and their parameters: name, what it may be.
#[pyfunction]
pub fn throttles() -> Vec<(&'static str, &'static str, Vec<Described>)> {
    let parameters = |throttle: Throttle| {
        throttle.parameters().iter().map(|parameter| (parameter.name, parameter.values)).collect()
    };
    let all = Throttle::all().into_iter();
    all.map(|throttle| (throttle.name(), throttle.summary(), parameters(throttle))).collect()
}
