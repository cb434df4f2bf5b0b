"""What attacks from outside found in plans, traces and loads: each fault with the case that showed it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.commands import run
from flitloom.load import make_cases, ramp_profile, run_ramp
from flitloom.spec.ground import Ground
from flitloom.traces import Operation, read_chakra
from flitloom.traces.chakra import COLLECTIVE, SEND, chakra_bytes
from foreign_files import Msccl, forestcoll_trees, ring_allreduce


def test_plans_can_be_compared() -> None:
    """What is computed from a plan, or how long its search took, does not count."""
    first, again = (fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("trns")) for _ in range(2))
    assert first.table.shape == again.table.shape
    assert first == again == first
    assert first != first.model_copy(update={"packets": first.packets[1:]})
    assert first != "plan"
    one, other = (fl.collectives.plan(fl.Torus(4, 4), "all-gather") for _ in range(2))
    assert one.ground.nodes == 16
    assert one == other == one
    assert one != one.expanded()


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

    def stopped(cases: Any, loads: Any, measured: Any, what: str, _refine: float) -> Any:
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


def node(number: int, kind: int, **attributes: Any) -> dict[str, Any]:
    after = [number - 1] if number > 1 else []
    return {"id": number, "name": f"n{number}", "type": kind, "data_deps": after, "attr": attributes}


def test_calls_of_pytorch_that_start_a_communication_only_keep_order(tmp_path: Path) -> None:
    ranks = [
        [
            node(1, COLLECTIVE, is_cpu_op=("bool", True), pg_name=("string", "0")),
            node(
                2, COLLECTIVE, is_cpu_op=("bool", False), pg_name=("string", "0"),
                comm_type=("int64", 5), comm_size=("int64", 64),
            ),
            node(3, SEND, is_cpu_op=("bool", True)),
        ]
        for _ in range(2)
    ]  # fmt: skip
    for rank, nodes in enumerate(ranks):
        (tmp_path / f"trace.{rank}.et").write_bytes(chakra_bytes(nodes))
    read = read_chakra(tmp_path / "trace.et")
    assert [[one.kind for one in rank] for rank in read] == [
        ["calc", "send", "calc"],
        ["calc", "recv", "calc"],
    ]
    assert read[0][0] == Operation("calc", 0)
    assert [one.requires for one in read[0]] == [[], [0], [1]]


def reduced(gpus: int) -> Msccl:
    """A chain to the last GPU, where the sum is at the end."""
    made = Msccl("reduce", gpus, 1, 1)
    for gpu in range(gpus):
        block = made.block(gpu, gpu + 1 if gpu + 1 < gpus else -1, gpu - 1)
        kind = "s" if gpu == 0 else "rrs" if gpu + 1 < gpus else "rrc"
        made.step(gpu, block, kind, ("i", 0), ("o", 0))
    return made


def test_reduces_in_foreign_xml(tmp_path: Path) -> None:
    file = tmp_path / "reduce.xml"
    file.write_text(reduced(4).text(), encoding="utf-8")
    report = formats.check(file, Ground(fl.Mesh(4)))
    assert (report["problems"], report["operation"], report["steps"], report["bound"]) == ([], "reduce", 3, 3)
    plan = formats.read_plan(file, Ground(fl.Mesh(4)))
    assert (plan.operation, plan.root, plan.steps, plan.optimal) == ("reduce", 3, 3, True)
    file.write_text(reduced(4).text().replace('type="rrs"', 'type="rcs"', 1), encoding="utf-8")
    [problem] = formats.check(file, None)["problems"]
    assert problem == "reduce: the sums of all gpus' chunks are in no output buffer"


@pytest.mark.parametrize("where", ["algo", "gpu", "tb", "Algo", "tree"])
def test_elements_that_nobody_knows_are_not_passed_over(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = {root: [(root, 1 - root)] for root in range(2)}
    text = forestcoll_trees(edges, str, 1) if where in ("Algo", "tree") else ring_allreduce(2)
    changed = re.sub(f"(<{where} [^>]*>)", r'\1<copy src="0" dst="1"/>', text, count=1)
    assert changed != text
    file = tmp_path / "foreign.xml"
    file.write_text(changed, encoding="utf-8")
    assert run(["check", str(file), "--torus", "2"]) == 2
    assert "<copy> is not read" in capsys.readouterr().err


def test_operations_that_a_format_has_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(tmp_path / "plan.json")
    for options, message in [
        (["broadcast"], "all-gather, reduce-scatter, all-reduce, all-to-all can be written, not broadcast"),
        (["reduce"], "all-gather, reduce-scatter, all-reduce, all-to-all can be written, not reduce"),
    ]:
        assert run(["collective", *options, "--torus", "2x2", "-o", plan]) == 0
        for ending in ("xml", "mscclpp.json"):
            capsys.readouterr()
            assert run(["convert", plan, str(tmp_path / f"plan.{ending}")]) == 2
            assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rank-0.txt", "# rank 0\nMPI_Init:12.5:-:-:13.5\nMPI_Send:1:2:3\n", "is a trace of liballprof"),
        ("w.json", '{"phases": [{"transfers": [{"packet_size": 8}]}]}', "is a workload or trace of tt-npe"),
        ("w.yaml", "phases:\n  p1:\n    transfers:\n      - a: 1\n", "is a workload or trace of tt-npe"),
        (
            "t.json",
            '[{"proc": "BRISC", "noc": "NOC_0", "sx": 1, "sy": 2}]',
            "is a workload or trace of tt-npe",
        ),
        ("x.toml", "a = = 1", "no valid TOML"),
    ],
)
def test_traces_of_other_programs_are_called_what_they_are(
    name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    assert run(["simulate", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_a_million_wrong_packets_are_counted_without_words_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from flitloom.spec import base

    file = tmp_path / "plan.json"
    fl.plans.search(fl.Network(fl.Torus(4, 4)), fl.Collective("trns")).save(file)
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index('"packets"')] + f'"packets": [{"{}," * 9999}{{}}]}}', encoding="utf-8")
    told: list[Any] = []
    real = base._message
    monkeypatch.setattr(base, "_message", lambda found: told.append(found) or real(found))
    assert run(["check", str(file)]) == 2
    # Each packet lacks five fields.
    assert capsys.readouterr().err.endswith("and 49990 more problems\n")
    assert len(told) < 100


def test_tables_after_a_dead_node_say_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    network = ["--torus", "4x4", "--fail", "node:5"]
    assert run(["route", *network, "-o", "tables.json"]) == 0
    Path("to.csv").write_text("5\n" * 16, encoding="utf-8")
    capsys.readouterr()
    for tables in (["--tables", "tables.json"], []):
        load = ["--destinations", "to.csv", "--rate", "0.1", "--cycles", "100"]
        assert run(["simulate", *network, *tables, *load]) == 2
        message = capsys.readouterr().err
        assert (
            "node 0 sends to node 5, which has failed, and 14 more nodes do so; give destinations" in message
        )
        assert "routing tables can" not in message


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

    def stopped(*given: Any) -> Any:
        points, _ = real(*given)
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
