"""``flitloom bench booksim``: files of BookSim2, and with ``--binary`` the program itself beside them."""

from __future__ import annotations

import math
import time

from flitloom.benchmarks import Context, Row
from flitloom.booksim.comparing import check_binary, printed
from flitloom.booksim.options import Options
from flitloom.booksim.printing import lines
from flitloom.booksim.running import run as simulated

#: What all cases have in common.
COMMON = {"topology": "mesh", "k": "8", "n": "2", "routing_function": "dor", "num_vcs": "8"}
#: Runs that measure for 20 samples, and a load near 75 % of saturation.
LONG = {"max_samples": "20", "stopping_thres": "0.000001"}
FIVES = {"packet_size": "5", "injection_rate": "0.066", **LONG}
#: By name what a case changes, and how many times as fast it should be.
CASES: dict[str, tuple[dict[str, str], int]] = {
    "mesh 8x8, packets of 5": (FIVES, 60),
    "mesh 16x16, packets of 5": ({**FIVES, "k": "16", "injection_rate": "0.034"}, 150),
    "mesh 8x8, packets of 1": ({"injection_rate": "0.33", **LONG}, 30),
    "mesh 16x16, packets of 1": ({"k": "16", "injection_rate": "0.172", **LONG}, 60),
    "torus 8x8": ({**FIVES, "topology": "torus", "routing_function": "dim_order"}, 15),
    "speculative": ({**FIVES, "speculative": "1"}, 15),
    "arbiters matrix, xy_yx": (
        {
            **FIVES,
            "routing_function": "xy_yx",
            "injection_rate": "0.05",
            "vc_allocator": "separable_input_first(matrix)",
            "sw_allocator": "separable_output_first(matrix)",
        },
        15,
    ),
    "shared buffers, priority age": (
        {**FIVES, "buffer_policy": "shared", "buf_size": "32", "priority": "age"},
        15,
    ),
    "speedups of 2": (
        {**FIVES, "input_speedup": "2", "output_speedup": "2", "internal_speedup": "2.0"},
        15,
    ),
    "reads and writes": (
        {
            "num_vcs": "16",
            "use_read_write": "1",
            "read_reply_size": "5",
            "write_request_size": "5",
            "injection_rate": "0.05",
            **LONG,
        },
        15,
    ),
    "mesh88_lat": (
        {
            "wait_for_tail_credit": "1",
            "credit_delay": "2",
            "routing_delay": "0",
            "input_speedup": "2",
            "traffic": "transpose",
            "packet_size": "20",
            "injection_rate": "0.005",
        },
        15,
    ),
}


def run(context: Context) -> list[Row]:
    """User CPU time per cycle, the least of several runs that take turns with BookSim2's."""
    if context.binary is not None:
        check_binary(context.binary)
    rows: list[Row] = []
    for number, (name, (changes, goal)) in enumerate(CASES.items()):
        options = Options.of({**COMMON, **changes})
        ours, theirs, spent, runs = math.inf, math.inf, 0.0, 0
        equal = ""
        while spent < context.seconds or runs < 2:
            begin = time.process_time()
            outcome = simulated(options)
            seconds = time.process_time() - begin
            ours, spent, runs = min(ours, seconds), spent + seconds, runs + 1
            if context.binary is not None and runs <= 2:
                said, seconds = printed(context.binary, options)
                theirs = min(theirs, seconds)
                equal = "yes" if said == list(lines(outcome.events)) else "NO"
        known = theirs < math.inf
        rows.append(
            {
                "case": name,
                "cycles": outcome.cycles,
                "us/cycle": round(1e6 * ours / outcome.cycles, 3),
                "booksim2 us/cycle": round(1e6 * theirs / outcome.cycles, 1) if known else "",
                "times": round(theirs / ours, 1) if known else "",
                "goal_times": goal,
                "equal": equal,
            }
        )
        context.progress(number + 1, len(CASES))
    return rows
