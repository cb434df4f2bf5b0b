"""Configurations of BookSim2, drawn over what the router can do."""

from __future__ import annotations

import random

from flitloom.booksim.options import Options

_ALLOCATORS = (
    *("islip", "islip(2)", "select", "select(2)", "pim", "loa", "wavefront", "rr_wavefront"),
    *("separable_input_first", "separable_output_first", "separable_input_first(matrix)"),
)
_MESH = ("dor", "xy_yx", "adaptive_xy_yx", "romm", "valiant", "min_adapt", "planar_adapt")
_PRIORITIES = (
    *("none", "none", "class", "age", "network_age", "local_age", "queue_length", "hop_count", "sequence"),
)
_KINDS = ("read_request", "read_reply", "write_request", "write_reply")


def _options(values: dict[str, object]) -> Options:
    return Options.of({name: str(value) for name, value in values.items()})


def draw(number: int, seed: int = 0) -> Options:
    """Configuration number so-and-so of a seed.

    Examples
    --------
    >>> draw(0) == draw(0), draw(0) == draw(1)
    (True, False)
    """
    drawn = random.Random(f"{seed} {number}")
    dimensions = drawn.choice([1, 2, 2, 2, 3])
    channels = drawn.choice([2, 4, 6, 8])
    size = drawn.choice([1, 1, 2, 5, 8])
    load = drawn.choice([0.05, 0.15, 0.3, 0.5])
    values: dict[str, object] = {
        "topology": drawn.choice(["mesh", "torus"]),
        "n": dimensions,
        "k": drawn.choice({1: [4, 8, 9], 2: [3, 4, 5, 8], 3: [3]}[dimensions]),
        "num_vcs": channels,
        "vc_buf_size": drawn.choice([1, 2, 4, 8]),
        "traffic": drawn.choice(["uniform", "tornado", "neighbor", "randperm", "diagonal", "asymmetric"]),
        "packet_size": size,
        "injection_rate": f"{load / size:.5f}",
        "seed": drawn.randrange(1000),
        "sample_period": drawn.choice([100, 200, 300]),
        "max_samples": 6,
        "routing_delay": drawn.choice([0, 0, 1, 2]),
        "credit_delay": drawn.choice([0, 1, 2, 3]),
        "st_prepare_delay": drawn.choice([0, 0, 1]),
        "st_final_delay": drawn.choice([1, 1, 2]),
        "vc_allocator": drawn.choice(_ALLOCATORS),
        "sw_allocator": drawn.choice(_ALLOCATORS),
        "input_speedup": drawn.choice([1, 1, 1, 2]),
        "output_speedup": drawn.choice([1, 1, 1, 2]),
        "internal_speedup": drawn.choice(["1.0", "1.0", "1.5", "2.0"]),
        "priority": drawn.choice(_PRIORITIES),
    }
    is_mesh = values["topology"] == "mesh"
    values["routing_function"] = drawn.choice(_MESH if is_mesh else ("dim_order", "dim_order_bal"))
    for flag in ("vc_busy_when_full", "vc_prioritize_empty", "vc_shuffle_requests", "vc_priority_donation"):
        values[flag] = drawn.choice([0, 0, 0, 1])
    if values["internal_speedup"] == "1.0":
        values["output_buffer_size"] = drawn.choice([-1, -1, 2, 4])
    _draw_speculation(drawn, values)
    _draw_buffers(drawn, values, channels)
    _draw_traffic(drawn, values)
    return _options(values)


def _draw_speculation(drawn: random.Random, values: dict[str, object]) -> None:
    if values["routing_function"] == "min_adapt" or drawn.random() > 0.4:
        return
    values["speculative"] = 1
    values["spec_check_elig"] = drawn.choice([0, 1, 1])
    values["spec_check_cred"] = drawn.choice([0, 1, 1])
    values["spec_mask_by_reqs"] = drawn.choice([0, 1])
    values["spec_sw_allocator"] = drawn.choice(
        ["prio", "prio", "islip", "separable_input_first", "wavefront"]
    )
    speedups = (values["input_speedup"], values["output_speedup"], values["internal_speedup"])
    if speedups == (1, 1, "1.0") and values["topology"] == "mesh" and drawn.random() < 0.4:
        values["vc_allocator"] = "piggyback"


def _draw_buffers(drawn: random.Random, values: dict[str, object], channels: int) -> None:
    policy = drawn.choice(["private", "private", "shared", "limited", "dynamic", "shifting"])
    values["buffer_policy"] = policy
    if policy != "private":
        values["buf_size"] = drawn.choice([2 * channels, 3 * channels + 1, 4 * channels])
        values["private_buf_size"] = drawn.choice([1, 1, -1, 0])
    if policy == "limited":
        values["max_held_slots"] = drawn.choice([2, 4, 6])


def _draw_traffic(drawn: random.Random, values: dict[str, object]) -> None:
    classes = drawn.choice([1, 1, 1, 2, 3])
    if drawn.random() < 0.2:
        values["injection_process"] = "on_off"
    if drawn.random() < 0.1:
        values["include_queuing"] = 0
    if classes > 1:
        rates = [
            float(str(values["injection_rate"])) / classes * drawn.choice([0.5, 1]) for _ in range(classes)
        ]
        values["classes"] = classes
        values["injection_rate"] = "{" + ",".join(f"{rate:.5f}" for rate in rates) + "}"
        values["class_priority"] = "{" + ",".join(str(drawn.randrange(3)) for _ in range(classes)) + "}"
        values["subnets"] = drawn.choice([1, 1, 2])
        return
    values["wait_for_tail_credit"] = drawn.choice([0, 1])
    values["hold_switch_for_packet"] = drawn.choice([0, 0, 1])
    if values["routing_function"] != "min_adapt" and drawn.random() < 0.2:
        values["use_read_write"] = 1
        for kind in _KINDS:
            values[f"{kind}_begin_vc"] = values[f"{kind}_end_vc"] = -1
            values[f"{kind}_size"] = drawn.choice([1, 3])
    elif drawn.random() < 0.2:
        values["packet_size"], values["packet_size_rate"] = "{1,5}", "{2,1}"


#: Patterns for powers of two of nodes, and for all.
_SHIFTS = ("bitcomp", "bitrev", "transpose", "shuffle")
_SPOTS = ("hotspot", "hotspot(2)", "hotspot({{3,1}})", "hotspot({{0,2},{1,3}})")


def draw_rare(number: int, seed: int = 0) -> Options:
    """Configuration number so-and-so of a seed, on a small mesh or torus, of options used less often.

    Examples
    --------
    >>> draw_rare(0) == draw_rare(0), draw_rare(0) == draw_rare(1)
    (True, False)
    """
    drawn = random.Random(f"rare {seed} {number}")
    values: dict[str, object] = {**draw(number, seed).values}
    values |= {
        "k": drawn.choice([3, 4, 4, 5]),
        "n": drawn.choice([1, 2, 2]),
        "num_vcs": drawn.choice([4, 6, 8]),
    }
    if values["n"] == 1:
        values["k"] = drawn.choice([4, 7, 8])
    values |= {"sample_period": drawn.choice([100, 150]), "buffer_policy": "private"}
    bits = int(str(values["k"])) == 4 and values["n"] == 2
    values["traffic"] = drawn.choice([*_SPOTS, "uniform", "tornado", *(_SHIFTS if bits else ())])
    what = drawn.choice(["max_size", "min_adapt", "piggyback", "sizes", "messages", "phases"])
    if what == "max_size":
        for name in drawn.sample(["vc_allocator", "sw_allocator", "spec_sw_allocator"], 2):
            values[name] = "max_size"
        values["output_speedup"] = 1
    elif what == "min_adapt":
        values |= {"routing_function": "min_adapt", "use_read_write": 0, "speculative": drawn.choice([0, 1])}
        if values["topology"] == "torus" and values["speculative"]:
            values["hold_switch_for_packet"] = 0
    elif what == "piggyback":
        values |= {"vc_allocator": "piggyback", "speculative": 1, "spec_check_elig": 1, "output_speedup": 1}
    elif what == "sizes":
        values |= {"packet_size": "{{1,5}}", "packet_size_rate": "{{2,1}}", "injection_rate_uses_flits": 1}
        values |= {"classes": 1, "injection_rate": drawn.choice([0.1, 0.3]), "use_read_write": 0}
    elif what == "messages":
        values |= {"classes": 1, "injection_rate": drawn.choice([0.1, 0.3]), "use_read_write": 1}
        values |= {"injection_rate_uses_flits": 1, "write_fraction": drawn.choice([0.2, 0.5, 0.8])}
        values |= {"packet_size": 1, "packet_size_rate": 1, "num_vcs": 8}
        for kind in _KINDS:
            values[f"{kind}_begin_vc"], values[f"{kind}_end_vc"] = (0, 3) if "request" in kind else (4, 7)
            values[f"{kind}_size"] = drawn.choice([1, 3, 5])
    else:
        values["sim_type"] = drawn.choice(["latency", "throughput"])
        values |= {"warmup_periods": drawn.choice([0, 1, 2]), "latency_thres": drawn.choice([30.0, 100.0])}
        values["use_noc_latency"] = 0
    if values["routing_function"] == "min_adapt" and what != "min_adapt":
        values["routing_function"] = "dim_order"
    if values.get("classes", 1) != 1:
        values["hold_switch_for_packet"] = 0
        values["wait_for_tail_credit"] = drawn.choice([0, 1])
    return _options(values)


def draw_run(number: int, seed: int = 0) -> Options:
    """Configuration number so-and-so of a seed, with batches, several runs or rare rules for channels.

    These are ``noq``, channels per destination, and buffers limited by round trips.

    Examples
    --------
    >>> draw_run(0) == draw_run(0), draw_run(0) == draw_run(1)
    (True, False)
    """
    drawn = random.Random(f"run {seed} {number}")
    values: dict[str, object] = {
        **draw(number, seed).values,
        "k": drawn.choice([3, 4]),
        "n": drawn.choice([1, 2]),
    }
    values["sample_period"] = drawn.choice([100, 150])
    if drawn.random() < 0.4:
        values["sim_count"] = drawn.choice([2, 3])
    what = drawn.choice(["batch", "noq", "destinations", "round trips"])
    if what == "batch":
        values |= {"sim_type": "batch", "batch_size": drawn.choice([1, 7, 30])}
        values |= {"batch_count": drawn.choice([1, 3]), "max_outstanding_requests": drawn.choice([0, 1, 4])}
    elif what == "noq":
        grids = {"mesh": ["dor", "romm"], "torus": ["dim_order", "dim_order_bal"]}
        values |= {"noq": 1, "routing_delay": 0, "num_vcs": drawn.choice([10, 14, 20])}
        values |= {"routing_function": drawn.choice(grids[str(values["topology"])]), "use_read_write": 0}
    elif what == "destinations":
        parts = int(str(values["k"])) ** int(str(values["n"]))
        names = ["dim_order_ni"] + ["dim_order_pni", "romm_ni"] * (values["topology"] == "mesh")
        values |= {"routing_function": drawn.choice(names), "use_read_write": 0}
        values["num_vcs"] = parts * drawn.choice([1, 2, 3])
    else:
        values |= {"buffer_policy": drawn.choice(["feedback", "simplefeedback"]), "private_buf_size": 1}
        values |= {
            "feedback_offset": drawn.choice([0, 0, 2, -2]),
            "feedback_aging_scale": drawn.choice([1, 1, 2, 3]),
        }
    if values["buffer_policy"] != "private":
        values["buf_size"] = drawn.choice([2, 3]) * int(str(values["num_vcs"])) + drawn.choice([0, 1])
    if values.get("classes", 1) != 1:
        values["wait_for_tail_credit"] = 0
    if values["vc_allocator"] == "piggyback" and what in ("noq", "destinations"):
        values["vc_allocator"] = "islip"
    return _options(values)


#: Networks with sizes and routing functions.
_NETWORKS: tuple[dict[str, object], ...] = (
    {"topology": "fly", "k": 2, "n": 3, "routing_function": "dest_tag"},
    {"topology": "fly", "k": 4, "n": 2, "routing_function": "dest_tag"},
    {"topology": "fattree", "k": 2, "n": 3, "routing_function": "nca"},
    {"topology": "fattree", "k": 4, "n": 2, "routing_function": "anca"},
    {"topology": "fattree", "k": 3, "n": 3, "routing_function": "nca"},
    {"topology": "cmesh", "k": 4, "n": 2, "routing_function": "dor_no_express"},
    {"topology": "cmesh", "k": 4, "n": 2, "routing_function": "dor"},
    {"topology": "flatfly", "k": 4, "n": 2, "routing_function": "ran_min"},
    {"topology": "flatfly", "k": 3, "n": 2, "routing_function": "xyyx"},
    {"topology": "flatfly", "k": 4, "n": 2, "routing_function": "valiant"},
    {"topology": "dragonflynew", "k": 2, "n": 1, "routing_function": "min"},
    {"topology": "dragonflynew", "k": 2, "n": 1, "routing_function": "ugal"},
)


def draw_network(number: int, seed: int = 0) -> Options:
    """Configuration number so-and-so of a seed, on a network that is no mesh and no torus.

    Examples
    --------
    >>> draw_network(0)["topology"], draw_network(0) == draw_network(0)
    ('flatfly', True)
    """
    drawn = random.Random(f"network {seed} {number}")
    values: dict[str, object] = {**draw(number, seed).values, **drawn.choice(_NETWORKS)}
    values["traffic"] = drawn.choice(["uniform", "uniform", "randperm", "diagonal", "asymmetric"])
    if values["topology"] in ("cmesh", "flatfly"):
        values |= {"c": 4, "xr": 2, "yr": 2, "x": values["k"], "y": values["k"]}
    if values["topology"] == "dragonflynew":
        # Every header keeps to one channel, which those of messages need not have.
        values |= {"num_vcs": 3, "input_speedup": 1, "use_read_write": 0}
    if values["vc_allocator"] == "piggyback":
        values["vc_allocator"] = "islip"
    return _options(values)


#: Networks with several nodes per router, their routing functions, and channels that these need.
_CONCENTRATED = (
    *(("cmesh", name, 2) for name in ("dor", "dor_no_express", "xy_yx", "xy_yx_no_express")),
    *(("flatfly", name, 2) for name in ("ran_min", "xyyx", "adaptive_xyyx", "valiant", "ugal")),
    ("flatfly", "ugal_xyyx", 4),
    ("flatfly", "ugal_pni", 8),
)
#: Patterns on 64 nodes.
_PATTERNS = (
    *("uniform", "randperm", "asymmetric", "taper64", "background({{0,9,20}})", "badperm_yarc({4,1,2})"),
    *("bad_dragon", "tornado({4,3,1})", "neighbor({8,2,1})", "randperm(7)", "hotspot({{-1,5,9},{2,3}})"),
)


def draw_concentrated(number: int, seed: int = 0) -> Options:
    """Configuration number so-and-so of a seed, with four nodes per router, and patterns with parameters.

    Examples
    --------
    >>> draw_concentrated(0) == draw_concentrated(0), draw_concentrated(0) == draw_concentrated(1)
    (True, False)
    """
    drawn = random.Random(f"concentrated {seed} {number}")
    topology, routing, least = drawn.choice(_CONCENTRATED)
    values: dict[str, object] = {
        **draw(number, seed).values,
        "topology": topology,
        "routing_function": routing,
    }
    values |= {"k": 4, "n": 2, "c": 4, "xr": 2, "yr": 2, "x": 4, "y": 4}
    values["traffic"] = drawn.choice(_PATTERNS)
    values["use_noc_latency"] = drawn.choice([0, 1])
    # Odd numbers leave one channel to both halves.
    values["num_vcs"] = least * drawn.choice([1, 2]) + drawn.choice([0, 1])
    values |= {"input_speedup": 1, "use_read_write": 0, "buffer_policy": "private"}
    values.pop("buf_size", None)
    if values["vc_allocator"] == "piggyback":
        values["vc_allocator"] = "islip"
    return _options(values)
