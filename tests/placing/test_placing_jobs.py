"""Jobs that share a network: boxes, certificates that they do not meet, slow-downs, streams."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import flitloom as fl
from flitloom.commands import run
from flitloom.placing import (
    Job,
    axes_traffic,
    boxes_for,
    draw_stream,
    is_closed,
    parse_axes,
    run_stream,
    seat,
)
from flitloom.placing.boxes import nodes_of
from flitloom.placing.jobs import ends_of
from flitloom.placing.running import packet_rows
from flitloom.placing.search import network_of


def exchange(ranks: int, units: int = 64) -> fl.placing.Traffic:
    return axes_traffic(parse_axes(f"all={ranks}:a2a:{units}"))


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8, 16])
def test_intervals_are_closed_as_all_shortest_paths_say(size: int) -> None:
    ring = nx.cycle_graph(size)
    for side in range(1, size + 1):
        inside = set(range(side))
        paths = (path for a in inside for b in inside for path in nx.all_shortest_paths(ring, a, b))
        assert is_closed([side], fl.Torus(size)) == all(set(path) <= inside for path in paths)
        assert is_closed([side], fl.Mesh(size))


def test_boxes_hold_their_job() -> None:
    torus = fl.Torus(4, 8, 6)
    for shape in [(8,), (12,), (4, 6), (6, 4, 2), (3, 3), (1, 1, 1)]:
        boxes = boxes_for(shape, torus)
        assert boxes
        for box in boxes:
            assert np.prod(box) == np.prod(shape)
            assert len(set(nodes_of(77, box, torus))) == np.prod(shape)
            if len(shape) == 1:
                continue
            # A grid of the shape lies in the grid of the box, cable by cable, unless a side is longer.
            if np.prod(shape) <= 12:
                wanted = nx.grid_graph([side for side in shape if side > 1] or [1])
                there = nx.grid_graph(box)
                match = nx.algorithms.isomorphism.GraphMatcher(there, wanted)
                assert match.subgraph_is_monomorphic()
    assert boxes_for((9, 9, 9), torus) == []
    assert boxes_for((2, 2, 2, 2), torus) == []


def test_jobs_in_closed_boxes_run_as_if_alone() -> None:
    jobs = [Job("a", (2, 2, 4), exchange(16)), Job("b", (4, 4), exchange(16)), Job("c", (8,), exchange(8))]
    found = seat(fl.Torus(4, 4, 4), jobs, effort=1)
    assert found.apart
    assert all(one.closed for one in found.jobs)
    users = np.sum([one.loads > 0 for one in found.jobs], axis=0)
    assert users.max() == 1
    assert all(one.alone == one.shared and one.alone for one in found.jobs)
    held = [node for one in found.jobs for node in one.nodes]
    assert len(held) == len(set(held)) == 40


def test_jobs_that_meet_slow_each_other_down_in_any_order() -> None:
    # Every second node of a ring each: they use the same channels.
    jobs = [
        Job("even", (), exchange(8, 512), tuple(range(0, 16, 2))),
        Job("odd", (), exchange(8, 512), tuple(range(1, 16, 2))),
    ]
    found = seat(fl.Torus(16), jobs, effort=1)
    assert not found.apart
    times = {one.job.name: (one.alone, one.shared) for one in found.jobs}
    assert all(shared > alone for alone, shared in times.values() if shared and alone)
    turned = seat(fl.Torus(16), jobs[::-1], effort=1)
    assert {one.job.name: (one.alone, one.shared) for one in turned.jobs} == times
    # A channel that both load is one that the simulator sees both use.
    assert [one.shared_channels for one in found.jobs] == [one.shared_channels for one in turned.jobs[::-1]]
    assert min(one.shared_channels for one in found.jobs) > 0


FILE = """
[[job]]
name = "one"
shape = "4x2"
axes = "a=8:ring:64"
[[job]]
name = "two"
nodes = "8-15"
stencil = "4x2"
"""


def test_a_file_of_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(FILE)
    assert run(["place", "--torus", "4x4", "--jobs", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["apart"] is True
    assert [sorted(job["placement"]) for job in facts["jobs"]] == [list(range(8)), list(range(8, 16))]
    assert run(["place", "--torus", "4x4", "--jobs", str(file)]) == 0
    assert "none slows another one down" in capsys.readouterr().out
    file.write_text(FILE + '[[job]]\nname = "late"\nshape = "2"\naxes = "a=2:ring:1"\n')
    assert run(["place", "--torus", "4x4", "--jobs", str(file)]) == 1
    assert "job late waits" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("8-15", "8-14,20"), "node 20 in"),
        (('shape = "4x2"', 'nodes = "1-8"'), "node 8 belongs to job one, too"),
        (('"two"', '"one"'), "two have the name"),
        (('"4x2"\naxes', '"4x3"\naxes'), "8 ranks for 12 nodes"),
        (('shape = "4x2"\naxes = "a=8', 'shape = "11"\naxes = "a=11'), "does not fit into"),
        (("stencil", "stancil"), "is unknown"),
        (('"8-15"', "8"), "must be a text"),
        (('axes = "a=8:ring:64"\n', ""), "needs one of axes, stencil and traffic"),
        (('shape = "4x2"\n', ""), "one of shape, hosts and nodes"),
        (("[[job]]", "[[jobs]]"), "is a list of tables [[job]]"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_bad_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], told: str
) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(FILE.replace(*change))
    assert run(["place", "--torus", "4x4", "--jobs", str(file)]) == 2
    message = capsys.readouterr().err
    assert told in message
    assert len(message.strip().splitlines()) == 1


def test_policies_of_streams_keep_more_of_a_torus_busy(capsys: pytest.CaptureFixture[str]) -> None:
    torus = fl.Torus(8, 8, 8)
    stream = draw_stream(torus, 400)
    reports = {name: run_stream(torus, stream, name) for name in ("as-asked", "fold", "window", "largest")}
    busy = [report.utilisation for report in reports.values()]
    assert busy == sorted(busy)
    assert busy[-1] >= 0.85
    mixed = draw_stream(torus, 400, "mixed")
    assert run_stream(torus, mixed, "largest").utilisation > max(
        0.8, run_stream(torus, mixed, "window").utilisation
    )
    for report in reports.values():
        # Never more nodes than there are, and nobody starts before it comes.
        changes = []
        for job, start in zip(stream, report.starts, strict=True):
            assert start >= job.arrival
            changes += [(start, np.prod(job.shape)), (start + job.time, -np.prod(job.shape))]
        held = np.cumsum([change for _, change in sorted(changes)])
        assert held.max() <= 512
        assert held[-1] == 0
    # Looking at one job alone keeps the order.
    assert all(a <= b for a, b in pairwise(reports["fold"].starts))
    assert run(["place", "stream", "--torus", "4x4", "--jobs", "50", "--policy", "fold", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["cases"]
    assert [one["policy"] for one in facts] == ["fold"]
    assert run(["place", "stream", "--torus", "4x4", "--policy", "best"]) == 2
    assert run(["place", "stream", "--torus", "4x4", "--mix", "x"]) == 2
    assert run(["place", "stream", "--jobs", "3"]) == 2


#: Jobs on hosts of switches.
ON_HOSTS = """
[[job]]
name = "training"
hosts = 16
axes = "expert=4:a2a:64,data=4:ring:512"

[[job]]
name = "given"
nodes = "16-17,19"
axes = "all=3:ring:64"

[[job]]
name = "small"
hosts = 2
axes = "all=2:ring:64"
"""


@pytest.mark.parametrize("network", ["dragonfly(4,2,2)", "fattree(6)", "full4 x full8"])
def test_jobs_on_hosts_of_switches(tmp_path: Path, capsys: pytest.CaptureFixture[str], network: str) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(ON_HOSTS)
    assert run(["place", "--network", network, "--jobs", str(file), "--effort", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    jobs = {one["name"]: one for one in told["jobs"]}
    held = [host for one in told["jobs"] for host in one["placement"]]
    assert len(held) == len(set(held)) == 21
    assert sorted(jobs["given"]["placement"]) == [16, 17, 19]
    if "(" in network:
        topology = network_of(network)
        at = [host.switch for host in topology.subnet.hosts]
        ends = {at[host] for host in jobs["small"]["placement"]}
        assert jobs["small"]["closed"] == (len(ends) == 1)
        # Two hosts of a switch are free, so no cable is needed.
        assert (jobs["small"]["closed"], jobs["small"]["busiest_channel"]) == (True, 0)
    for one in told["jobs"]:
        assert one["shared"] == one["alone"] if told["apart"] else one["shared"] >= one["alone"]
    assert told["apart"] == all(one["shared_channels"] == 0 for one in told["jobs"])


def test_jobs_of_switches_that_share_no_channel_run_as_if_alone() -> None:
    dragonfly = network_of("dragonfly(4,2,2)")
    jobs = [Job("a", (), exchange(8), hosts=8), Job("b", (), exchange(8), hosts=8)]
    found = seat(dragonfly, jobs, effort=1)
    assert found.apart
    rows = np.concatenate([packet_rows(one.job.traffic, one.nodes) for one in found.jobs])
    packets = fl.Packets([tuple(row) for row in rows.tolist()])
    together = fl.simulate(fl.Network(dragonfly, fl.Router(model="pipelined")), packets)
    assert together.duration == max(one.alone for one in found.jobs)
    # Every second host of two groups each: they use the same cables.
    first, second = tuple(range(0, 16, 2)), tuple(range(1, 16, 2))
    meet = seat(dragonfly, [Job("a", (), exchange(8), first), Job("b", (), exchange(8), second)], effort=1)
    assert not meet.apart
    assert all(one.alone < one.shared and one.shared_channels for one in meet.jobs)
    # The last job ends with the run of both; of one alone that is all there is.
    network = fl.Network(dragonfly, fl.Router(model="pipelined"))
    rows = {one.job.name: packet_rows(one.job.traffic, one.nodes).tolist() for one in meet.jobs}
    both = fl.simulate(network, fl.Packets([tuple(row) for each in rows.values() for row in each]))
    assert both.duration == max(one.shared for one in meet.jobs)
    assert [ends_of(network, {name: each})[name] for name, each in rows.items()] == [
        one.alone for one in meet.jobs
    ]
    turned = seat(dragonfly, [one.job for one in meet.jobs[::-1]], effort=1)
    assert {one.job.name: one.shared for one in turned.jobs} == {
        one.job.name: one.shared for one in meet.jobs
    }


def test_every_job_ends_when_its_last_packet_arrives() -> None:
    # Runs up to a cycle: a job of which less than all has arrived has not ended, and one with all has.
    network = fl.Network(network_of("fattree(4)"), fl.Router(model="pipelined"))
    rows = {
        "short": [[0, 9, 17, 0]],
        "long": [[source, 8, 17, 0] for source in (1, 2, 5) for _ in range(15)],
        "late": [[6, 10, 17, 900]],
    }
    ends = ends_of(network, rows)
    assert ends["short"] < 300 < ends["long"] < 900 < ends["late"]
    packets = fl.Packets([tuple(row) for each in rows.values() for row in each])
    run_of_all = fl.Simulation(network, packets, windows=10_000)
    sources, arrived = np.array([row[0] for each in rows.values() for row in each]), {}
    wanted = np.bincount(sources, minlength=16)
    while not run_of_all.finished:
        run_of_all.step()
        counts = run_of_all.windows()["delivered_by_source"].values
        for name, each in rows.items():
            mine = list({row[0] for row in each})
            if (counts[mine] == wanted[mine]).all():
                arrived.setdefault(name, run_of_all.now)
    shift = {name: ends[name] - arrived[name] for name in rows}
    assert len(set(shift.values())) == 1
    assert ends["late"] == run_of_all.totals.duration


@pytest.mark.parametrize(
    ("where", "job", "told"),
    [
        (["--network", "fattree(4)"], 'shape = "2x2"', "write how many hosts: hosts = 4"),
        (["--network", "fattree(4)"], "hosts = 0", "a job wants 1 or more"),
        (["--network", "fattree(4)"], "hosts = true", "it must be a whole number"),
        (["--network", "fattree(4)"], 'hosts = 4\nnodes = "0-3"', "one of shape, hosts and nodes"),
        (["--network", "fattree(4)"], 'nodes = "nobody,none,nil,no"', "no host is called 'nobody'"),
        (["--network", "fattree(4)", "--fit", "contact"], "hosts = 4", "contact is about boxes"),
        (["--torus", "4x4"], "hosts = 4", "wants hosts of switches"),
        (["--torus", "4x4"], 'nodes = "0-2"', "has traffic of 4 ranks for 3 nodes"),
    ],
)
def test_bad_jobs_of_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: list[str], job: str, told: str
) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(f'[[job]]\nname = "a"\naxes = "all=4:ring:64"\n{job}\n')
    assert run(["place", *where, "--jobs", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert told in err


def test_a_job_waits_for_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jobs.toml"
    file.write_text(ON_HOSTS.replace("hosts = 2", "hosts = 14").replace("all=2:ring", "all=14:ring"))
    words = ["place", "--network", "dragonfly(3,1,2)", "--jobs", str(file), "--effort", "1"]
    assert run(words) == 1
    assert "job small waits: too few hosts are free" in capsys.readouterr().out
