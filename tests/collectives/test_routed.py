"""All-to-alls from neighbour to neighbour in few rounds: published figures, bounds, both checkers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.checking import check_collective
from flitloom.collectives.making import make_rounds
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import read_rounds
from flitloom.collectives.rounds_steps import to_steps
from flitloom.collectives.routed import routed, routed_exchanges
from flitloom.spec.ground import Ground

PROGRAM = Path(fl.__file__).parent / "programs" / "recheck.py"
QUAD = [(0, 1), (0, 2), (0, 3), (0, 3), (1, 2), (1, 2), (1, 3), (2, 3), (2, 3)]
ACROSS = [(0, 4), (0, 4), (1, 5), (1, 5), (2, 6), (3, 7)]
#: DGX-1 with its NVLinks.
CUBE_MESH = fl.Graph([*QUAD, *((a + 4, b + 4) for a, b in QUAD), *ACROSS], nodes=8)


def test_eight_gpus_need_two_rounds_with_a_third_of_the_vector() -> None:
    """24 chunks in 2 steps of 8 rounds in all (Cai et al. 2021, SCCL)."""
    (found,) = routed_exchanges(Ground(CUBE_MESH))
    assert (found.name, found.factor) == ("routed (2)", pytest.approx(1 / 3))


@pytest.mark.parametrize("shape", [(4,), (5,), (3, 3)], ids=str)
def test_tori_fill_all_links(shape: tuple[int, ...]) -> None:
    """As many hops as all chunks have, over all links: no plan has fewer."""
    ground = Ground(fl.Torus(*shape))
    distances = ground.routes[0][0]
    found = routed(ground, int(distances.max()))
    assert found is not None
    links = sum(ground.links.values()) / ground.nodes
    assert sum(found.loads) == pytest.approx(distances.sum() / links, rel=0.03)


def test_their_plans_are_right_and_forged_ones_are_refused(tmp_path: Path) -> None:
    def refused(document: dict[str, object]) -> list[bool]:
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(document))
        words = [sys.executable, "-I", str(PROGRAM), str(file)]
        again = subprocess.run(words, capture_output=True).returncode
        return [not check_rounds(read_rounds(file))["passed"], again != 0]

    plan = make_rounds(CUBE_MESH, "all-to-all", "routed (2)", 2.0**20, 1e-6, 5e10)
    assert plan.pieces == 24
    document = plan.model_dump(mode="json")
    assert refused(document) == [False, False]
    moves = document["moves"]
    assert refused({**document, "moves": moves[:-1]}) == [True, True]
    # What is passed on in the second round must have come in the first one.
    assert refused({**document, "moves": [[1 - row[0], *row[1:]] for row in moves]}) == [True, True]
    # As many parts, but not for the nodes that are told.
    assert refused({**document, "pieces": 23}) == [True, True]
    steps = to_steps(plan)
    assert (steps.chunks, check_collective(steps)["problems"]) == (3, [])
