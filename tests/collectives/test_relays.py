"""Switches that only pass on what hosts send: plans in rounds between hosts, and what their links allow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.making import make_rounds
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_plan import read_rounds
from flitloom.commands import run
from flitloom.fabric.networks import direct_network

HOSTS = range(8)
STAR = fl.Graph([f"{host}-8" for host in HOSTS], nodes=9, hosts=[*HOSTS])
#: Eight hosts, each with a link to each of four switches.
PLANES = fl.Graph([f"{host}-{8 + one}" for host in HOSTS for one in range(4)], nodes=12, hosts=[*HOSTS])


def rails(servers: int, size: int) -> fl.Graph:
    """Servers with a switch of their own, and a switch for the first, second, ... hosts of all of them."""
    hosts = servers * size
    cables = [
        f"{host}-{end}"
        for host in range(hosts)
        for end in (hosts + host // size, hosts + servers + host % size)
    ]
    return fl.Graph(cables, nodes=hosts + servers + size, hosts=[*range(hosts)])


@pytest.mark.parametrize(("network", "links"), [(STAR, 1), (PLANES, 4)], ids=["star", "planes"])
@pytest.mark.parametrize(
    ("operation", "vectors"),
    [("all-reduce", 14 / 8), ("all-gather", 7 / 8), ("reduce-scatter", 7 / 8), ("all-to-all", 7 / 8)],
)
def test_large_vectors_fill_the_links_of_hosts(
    network: fl.Graph, links: int, operation: str, vectors: float
) -> None:
    # Of a vector 7 eighths must enter every host; of sums twice as much.
    advice = weigh(network, [2.0**40], 1e-6, 50e9, operation=operation)
    best = advice.algorithms[advice.best(0)]
    assert (advice.members, best.factor) == (8, pytest.approx(vectors / links))
    assert advice.least(best) == pytest.approx(vectors / links)
    # As NCCL's tests count them, hosts exchange what their links can transfer.
    assert advice.bandwidths(0)[1] == pytest.approx(links * 50e9, rel=1e-3)


def test_a_host_sends_as_many_messages_as_it_has_links() -> None:
    rounds = {one.name: one.rounds for one in weigh(PLANES, [1.0], 1e-6, 50e9).algorithms}
    # To seven others over four links in two rounds, and back.
    assert rounds["pairwise (2)"] == 4
    crowded = {one.name: one.crowd for one in weigh(STAR, [1.0], 1e-6, 50e9).crowded}
    assert crowded == {"pairwise (1)": (6, 6)}


@pytest.mark.parametrize("hosts", [8, 16, 32])
def test_chunks_over_a_switch_do_not_wait_for_each_other_there(hosts: int) -> None:
    """In steps: a chunk from every other host over the link to each, and the hop before it."""
    star = fl.Graph([f"{host}-{hosts}" for host in range(hosts)], nodes=hosts + 1, hosts=[*range(hosts)])
    assert fl.collectives.plan(star, "all-to-all").steps == hosts


def test_servers_and_rails_work_at_the_same_time() -> None:
    network = rails(4, 4)
    advice = weigh(network, [2.0**30], 1e-6, 50e9, message=0.0)
    found = {one.name: one for one in advice.algorithms}
    # One half of the vector through the servers first, 3/4 then 3/16 of it; the other through the rails.
    assert found["digits (2)"].factor == pytest.approx(2 * (3 / 4 + 3 / 16) / 2)
    assert advice.least(found["digits (2)"]) == pytest.approx(2 * 15 / 16 / 2)
    assert found["halving/doubling"].factor > 1.5


def test_hosts_that_digits_tell_apart_exchange_straight_away_too() -> None:
    network = direct_network("dragonfly(4,2,2)")
    few = weigh(network, [2.0**12], 1e-6, 50e9, message=0.0)
    best = few.algorithms[few.best(0)]
    assert (best.name, best.rounds) == ("pairwise (1)", 2)
    plan = make_rounds(network, "all-reduce", best.name, 2.0**12, 1e-6, 50e9, message=0.0)
    check_rounds(plan)


def test_many_hosts_are_few_rows() -> None:
    network = rails(8, 8)
    plan = make_rounds(network, "all-reduce", "best", 2.0**20, 1e-6, 50e9)
    # Six exchanges of two parts each, and back; every message is one range of the vector.
    assert (plan.rounds, len(plan.sums), len(plan.moves)) == (12, 768, 768)
    assert check_rounds(plan)["problems"] == []


def _files(tmp_path: Path) -> tuple[Path, Path]:
    network, plan = tmp_path / "star.csv", tmp_path / "plan.json"
    rows = [f"gpu{host},host,switch,switch" for host in HOSTS]
    network.write_text("a,a_type,b,b_type\n" + "\n".join(rows) + "\n")
    return network, plan


def test_a_plan_over_a_switch_goes_through_every_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network, file = _files(tmp_path)
    words = ["--network", str(network), "--algorithm", "best", "--size", "1MiB", "-o", str(file), "--json"]
    assert run(["collective", "all-reduce", *words]) == 0
    said = capsys.readouterr()
    assert "hosts that take part: 8; switches only forward" in said.err
    facts = json.loads(said.out)
    # Each round sends 1/2, 1/4, 1/8 and back: 14/8 of 2^20 bytes at 50 GB/s and six rounds of 1 us.
    assert facts["microseconds"] == pytest.approx(6 + 14 / 8 * 2**20 / 50e3, abs=1e-4)
    assert facts["busbw"] == pytest.approx(facts["algbw"] * 14 / 8)
    for verb in ("check", "recheck", "simulate"):
        assert run([verb, str(file)]) == 0
    assert run(["view", str(file), "-o", str(tmp_path / "page.html")]) == 0
    # Ranks are hosts, also where a graph is simulated.
    goal = tmp_path / "plan.goal"
    assert run(["convert", str(file), str(goal)]) == 0
    assert "num_ranks 8" in goal.read_text()
    assert run(["simulate", str(goal), "--network", str(network)]) == 0


@pytest.mark.parametrize("what", ["a switch takes part", "the bound is too good", "a cut of no member"])
def test_what_is_wrong_is_found_by_both_programs(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    plan = make_rounds(STAR, "all-reduce", "best", 2.0**20, 1e-6, 50e9)
    plan.save(file)
    assert run(["recheck", str(file)]) == 0
    assert read_rounds(file) == plan
    first = plan.sums[0]
    changes = {
        "a switch takes part": {"sums": [[first[0], first[1], 8, *first[3:]], *plan.sums[1:]]},
        "the bound is too good": {"bound": plan.bound * 1.01},
        "a cut of no member": {"cut": [8]},
    }
    plan.model_copy(update=changes[what]).save(file)
    assert run(["check", str(file)]) == 1
    assert run(["recheck", str(file)]) == 1
    said = capsys.readouterr().out
    assert "NOT VALID" in said
    assert "FAILED" in said


def test_sums_in_steps_say_that_switches_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network, _ = _files(tmp_path)
    assert run(["collective", "all-reduce", "--network", str(network)]) == 0
    assert "switches forward, and add what they forward; --algorithm best" in capsys.readouterr().err
