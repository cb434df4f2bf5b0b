"""Packets in motion on graphs, twisted tori and tables from files."""

import json

import numpy as np
import pytest

from fabrics import command, discovered, failed
from flitloom.errors import SpecError
from flitloom.fabric import examples, route_subnet
from flitloom.run.tables_in_motion import all_to_all, by_matrix, send_packets


@pytest.mark.parametrize(
    "subnet",
    [
        examples.twisted_torus((2, 2, 4)),
        examples.dragonfly(3, 1),
        examples.hyperx((3, 3)),
        examples.random_regular(16, 4),
        examples.fat_tree(4),
        examples.express_mesh(6, 3),
    ],
)
def test_everything_arrives_over_the_channels_that_the_check_counts(subnet):
    tables = route_subnet(subnet)
    report = send_packets(tables.forwarding(), all_to_all(len(subnet.hosts), 5), buffer=3)
    assert (report.outcome, report.unreachable) == ("delivered", 0)
    assert np.array_equal(report.flits, 5 * tables.report.loads)
    assert report.cycles >= report.bound >= report.flits.max()


def test_a_twisted_torus_is_faster_than_the_plain_one():
    times = {
        name: send_packets(route_subnet(subnet).forwarding(), all_to_all(128)).cycles
        for name, subnet in (
            ("plain", examples.torus((4, 4, 8))),
            ("twisted", examples.twisted_torus((4, 4, 8))),
        )
    }
    # The bounds are 128 and 74 packets of eight flits on the busiest channel, hosts need 127.
    assert 8 * 127 <= times["twisted"] < times["plain"]


def test_tables_in_files_move_packets_as_those_in_memory(tmp_path, capsys):
    file = tmp_path / "cluster.topo"
    file.write_text(discovered(*failed((5, 4), 1, 0, 3), seed=3))
    for mode in ("portable", "sl2vl"):
        out = tmp_path / mode
        assert command(capsys, "route", "--fabric", file, "-o", out, "--mode", mode)[0] == 0
        code, text, _ = command(capsys, "simulate", "--graph", file, "--tables", out, "--json")
        facts = json.loads(text)
        assert (code, facts["outcome"], facts["packets_delivered"]) == (0, "delivered", 20 * 19)
        load = json.loads((out / "report.json").read_text())["max_load"]
        assert facts["max_flits"] == 8 * load


def test_one_lane_on_a_ring_is_called_a_deadlock(tmp_path, capsys):
    file = tmp_path / "ring.csv"
    file.write_text("".join(f"s{n},s{(n + 1) % 5}\n" for n in range(5)))
    assert command(capsys, "route", "--fabric", file, "-o", tmp_path / "out")[0] == 0
    dump = tmp_path / "out" / "opensm-lfts.dump"
    assert command(capsys, "check", "--fabric", file, "--lft", dump)[0] == 1
    asked = ("simulate", "--graph", file, "--length", 40, "--buffer", 2, "--json")
    code, text, _ = command(capsys, *asked, "--tables", dump, "--channels", 1)
    facts = json.loads(text)
    assert (code, facts["outcome"], len(facts["waits"])) == (1, "deadlock", 5)
    code, text, _ = command(capsys, *asked, "--tables", tmp_path / "out")
    assert (code, json.loads(text)["outcome"]) == (0, "delivered")


def test_what_cannot_be_sent_is_named(capsys, tmp_path):
    tables = route_subnet(examples.hyperx((2, 2)))
    with pytest.raises(SpecError, match="hosts 0 to 3"):
        send_packets(tables.forwarding(), all_to_all(5))
    with pytest.raises(SpecError, match="buffer: 0"):
        send_packets(tables.forwarding(), all_to_all(4), buffer=0)
    with pytest.raises(SpecError, match="at least one flit"):
        send_packets(tables.forwarding(), all_to_all(4, 0))
    matrix = np.array([[0, 2, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    assert send_packets(tables.forwarding(), by_matrix(matrix)).delivered == 3
    assert command(capsys, "simulate", "--torus", "4x4x8", "--twist", "--rate", 0.1)[0] == 2
    assert command(capsys, "simulate", "--graph", tmp_path / "none.topo")[0] == 2
    assert command(capsys, "simulate", "--torus", "4x4", "--graph", tmp_path / "none.topo")[0] == 2
