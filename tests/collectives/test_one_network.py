"""A network is one object, whoever says its twist and its parallel links, and wherever."""

import json
from typing import Any

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.programs.recheck import main as recheck
from flitloom.spec.ground import Ground

#: A torus, what is said beside it, and the network that says it itself.
BESIDE: list[tuple[fl.Torus, dict[str, Any], Any]] = [
    (fl.Torus(2, 4), {"twist": True}, fl.Torus(2, 4, twist=True)),
    (fl.Torus(4, 3), {"width": [2, 1]}, fl.Product("ring4*2 x ring3")),
    (fl.Torus(2, 3, failed_nodes=[4]), {"width": [1, 3]}, fl.Product("line2 x ring3*3", failed_nodes=[4])),
    (fl.Torus(2, 2, 4), {"twist": True, "width": [2, 1, 1]}, fl.Product("twisted ring2*2 x ring2 x ring4")),
    (
        fl.Torus(3, 6, failed_links=["0-1"]),
        {"twist": True, "width": [1, 2]},
        fl.Product("twisted ring3 x ring6*2", failed_links=[(0, 1)]),
    ),
]


@pytest.mark.parametrize(("torus", "beside", "network"), BESIDE)
@pytest.mark.parametrize("operation", ["all-gather", "all-to-all"])
def test_words_beside_a_network_are_the_network(torus, beside, network, operation):
    with pytest.warns(FutureWarning, match=" beside a network: say it in the network"):
        said = fl.collectives.plan(torus, operation, **beside)
    assert said == fl.collectives.plan(network, operation)
    assert said.ground.topology.is_as(network)


@pytest.mark.parametrize(("torus", "beside", "network"), BESIDE)
def test_files_of_before_are_read_and_name_their_network(torus, beside, network, tmp_path, capsys):
    file = tmp_path / "plan.json"
    made = fl.collectives.plan(network, "all-gather")
    made.save(file)
    assert recheck([str(file)]) == 0
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "topology": torus.model_dump(mode="json"), **beside})
    )
    read = fl.collectives.read(file)
    assert (read.ground, read.moves, read.sends, read.proof_text) == (
        Ground(network),
        made.moves,
        made.sends,
        made.proof_text,
    )
    assert recheck([str(file)]) == 0
    # It names the whole network in other verbs.
    assert fl.collectives.plan(file, "all-gather").ground.topology.is_as(network)
    capsys.readouterr()
    assert run(["check", str(file), "--torus", "x".join(map(str, torus.sizes))]) == 2
    assert f"the plan is for a {network}" in capsys.readouterr().err
