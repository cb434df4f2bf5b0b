"""Options that a command would ignore are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run


@pytest.mark.parametrize(
    "options", [["--slices", "10"], ["--packets", "3"], ["--interval", "9"], ["--free-slices"]]
)
def test_options_that_an_operation_ignores_are_refused(options: list[str]) -> None:
    assert run(["schedule", "--torus", "4x4", "--operation", "broadcast", *options]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--operation", "broadcast", "--length", "20"], "--length belongs to --matrix"),
        (["--operation", "all-gather", "--root", "3"], "--root belongs to --operation broadcast"),
        (["--pattern", "shfl", "--genes", "timing"], "--genes belongs to --method genetic"),
        (["--pattern", "shfl", "--method", "genetic", "--moves", "7"], "--moves does not go with a genetic"),
        (["--pattern", "shfl", "--interval", "50"], "--interval is the time between slices"),
        (["--operation", "broadcast", "--slices", "4"], "an operation sends whole messages"),
        (
            ["--operation", "broadcast", "--packets", "4", "--interval", "9"],
            "an operation sends whole messages",
        ),
        (["--operation", "all-reduce", "--interval", "20"], "not cut into slices"),
        (["--operation", "all-to-all", "--free-slices"], "not cut into slices"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schedule", "--torus", "4x4", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error


def test_route_refuses_options_it_would_ignore(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--sample", "4"], "--sample belongs to --resilience"),
        (["--resilience", "--out", "x.json"], "--out does not go with --resilience"),
        (["--compare", "--method", "bfs"], "--method does not go with --compare"),
        (["--lanes", "4"], "--lanes belongs to --fabric"),
        (
            ["--network", "full4 x full4", "--method", "bfs"],
            "it must be one of ftree, dor, dragonfly, balanced",
        ),
        (["--network", "full4 x full4", "--picture", "x.png"], "--picture does not go with --network"),
    ):
        assert run(["route", *(["--torus", "4x4"] if "--network" not in arguments else []), *arguments]) == 2
        assert message in capsys.readouterr().err


def test_check_refuses_options_it_would_ignore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables, plan = str(tmp_path / "t.json"), str(tmp_path / "p.json")
    fl.tables.make(fl.Torus(4)).to_json(tables)
    fl.collectives.plan(fl.Torus(4), "all-gather").save(plan)
    for arguments, message in (
        ([tables, "--lanes", "4"], "--lanes belongs to --fabric"),
        ([tables, "--path-sl", "x"], "--path-sl belongs to --fabric"),
        ([plan, "--rules", "angara"], "--rules belongs to plans of packets and to routing tables"),
        ([plan, "--certificate", "c.json"], "--certificate belongs to plans of packets"),
        (["--fabric", "x", "--rules", "angara"], "--rules does not go with --fabric"),
    ):
        assert run(["check", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
