"""Routing rules that are Python functions, compiled to tables."""

import pytest

import flitloom as fl


def dimension_order(*sizes):
    """Dimension order as docs/router.md has it, for a torus."""

    def rule(node, destination):
        for name, size in zip("xyz", sizes, strict=False):
            (node, here), (destination, there) = divmod(node, size), divmod(destination, size)
            ahead = (there - here) % size
            if ahead:
                plus = 2 * here >= size if 2 * ahead == size else 2 * ahead < size
                return f"+{name}" if plus else f"-{name}"
        raise AssertionError("called where a packet has arrived")

    return rule


@pytest.mark.parametrize("sizes", [(6, 4), (5, 4), (4, 3, 4)], ids=str)
def test_dimension_order_as_a_function_is_that_of_the_routers(sizes):
    topology = fl.Torus(*sizes)
    tables = fl.tables.from_rule(topology, dimension_order(*sizes))
    report = fl.tables.check(tables)
    assert (report.passed, tables.method, tables.rules.virtual_channels) == (True, "function", len(sizes) + 1)
    load = fl.Load("rand", rate=0.3, cycles=600)
    given, own = (fl.simulate(fl.Network(topology), load, tables=one) for one in (tables, None))
    assert given.fingerprint == own.fingerprint
    bounds = fl.load.bound({"rule": tables, "routers": fl.Network(topology)}, "rand").bound.values
    assert bounds[0] == pytest.approx(bounds[1])


def test_functions_return_nodes_or_directions_and_go_around_failed_parts(tmp_path):
    ring = fl.Torus(5, failed_links=["0-1"])
    # What is left is a path: 1, 2, 3, 4, 0.
    tables = fl.tables.from_rule(ring, lambda node, to: "+x" if (to - 1) % 5 > (node - 1) % 5 else "-x")
    with pytest.raises(fl.SpecError, match="where no link leads"):
        fl.tables.from_rule(ring, lambda node, to: "+x" if to > node else "-x")
    across = fl.tables.from_rule(fl.Mesh(2, 2), lambda node, to: node ^ 1 if (node ^ to) & 1 else node ^ 2)
    assert (across.path(0, 3), across.path(2, 1)) == ([0, 1, 3], [2, 3, 1])
    tables.to_json(tmp_path / "rule.json")
    assert fl.tables.check(tmp_path / "rule.json").passed
    assert len(tables.path(0, 1)) == 5


@pytest.mark.parametrize(
    ("topology", "rule", "message"),
    [
        (
            fl.Torus(8),
            lambda _node, _to: "+x",
            "wait for each other for ever: (0)+x, (1)+x, (2)+x, (3)+x ...",
        ),
        (fl.Mesh(4, 4), lambda _node, _to: 9, "returns 9 at node 0 for node 1, where no link leads"),
        (fl.Mesh(4), lambda _node, _to: "+y", "from there links lead +x to 1"),
        (
            fl.Mesh(4),
            lambda node, _to: "+x" if node < 3 else "-x",
            "from node 1 to node 0 go around in a circle: [1, 2, 3, 2, 3]",
        ),
        (fl.Torus(4, 8, twist=True), lambda node, _to: node, "twist"),
    ],
    ids=["deadlock", "node", "direction", "circle", "twisted"],
)
def test_wrong_functions_are_refused(topology, rule, message):
    with pytest.raises(fl.SpecError) as refused:
        fl.tables.from_rule(topology, rule, channels=1)
    assert message in str(refused.value)
