"""Pages of plans of collective operations, placements, twisted tori and fabrics carry what they show."""

import json
import re

import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.commands.inputs import running
from flitloom.fabric import examples
from flitloom.placing.seats import seats_of
from flitloom.spec.ground import Ground
from flitloom.tables.by_destination.checking import check_subnet
from flitloom.view import Cables, Steps, page, wires, write_page
from flitloom.view.wires import wiring
from pages import read

NETWORKS = {
    "torus": fl.Torus(4, 3),
    "mesh": fl.Mesh(3, 2, 2),
    "two": fl.Torus(2, 4),
    "failed": fl.Torus(4, 4, failed_nodes=[5], failed_links=[(0, 1)]),
    "twisted": fl.Torus(4, 4, 8, twist=True),
    "flat twisted": fl.Torus(2, 4, twist=True),
    "product": fl.Product("full4 x ring3*2"),
    "graph": fl.Graph.family("slimfly(5)"),
}


def ends_of(shown, ground):
    """The two nodes of every link of a page."""
    fabric = shown["fabric"]
    if "names" in fabric:
        return list(zip(shown["fabric"]["columns"]["from"], shown["fabric"]["columns"]["to"], strict=True))
    ends = {}
    for node in range(ground.nodes):
        for direction in range(len(fabric["directions"])):
            point = list(ground.point(node))
            point[direction // 2] += -1 if direction % 2 else 1
            ends[node * len(fabric["directions"]) + direction] = (node, ground.number(ground.normal(point)))
    return ends


@pytest.mark.parametrize("name", NETWORKS)
def test_a_page_of_a_plan_carries_its_moves(name, tmp_path):
    plan = fl.collectives.plan(NETWORKS[name], "all-reduce" if name == "torus" else "all-gather")
    file = tmp_path / "page.html"
    write_page([Steps(plan)], file)
    (shown,) = read(file)
    ends = ends_of(shown, plan.ground)
    columns = shown["columns"]
    rows = zip(*(columns[name] for name in ("step", "link", "owner", "chunk", "adds")), strict=True)
    found = sorted(
        [int(step), *map(int, ends[link]), int(owner), int(chunk), int(adds)]
        for step, link, owner, chunk, adds in rows
    )
    moves = plan.expanded()
    assert found == sorted([*([*row, 1] for row in moves.sums), *([*row, 0] for row in moves.moves)])
    # No two chunks on a link in a step.
    assert len({*zip(columns["step"], columns["link"], strict=True)}) == len(found)
    links = sum(plan.ground.links.values())
    assert shown["facts"]["links busy"].endswith(f", {links * plan.steps - len(found)} idle")


def test_all_to_all_names_both_ends(tmp_path):
    file = tmp_path / "page.html"
    plan = fl.collectives.plan(fl.Torus(3, 3), "all-to-all")
    write_page([Steps(plan)], file)
    columns = read(file)[0]["columns"]
    pairs = {*zip(columns["owner"], columns["target"], strict=True)}
    assert len(pairs) == 72


def test_a_placement_is_shown_with_the_loads_that_were_counted(tmp_path):
    for topology in (fl.Torus(4, 4, 2), fl.Torus(4, 4, failed_nodes=[3])):
        traffic = fl.placing.axes_traffic(fl.placing.parse_axes("data=3:ring:8,expert=5:a2a:1"))
        placed = fl.placing.place(topology, traffic)
        shown = seats_of(placed.document())
        assert (shown[0].loads == placed.loads).all()
        if not topology.failed_nodes:
            assert (shown[1].loads == placed.row_major_loads).all()
        write_page(shown, tmp_path / "page.html")
        part = read(tmp_path / "page.html")[0]
        for rank, node in enumerate(placed.nodes):
            assert part["texts"][node] == str(rank)
        assert sum(text == "" for text in part["texts"]) == topology.nodes - 15


@pytest.mark.parametrize("network", ["full4 x ring5", "full5 x line2 x full3"])
def test_a_placement_on_a_product_is_shown_link_by_link(tmp_path, network):
    product = fl.Product(network)
    traffic = fl.placing.pairs_traffic(product.nodes, [(1, 4, 3), (0, product.nodes - 1, 2), (6, 5, 1)])
    placed = fl.placing.place(product, traffic, effort=1)
    file, page = tmp_path / "p.json", tmp_path / "page.html"
    placed.save(file)
    assert run(["view", str(file), "-o", str(page)]) == 0
    part = read(page)[0]
    links = wiring(Ground(product)).links
    wanted = dict.fromkeys(links, 0)
    # From coordinate to coordinate, x first.
    for source, destination, amount in [(1, 4, 3), (0, product.nodes - 1, 2), (6, 5, 1)]:
        here, end = (list(Ground(product).point(int(placed.nodes[rank]))) for rank in (source, destination))
        for dimension, size in enumerate(product.sizes):
            ahead = (end[dimension] - here[dimension]) % size
            half = 2 * ahead < size or (2 * ahead == size and 2 * here[dimension] >= size)
            up = half if product.wraps[dimension] else end[dimension] > here[dimension]
            while here[dimension] != end[dimension]:
                there = list(here)
                there[dimension] += 1 if up else -1
                there[dimension] = end[dimension] if product.full[dimension] else there[dimension] % size
                wanted[Ground(product).number(here), Ground(product).number(there)] += amount
                here = there
    assert sum(wanted.values()) == placed.hop_bytes
    for ends, load in wanted.items():
        (link,) = links[ends]
        assert part["columns"]["load"][link] == load, ends


def test_a_fabric_is_shown_with_the_loads_of_its_tables(tmp_path, capsys):
    subnet = examples.torus((4, 3), cables=1, switches=1)
    assert run(["route", "--torus", "4x4x8", "--twist", "-o", str(tmp_path / "out")]) == 0
    file = tmp_path / "page.html"
    capsys.readouterr()
    assert run(["view", str(tmp_path / "out"), "--torus", "4x4x8", "--twist", "-o", str(file), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["deadlock"] == "none"
    (shown,) = read(file)
    report = check_subnet(examples.twisted_torus((4, 4, 8)), tmp_path / "out" / "opensm-lfts.dump")
    assert sorted(shown["columns"]["load"]) == sorted(report.loads)
    # Every load at its link.
    made, order = Cables(examples.twisted_torus((4, 4, 8)), report).wiring()
    cables = report.loads[order]
    subnet_ = examples.twisted_torus((4, 4, 8))
    for number, cable in enumerate(subnet_.cables):
        (link,) = made.links[cable.a, cable.b]
        assert cables[link] == report.loads[2 * number]
    facts = Cables(subnet).all_facts()
    assert facts["switches"] == 11
    assert facts["missing"].startswith("switch at (")


def test_totals_are_printed_before_a_page_is_refused_and_the_window_that_fits_is_offered(
    tmp_path, monkeypatch, capsys
):
    plan, file = tmp_path / "plan.json", tmp_path / "page.html"
    assert run(["collective", "all-gather", "--torus", "8x8", "-o", str(plan)]) == 0
    shuffle = [
        "--torus",
        "16x16",
        "--pattern",
        "shfl",
        "--payload",
        "14",
        "--slices",
        "2",
        "--interval",
        "58",
    ]
    spec = tmp_path / "shuffle.toml"
    spec.write_text(
        '[topology]\nsizes = "16x16"\n[traffic]\nkind = "collective"\npattern = "shfl"\npayload = 14\n'
        "slices = 2\ninterval = 58\n"
    )
    for name, total in ((plan, "steps "), (spec, "duration ")):
        monkeypatch.undo()
        sizes = []
        for stop in ([], ["--stop-at", "1"]):
            assert run(["view", str(name), "-o", str(file), *stop]) == 0
            sizes.append(file.stat().st_size)
            file.unlink()
        monkeypatch.setattr(page, "LARGEST", sum(sizes) // 2)
        capsys.readouterr()
        assert run(["view", str(name), "-o", str(file)]) == 2
        out, err = capsys.readouterr()
        assert total in out
        assert not file.exists()
        most = int(re.search(r"its beginning fits: --stop-at (\d+)", err)[1])
        assert run(["view", str(name), "-o", str(file), "--stop-at", str(most)]) == 0
        assert read(file)[0]["cycles"] == most
        file.unlink()
        more = most + max(1, most // 10)
        assert run(["view", str(name), "-o", str(file), "--stop-at", str(more)]) == 2
    capsys.readouterr()
    assert run(["simulate", *shuffle, "--html", str(file)]) == 2
    assert "duration " in capsys.readouterr().out


def test_totals_do_not_wait_for_the_page(tmp_path, monkeypatch, capsys):
    printed = []
    monkeypatch.setattr(running, "write_html", lambda *_: printed.append(capsys.readouterr().out))
    where = ["--torus", "4x4", "--pattern", "shfl", "--html", str(tmp_path / "page.html")]
    assert run(["simulate", *where]) == 0
    assert len(printed) == 1
    assert "duration " in printed[0]
    ring = ["--torus", "8", "--pattern", "rand", "--rate", "0.9", "--cycles", "1000", "--channels", "1"]
    assert run(["simulate", *ring, "--html", str(tmp_path / "page.html")]) == 2
    assert printed[1:] == [""]


def test_links_of_twisted_tori_lead_where_the_checks_say():
    ground = Ground(fl.Torus(4, 4, 8, twist=True))
    assert wires.grid_links(ground)[3, 64] == [18]
    film = fl.view.film(fl.Network(fl.Torus(4, 4, 8, twist=True)), fl.Collective("bcmp", payload=4))
    assert film.all_facts()["twist"] == "a step over the edge of x, y also moves 4 along z"
    # Hops of packets follow each other over these links.
    ends = {link: pair for pair, (link,) in wires.grid_links(ground).items()}
    hops = film.raw["hops"]
    order = np.lexsort((hops["head"], hops["packet"]))
    links, packets = hops["link"][order], hops["packet"][order]
    pairs = zip(links, links[1:], packets, packets[1:], strict=False)
    steps = [(ends[a], ends[b]) for a, b, one, other in pairs if one == other]
    assert steps
    assert all(here[1] == there[0] for here, there in steps)
