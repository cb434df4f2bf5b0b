"""Dragonflies of which switches and cables are missing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import flitloom as fl
from fabrics import command
from flitloom.errors import SpecError
from flitloom.fabric import Subnet, parse_fabric, recognise, route_subnet
from flitloom.fabric.failures import fail_parts


def damaged(name: str, switches: int, cables: int, seed: int) -> tuple[Subnet, set[frozenset[str]]]:
    """A dragonfly less some parts that are drawn, and the ends of its missing cables."""
    draw = random.Random(seed)
    whole = fl.tables.fabric(name)
    gone = [f"node:{switch.name}" for switch in draw.sample(whole.switches, switches)]
    left = fail_parts(whole, gone) if gone else whole
    lost = draw.sample(left.cables, cables)
    ends = {frozenset((left.switches[cable.a].name, left.switches[cable.b].name)) for cable in lost}
    parts = [f"cable:{left.port_name(cable.a, cable.a_port)}" for cable in lost]
    return (fail_parts(left, parts) if parts else left), ends


@pytest.mark.parametrize("name", ["dragonfly(4,2)", "dragonfly(6,3)"])
@pytest.mark.parametrize(("switches", "cables"), [(0, 1), (0, 3), (1, 0), (1, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_missing_is_named(name: str, switches: int, cables: int, seed: int) -> None:
    whole = recognise(fl.tables.fabric(name))
    assert (whole.kind, whole.damaged, whole.missing()) == ("dragonfly", None, (0, 0))
    subnet, lost = damaged(name, switches, cables, seed)
    found = recognise(subnet)
    assert (found.kind, found.missing(), len(found.sizes)) == (
        "dragonfly", (switches, cables), len(whole.sizes),
    )  # fmt: skip
    # Switches are called g0s1: those of a group are together.
    group = {switch.name: found.groups[n] for n, switch in enumerate(subnet.switches)}
    assert len({(name.partition("s")[0], number) for name, number in group.items()}) == len(found.sizes)
    named = {frozenset((subnet.switches[a].name, subnet.switches[b].name)) for a, b in found.missing_cables}
    assert named <= lost
    assert found.damaged is not None
    assert len(named) + len(found.damaged.between) + found.damaged.others == cables
    between = {frozenset((found.group(a), found.group(b))) for a, b in found.damaged.between}
    of_lost = {frozenset(found.group(group[end]) for end in pair) for pair in lost - named}
    assert between <= of_lost


def test_other_networks_are_none() -> None:
    for name in ("slimfly(5)", "circulant(24;1,5,7)", "random(24,4)"):
        assert recognise(fl.tables.fabric(name)).kind != "dragonfly", name
    # Half of the cables between groups are not there: nobody can be sure.
    whole = fl.tables.fabric("dragonfly(4,2)")
    few = [cable for n, cable in enumerate(whole.cables) if n % 2 or recognise(whole).groups[cable.a] == 0]
    names = [switch.name for switch in whole.switches]
    text = "".join(f"{names[cable.a]},{names[cable.b]}\n" for cable in few)
    assert recognise(parse_fabric(text, hosts=())).kind == "graph"


def test_commands_name_the_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subnet, lost = damaged("dragonfly(4,2)", 0, 1, 1)
    file = tmp_path / "dragonfly.csv"
    names = [switch.name for switch in subnet.switches]
    cables = [f"{names[c.a]},{c.a_port},{names[c.b]},{c.b_port}" for c in subnet.cables]
    file.write_text("\n".join(cables) + "\n")
    code, said, _ = command(capsys, "fabric", "show", file, "--picture", tmp_path / "f.png")
    assert code == 0
    assert said.splitlines()[0] == "a dragonfly of 9 groups of 4 switches and 89 cables, one cable missing"
    a, b = sorted(next(iter(lost)))
    assert f"missing cable: {a} - {b}\n" in said or f"missing cable: {b} - {a}\n" in said
    code, _, err = command(capsys, "route", "--fabric", file, "--method", "dragonfly")
    assert (code, "dragonfly is for whole fabrics of kind dragonfly" in err) == (2, True)
    with pytest.raises(SpecError, match="one cable missing"):
        route_subnet(subnet, method="dragonfly")
    assert route_subnet(subnet).method == "balanced"
