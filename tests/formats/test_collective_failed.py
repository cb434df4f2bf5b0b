"""Plans of others with a failed node come back, and what is not written of a plan is told."""

from pathlib import Path

import pytest

import flitloom as fl
from verbs import answer, made, refused

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.mark.parametrize("ending", [".xml", ".mscclpp.json"])
@pytest.mark.parametrize("operation", ["all-reduce", "all-gather", "all-to-all", "reduce-scatter"])
def test_third_party_plans_with_a_failed_node_come_back(ending, operation, capsys):
    made(f"collective {operation} --torus 4x4 --fail node:5 -o plan.json", f"convert plan.json their{ending}")
    at = "--torus 4x4 --fail node:5"
    made(f"convert their{ending} back.json {at}")
    plan, back = fl.collectives.read("plan.json").expanded(), fl.collectives.read("back.json").expanded()
    assert (sorted(plan.moves), sorted(plan.sums)) == (sorted(back.moves), sorted(back.sums))
    ours = answer("simulate plan.json --flits 32", capsys)
    assert answer(f"simulate their{ending} {at} --flits 32", capsys) == ours
    made(f"view their{ending} {at} -o page.html")
    # Without the table of ranks beside it.
    Path("their.mscclpp.ranks.csv" if ending != ".xml" else "their.ranks.csv").unlink()
    for verb in ("check", "simulate"):
        said = refused(f"{verb} their{ending} --torus 4x4", capsys)
        assert "15 gpus, the network has 16 nodes; name the failed ones, e.g. --fail node:5, or" in said
    assert "name it with --torus 4x4" in refused(f"simulate their{ending}", capsys)


def test_plans_say_what_is_not_written_of_them(capsys):
    made("collective all-gather --torus 4x4 -o plan.json")
    said = refused("simulate plan.json --picture a.png", capsys)
    assert said.startswith("--picture: a plan of a collective operation is run without records")
    assert refused("convert plan.json a.xml --torus 4x4", capsys).startswith(
        "--torus: the plan names its net"
    )
    assert refused("view plan.json --torus 8x8 -o a.html", capsys).startswith(
        "plan.topology: the plan is for"
    )
