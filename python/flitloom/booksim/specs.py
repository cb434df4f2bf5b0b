"""Options of BookSim2 as a spec in TOML: tables with typed values, and ``router.model = "pipelined"``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from flitloom import _core
from flitloom.errors import SpecError, unknown_parts

#: How whole numbers and fractions are written.
WHOLE = re.compile(r"[+-]?\d+")
FRACTION = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][+-]?\d+)")
#: The model of a router that says whose options they are.
MODEL = "pipelined"
#: Fields of networks and traffic of flitloom's own, which no option is called.
_OWN_NETWORKS = frozenset({"kind", "sizes", "wrap", "twist", "network", "graph"})
_OWN_TRAFFIC = frozenset({"kind", "pattern", "rate", "length", "payload", "table", "matrix"})
#: Where the options stand; those that are not named here describe routers.
TABLES = {
    "topology": "topology k n c x y xr yr network_file subnets use_noc_latency link_failures",
    "traffic": """
        classes traffic class_priority perm_seed injection_rate injection_rate_uses_flits packet_size
        packet_size_rate injection_process burst_alpha burst_beta burst_r1 batch_size batch_count
        max_outstanding_requests use_read_write write_fraction read_request_begin_vc read_request_end_vc
        write_request_begin_vc write_request_end_vc read_reply_begin_vc read_reply_end_vc
        write_reply_begin_vc write_reply_end_vc read_request_subnet read_reply_subnet write_request_subnet
        write_reply_subnet read_request_size write_request_size read_reply_size write_reply_size
        include_queuing
    """,
    "simulation": """
        sim_type warmup_periods sample_period max_samples measure_stats latency_thres warmup_thres
        acc_warmup_thres stopping_thres acc_stopping_thres sim_count seed deadlock_warn_timeout
    """,
}
_TABLE = {name: table for table, names in TABLES.items() for name in names.split()}


def is_spec(fields: Mapping[str, Any]) -> bool:
    """Whether a spec is one of this router.

    Specs of flitloom's own networks and traffic, which the same router runs, are none.

    >>> is_spec({"router": {"model": "pipelined"}}), is_spec({"router": {"buffer": 4}})
    (True, False)
    >>> is_spec({"router": {"model": "pipelined"}, "topology": {"sizes": "8x8"}})
    False
    """
    router, topology, traffic = (fields.get(name) for name in ("router", "topology", "traffic"))
    own = isinstance(topology, dict) and not _OWN_NETWORKS.isdisjoint(topology)
    own = own or (isinstance(traffic, dict) and not _OWN_TRAFFIC.isdisjoint(traffic))
    return isinstance(router, dict) and router.get("model") == MODEL and not own


def spec_text(values: Mapping[str, str]) -> str:
    """The spec of options.

    >>> print(spec_text({"k": "4", "traffic": "{uniform,tornado}", "stopping_thres": "0.05"}), end="")
    [topology]
    k = 4
    <BLANKLINE>
    [router]
    model = "pipelined"
    <BLANKLINE>
    [traffic]
    traffic = ["uniform", "tornado"]
    <BLANKLINE>
    [simulation]
    stopping_thres = 0.05
    """
    lines: dict[str, list[str]] = {name: [] for name in ("topology", "router", "traffic", "simulation")}
    lines["router"].append(f'model = "{MODEL}"')
    for name, value in values.items():
        lines[_TABLE.get(name, "router")].append(f"{name} = {_written(value)}")
    tables = ("\n".join([f"[{table}]", *made, ""]) for table, made in lines.items() if made)
    return "\n".join(tables)


def values_of(fields: Mapping[str, Any], place: str) -> dict[str, str]:
    """The options of a spec, as BookSim2 writes them.

    >>> values_of({"topology": {"k": 4}, "router": {"model": "pipelined", "speculative": True}}, "")
    {'k': '4', 'speculative': '1'}
    """
    values: dict[str, str] = {}
    known = [name for name, _ in _core.pipelined_options()]
    for table, inside in fields.items():
        if table != "router" and table not in TABLES:
            raise SpecError.at(f"{place}: {table}", *unknown_parts(table, ["router", *TABLES]))
        if not isinstance(inside, dict):
            raise SpecError.at(f"{place}: {table}", "is not a table", f"write [{table}]")
        for name, value in inside.items():
            if (table, name) == ("router", "model"):
                continue
            if _TABLE.get(name, "router") != table:
                mine = [one for one in known if _TABLE.get(one, "router") == table]
                raise SpecError.at(f"{place}: {table}.{name}", *unknown_parts(name, mine))
            values[name] = _read(value, f"{place}: {table}.{name}")
    return values


def _written(value: str) -> str:
    """A value as TOML has it."""
    if value.startswith("{") and value.endswith("}"):
        return f"[{', '.join(_written(part) for part in _parts(value[1:-1]))}]"
    if WHOLE.fullmatch(value):
        return str(int(value))
    if FRACTION.fullmatch(value):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False)


def _parts(text: str) -> Iterator[str]:
    """What stands between commas outside of braces and brackets."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "{(") - (letter in "})")
        if letter == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def number(value: float) -> str:
    """A number as BookSim2 writes it, which tells fractions by their point.

    >>> number(1e-05), number(500.0), number(4)
    ('0.00001', '500.0', '4')
    """
    text = format(Decimal(repr(value)), "f")
    return text if "." in text or isinstance(value, int) else f"{text}.0"


def _read(value: Any, place: str) -> str:
    """A value of TOML as BookSim2 writes it."""
    match value:
        case list():
            return "{" + ",".join(_read(part, place) for part in value) + "}"
        case bool() | int():
            return str(int(value))
        case float() if math.isfinite(value):
            return number(value)
        case str():
            return value
    raise SpecError.at(place, "is not a number, text or list of them")
