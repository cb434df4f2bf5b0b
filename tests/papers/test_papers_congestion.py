"""The two papers on congestion: ours is pinned, and what is seen is measured."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import flitloom as fl
from flitloom import papers
from flitloom.commands import run
from flitloom.papers import Cell, Context, Report, congestion, state_propagation
from flitloom.papers.page import write_page
from flitloom.papers.scaling_effects import apart, exponent

# Durations of a burst of ten packets per node (none, th(0), th(8)), as an independent prototype of the same
# router text printed them.
BURSTS = {
    "trns": [1298, 1298, 1298],
    "shfl": [2321, 1928, 1664],
    "bcmp": [1185, 916, 939],
    "brev": [1833, 1721, 1684],
    "brot": [1973, 1573, 1430],
    "torn": [1283, 1283, 1286],
}


def cells(report: Report) -> dict[tuple[str, str], object]:
    return {(cell.row, cell.column): cell.computed for cell in report.cells}


def test_table_2_is_ours_cell_for_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    table_2 = papers.find("state-propagation-throttling-2015/table-2")
    monkeypatch.setattr(table_2, "REPEATS", 1)
    report = table_2.reproduce(Context())
    found = cells(report)
    assert {row: [found[row, name] for name in ("no-th", "th(0)", "th(8)")] for row in BURSTS} == BURSTS
    # Published numbers are numbers; "it gets faster" is a statement.
    assert "of 24 published values reproduced" in report.verdict
    assert "of 6 published statements hold" in report.verdict


def test_equation_2_is_what_counting_all_pairs_gives() -> None:
    report = papers.reproduce("scaling-effects-2007/equation-2")
    # Nobody measured them: they are no published values.
    assert report.verdict == "13 of 13 values of equations reproduced."


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("changes", [True, False])
def test_whether_do_and_cl_change_places_is_counted(quick, changes, monkeypatch) -> None:
    figure_6 = papers.find("scaling-effects-2007/figure-6")

    def curves(_context, sizes):
        load = {(0, "do"): 0.1, (0, "cl"): 0.2, (1, "do"): 0.1, (1, "cl"): 0.05 if changes else 0.2}
        throughput = xr.DataArray([0.1, 0.2], dims="offered")
        return {
            (size, routing, "rn"): SimpleNamespace(
                critical_load=SimpleNamespace(value=load.get((place, routing), 0.15), outcome="known"),
                throughput=throughput,
            )
            for place, size in enumerate(sizes)
            for routing in figure_6.ROUTINGS
        }

    monkeypatch.setattr(figure_6, "critical_curves", curves)
    verdict = figure_6.reproduce(Context(quick=quick)).verdict
    assert verdict.startswith(f"{int(changes)} of 1 published statements hold")


def test_critical_loads_that_the_hot_node_does_not_sustain_are_told(
    monkeypatch, tmp_path, pictures_are_looked_at
) -> None:
    """1 % of the packets to one node of 1024: from 1 / (0.99 / 1023 + 0.01) / 1024 on it falls behind."""
    figure_5 = papers.find("scaling-effects-2007/figure-5")

    def curves(_context, sizes, traffics):
        return {
            (size, routing, traffic): SimpleNamespace(
                critical_load=SimpleNamespace(value=0.1, outcome="known")
            )
            for size in sizes
            for routing in figure_5.ROUTINGS
            for traffic in traffics
        }

    monkeypatch.setattr(figure_5, "critical_curves", curves)
    report = figure_5.reproduce(Context(tmp_path, quick=True))
    found = cells(report)
    assert found["do hs", "of the receive bound, N=32"] > 1 > found["do hs", "of the receive bound, N=8"]
    assert ("do rn", "of the receive bound, N=32") not in found
    [(figure, _)] = pictures_are_looked_at
    [axes] = figure.axes
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [line.get_xdata().tolist() for line in hollow] == [[32]] * len(figure_5.ROUTINGS)
    assert "above the receive bound" in [text.get_text() for text in axes.get_legend().texts]
    assert axes.get_ylabel().startswith("critical load (95 % level)")


def test_a_jam_grows_against_the_packets_one_hop_per_packet_time(tmp_path) -> None:
    report = papers.reproduce("state-propagation-throttling-2015/figure-5", Context(tmp_path))
    found = cells(report)
    assert found["grows against the packets", "+x"] is True
    assert report.files[0].read_bytes().startswith(b"\x89PNG")


FIGURES = [
    name
    for name in papers.identifiers()
    if "/figure" in name and name.startswith(("scaling-effects", "state-propagation"))
]
#: Figures whose quick run takes a few seconds; `make pictures` draws the others, too.
SOON = {"state-propagation-throttling-2015/figure-5"}


@pytest.mark.parametrize("identifier", FIGURES)
def test_their_pictures_are_without_faults(identifier, tmp_path, pictures_are_looked_at):
    if identifier not in SOON and os.environ.get("FLITLOOM_PICTURES") != "all":
        pytest.skip("takes a while; make pictures draws it")
    assert run(["papers", "run", identifier, "--quick", "--json", "--out", str(tmp_path)]) == 0
    assert len(pictures_are_looked_at) == 1


def test_rates_differ_the_same_or_are_undecided_by_their_interval() -> None:
    """Student's t of 4 degrees at 95 % is 2.776: half an interval is 2.776 / sqrt(5) deviations."""
    spread = [-2, -1, 0, 1, 2]  # of deviation sqrt(2.5), so 1.963 per unit
    for mean, unit, expected in (
        (0.2, 0.1, True),
        (-0.2, 0.1, True),
        (0.0, 0.04, False),
        (0.1, 0.1, "undecided"),
    ):
        known, differ = apart([mean + unit * each for each in spread])
        assert known is not None
        assert (known.mean, known.half_width) == pytest.approx((mean, 1.963 * unit), abs=1e-3)
        assert differ == expected
    assert apart([0.3, 0.3]) == (None, "undecided")


@pytest.mark.parametrize("sign", ["+", "-"])
def test_drift_finds_the_pace_of_made_up_jams(sign: str) -> None:
    """Buffers that fill one after the other, upstream, five cycles apart; and noise that does not move."""
    random = np.random.default_rng(4)
    full = random.random((4000, 32, 3)) < 0.002
    for start in range(0, 3800, 40):
        head = int(random.integers(32))
        for hop in range(12):
            at = (head - hop) % 32 if sign == "+" else (head + hop) % 32
            full[start + 5 * hop : start + 5 * hop + 4, at, 0] = True
    busy = xr.Dataset({f"{sign}x": (("cycle", "x", "channel"), full)})
    assert state_propagation.drift(busy) == 5
    assert state_propagation.drift(xr.Dataset({"+x": busy[f"{sign}x"][:2]})) is None


def test_long_runs_are_kept_and_go_on(tmp_path, monkeypatch) -> None:
    load = {"pattern": "rand", "profile": [(0, 0.1), (3000, 0.6)], "length": 8}
    setting = congestion.Setting("t15", 8)
    run = congestion.Run(setting, load, 3000, 100, 1)
    plain = congestion.series(run)
    with congestion.kept_in(tmp_path):
        assert congestion.series(run).identical(plain)
        [finished] = tmp_path.iterdir()
        # A run that was ended: its checkpoint is there, its windows are not.
        half = setting.simulation(fl.Load(cycles=3000, **load), seed=1, windows=100)
        half.run(until=1700)
        half.save(finished.with_suffix(".flit"))
        finished.unlink()
        whole = congestion.Setting.simulation
        monkeypatch.setattr(congestion.Setting, "simulation", None)
        assert congestion.series(run).identical(plain)
        assert list(tmp_path.iterdir()) == [finished]
        # Read, not run; of another seed there is nothing.
        assert congestion.series(run).identical(plain)
        with pytest.raises(TypeError):
            congestion.series(replace(run, seed=2))
        monkeypatch.setattr(congestion.Setting, "simulation", whole)
    # In the workers of a full run, too.
    context = Context(tmp_path / "full", threads=1, quick=False)
    [made] = congestion.on_all_cores(context, "runs", congestion.series, [(run,)])
    assert made.identical(plain)
    assert [file.name for file in (tmp_path / "full" / "runs").iterdir()] == [finished.name]


def test_exponents() -> None:
    assert exponent([8, 16, 32], [3 * 8**1.5, 3 * 16**1.5, 3 * 32**1.5]) == pytest.approx(1.5)


def test_a_tolerance_is_how_far_ours_may_be_off() -> None:
    near, far = (Cell("a", "x", 0.11095, ours, tolerance=0.002) for ours in (0.1127, 0.114))
    assert (near.status, far.status) == ("reproduced", "not reproduced")
    # A name of an outcome is no number.
    assert Cell("a", "x", 0.11095, "not reached", tolerance=1).status == "not reproduced"


def test_pages_hold_all_and_load_nothing(tmp_path) -> None:
    picture = tmp_path / "one.png"
    picture.write_bytes(b"\x89PNG made up")
    data = tmp_path / "one.csv"
    data.write_text("a\n")
    made = [Cell("<a>", "x", 3, 4), Cell("<a>", "grows", True, True)]
    report = Report("cup-stacking-2022/table-2", "A & B", made, ["A remark."], [picture, data])
    page = write_page([report], tmp_path / "index.html", "cup-stacking-2022").read_text()
    for part in ("4 (3)", "&lt;a&gt;", "A &amp; B", 'href="one.csv"'):
        assert part in page
    assert "data:image/png;base64," in page
    assert "http" not in page.split("<body>")[1].replace("https://doi", "")


def test_a_whole_paper_goes_into_one_folder(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(papers, "MODULES", ["scaling_effects_2007_equation_2"])
    folder = tmp_path / "paper"
    assert run(["papers", "run", "scaling-effects-2007", "--out", str(folder)]) == 0
    assert "13 of 13" in capsys.readouterr().out
    assert "13 of 13" in (folder / "index.html").read_text()
    assert run(["papers", "run", "scaling-effects-2007", "--out", str(folder), "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["scaling-effects-2007/equation-2"]
    assert run(["papers", "run", "scaling-effects-2008"]) == 2
