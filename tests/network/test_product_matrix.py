"""Matrices of products, and the hosts of their fabrics, are in the order of their nodes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom import _core
from flitloom.commands import run
from flitloom.fabric.networks import named_subnet


@pytest.mark.parametrize("described", ["full3 x ring3", "ring4 x full3 x line2"])
def test_a_matrix_of_a_product_is_in_the_order_of_its_nodes(described: str) -> None:
    product = fl.Product(described)
    matrix = np.zeros((product.nodes, product.nodes), dtype=int)
    matrix[1, product.nodes - 2] = 7
    strides = np.cumprod([1, *product.sizes[:-1]])
    ends = [
        "S"
        + "-".join(str(node // stride % size) for stride, size in zip(strides, product.sizes, strict=True))
        for node in (1, product.nodes - 2)
    ]
    subnet = named_subnet(described)
    places = np.array([[int(at) for at in switch.name[1:].split("-")] for switch in subnet.switches])
    assert (places @ strides).tolist() == list(range(product.nodes))
    for network in (product, described):
        made = fl.tables.make(network, traffic=matrix)
        assert made.demand is not None
        ((row, switch),) = np.argwhere(made.demand.pairs).tolist()
        owner = subnet.hosts[made.owners[row]]
        assert [subnet.switches[switch].name, subnet.switches[owner.switch].name] == ends
        assert (made.demand.pairs[row, switch], made.report.max_load) == (7, 7)


def test_what_fails_has_its_row_in_the_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.csv"
    words = ["route", "--network", "full3 x ring3", "--traffic", str(file), "--json"]
    matrix = np.zeros((9, 9), dtype=int)
    matrix[4, 8], matrix[1, 2] = 5, 3
    np.savetxt(file, matrix, fmt="%d", delimiter=",")
    loads = []
    for fail in ([], ["--fail", "node:S1-1"]):
        assert run([*words, *fail]) == 0
        loads.append(json.loads(capsys.readouterr().out)["max_load"])
    # Node 4 is at the coordinates (1,1).
    assert loads == [5, 3]
    np.savetxt(file, matrix[:8, :8], fmt="%d", delimiter=",")
    assert run(words) == 2
    assert "one per node (9) is needed" in capsys.readouterr().err


def test_bytes_of_a_placement_that_are_too_large_for_weights_are_divided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "p.json")
    axes = "a=4:all-reduce:8MiB,b=3:line:64"
    assert run(["place", "--network", "full4 x ring3", "--axes", axes, "--effort", "1", "-o", file]) == 0
    capsys.readouterr()
    assert run(["route", "--network", "full4 x ring3", "--placement", file, "--json"]) == 0
    told = capsys.readouterr()
    assert "note: weights are bytes divided by 8, rounded up" in told.err
    placed = json.loads(Path(file).read_text())["busiest_channel"]
    assert json.loads(told.out)["max_load"] * 8 == placed


@pytest.mark.parametrize("pattern", ["next", "torn", "hots"])
def test_a_pattern_means_the_same_to_both_routers(pattern: str) -> None:
    found = []
    for model in ("one-cycle", "pipelined"):
        net = fl.Network("full4 x ring3", fl.Router(model=model))
        drawn = _core.Destinations.of_pattern(net.core, pattern, 1.0, None, 1)
        found.append([drawn.of(node, 0) for node in range(net.nodes)])
        assert net.name_of_node(6) in {"(2,1)", "S2-1-host0"}
    assert found[0] == found[1]
    # Along x; and no line of twelve.
    assert found[0][3] == {"next": 0, "torn": 5, "hots": 6}[pattern]
