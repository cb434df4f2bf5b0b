"""Lists of nodes, roots, failed parts and files of hosts have names of the network, in every verb."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.fabric.names import Names, read_hosts

#: Two full meshes and a cable between them; names sort otherwise than they stand.
MESHES = "".join(f"z{a},z{b}\n" for a in range(4) for b in range(a)) + "b0,b1\nb1,b2\nb0,b2\nz0,b0\n"


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """The names of a 4x4 torus, x then y."""
    file = tmp_path / "hosts.txt"
    file.write_text("".join(f"n{x}{y}\n" for y, x in product(range(4), range(4))))
    return file


@pytest.fixture
def meshes(tmp_path: Path) -> Path:
    """The file of two full meshes."""
    file = tmp_path / "meshes.csv"
    file.write_text(MESHES)
    return file


def answer(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    code = run([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("called", "text", "wanted"),
    [
        ((), "0-2,7", [0, 1, 2, 7]),
        ((), "node[0-2,7]", [0, 1, 2, 7]),
        (("n3", "n2", "n1", "n0"), "n[0-1],n3", [3, 2, 0]),
        (("n3", "n2", "n1", "n0"), "1-2", [1, 2]),
        (("3", "2", "1", "0"), "1-2", [2, 1]),
        (("3", "2", "1", "0"), "0", [3]),
        (("a 1", "a 2", "b", "c d"), 'a,"c d"', [0, 1, 3]),
    ],
)
def test_names_are_those_of_the_network(called: tuple[str, ...], text: str, wanted: list[int]) -> None:
    assert Names(len(called) or 8, called).numbers(text) == wanted


@pytest.mark.parametrize(
    ("called", "text", "message"),
    [
        ((), "n[0-3]", r"'n\[0-3\]' is not a list of nodes; nodes have numbers here"),
        ((), "nosuch[0-1]", "nodes have numbers here"),
        ((), "8", "node 8 in 'node.*' is unknown; nodes are 0 to 7|node 8"),
        (("z0", "z1"), "nosuch[0-1]", "no node is called 'nosuch0'"),
        (("z0", "z1"), "z2", r"no node is called 'z2'; did you mean 'z[01]'\?"),
        (("z0", "z1"), "z0,z[0-1]", "node 'z0' is named twice"),
        (("z0", "z1"), " ", "no nodes in the list"),
        (("a b", "c"), "b", 'a name with blanks stands in quotes: "a b"'),
    ],
)
def test_what_is_no_name_is_refused(called: tuple[str, ...], text: str, message: str) -> None:
    with pytest.raises(fl.SpecError, match=message):
        Names(len(called) or 8, called).numbers(text, "--nodes")


def test_hosts_are_as_many_as_nodes_and_different(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("n[00-15]\n")
    assert read_hosts(file, 16)[9] == "n09"
    for text, message in [
        ("n[0-3]", "has 4 host names; the network has 16 nodes"),
        ("a b a", "'a' is named twice"),
    ]:
        file.write_text(text)
        with pytest.raises(fl.SpecError, match=message):
            read_hosts(file, 16)


def test_nodes_of_a_file_of_hosts_in_every_verb(
    capsys: pytest.CaptureFixture[str], hosts: Path, tmp_path: Path
) -> None:
    # n10 to n13 are x = 1: nodes 1, 5, 9, 13.
    torus = ["--torus", "4x4", "--hosts", hosts, "--nodes", "n[10-13]"]
    code, out, _ = answer(capsys, "place", *torus, "--axes", "a=4:ring:1", "--json")
    assert (code, sorted(json.loads(out)["placement"])) == (0, [1, 5, 9, 13])
    plan = tmp_path / "plan.json"
    assert answer(capsys, "collective", "all-gather", *torus, "-o", plan)[0] == 0
    assert json.loads(plan.read_text())["nodes"] == [1, 5, 9, 13]
    code, out, _ = answer(
        capsys, "schedule", *torus, "--operation", "broadcast", "--root", "n13", "--seconds", "1"
    )
    assert code == 0
    tables = tmp_path / "tables.json"
    assert answer(capsys, "route", *torus, "-o", tables)[0] == 0
    routes = json.loads(tables.read_text())["routes"]
    assert {route["source"] for route in routes} == {1, 5, 9, 13}
    for verb in (
        ["place", "--axes", "a=4:ring:1"], ["collective", "all-gather"],
        ["schedule", "--operation", "all-gather", "--seconds", "1"], ["route"],
    ):  # fmt: skip
        code, _, err = answer(capsys, *verb, *torus[:-1], "n[10-14]")
        assert code == 2
        assert "no node is called 'n14'; did you mean 'n1" in err


def test_failed_parts_have_the_names_of_hosts(capsys: pytest.CaptureFixture[str], hosts: Path) -> None:
    torus = ["--torus", "4x4", "--hosts", hosts]
    for verb in (["route"], ["collective", "all-gather"], ["place", "--stencil", "3x4"]):
        named = answer(capsys, *verb, *torus, "--fail", "node:n11", "--fail", "link:n00-n10", "--json")
        numbered = answer(capsys, *verb, *torus[:2], "--fail", "node:5", "--fail", "link:0-1", "--json")
        assert named[0] == numbered[0] == 0
        one, other = json.loads(named[1]), json.loads(numbered[1])
        assert {k: v for k, v in one.items() if k != "seconds"} == {
            k: v for k, v in other.items() if k != "seconds"
        }
        assert answer(capsys, *verb, *torus, "--fail", "node:n44")[0] == 2


def test_a_graph_is_spoken_of_by_the_names_of_its_file(
    capsys: pytest.CaptureFixture[str], meshes: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    graph = ["--graph", meshes]
    assert answer(capsys, "collective", "all-gather", *graph, "--nodes", "z[0-3]", "-o", plan)[0] == 0
    found = json.loads(plan.read_text())
    # In a full mesh of four every node reaches every other one in one step.
    assert (found["steps"], found["nodes"]) == (1, [3, 4, 5, 6])
    code, _, err = answer(capsys, "collective", "all-gather", *graph, "--nodes", "nosuch[0-1]")
    assert (code, "no node is called 'nosuch0'" in err) == (2, True)
    failed = ["--fail", "node:b2", "--fail", "link:z0-z1"]
    assert answer(capsys, "collective", "broadcast", *graph, "--root", "z1", *failed, "-o", plan)[0] == 0
    found = json.loads(plan.read_text())
    assert found["root"] == 4
    for verb in (["collective", "all-gather", "--graph", meshes], ["route", "--fabric", meshes]):
        for part, message in [
            ("node:z9", "z9"),
            ("link:z0-q", "is called 'q'; names are"),
            ("link:z0-b9", "is called 'b9'; did you mean 'b"),
            ("z0", "is not a failed part; write node:z0"),
        ]:
            code, _, err = answer(capsys, *verb, "--fail", part)
            assert (code, message in err) == (2, True), err
