"""What `flitloom load` says of a ramp above the bound, and of work that was stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from flitloom.commands import run
from flitloom.load import make_cases, ramp_profile, run_ramp


def test_a_ramp_reads_no_critical_load_above_the_bound() -> None:
    [case] = make_cases({}, {"torus": ["8x8"], "pattern": ["bcmp"]})
    profile, cycles = ramp_profile(0.2, 1.0, 40_000)
    row = run_ramp(case.experiment(kind="load", profile=profile, cycles=cycles)).row
    # Half of the nodes' flits cross the middle of every row: links carry 0.5 at most.
    assert (row["bound"], row["outcome"]) == (0.5, "at the bound")
    assert row["critical_load"] == 0.5 < row["end"]
    assert "less arrives only at 0.5" in row["advice"]


def test_a_curve_that_was_stopped_has_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from flitloom.commands.actions import load_curve

    real = load_curve.run_points

    def stopped(cases: Any, loads: Any, measured: Any, what: str, *_rest: Any) -> Any:
        points, _ = real(cases, loads, measured, what)
        # The highest loads begin, and are there first.
        return points[-1:], True

    monkeypatch.setattr(load_curve, "run_points", stopped)
    options = ["--torus", "4x4", "--pattern", "rand", "--rates", "0.1:0.3:0.1", "--measure", "500"]
    assert run(["load", "curve", *options]) == 130
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "4x4 torus: 1 of 3 loads are measured: no verdict"
    assert "saturates" not in out
    assert "does not saturate" not in out


@pytest.mark.parametrize(
    ("verb", "options", "count"),
    [
        ("curve", ["--rates", "0.1:0.3:0.1", "--measure", "500"], 3),
        ("steady", ["--rate", "0.1,0.2", "--measure", "500"], 2),
    ],
)
def test_rows_of_what_was_stopped_say_so(
    verb: str,
    options: list[str],
    count: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from flitloom.commands.actions import load_curve, load_steady

    real = load_curve.run_points
    stop = True

    def stopped(*given: Any, **ways: Any) -> Any:
        points, _ = real(*given, **ways)
        return (points[-1:], True) if stop else (points, False)

    for action in (load_curve, load_steady):
        monkeypatch.setattr(action, "run_points", stopped)
    arguments = ["load", verb, "--torus", "4x4", "--pattern", "rand", *options]
    if verb == "curve":
        arguments += ["-o", str(tmp_path / "rows.csv")]
    said = f"1 of {count} simulations are finished"
    assert run([*arguments, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert found[0]["stopped"] == said
    if verb == "curve":
        assert said in (tmp_path / "rows.csv").read_text(encoding="utf-8")
    stop = False
    assert run([*arguments, "--json"]) == 0
    assert "stopped" not in capsys.readouterr().out


def test_rows_of_stopped_responses_bursts_and_saturations_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from flitloom.commands.actions import load_burst, load_responses, load_saturation

    action: Any
    for verb, action, name, options in (
        ("burst", load_burst, "run_bursts", []),
        ("ramp", load_responses, "run_responses", ["--rates", "0.1:0.3"]),
        ("saturation", load_saturation, "run_saturation", ["--within", "0.3", "--measure", "300"]),
    ):
        real = getattr(action, name)

        def stopped(*given: Any, real: Any = real, **settings: Any) -> Any:
            rows, _ = real(*given, **settings)
            return rows[:1], True

        monkeypatch.setattr(action, name, stopped)
        command = ["load", verb, "--torus", "4x4", "--pattern", "rand,trns", *options]
        assert run([*command, "--json"]) == 130, verb
        found = json.loads(capsys.readouterr().out)
        assert found[0]["stopped"] == "1 of 2 simulations are finished", verb
        monkeypatch.setattr(action, name, real)


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("curve", ["--rates", "0.1,0.2,0.9", "--refine", "0"]),
        ("saturation", ["--routing", "do,ma", "--within", "0.1"]),
    ],
)
def test_what_a_store_has_is_not_run_again(
    verb: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from flitloom.load import curves, searching

    runs: list[int] = []

    def counted(real: Any) -> Any:
        def work(*task: Any, progress: Any = None) -> Any:
            runs.append(1)
            return real(*task, progress)

        return work

    # On several cores workers are processes, which count for themselves.
    monkeypatch.setattr(curves, "_point", counted(curves._point))
    monkeypatch.setattr(searching, "_search", counted(searching._search))
    monkeypatch.setattr("flitloom.load.running.as_finished", _here)
    asked = ["load", verb, "--torus", "4x4", "--pattern", "rand", "--measure", "500", "--json", *options]
    assert run(asked) == 0
    plain = capsys.readouterr().out
    count = len(runs)
    stored = [*asked, "--store", str(tmp_path / "found.sqlite")]
    assert run(stored) == 0
    assert (capsys.readouterr().out, len(runs)) == (plain, 2 * count)
    assert run([*stored, "--threads", "1"]) == 0
    assert (capsys.readouterr().out, len(runs)) == (plain, 2 * count)
    assert run([*stored, "--seed", "2"]) == 0
    assert len(runs) == 3 * count


def _here(work: Any, tasks: Any, _workers: Any, _progress: Any) -> Any:
    """All tasks in this process."""
    for place, task in enumerate(tasks):
        yield place, work(*task)


def test_ctrl_c_keeps_finished_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flitloom.jobs import Store
    from flitloom.load import run_saturation

    def first_only(work: Any, tasks: Any, _workers: Any, _progress: Any) -> Any:
        yield 0, work(*tasks[0])
        raise KeyboardInterrupt

    cases = make_cases({}, {"torus": ["4x4"], "pattern": ["rand", "torn"]})
    store = Store(tmp_path / "found.sqlite")
    with monkeypatch.context() as patched:
        patched.setattr("flitloom.load.running.as_finished", first_only)
        rows, interrupted = run_saturation(cases, within=0.1, measure=500, store=store)
    assert (len(rows), interrupted, len(store.finished())) == (1, True, 1)
    again, interrupted = run_saturation(cases, within=0.1, measure=500, store=store, workers=1)
    assert (again[0], len(again), interrupted) == (rows[0], 2, False)


def test_a_store_keeps_no_windows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--torus", "4x4", "--pattern", "rand", "--rates", "0.1", "--store", str(tmp_path / "a.sqlite")]
    assert run(["load", "curve", *options, "--out", str(tmp_path / "a.nc")]) == 2
    assert "--store: it keeps rows, no windows" in capsys.readouterr().err
