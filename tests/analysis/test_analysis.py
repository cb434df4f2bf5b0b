"""Analysis of series against synthetic ones whose answers are known."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import flitloom as fl
from flitloom import analysis
from flitloom.analysis.averages import moving_sum
from flitloom.analysis.batches import student_quantile
from flitloom.analysis.series import made_series
from flitloom.errors import SpecError
from sample import sampled

QUICK = settings(max_examples=len(sampled(range(40), 4)), deadline=None)


def ramp_with_drop(at: float, after: float, windows: int = 4000, top: float = 0.4) -> xr.Dataset:
    """A ramp that is delivered up to `at` and then at the rate `after`."""
    load = np.linspace(0, top, windows)
    return made_series(load, np.where(load < at, load, after))


@QUICK
@given(st.floats(0.05, 0.3), st.floats(0, 0.8), st.integers(10, 300))
def test_level_rule_finds_a_drop_within_one_average(at, part, averaging):
    """After a drop to `part` of it, the load is below 95 % when a twentieth / (1 - part) has passed."""
    found = analysis.critical_load(ramp_with_drop(at, part * at), averaging)
    step = 0.4 / 3999
    # The delay within an average, and the load's own rise through it.
    assert at - step <= found.value <= at + averaging * step * 0.05 / (0.95 - part) * 1.3 + 2 * step
    # The load rises by a step per window, so the middle of so many is so far back.
    middle = analysis.critical_load(ramp_with_drop(at, part * at), averaging, at="middle")
    assert middle.value == pytest.approx(found.value - (averaging - 1) / 2 * step)


def test_level_rule_is_not_fooled_by_a_short_dip():
    load = np.linspace(0.05, 0.4, 4000)
    received = load.copy()
    received[1000:1003] = received[1080:1083] = 0
    assert analysis.critical_load(made_series(load, received), 100).outcome == "not reached"
    # As much in one place is seen for half an average.
    received[1000:1006] = 0
    assert analysis.critical_load(made_series(load, received), 100).measured


def test_level_rule_does_not_take_the_time_that_packets_need_for_a_critical_load():
    load = np.linspace(0, 0.4, 4000)
    late = np.concatenate([np.zeros(40), load[:-40]])
    # Until window 850 or so, an average over 100 misses more than a twentieth.
    assert analysis.critical_load(made_series(load, late), 100).outcome == "not reached"
    found = analysis.critical_load(made_series(load, np.where(load < 0.3, late, 0.2)), 100)
    assert 0.3 < found.value < 0.31
    found = analysis.critical_load(made_series(load, load / 2), 100)
    assert (found.outcome, found.value) == ("from the start", None)


def test_level_rule_wants_to_see_half_an_average_more():
    load = np.linspace(0.1, 0.2, 1000)
    received = load.copy()
    received[-30:] = 0
    found = analysis.critical_load(made_series(load, received), 100)
    assert (found.outcome, found.value) == ("not confirmed", None)
    assert "further" in found.advice


def test_slope_noise_is_that_of_the_page_and_of_random_sources():
    """13 % for the 2015 paper's ramp; and what independent starts really give."""
    assert analysis.slope_noise(0.11095, 1e7, 40_100, 32, 8) == pytest.approx(0.13, abs=0.005)
    random = np.random.default_rng(3)
    windows, width, nodes, length, slew = 50, 100, 64, 8, 1e6
    load = 0.1 + np.arange(windows) * width / slew
    packets = random.poisson(load / length * nodes * width, size=(2000, windows))
    received = packets * length / nodes / width
    x = load - load.mean()
    slopes = (received * x).sum(axis=1) / (x**2).sum()
    expected = analysis.slope_noise(0.1, slew, windows * width, math.sqrt(nodes), length)
    assert slopes.std() == pytest.approx(expected, rel=0.08)


def test_slope_rule_refuses_what_would_be_noise():
    series = ramp_with_drop(0.11, 0.11, windows=27_500, top=0.275)
    found = analysis.slope_critical_load(series, 401)
    assert (found.outcome, found.value) == ("too noisy", None)
    enough = int(found.advice.split("takes ")[1].split()[0])
    # The length it names is enough, and a tenth less would not be.
    assert analysis.slope_critical_load(series, enough).measured
    assert analysis.slope_critical_load(series, enough * 9 // 10).outcome == "too noisy"


@QUICK
@given(st.floats(0.1, 0.3), st.floats(0.5, 0.95))
def test_slope_rule_crosses_where_a_line_bends(at, share):
    """The slope of a fit depends on the part of it that lies behind the bend alone."""
    load = np.linspace(0, 0.4, 8000)
    series = made_series(load, np.minimum(load, at), nodes=10**8)
    windows = 801
    found = analysis.slope_critical_load(series, windows, share)
    blur = windows * 0.4 / 8000
    # With a part q of the window beyond the bend the least-squares slope is 1 - q^2 (3 - 2 q).
    parts = np.linspace(0, 1, 100_001)
    part = parts[np.searchsorted(parts**2 * (3 - 2 * parts), 1 - share)]
    assert found.value == pytest.approx(at - blur / 2 + part * blur, abs=3 * 0.4 / 8000)


@QUICK
@given(st.integers(0, 150), st.sampled_from([8, 16, 32, 64]))
def test_settling_is_the_end_of_the_overshoot(overshoot, side):
    received = np.where(np.arange(400) < overshoot, 0.3, 0.2)
    series = made_series(np.full(400, 0.5), received, nodes=side * side, window_cycles=10)
    found = analysis.settling_time(series)
    half = side // 16
    if overshoot == 0:
        assert found.value == 0
    else:
        assert abs(found.value / 10 - overshoot) <= half


def test_settling_outcomes():
    rising = np.linspace(0.1, 1, 300)
    assert analysis.settling_time(made_series(rising, rising, window_cycles=10)).outcome == "not settled"
    nothing = np.zeros(300)
    assert analysis.settling_time(made_series(rising, nothing)).outcome == "nothing delivered"


def impulse(after: float, length: int, received: float = 0.1) -> xr.Dataset:
    """Ages around 60 with an impulse at window 200; noise that is the same in every call."""
    ages = 60 + np.random.default_rng(0).normal(0, 6, 600)
    ages[200 : 200 + length] = after
    load = np.full(600, 0.1)
    return made_series(load, np.r_[load[:200], np.full(400, received)], window_cycles=10, age_max=ages)


@QUICK
@given(st.integers(40, 300))
def test_impulse_lasts_as_long_as_the_ages_are_up(length):
    found = analysis.impulse_duration(impulse(900, length), 2000)
    assert 0 <= found.duration.value / 10 - length <= 70
    assert found.peak == pytest.approx(900, rel=0.01)
    assert found.before == pytest.approx(60, rel=0.03)


def test_impulse_outcomes():
    assert analysis.impulse_duration(impulse(70, 30), 2000).duration.outcome == "not visible"
    assert analysis.impulse_duration(impulse(900, 400), 2000).duration.outcome == "not recovered"
    collapsed = analysis.impulse_duration(impulse(900, 400, received=0.06), 2000)
    assert collapsed.duration.outcome == "collapsed"
    assert collapsed.delivered_share == pytest.approx(0.6)
    # Fewer by what chance does is no collapse: 1024 nodes, 500 cycles, 8 flits.
    assert (
        analysis.impulse_duration(impulse(900, 400, received=0.099), 2000).duration.outcome == "not recovered"
    )
    with pytest.raises(SpecError, match="start"):
        analysis.impulse_duration(impulse(900, 40), 5900)


def test_windows_without_packets_have_no_age():
    series = impulse(900, 50)
    quiet = series.copy(deep=True)
    for name in ("delivered_packets", "age_max"):
        quiet[name].values[::3] = 0
    whole, thinned = (analysis.impulse_duration(each, 2000) for each in (series, quiet))
    assert thinned.before == pytest.approx(whole.before, rel=0.03)
    assert thinned.duration.value == pytest.approx(whole.duration.value, abs=20)


# Of 2000 series of noise one has its least error at the half by chance: the same ones are drawn each time.
@settings(QUICK, derandomize=True)
@given(st.integers(0, 150), st.integers(0, 2**32 - 1))
def test_warm_up_leaves_out_what_does_not_belong(length, seed):
    values = np.random.default_rng(seed).normal(0, 1, 500)
    values[:length] += 25
    found = analysis.warm_up(values)
    assert found.outcome == "measured"
    # Never less than what does not belong, rounded to batches.
    assert found.value >= length - length % 5 or length % 5
    assert found.value >= length - 4


def test_warm_up_outcomes():
    assert analysis.warm_up(np.linspace(0, 1, 500)).outcome == "not steady"
    assert analysis.warm_up(np.full(500, 3.0)).value == 0
    with pytest.raises(SpecError, match="too few"):
        analysis.warm_up(range(20))


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (19, 2.093), (30, 2.042)]
)
def test_student_quantiles_are_those_of_tables(degrees, quantile):
    assert student_quantile(0.95, degrees) == pytest.approx(quantile, abs=6e-4)


def test_intervals_of_batch_means_cover_the_truth_as_often_as_they_say():
    random = np.random.default_rng(5)
    packets = random.poisson(20, size=(1000, 200))
    ages = packets * 30 + random.normal(0, 40, size=packets.shape)
    covered = 0
    for sums, counts in zip(ages, packets, strict=True):
        low, high = analysis.batch_means(sums, counts, batches=10).interval
        covered += low <= 30 <= high
    # Three standard deviations about 95 %.
    assert 929 <= covered <= 971


def test_correlated_batches_are_told():
    slow = np.sin(np.arange(400) / 60)
    assert analysis.batch_means(slow).correlation > 0.4
    assert abs(analysis.batch_means(np.random.default_rng(2).normal(size=4000)).correlation) < 0.4


@QUICK
@given(st.lists(st.integers(0, 60), min_size=1, max_size=300), st.floats(0.01, 1))
def test_percentiles_are_those_of_the_sorted_ages(ages, share):
    counts = np.bincount(ages, minlength=62)
    histogram = xr.DataArray(counts, {"age": np.arange(62)}, ("age",))
    rank = max(math.ceil(round(share * len(ages), 9)), 1)
    assert analysis.percentile(histogram, share).value == sorted(ages)[rank - 1]


def test_percentile_outcomes():
    histogram = xr.DataArray([3, 1], {"age": [0, 10]}, ("age",))
    assert analysis.percentile(histogram, 0.75).value == 9
    assert analysis.percentile(histogram, 0.8).outcome == "beyond"
    assert analysis.percentile(0 * histogram, 0.5).outcome == "no packets"


@QUICK
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200))
def test_fairness_of_sorted_counts(counts):
    found = analysis.fairness(np.array(counts))
    ordered = sorted(counts)
    assert (found.minimum, found.maximum, found.sources) == (ordered[0], ordered[-1], len(counts))
    assert found.tenth_percentile == ordered[math.ceil(len(counts) / 10) - 1]
    assert found.starved == sum(count < sum(counts) / len(counts) / 10 for count in counts)
    # Nearest rank: at least half of the sources have no more, and at most half fewer.
    assert 2 * sum(count <= found.median for count in counts) >= len(counts)
    assert 2 * sum(count < found.median for count in counts) <= len(counts)


@QUICK
@given(st.floats(0.08, 0.35))
def test_saturation_lies_between_the_last_point_that_accepts_and_the_next(at):
    rates = np.arange(0.02, 0.401, 0.02)
    found = analysis.saturation_point(rates, np.minimum(rates, at))
    share = np.minimum(rates, at) / rates
    first = int(np.flatnonzero(share < 0.95)[0])
    assert rates[first - 1] <= found.value <= rates[first]


@QUICK
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.data())
def test_moving_sums(values, data):
    width = data.draw(st.integers(1, len(values)))
    expected = [sum(values[at : at + width]) for at in range(len(values) - width + 1)]
    assert moving_sum(values, width).tolist() == expected


def test_series_that_are_none():
    series = made_series([0.1], [0.1])
    for broken, place in (
        (series.drop_vars("ejected_flits"), "ejected_flits"),
        (series.assign_attrs(nodes="many"), "nodes"),
        (series.assign(ejected_flits=("window", [math.nan])), "ejected_flits"),
        (series.drop_vars("window"), "window"),
    ):
        with pytest.raises(SpecError, match=place):
            analysis.throughput(broken, 1)


#: Who may use functions whose rounding a library chooses, or generators that are not ours: nothing is decided
#: there.
UNSPECIFIED = {
    "analysis/batches.py": "quantiles of a distribution, which are printed",
    "analysis/limit.py": "a line fitted to measured values; loads that are tried are rounded to six digits",
    "analysis/utilisation.py": "a logarithm is printed as what it is of",
    "load/booksim_judging.py": "a utilisation is printed; its logarithm is what is judged",
    "commands/actions/load_saturation.py": "how many digits are printed",
    "load/known.py": "the widths of a limit and of a measurement are added",
    "load/search.py": "the next load that is tried, rounded to six digits",
    "fabric/layout.py": "where a page draws a switch",
    "fabric/members.py": "numbers of walks, rounded to whole ones; cables decide what a network is",
    "plots/canvas.py": "where an axis ends",
    "fabric/pictures.py": "where a picture shows a switch",
    "view/wires.py": "where a page draws a node or a wire",
    "placing/cosine.py": "a linear program whose solution is a proposal; whole numbers prove the bound",
    "papers/scaling_effects.py": "an exponent that is fitted to measured values",
}


def test_what_decides_is_rounded_alike_on_every_machine():
    # `sqrt` has one rounding; the core has a test of its own.
    names = "exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|arctan|arctan2|power|float_power|pow|cbrt|hypot"
    found = re.compile(rf"\b(np|numpy|math)\.({names}|random)\b|\bdefault_rng\b")
    folder = Path(fl.__file__).parent
    users = {
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        if any(found.search(line) for line in file.read_text().splitlines() if ">>>" not in line)
    }
    assert users == set(UNSPECIFIED)
