"""Advice for several groups at once: the groups that end last say how long all take."""

import json
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.grouped_advice import weigh_groups
from flitloom.collectives.groups import along_axes
from flitloom.commands import run

SIZES = [2.0**16, 2.0**24]


@pytest.mark.parametrize(
    ("network", "axes", "names"),
    [
        (fl.Torus(5, 3), [0], ["ring5"]),
        (fl.Torus(3, 4), [1], ["ring4"]),
        (fl.Mesh(3, 2), [0, 1], ["line3 x full2"]),
        (fl.Product("full4 x ring3*2"), [1], ["ring3*2"]),
        (fl.Torus(4, 2), [1], ["full2"]),
    ],
)
@pytest.mark.parametrize("operation", ["all-reduce", "all-to-all"])
def test_groups_that_are_alike_take_as_long_as_one(network, axes, names, operation):
    groups = along_axes(network, axes)
    advice = weigh_groups(network, groups, SIZES, 1e-6, 50e9, operation=operation)
    assert [str(one.network) for one in advice.kinds] == names
    (kind,) = advice.kinds
    assert [list(group) for group in kind.groups] == groups
    alone = weigh(fl.Product(names[0]), SIZES, 1e-6, 50e9, operation=operation)
    assert kind.advice.seconds == alone.seconds
    assert [advice.bound(row) for row in range(2)] == list(alone.bounds)


def test_all_groups_end_with_the_one_that_lost_a_cable():
    torus = fl.Torus(6, 3, failed_links=[(6, 7)])
    groups = along_axes(torus, [0])
    advice = weigh_groups(torus, groups, SIZES, 1e-6, 50e9)
    assert [len(one.groups) for one in advice.kinds] == [2, 1]
    for row in range(2):
        slowest = advice.slowest(row)
        assert slowest.groups == (tuple(groups[1]),)
        # What is left of the ring is a line, over whose cables all sums go: a vector in each direction.
        assert advice.bound(row) >= SIZES[row] / 50e9
        taken = [one.advice.seconds[row][one.advice.best(row)] for one in advice.kinds]
        assert advice.facts("")["cases"][row]["seconds"] == taken[1] > taken[0]


def test_groups_of_a_file_are_advised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "groups.txt"
    file.write_text("0-3\n4,5,8,9\n")
    asked = ["collective", "advise", "--torus", "4x4", "--groups", str(file), "--size", "1MiB"]
    assert run([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [kind["groups"] for kind in found["kinds"]] == [[[0, 1, 2, 3]], [[4, 5, 8, 9]]]
    assert [kind["network"] for kind in found["kinds"]] == ["ring4", "a graph of 4 nodes and 4 cables"]
    assert run(asked) == 0
    assert "every group uses the links between its own nodes only" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--groups", "axis:2"], "axes 0 to 1"),
        (["--groups", "axis:0", "--operation", "broadcast"], "broadcast has none"),
        (["--groups", "axis:0", "--picture", "a.png"], "does not go with --picture"),
        (["--groups", "axis:0", "--fail", "link:0-1", "--fail", "link:2-3"], "do not join its nodes"),
    ],
)
def test_groups_that_cannot_be_advised_are_refused(more, said, capsys):
    assert run(["collective", "advise", "--torus", "4x4", *more]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
