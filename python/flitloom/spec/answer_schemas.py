"""JSON schemas of what commands print with ``--json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flitloom.spec.answer_words import WORDS

#: The dialect that schemas are written in.
DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: What the name of a schema of an answer begins with.
PREFIX = "output-"


@dataclass(frozen=True)
class Answer:
    """What a command prints: a list with an object per case, or one object.

    Attributes
    ----------
    about : str
        The command.
    several : bool
        Whether it is a list.
    always : str
        Names that are always there, separated by blanks.
    sometimes : str
        Names that some options add.
    more : str
        A pattern of names that are made from what was asked, e.g. fields of a grid.
    """

    about: str
    several: bool
    always: str
    sometimes: str = ""
    more: str = ""


_RUN = (
    "duration height effective_thickness bound bottleneck cycles packets_injected packets_delivered "
    "flits_delivered flit_hops latency age_sum fingerprint engine parts seed version commit spec "
    "links"
)
#: What pipelined routers and routing tables add.
_ADDED = "tables network_latency routers_passed replies_delivered reply_latency"
#: Labels of the cases of ``load``: one for each option that names what differs.
_LABELS = "torus mesh network pattern "
_MORE = "^(topology|router|traffic|throttle|buffer|channels|length|routing|flow_control|arbitration|tables)"
_STEADY = (
    "rate generated accepted accepted_confidence verdict cause saturated utilisation utilisation_error "
    "latency confidence correlation median p95 p99 max network_latency "
    "network_median network_p95 network_p99 network_max in_flight source_min source_p10 source_median "
    "source_max starved worst_node worst_accepted best_node warm_up measured cycles bound bound_of "
    "receive_bound router"
)
_TABLES = (
    "method rules max_load min_load perfect_load sigma4 max_distance bound bound_exact bound_proof gap "
    "optimal seconds deadlock cycle"
)

#: Schemas by name, without `PREFIX`.
ANSWERS = {
    "simulate": Answer(
        "flitloom simulate",
        False,
        _RUN,
        f"throughput verdict router {_ADDED}",
    ),
    "simulate-collective": Answer(
        "flitloom simulate with a plan of a collective operation",
        False,
        "operation network steps cycles cycles_per_step step_cycles flits_per_chunk ports chunks_sent "
        "waited_for_chunks waited_for_ports lost_to_contention waits chain_length chain",
        "rounds model_cycles differences microseconds model_microseconds",
    ),
    "simulate-schedule": Answer(
        "flitloom simulate with a schedule",
        False,
        "network traffic routes duration planned bound",
        "not_verified",
    ),
    "simulate-late": Answer(
        "flitloom simulate with a schedule and --jitter",
        False,
        "network traffic routes jitter trials plan_mean plan_worst plan_deadlocks unison_mean unison_worst "
        "unison_deadlocks",
    ),
    "simulate-messages": Answer(
        "flitloom simulate with a message graph",
        False,
        f"{_RUN} network ranks makespan",
        f"time {_ADDED}",
    ),
    "simulate-graph": Answer(
        "flitloom simulate --graph",
        False,
        "fabric outcome cycles bound packets packets_delivered unreachable latency max_latency "
        "max_flits waits",
    ),
    "load-curve": Answer("flitloom load curve", True, _STEADY, _LABELS + "stopped", _MORE),
    "load-steady": Answer("flitloom load steady", True, _STEADY, _LABELS + "stopped", _MORE),
    "load-saturation": Answer(
        "flitloom load saturation",
        True,
        "saturation half_width below above slope worst_node outcome cause accepted latency plateau "
        "full_start bound bound_of receive_bound router points run_cycles",
        _LABELS + "stopped",
        _MORE,
    ),
    "load-ramp": Answer(
        "flitloom load ramp",
        True,
        "critical_load end outcome advice bound bound_of receive_bound router slope_rule resolution "
        "averaging fitted accepted_at_end window_cycles cycles",
        _LABELS + "stopped",
        _MORE,
    ),
    "load-step": Answer(
        "flitloom load step",
        True,
        "settling_time outcome advice rate peak final window_cycles cycles",
        _LABELS + "stopped",
        _MORE,
    ),
    "load-burst": Answer(
        "flitloom load burst",
        True,
        "duration age_sum mean_age bound packets_delivered",
        _LABELS + "stopped",
        _MORE,
    ),
    "load-bound": Answer(
        "flitloom load bound", False, "network pattern routings minimal_routes receive_bound uniform_rule"
    ),
    "stack": Answer(
        "flitloom stack",
        True,
        "pattern arbitration slices slice_length whole interval duration gain bound",
    ),
    "schedule": Answer(
        "flitloom schedule",
        False,
        "duration simulated bound gap bound_proof optimal optimal_of seconds packets routes reproducible "
        "algorithm_bound channels version",
        "unison stacked guard spread lead late",
    ),
    "check-schedule": Answer(
        "flitloom check with a schedule",
        False,
        "passed problems duration bound optimal simulated channels cycle rules rules_from verified "
        "not_verified",
    ),
    "check-collective": Answer(
        "flitloom check with a plan of a collective operation",
        False,
        "passed steps problems bound optimal",
        "bound_proof not_verified gpus operation",
    ),
    "check-tables": Answer(
        "flitloom check with routing tables, by source or by destination",
        False,
        "passed network deadlock cycle routes unreachable unreachable_pairs problem_count problems max_load "
        "bound bound_proof lanes service_levels topology rules rules_in_words rules_from verified "
        "not_verified remarks safe_for traffic_kinds",
    ),
    "check-experiment": Answer(
        "flitloom check with an experiment of adaptive routing",
        False,
        "passed network deadlock cycle lanes rules_in_words rules_from",
    ),
    "check-placement": Answer(
        "flitloom check with a placement",
        False,
        "passed problems",
        "busiest_channel busiest_port hop_bytes row_major bound hop_bytes_bound optimal",
    ),
    "recheck": Answer(
        "flitloom recheck",
        False,
        "file kind passed problems",
        "deadlock bound max_load steps optimal busiest_channel busiest_port hop_bytes row_major "
        "hop_bytes_bound rounds messages factor microseconds",
    ),
    "jitter": Answer("flitloom jitter", False, "cases chosen"),
    "collective": Answer(
        "flitloom collective NAME",
        False,
        "operation network steps bound optimal bound_proof seconds chunks rows busy",
    ),
    "collective-rounds": Answer(
        "flitloom collective NAME --algorithm NAME",
        False,
        "operation network algorithm rounds factor bytes microseconds bound algbw busbw rows",
    ),
    "check-rounds": Answer(
        "flitloom check with a plan in rounds of a collective operation",
        False,
        "passed operation network algorithm rounds messages factor microseconds bound algbw busbw problems "
        "not_verified",
    ),
    "collective-advise": Answer(
        "flitloom collective advise",
        False,
        "operation network members rounds algorithms cases crossovers compared",
    ),
    "collective-advise-groups": Answer(
        "flitloom collective advise --groups",
        False,
        "operation network kinds cases",
    ),
    "sweep": Answer(
        "flitloom sweep",
        True,
        "id seed outcome duration bound latency throughput saturated packets_delivered "
        "flit_hops cycles seconds",
        more=r"^[a-z_]+\.",
    ),
    "route": Answer("flitloom route", False, f"{_TABLES} histogram most_loaded"),
    "route-compare": Answer("flitloom route --compare", True, _TABLES),
    "route-resilience": Answer(
        "flitloom route --resilience",
        True,
        "failures systems exhaustive",
        more="^(no_first_last_steps|direction_sets|closed_form|exact|on_demand)$",
    ),
    "route-fabric": Answer(
        "flitloom route --fabric",
        False,
        "fabric switches hosts job_hosts max_load bound bound_proof gap optimal balanced_load behind "
        "behind_load behind_bound "
        "short_of_lanes mode_loads scratch_load mode lanes lanes_there lanes_from spare_lanes service_levels "
        "deadlock unreachable seconds remarks entries changed_entries update update_safe update_rounds "
        "update_last moved_levels method method_loads shift_load shift_load_worst safe_for traffic_kinds "
        "given_up managers sm_sl multicast_sl host_pairs_load pairs_checksum first_again",
    ),
    "route-critical": Answer("flitloom route --critical", True, "part bound cut_off", "repair rounds moved"),
    "route-diff": Answer("flitloom route diff", False, "changed_entries entries switches"),
    "fabric-show": Answer(
        "flitloom fabric show",
        False,
        "kind sizes wraps factors switches hosts cables missing_switches missing_cables misfits description "
        "missing_switch_coordinates missing_cable_ends misfit_cables swapped coordinates host_names "
        "remarks levels host_order uneven",
    ),
    "place": Answer(
        "flitloom place",
        False,
        "placement busiest_channel channels_at_maximum busiest_port hop_bytes bound bound_proof optimal "
        "seconds minimised certificate hop_bytes_bound hop_bytes_certificate row_major network routing seed "
        "effort spent more_may_help",
        "duration runs phases on_machine",
    ),
    "place-jobs": Answer("flitloom place --jobs", False, "network apart certificate jobs waiting"),
    "place-shape": Answer(
        "flitloom place --shape",
        False,
        "fits placement found_by network nodes cables missing shape seconds names",
    ),
    "place-stream": Answer("flitloom place stream", False, "network mix load cases"),
    "bench": Answer("flitloom bench", True, "", "case seconds goal verdict", ".*"),
    "examples-list": Answer("flitloom examples list", True, "name about"),
    "config-show": Answer("flitloom config show", False, "file file_exists settings"),
    "papers-list": Answer("flitloom papers list", True, "identifier title"),
    "papers-run": Answer("flitloom papers run", True, "row column paper computed status"),
    "cite": Answer("flitloom cite", True, "name citation"),
    "demo": Answer("flitloom demo", True, "question command answer pictures"),
}


def answer_schema(name: str) -> dict[str, Any]:
    """The JSON schema of what a command prints with ``--json``, by its name in `ANSWERS`.

    Examples
    --------
    >>> from flitloom.spec.answer_schemas import answer_schema
    >>> answer_schema("cite")["items"]["properties"]["name"]["type"]
    'string'
    """
    answer = ANSWERS[name]
    always, sometimes = answer.always.split(), answer.sometimes.split()
    case: dict[str, Any] = {
        "type": "object",
        "properties": {word: _word(word) for word in (*always, *sometimes)},
        "required": always,
        "additionalProperties": False,
    }
    if answer.more:
        case["patternProperties"] = {answer.more: True}
    about = f"What {answer.about} --json prints."
    head = {"$schema": DIALECT, "title": f"flitloom {PREFIX}{name}", "description": about}
    return {**head, **({"type": "array", "items": case} if answer.several else case)}


def _word(name: str) -> dict[str, Any]:
    kind, meaning = WORDS[name]
    types = [kind.removesuffix("?"), *(["null"] if kind.endswith("?") else [])]
    if types[0] == "any":
        return {"description": meaning}
    return {"type": types if len(types) > 1 else types[0], "description": meaning}
