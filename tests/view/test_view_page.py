"""What pages carry is what the engine and the tables say."""

import html
import json
import re
from urllib.parse import unquote

import h5netcdf
import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.view import Loads, film, page, write_page
from pages import read

SHUFFLE = ("--torus", "8x8", "--pattern", "shfl", "--payload", "14", "--slices", "2", "--interval", "20")
RING = ("--torus", "8", "--pattern", "rand", "--channels", "1", "--rate", "0.9", "--length", "8")
DEADLOCK = ["simulate", *RING, "--cycles", "2000"]


def test_a_page_carries_what_the_probes_record(tmp_path):
    out = tmp_path / "page.html"
    assert run(["simulate", *SHUFFLE, "--html", str(out)]) == 0
    (shown,) = read(out)
    network = fl.Network(fl.Torus(8, 8))
    traffic = fl.Collective("shfl", payload=14, slices=2, interval=20)
    result = fl.simulate(network, traffic, packets=True, link_time=True)
    columns = shown["columns"]
    cells = columns["link_time"].reshape(-1, shown["cycles"]).T
    recorded = result.link_time.to_numpy().reshape(len(result.link_time), -1)
    assert (cells[: len(recorded)] == recorded).all()
    assert not cells[len(recorded) :].any()
    assert shown["facts"]["duration"] == f"{result.duration} cycles"
    assert shown["facts"]["fingerprint"] == result.fingerprint
    assert shown["bound"] == result.lower_bound
    flits = np.bincount(columns["link"], columns["flits"], minlength=cells.shape[1])
    assert (flits == result.links.flits.to_numpy().reshape(-1)).all()
    packets = result.packets.to_dataframe().sort_values(["source", "generated"])
    order = np.lexsort((columns["start"], columns["source"]))
    for mine, theirs in (
        ("destination", "destination"),
        ("arrival", "tail_arrival"),
        ("injected", "injected"),
    ):
        assert (columns[mine][order] == packets[theirs].to_numpy()).all()
    hops = np.bincount(columns["packet"], minlength=len(packets))
    assert (hops[order] == packets["hops"].to_numpy()).all()


def test_the_bottleneck_is_marked_where_the_bound_says(tmp_path):
    out = tmp_path / "page.html"
    network = fl.Network(fl.Torus(16, 16))
    made = film(network, fl.Collective("shfl", payload=28, slices=4, interval=60))
    write_page([made], out)
    (shown,) = read(out)
    link = int(shown["bottleneck_link"])
    node, direction = divmod(link, 4)
    assert made.bound[1] == f"link ({node % 16},{node // 16}){network.directions[direction]}"


@pytest.mark.parametrize(
    ("table", "words", "nodes"),
    [
        ([(2, 9, 5, 0, 0)], "route from (2,0) to (1,1)", [2, 9]),
        ([(3, node, 9, 0, node) for node in (2, 4, 11)], "injection at (3,0)", [3]),
        ([(node, 5, 9, 0, node) for node in (4, 6, 13)], "ejection at (5,0)", [5]),
    ],
)
def test_nodes_that_the_bound_rests_on_are_marked(tmp_path, table, words, nodes):
    out = tmp_path / "page.html"
    made = film(fl.Network(fl.Torus(8, 4)), fl.Packets(table=table))
    write_page([made], out)
    (shown,) = read(out)
    assert (made.bound[1], shown["bottleneck_nodes"]) == (words, nodes)


def test_a_page_needs_nothing_from_elsewhere(tmp_path):
    out = tmp_path / "page.html"
    assert run(["simulate", *SHUFFLE, "--html", str(out)]) == 0
    text = out.read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|<link|\bsrc=|@import|url\(", text)
    assert len(text) < 3_000_000
    # The modules lie in the page, and name each other by the names of its import map.
    (modules,) = re.findall(r'<script type="importmap">(.*?)</script>', text)
    sources = {name: unquote(url.partition(",")[2]) for name, url in json.loads(modules)["imports"].items()}
    for source in sources.values():
        assert set(re.findall(r'from "([^"]+)"', source)) <= set(sources)


def test_text_of_the_user_cannot_become_part_of_the_page(tmp_path):
    out = tmp_path / "page.html"
    title = "</script><b>&amp;"
    network = fl.Network(fl.Torus(4, 4))
    write_page([film(network, fl.Collective("shfl"), title)], out)
    assert read(out)[0]["title"] == title
    text = out.read_text()
    assert "<b>" not in text
    assert f"<title>{html.escape(title)}</title>" in text
    write_page([film(network, fl.Collective("shfl"), "@MODULES@ of @TITLE@")], out)
    shown = out.read_text(encoding="utf-8")
    assert "<title>@MODULES@ of @TITLE@</title>" in shown
    assert '"title":"@MODULES@ of @TITLE@"' in shown


def test_a_page_that_is_too_large_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page, "LARGEST", 50_000)
    out = tmp_path / "page.html"
    assert run(["simulate", *SHUFFLE, "--html", str(out)]) == 2
    assert "show a smaller network, or fewer cycles" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_is_too_long_is_refused():
    with pytest.raises(fl.SpecError, match=r"stop_at: a page of this network holds 65536 cycles"):
        film(fl.Network(fl.Torus(16, 16)), fl.Load("next", rate=0.001, length=2, cycles=70_000))


def test_the_cycle_of_a_deadlock_is_a_ring_of_links(tmp_path, capsys):
    out = tmp_path / "page.html"
    assert run([*DEADLOCK, "--html", str(out)]) == 2
    assert "deadlock at cycle" in capsys.readouterr().err
    (shown,) = read(out)
    # Link n + (+x) of a ring leads from node n to node n + 1.
    assert sorted(shown["deadlock"]["links"]) == [2 * node for node in range(8)]
    assert len(shown["deadlock"]["words"]) >= 8
    columns = shown["columns"]
    assert (columns["arrival"] == -1).sum() > 0
    last = columns["link_time"].reshape(-1, shown["cycles"])[:, -1]
    assert (last[[2 * node for node in range(8)]] == 255).all()


def test_a_stored_result_is_shown_and_must_be_of_this_flitloom(tmp_path, capsys):
    stored, out = tmp_path / "result.nc", tmp_path / "page.html"
    assert run(["simulate", *SHUFFLE, "--out", str(stored)]) == 0
    duration = re.search(r"duration +(\d+ cycles)", capsys.readouterr().out)[1]
    assert run(["view", str(stored), "-o", str(out)]) == 0
    assert read(out)[0]["facts"]["duration"] == duration
    throttled = tmp_path / "throttled.nc"
    assert run(["simulate", *SHUFFLE, "--throttle", "pace:40", "--out", str(throttled)]) == 0
    assert run(["view", str(throttled), "-o", str(out)]) == 0
    with h5netcdf.File(stored, "a") as opened:
        opened.attrs["fingerprint"] = "0" * 16
    assert run(["view", str(stored), "-o", str(out)]) == 2
    assert "another outcome than the version that made it" in capsys.readouterr().err
    stored.write_bytes(b"nothing")
    assert run(["view", str(stored), "-o", str(out)]) == 2
    assert f"{stored}: " in capsys.readouterr().err


def test_plans_are_shown_beside_sending_in_unison(tmp_path, capsys):
    plan, ours, again = (tmp_path / name for name in ("plan.json", "ours.html", "again.html"))
    arguments = ["schedule", "--torus", "8x8", "--pattern", "shfl", "--payload", "14", "--slices", "2"]
    assert run([*arguments, "-o", str(plan), "--html", str(ours), "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    durations = [part["facts"]["duration"] for part in read(ours)]
    assert durations == [f"{fields[name]} cycles" for name in ("unison", "stacked", "duration")]
    assert run(["view", str(plan), "-o", str(again)]) == 0
    assert [part["facts"]["duration"] for part in read(again)] == [durations[0], durations[2]]
    planned = read(again)[1]["columns"]["link_time"]
    assert not (planned == 255).any()


def test_routes_of_tables_are_those_of_the_tables(tmp_path):
    tables = fl.tables.make(fl.Torus(4, 2, 3, failed_nodes=[5]))
    out = tmp_path / "page.html"
    write_page([Loads(tables, tables.bound)], out)
    (shown,) = read(out)
    columns = shown["columns"]
    assert (columns["load"] == tables.loads).all()
    begins = np.concatenate([[0], np.cumsum(columns["hops"])])
    ends = {(link, source): target for link, source, target, _, _ in tables.links()}
    for source, destination, nodes in tables.routes():
        pair = source * 24 + destination
        walked = [source]
        for direction in columns["legs"][begins[pair] : begins[pair + 1]]:
            walked.append(ends[walked[-1] * 6 + int(direction), walked[-1]])
        assert walked == nodes, (source, destination)
    assert begins[-1] == sum(len(nodes) - 1 for _, _, nodes in tables.routes())


def test_a_plan_is_printed_and_kept_where_its_page_is_too_large(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("flitloom.view.page.LARGEST", 1000)
    plan, out = tmp_path / "plan.json", tmp_path / "page.html"
    arguments = ["schedule", "--torus", "4x4", "--pattern", "shfl", "--moves", "500", "--json"]
    assert run([*arguments, "-o", str(plan), "--html", str(out)]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["duration"] == fl.plans.read(plan).duration
    assert "the page would have" in told.err
    assert not out.exists()
