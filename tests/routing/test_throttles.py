"""Injection throttle."""

import json

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run

T15 = fl.Router(preset="t15")


# Duration and sum of ages of bursts of ten packets, from an independent program.
@pytest.mark.parametrize(
    ("throttle", "expected"),
    [
        ("none", (499, 655952)),
        ("spth:margin=0", (369, 481280)),
        ("spth:8", (353, 465920)),
        ("pt", (380, 501088)),
    ],
)
def test_bursts_are_those_of_another_program(throttle, expected):
    net = fl.Network(fl.Torus(16, 16), T15)
    result = fl.simulate(net, fl.Collective("bcmp", packets=10), throttle=throttle)
    assert (result.duration, result.age_sum) == expected


# Means of five bursts of ten packets at 32x32 with one processor queue, from an independent program.
@pytest.mark.parametrize(
    ("pattern", "throttle", "expected"),
    [
        ("rand", "none", 714),
        ("rand", "spth:margin=0", 721),
        ("rand", "spth:8", 691),
        ("rpar", "none", 1026),
        ("rpar", "spth:margin=0", 1047),
        ("rpar", "spth:8", 964),
    ],
)
def test_random_bursts_have_the_means_of_another_program(pattern, throttle, expected):
    net = fl.Network(fl.Torus(32, 32), fl.Router(preset="t15", processor_queues="one"))
    durations = []
    for seed in range(1, 13):
        sim = fl.Simulation(
            net,
            fl.Collective(pattern, packets=10),
            throttle=throttle,
            seed=seed,
            links=False,
            latencies=False,
        )
        sim.run()
        durations.append(sim.totals.duration)
    # 99 % of the differences of a mean of 12 and one of 5 are within 2.6 deviations of that difference.
    reach = 2.6 * np.std(durations, ddof=1) * (1 / 5 + 1 / 12) ** 0.5
    assert abs(np.mean(durations) - expected) <= reach < 0.15 * expected


@pytest.mark.parametrize(
    ("throttle", "message"),
    [
        ("spt", 'throttle: unknown throttle "spt"; did you mean spth? The throttles are none, interlock'),
        ("spth:depth=8", 'throttle: throttle spth has no parameter "depth"; it has margin, length'),
        (8, "throttle: 8 is not a text"),
        ("spth:4", "throttle: a margin of 4 flits; it must be below the depth of the queues (4)"),
    ],
)
def test_bad_throttles_are_named(throttle, message):
    with pytest.raises(fl.SpecError) as caught:
        fl.simulate(fl.Network(fl.Torus(4, 4)), fl.Collective("trns"), throttle=throttle)
    assert str(caught.value).startswith(message)


def test_the_command_line_takes_a_throttle(capsys):
    options = ["--preset", "t15", "--torus", "16x16", "--pattern", "bcmp", "--packets", "10"]
    assert run(["simulate", *options, "--throttle", "spth:margin=8", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["duration"], values["age_sum"]) == (353, 465920)
    assert values["spec"]["throttle"] == "spth:margin=8,watch=any,link=dedicated"
