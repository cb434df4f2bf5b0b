"""Configurations of BookSim2, drawn from its table of options with odd, uneven and boundary values.

Every option is drawn alone, crossed with every kind of run, network and allocator, and left out now and then.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flitloom import _core
from flitloom.booksim.options import NETWORK_FILE, Options

_SEPARABLE = ("separable_input_first", "separable_output_first")
_ALLOCATORS = (
    *("islip", "islip(2)", "islip(3)", "select", "select(2)", "pim", "pim(2)", "loa", "max_size"),
    *("wavefront", "rr_wavefront", *_SEPARABLE, *(f"{name}(matrix)" for name in _SEPARABLE)),
)
_PRIORITIES = ("none", *_core.LISTS["priorities"])
_POLICIES = ("private", *_core.LISTS["buffer_policies"], "feedback", "simplefeedback")
_KINDS = ("read_request", "write_request", "read_reply", "write_reply")

#: Options that stand alone, with the values that are drawn; a value stands as often as it is likely.
_ALONE: dict[str, Sequence[object]] = {
    "vc_buf_size": (1, 2, 3, 4, 7, 8, 15, 16),
    "routing_delay": (0, 0, 1, 1, 2, 3),
    "credit_delay": (0, 0, 1, 2, 3),
    "internal_speedup": ("1.0", "1.0", "1.0", "1.3", "1.5", "2.0", "2.7"),
    "input_speedup": (1, 1, 1, 2, 3),
    "output_speedup": (1, 1, 1, 2, 3),
    "vc_busy_when_full": (0, 0, 0, 1),
    "vc_prioritize_empty": (0, 0, 0, 1),
    "vc_shuffle_requests": (0, 0, 0, 1),
    "vc_priority_donation": (0, 0, 1),
    "wait_for_tail_credit": (0, 1),
    "priority": _PRIORITIES,
    "use_noc_latency": (0, 1, 1, 2),
    "include_queuing": (0, 1, 1, 1, 2),
    "deadlock_warn_timeout": (0, 8, 64, 256),
    "perm_seed": (0, 7, 123456789),
    "sim_count": (1, 1, 1, 1, 2, 3),
    "warmup_periods": (0, 1, 2, 3),
    "injection_rate_uses_flits": (0, 1),
}
#: Options with a value per class.
_PER_CLASS: dict[str, Sequence[object]] = {
    "class_priority": (0, 1, 2, 5),
    "measure_stats": (1, 1, 1, 0),
    "latency_thres": ("500.0", "500.0", "100.0", "30.0"),
    "warmup_thres": ("0.05", "0.5", "-1.0"),
    "acc_warmup_thres": ("0.05", "0.5", "-1.0"),
    "stopping_thres": ("0.05", "0.2", "-1.0"),
    "acc_stopping_thres": ("0.05", "0.2", "-1.0"),
    "write_fraction": ("0.5", "0.0", "0.2", "0.77", "1.0"),
}


@dataclass(frozen=True)
class _Network:
    """A network: its options and nodes, the least channels of a packet, whether an odd number is shared."""

    values: dict[str, object]
    nodes: int
    channels: int = 1
    shares_odd: bool = False
    #: The number whose power the nodes are, for patterns of digits.
    radix: int = 0


def draw(number: int, seed: int, folder: Path) -> Options:
    """Configuration number so-and-so of a seed; the file of a network goes to a folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> draw(0, 0, folder) == draw(0, 0, folder), draw(0, 0, folder) == draw(1, 0, folder)
    (True, False)
    """
    drawn = random.Random(f"{seed} {number}")
    network = drawn.choice(_NETWORKS)(drawn)
    if NETWORK_FILE in network.values:
        file = folder / f"{seed}-{number}.anynet"
        file.write_text(str(network.values[NETWORK_FILE]))
        network.values[NETWORK_FILE] = file
    values: dict[str, object] = {
        "sim_type": drawn.choice(["latency", "latency", "throughput", "batch"]),
        **network.values,
        "seed": drawn.randrange(1000),
        "sample_period": drawn.choice([37, 50, 100, 150]),
        "max_samples": drawn.choice([1, 2, 4, 6, 9]),
    }
    for name, known in _ALONE.items():
        if drawn.random() < 0.7:
            values[name] = drawn.choice(known)
    classes = values["classes"] = drawn.choice([1, 1, 1, 2, 3])
    for name, known in _PER_CLASS.items():
        if drawn.random() < 0.4:
            values[name] = _per_class(drawn, classes, partial(drawn.choice, known))
    values["subnets"] = drawn.choice([1, 1, 1, 2, 3])
    values["num_vcs"] = max(network.channels * drawn.choice([1, 1, 2]) + drawn.choice([0, 0, 1, 2, 3]), 1)
    _draw_messages(drawn, values, network)
    _draw_stages(drawn, values)
    _draw_buffers(drawn, values)
    _draw_traffic(drawn, values, network)
    _keep_possible(drawn, values, network)
    return Options.of({name: str(value) for name, value in values.items()})


def _per_class(drawn: random.Random, classes: int, one: Callable[[], object]) -> str:
    """A value for all classes, or a list that may be shorter or longer than there are classes."""
    if drawn.random() < 0.3:
        return str(one())
    return "{" + ",".join(str(one()) for _ in range(drawn.randint(1, classes + 1))) + "}"


def _first(text: object) -> str:
    return str(text).strip("{}").split(",")[0]


def _draw_stages(drawn: random.Random, values: dict[str, object]) -> None:
    """Crossbar, allocators, speculation, and what holds connections."""
    prepare, final = drawn.choice([(0, 1), (0, 1), (0, 1), (1, 0), (1, 1), (0, 2), (2, 1)])
    values |= {"st_prepare_delay": prepare, "st_final_delay": final}
    values |= {name: drawn.choice(_ALLOCATORS) for name in ("vc_allocator", "sw_allocator")}
    if values.get("internal_speedup", "1.0") == "1.0":
        values["output_buffer_size"] = drawn.choice([-1, -1, -1, 1, 2, 4])
    if drawn.random() < 0.4:
        values["speculative"] = 1
        for name in ("spec_check_elig", "spec_check_cred", "spec_mask_by_reqs"):
            values[name] = drawn.choice([0, 1, 1])
        values["spec_sw_allocator"] = drawn.choice(["prio", "prio", *_ALLOCATORS])
        if values.get("output_speedup", 1) == 1 and drawn.random() < 0.3:
            values["vc_allocator"] = "piggyback"
    if values["classes"] == values["subnets"] == 1:
        values["hold_switch_for_packet"] = drawn.choice([0, 0, 1])


def _draw_messages(drawn: random.Random, values: dict[str, object], network: _Network) -> None:
    """Reads and writes with channels, sizes and separate subnets."""
    if drawn.random() < 0.7 or values["topology"] == "dragonflynew":
        return
    classes, subnets = int(str(values["classes"])), int(str(values["subnets"]))
    values["use_read_write"] = _per_class(drawn, classes, lambda: drawn.choice([1, 1, 1, 0]))
    least = network.channels
    channels = values["num_vcs"] = max(int(str(values["num_vcs"])), 2 * least + drawn.choice([0, 1, 3]))
    for kind in _KINDS:
        values[f"{kind}_size"] = _per_class(drawn, classes, lambda: drawn.choice([1, 1, 2, 3, 5]))
        values[f"{kind}_subnet"] = drawn.randrange(subnets)
        first = drawn.randint(0, channels - least)
        last = drawn.randint(first + least - 1, channels - 1)
        ends = drawn.choice([(first, last), (-1, -1), (-1, -1)])
        values[f"{kind}_begin_vc"], values[f"{kind}_end_vc"] = ends


def _draw_buffers(drawn: random.Random, values: dict[str, object]) -> None:
    channels = int(str(values["num_vcs"]))
    policy = values["buffer_policy"] = drawn.choice(_POLICIES)
    if policy == "private":
        if drawn.random() < 0.3:
            values["buf_size"] = drawn.choice([channels, 2 * channels + 1, 4 * channels - 1, -3])
        return
    values["buf_size"] = places = drawn.choice([-1, channels, 2 * channels, 3 * channels + 1, 5 * channels])
    groups = values["private_bufs"] = min(drawn.choice([-1, -1, 0, 1, 2, 3, channels]), channels)
    count = channels if groups < 0 else max(groups, 1)
    places = places if places > 0 else channels * int(str(values.get("vc_buf_size", 8)))
    share = max(places // count, 0)
    if drawn.random() < 0.6:
        values["private_buf_size"] = drawn.choice([-1, 0, 1, share])
    elif share:
        sizes = [drawn.choice([0, 1, share]) for _ in range(drawn.randint(1, count))]
        values["private_buf_size"] = "{" + ",".join(map(str, sizes)) + "}"
    if 1 < count <= channels and drawn.random() < 0.3:
        cuts = sorted(drawn.sample(range(1, channels), count - 1))
        firsts, lasts = [0, *cuts], [cut - 1 for cut in (*cuts, channels)]
        values["private_buf_start_vc"] = "{" + ",".join(map(str, firsts)) + "}"
        values["private_buf_end_vc"] = "{" + ",".join(map(str, lasts)) + "}"
    if policy == "limited":
        values["max_held_slots"] = drawn.choice([-1, 1, 2, 5])
    if "feedback" in policy:
        values |= {
            "feedback_offset": drawn.choice([0, 3, -2]),
            "feedback_aging_scale": drawn.choice([0, 1, 3]),
        }


def _draw_traffic(drawn: random.Random, values: dict[str, object], network: _Network) -> None:
    """Patterns, sizes, rates and processes of the classes."""
    classes = int(str(values["classes"]))
    values["traffic"] = _per_class(drawn, classes, lambda: _pattern(drawn, network))
    sizes: list[tuple[int, ...]] = [(1,), (1,), (2,), (3,), (8,), (1, 5), (2, 3, 7)]
    chosen = [drawn.choice(sizes) for _ in range(classes)]
    listed = ["{" + ",".join(map(str, one)) + "}" if len(one) > 1 else str(one[0]) for one in chosen]
    values["packet_size"] = "{" + ",".join(listed) + "}" if drawn.random() < 0.8 else drawn.choice([1, 4])
    if drawn.random() < 0.5:
        values["packet_size_rate"] = drawn.choice([2, "{{2,1}}", "{{1,3,2},5}", "{3,{1,4}}"])
    rates = []
    for _ in range(classes):
        rate = drawn.choice([0.02, 0.05, 0.1, 0.2]) / classes
        rates.append(rate * (2 if values.get("injection_rate_uses_flits") else 0.5))
    values["injection_rate"] = "{" + ",".join(f"{rate:.5f}" for rate in rates) + "}"
    if drawn.random() < 0.2:
        values["injection_rate"] = f"{rates[0]:.5f}"
    processes = ["bernoulli", "bernoulli", "on_off", "on_off({0.2,0.3})", "on_off(0.4)"]
    processes += ["on_off({-1,0.3,0.9})", "on_off({0.3,-1,0.8})", "on_off({0.2,0.3,-1,1})"]
    if drawn.random() < 0.5:
        values["injection_process"] = _per_class(drawn, classes, lambda: drawn.choice(processes))
        if drawn.random() < 0.5:
            values |= {
                "burst_alpha": drawn.choice(["0.1", "0.9"]),
                "burst_beta": drawn.choice(["0.2", "1.0"]),
            }
    if values["sim_type"] == "batch":
        values |= {"batch_size": drawn.choice([0, 1, 7, 20]), "batch_count": drawn.choice([1, 2, 3])}
        values["max_outstanding_requests"] = drawn.choice([-1, 0, 1, 2, 5])


def _pattern(drawn: random.Random, network: _Network) -> str:
    """A pattern that the nodes of a network allow."""
    nodes, radix = network.nodes, network.radix
    spots = [drawn.randrange(nodes) for _ in range(3)]
    known = [
        "uniform",
        "uniform",
        "randperm",
        f"randperm({drawn.randrange(99)})",
        "diagonal",
        "bad_dragon(1)",
    ]
    known += ["hotspot", f"hotspot({spots[0]})", f"hotspot({{{{{spots[0]},-1,{spots[1]}}},{{3,1}}}})"]
    if nodes > 3:
        known += ["asymmetric", f"background({{{{{spots[0]},{spots[1]}}}}})"]
    if nodes & (nodes - 1) == 0:
        known += ["bitcomp", "bitrev", "shuffle"] + ["transpose"] * (nodes.bit_length() % 2)
    if nodes == 64:
        known.append("taper64")
    if radix:
        power = next(power for power in range(1, 20) if radix**power == nodes)
        known += [f"tornado({{{radix},{power},1}})", f"neighbor({{{radix},{power},1}})"]
        known += [f"badperm_yarc({{{radix},2,1}})"] * (power == 2)
    if network.values["topology"] in ("mesh", "torus", "fly", "fattree"):
        known += ["tornado", "neighbor"]
    return drawn.choice(known)


def _keep_possible(drawn: random.Random, values: dict[str, object], network: _Network) -> None:
    """Takes back what BookSim2 does not survive, and what can make packets wait for each other forever."""
    if values.get("output_speedup", 1) > values.get("input_speedup", 1):  # type: ignore[operator]
        for name in ("sw_allocator", "spec_sw_allocator"):
            if values.get(name) == "max_size":
                values[name] = "loa"
    channels = int(str(values["num_vcs"]))
    if values["topology"] == "dragonflynew":
        values["num_vcs"] = channels = 3
        values.pop("private_buf_start_vc", None)
        values.pop("private_buf_end_vc", None)
    reads = "use_read_write" in values
    if not reads and drawn.random() < 0.1:
        ports = 2 * int(str(values.get("n", 2))) + 1
        if values["topology"] in ("mesh", "torus") and values["routing_function"] in ("dor", "dim_order"):
            values |= {"noq": 1, "routing_delay": 0}
            values["num_vcs"] = channels = network.channels * ports + drawn.choice([0, 1, 5])
            for name in ("private_buf_start_vc", "private_buf_end_vc", "private_buf_size", "buf_size"):
                values.pop(name, None)
    shares = network.shares_odd and (channels % 2 == 1 or reads)
    if shares and values["sim_type"] != "latency":
        values["sim_type"] = "latency"
    if shares:
        values["latency_thres"] = "200.0"


def _grid(drawn: random.Random) -> _Network:
    dimensions = drawn.choice([1, 2, 2, 2, 3])
    radix = drawn.choice({1: [2, 3, 7, 8], 2: [2, 3, 4, 5, 6], 3: [2, 3, 4]}[dimensions])
    values: dict[str, object] = {"k": radix, "n": dimensions}
    nodes = radix**dimensions
    if drawn.random() < 0.5:
        names = ("dim_order", "dim_order_bal", "min_adapt", "dim_order_ni")
        routing = values["routing_function"] = drawn.choice(names[: 3 if nodes > 16 else 4])
        least = {"min_adapt": 4, "dim_order_ni": 2 * nodes}.get(routing, 2)
        return _Network(values | {"topology": "torus"}, nodes, least, routing != "dim_order_ni", radix)
    plain = [
        "dor",
        "dor",
        "dim_order",
        "xy_yx",
        "adaptive_xy_yx",
        "romm",
        "valiant",
        "min_adapt",
        "planar_adapt",
    ]
    if nodes <= 16:
        plain += ["dim_order_ni", "romm_ni"]
    if radix <= 8:
        plain.append("dim_order_pni")
    routing = values["routing_function"] = drawn.choice(plain)
    parts = {"dim_order_ni": nodes, "romm_ni": nodes, "dim_order_pni": radix, "planar_adapt": 3}
    least = parts.get(routing, 1 if routing in ("dor", "dim_order") else 2)
    shares = routing not in ("dor", "dim_order", "dim_order_ni", "dim_order_pni")
    return _Network(values | {"topology": "mesh"}, nodes, least, shares, radix)


def _staged(drawn: random.Random) -> _Network:
    radix, stages = drawn.choice([(2, 1), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (5, 2)])
    topology = drawn.choice(["fly", "fattree"])
    routing = "dest_tag" if topology == "fly" else drawn.choice(["nca", "anca"])
    values: dict[str, object] = {"topology": topology, "k": radix, "n": stages, "routing_function": routing}
    return _Network(values, radix**stages, radix=radix)


def _cmesh(drawn: random.Random) -> _Network:
    routing = drawn.choice(["dor", "dor_no_express", "xy_yx", "xy_yx_no_express"])
    radix = drawn.choice([2, 4] if "express" not in routing else [2, 3, 4])
    side = drawn.choice([radix, radix, 8, 3])
    values: dict[str, object] = {"topology": "cmesh", "k": radix, "n": 2, "c": 4, "xr": 2, "yr": 2}
    values |= {"x": side, "y": side, "routing_function": routing}
    xy = "xy" in routing
    return _Network(values, 4 * radix**2, 2 if xy else 1, xy, 2 * radix)


def _flatfly(drawn: random.Random) -> _Network:
    radix, side = drawn.choice([(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2)])
    known = ["ran_min", "xyyx", "adaptive_xyyx", "valiant", "ugal", "ugal_xyyx"]
    if radix == side**2:
        known.append("ugal_pni")
    routing = drawn.choice(known)
    least = {"ran_min": 1, "ugal_xyyx": 4, "ugal_pni": 2 * radix}.get(routing, 2)
    values: dict[str, object] = {
        "topology": "flatfly",
        "k": radix,
        "n": 2,
        "c": side**2,
        "xr": side,
        "yr": side,
    }
    values |= {"x": radix, "y": radix, "routing_function": routing}
    return _Network(values, radix**2 * side**2, least, routing != "ran_min", radix * side)


def _dragonfly(drawn: random.Random) -> _Network:
    values: dict[str, object] = {"topology": "dragonflynew", "k": drawn.choice([1, 2, 2]), "n": 1}
    values["routing_function"] = drawn.choice(["min", "ugal"])
    radix = int(str(values["k"]))
    return _Network(values, 2 * radix**2 * (2 * radix**2 + 1), 3)


def _graph(drawn: random.Random) -> _Network:
    """A tree of routers with latencies, where nothing waits in a circle; a router may have no node."""
    routers, node, lines = drawn.randint(2, 7), 0, []
    for router in range(routers):
        line = f"router {router}"
        for _ in range(drawn.choice([0, 1, 1, 2, 3]) if router else 2):
            line += f" node {node}"
            node += 1
        if router:
            line += f" router {drawn.randrange(router)}" + drawn.choice(["", " 1", " 3", " 15"])
        lines.append(line)
    text = "\n".join(lines) + "\n"
    values: dict[str, object] = {"topology": "anynet", "routing_function": "min", NETWORK_FILE: text}
    return _Network(values, node)


#: What draws a network; meshes and tori are drawn more often.
_NETWORKS = (_grid, _grid, _grid, _staged, _cmesh, _flatfly, _dragonfly, _graph)
