"""Plans in rounds over several hops: hop by hop, on routers, on pages, as messages and in other formats."""

from __future__ import annotations

import io
import json
import shlex
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.making import from_messages
from flitloom.collectives.rounds_checking import check_rounds
from flitloom.collectives.rounds_hops import Hops, hop_by_hop, is_direct
from flitloom.collectives.rounds_messages import rounds_operations
from flitloom.collectives.rounds_plan import RoundsPlan, read_rounds, shifted, taken
from flitloom.collectives.rounds_steps import to_steps
from flitloom.collectives.run import beside_model, simulate_hops
from flitloom.commands import run
from flitloom.formats import read_messages
from flitloom.programs import recheck
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.product import network_of
from flitloom.traces.goal import parse_goal
from once import once, shared
from places import ROOT

OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
NETWORKS: list[AnyNetwork] = [
    fl.Torus(2, 8),
    network_of({"network": "dragonfly(3,1)", "failed_nodes": [4]}),
]


def _make(folder: Path) -> str:
    """Write all plans of the networks."""
    for place, network in enumerate(NETWORKS):
        for operation in OPERATIONS:
            advice = weigh(network, [2.0**20], 1e-6, 5e10, operation=operation)
            for number, one in enumerate(advice.algorithms):
                if one.messages is not None:
                    plan = from_messages(advice, one, one.messages(), 2.0**20, 1e-6, 5e10)
                    plan.save(folder / f"{place}-{operation}-{number:03}.json")
    return ""


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[RoundsPlan]:
    """All plans of the networks, which are made once for all processes of a run."""
    folder, _ = once(shared(tmp_path_factory, "hops"), "plans", _make)
    return [read_rounds(file) for file in sorted(folder.iterdir())]


def _messages(plan: RoundsPlan) -> Counter[tuple[int, int, int]]:
    """Round, sender and receiver of all messages, with their lengths."""
    lengths = plan.lengths or [1] * plan.pieces
    found: Counter[tuple[int, int, int]] = Counter()
    for _, row in plan.rows():
        for turn, start, end, first, count in shifted(plan.ground, plan.pieces, row) if plan.alike else [row]:
            found[turn, start, end] += sum(
                lengths[part % plan.pieces] for part in range(first, first + count)
            )
    return found


def test_there_is_every_kind_of_plan(plans: list[RoundsPlan]) -> None:
    assert {plan.operation for plan in plans if not is_direct(plan)} == set(OPERATIONS)
    assert any(plan.partials for plan in plans)
    assert any(plan.lengths for plan in plans)


def test_chunks_go_over_free_links_of_minimal_routes(plans: list[RoundsPlan]) -> None:
    for plan in plans:
        hops, links = hop_by_hop(plan), plan.ground.links
        busy = Counter((one.step, one.start, one.end) for one in hops.transfers)
        assert all(count <= links[a, b] for (_, a, b), count in busy.items()), plan
        for number, one in enumerate(hops.transfers):
            assert all(hops.transfers[need].step < one.step for need in one.needs), plan
            assert all(hops.transfers[need].end == one.start for need in one.needs), plan
            assert one.before < number
        far = {node: plan.ground.distances(node) for node in plan.members}
        wanted = sum(length * far[start][end] for (_, start, end), length in _messages(plan).items())
        assert len(hops.transfers) == hops.unit * wanted
        # No round ends before the busiest link is done.
        begins = [0, *hops.ends[:-1]]
        assert all(
            end - begin >= load for begin, end, load in zip(begins, hops.ends, hops.busiest, strict=True)
        )


def _contributions(plan: RoundsPlan, hops: Hops) -> dict[tuple[int, tuple[int, ...]], int]:
    """Who has contributed to what nodes have at the end, by what every transfer needs alone."""
    bit = {node: 1 << place for place, node in enumerate(plan.members)}
    everybody = sum(bit.values())
    sums = plan.operation in ("all-reduce", "reduce-scatter")
    turns = [turn for turn, end in enumerate(hops.ends) for _ in range(end - ([0, *hops.ends][turn]))]
    worth: list[int] = []
    held: dict[tuple[int, tuple[int, ...]], int] = {}
    for one in hops.transfers:
        needs = [(hops.transfers[need], worth[need]) for need in one.needs]
        passed = [value for other, value in needs if turns[other.step] == turns[one.step]]
        copied = [value for other, value in needs if not other.adds]
        own = bit[one.start] if sums else everybody * (one.block[0] == one.start)
        worth.append((passed or copied or [sum(value for _, value in needs) | own])[0])
        if not (passed or copied):
            assert sum(value.bit_count() for _, value in needs) + own.bit_count() == worth[-1].bit_count()
        held[one.end, one.block] = held.get((one.end, one.block), 0) | worth[-1]
    if sums:
        for node, block in list(held):
            held[node, block] |= bit[node]
    return held


def test_what_transfers_wait_for_is_what_they_bring(plans: list[RoundsPlan]) -> None:
    for plan in plans:
        if plan.partials:
            continue
        hops = hop_by_hop(plan)
        held = _contributions(plan, hops)
        everybody = (1 << len(plan.members)) - 1
        blocks = {one.block for one in hops.transfers}
        for block in blocks:
            if plan.operation == "all-to-all":
                ends = [block[1]]
            elif plan.operation == "reduce-scatter":
                ends = [block[0]]
            else:
                ends = [node for node in plan.members if plan.operation == "all-reduce" or node != block[0]]
            assert all(held[node, block] == everybody for node in ends), (plan, block)


def test_gathers_and_exchanges_over_hops_are_plans_in_steps(plans: list[RoundsPlan]) -> None:
    for plan in plans:
        if plan.operation in ("all-gather", "all-to-all"):
            assert fl.collectives.check(to_steps(plan))["problems"] == [], plan


def test_runs_take_the_time_of_the_model_or_say_why_not(plans: list[RoundsPlan]) -> None:
    same = 0
    for plan in plans:
        hops = hop_by_hop(plan)
        router = fl.Router(model="pipelined") if plan.ground.topology.grid is None else None
        found = simulate_hops(hops, router)
        told = beside_model(hops, found)
        hop = found.step_cycles - found.flits
        model = taken(plan.loads, plan.total, hops.unit * plan.total * found.flits, hop, 1)
        assert told["model_cycles"] == pytest.approx(model, abs=1e-3)
        assert bool(told["differences"]) == (found.cycles != told["model_cycles"])
        same += not told["differences"]
    assert same


def test_messages_go_from_end_to_end(plans: list[RoundsPlan]) -> None:
    for plan in plans:
        ranks = rounds_operations(plan, 10)
        sent: Counter[tuple[int, int, int]] = Counter()
        got: Counter[tuple[int, int, int]] = Counter()
        for rank, operations in enumerate(ranks):
            for number, one in enumerate(operations):
                if one.kind == "send":
                    sent[one.tag, rank, one.peer] += one.size
                else:
                    got[one.tag, one.peer, rank] += one.size
                # Only what came in earlier rounds is waited for.
                assert all(need < number and operations[need].tag < one.tag for need in one.requires)
                assert all(operations[need].kind == "recv" for need in one.requires)
        wanted = {message: 10 * length for message, length in _messages(plan).items()}
        assert sent == got == wanted, plan


def test_pages_runs_and_formats_of_every_plan(
    plans: list[RoundsPlan], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "plan.json", tmp_path / "page.html"
    kinds: defaultdict[str, set[bool]] = defaultdict(set)
    for number, plan in enumerate(plans):
        plan.save(file)
        assert run(["view", str(file), "-o", str(page)]) == 0
        page.unlink()
        for ending in (".goal", ".bin", ".0.et"):
            # Chakra has a file per rank.
            folder = tmp_path / str(number)
            folder.mkdir(exist_ok=True)
            target = folder / f"out{ending.replace('.0', '')}"
            assert run(["convert", str(file), str(target), "--chunk-bytes", "10"]) == 0
            found = read_messages(folder / f"out{ending}")
            ranks = parse_goal(found) if isinstance(found, str) else found
            assert ranks == rounds_operations(plan, 10), (plan, ending)
        capsys.readouterr()
        for ending in (".json", ".xml", ".mscclpp.json"):
            target = tmp_path / f"steps{ending}"
            code = run(["convert", str(file), str(target)])
            in_steps = is_direct(plan) or plan.operation in ("all-gather", "all-to-all")
            assert (code, target.is_file()) == ((0, True) if in_steps else (2, False)), (plan, ending)
            message = capsys.readouterr().err
            if not in_steps:
                assert message.count("\n") == 1
                assert ".goal, .bin or .et" in message
            target.unlink(missing_ok=True)
            kinds[plan.operation].add(in_steps)
    assert kinds["all-reduce"] == kinds["reduce-scatter"] == {True, False}
    capsys.readouterr()
    words = ["collective", "all-reduce", "--torus", "8", "--algorithm", "family (sums)", "--size", "1MiB"]
    assert run([*words, "-o", str(file)]) == 0
    capsys.readouterr()
    assert run(["simulate", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rounds"], facts["model_cycles"], facts["cycles"]) == (2, 478, 477)
    assert run(["simulate", str(file)]) == 0
    said = capsys.readouterr().out
    assert "cycles in the model" in said
    assert "why not" in said
    assert run(["convert", str(file), str(tmp_path / "out.et"), "--as-collective"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_progress_is_told_round_by_round(plans: list[RoundsPlan]) -> None:
    plan = next(plan for plan in plans if plan.operation == "all-gather")
    counts = [(turn, plan.rounds) for turn in range(plan.rounds)]
    for work in (check_rounds, hop_by_hop, lambda plan, told: rounds_operations(plan, 10, told)):
        heard: list[tuple[int, int]] = []
        work(plan, lambda done, total, heard=heard: heard.append((done, total)))
        assert heard == [*counts, (plan.rounds, plan.rounds)]


class Terminal(io.StringIO):
    """A text that is taken for a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_program_tells_a_terminal_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(recheck, "SOON", -1.0)
    monkeypatch.setattr("sys.stderr", terminal)
    # Nothing is known of the time before the first one is done.
    assert list(recheck.told("abc", "rounds", 1)) == ["a", "b", "c"]
    assert [line.partition(",")[0] for line in terminal.getvalue().split("\r") if line.strip()] == [
        "33 % of 3 rounds",
        "66 % of 3 rounds",
    ]
    assert "s left" in terminal.getvalue()


def test_the_page_shows_what_a_run_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "collective-advise.md").read_text(encoding="utf-8")
    _, commands, _, shown = page.partition("## Over several hops")[2].split("```")[:4]
    for line in commands.splitlines()[1:]:
        capsys.readouterr()
        assert run(shlex.split(line)[1:]) == 0
    assert shown.strip() in capsys.readouterr().out
