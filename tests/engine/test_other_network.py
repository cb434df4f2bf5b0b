"""flitloom beside a program that shares no line with it: the same bursts to the cycle, the same curves."""

import numpy as np
import pytest

import flitloom as fl
from flitloom.load import make_cases, run_steady
from other_network import OtherNetwork

T15 = fl.Router(preset="t15")


def bits(permute):
    """A pattern that permutes the bits of y N + x."""

    def target(x, y, side):
        w = permute(y * side + x, 2 * (side.bit_length() - 1))
        return w % side, w // side

    return target


PATTERNS = {
    "trns": lambda x, y, _: (y, x),
    "torn": lambda x, y, side: bits(lambda w, b: (w + side // 2) % 2**b)(x, y, side),
    "bcmp": bits(lambda w, b: 2**b - 1 - w),
    "brev": bits(lambda w, b: int(f"{w:0{b}b}"[::-1], 2)),
    "brot": bits(lambda w, b: (w // 2) + (w % 2) * 2 ** (b - 1)),
    "shfl": bits(lambda w, b: (w * 2) % 2**b + w // 2 ** (b - 1)),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_bursts_are_the_same_to_the_cycle(pattern):
    other = OtherNetwork(8, 8)
    for node in other.nodes:
        for _ in range(10):
            other.send(node, PATTERNS[pattern](*node, 8))
    while len(other.arrived) < 640:
        other.step(0)
    ours = fl.simulate(fl.Network(fl.Torus(8, 8), T15), fl.Collective(pattern, payload=7, packets=10))
    assert (ours.duration, ours.age_sum) == (other.cycle + 1, sum(end + 2 for _, end in other.arrived))


def test_an_empty_network_takes_a_cycle_per_hop():
    other, table = OtherNetwork(5, 8), []
    for number, target in enumerate(other.nodes[1:]):
        start = other.cycle
        other.send((0, 0), target)
        table.append((0, number + 1, 8, start))
        while len(other.arrived) <= number:
            other.step(0)
        hops = sum(min(place, 5 - place) for place in target)
        assert other.arrived[-1][1] + 2 - start == hops + 8 + 1
    packets = fl.simulate(fl.Network(fl.Torus(5, 5), T15), fl.Packets(table), packets=True).packets
    assert sorted(packets.tail_arrival.values) == [end for _, end in other.arrived]


@pytest.mark.parametrize(("side", "rate", "cycles"), [(4, 0.4, 6000), (8, 0.2, 2500)])
def test_below_saturation_both_accept_what_is_offered_at_the_same_age(side, rate, cycles):
    other = OtherNetwork(side, 8, seed=4)
    for _ in range(500):
        other.step(rate)
    born, ejected, arrived = other.born, other.ejected_flits, len(other.arrived)
    for _ in range(cycles):
        other.step(rate)
    assert other.ejected_flits - ejected == pytest.approx(8 * (other.born - born), rel=0.005)
    assert 8 * (other.born - born) / (cycles * side**2) == pytest.approx(rate, rel=0.05)
    ages = np.array([end + 2 - start for start, end in other.arrived[arrived:]])
    [case] = make_cases({"router": {"preset": "t15"}}, {"torus": [f"{side}x{side}"], "pattern": ["rand"]})
    ours = run_steady(case.experiment(kind="load", rate=rate, cycles=1), measure=20_000).row
    assert ours["accepted"] == pytest.approx(ours["generated"], rel=0.005)
    # The other's mean is known to about 2 %.
    assert ours["latency"] == pytest.approx(ages.mean(), rel=0.05)
    assert ours["median"] == pytest.approx(np.median(ages), abs=1)
