"""Plans of others: what a format does not have is refused by its name."""

import re
from pathlib import Path

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.commands import run
from flitloom.spec.ground import Ground
from foreign_files import Msccl, forestcoll_trees, ring_allreduce


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
