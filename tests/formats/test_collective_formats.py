"""Plans of collective operations in other formats: written, replayed, refused when wrong."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom.collectives.advice import weigh
from flitloom.collectives.algorithms import algorithms
from flitloom.collectives.cycles import hamiltonian_cycles
from flitloom.collectives.family import ring_rounds
from flitloom.collectives.msccl import check_msccl, msccl_text
from flitloom.commands import run
from flitloom.spec.ground import Ground

#: A ring of three written by hand: everybody sends its chunk on, and then what it got.
RING = """<algo name="ring" proto="Simple" nchannels="1" ngpus="3" coll="allgather" inplace="0">{}</algo>"""
GPU = """<gpu id="{0}" i_chunks="1" o_chunks="3" s_chunks="0">
<tb id="0" send="{1}" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{0}" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="s" srcbuf="o" srcoff="{2}" dstbuf="o" dstoff="{2}" cnt="1" depid="1" deps="0" hasdep="0"/>
</tb>
<tb id="1" send="-1" recv="{2}" chan="0">
<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{2}" cnt="1" depid="-1" deps="-1" hasdep="1"/>
<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{1}" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb>
<tb id="2" send="-1" recv="-1" chan="0">
<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{0}" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu>
"""


def ring() -> str:
    return RING.format("".join(GPU.format(gpu, (gpu + 1) % 3, (gpu + 2) % 3) for gpu in range(3)))


@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
@pytest.mark.parametrize(
    ("topology", "chunks"),
    [(fl.Torus(4, 4), 1), (fl.Mesh(2, 3), 2), (fl.Torus(3, 4, failed_links=["0-1"]), 1)],
)
def test_plans_survive_msccl(operation: str, topology: fl.Topology, chunks: int, tmp_path: Path) -> None:
    plan = fl.collectives.plan(topology, operation, chunks=chunks)
    file = tmp_path / "plan.xml"
    file.write_text(msccl_text(plan), encoding="utf-8")
    report = check_msccl(file, Ground(topology))
    assert report["problems"] == []
    assert (report["operation"], report["chunks"], report["bound"]) == (operation, chunks, plan.bound)
    assert plan.bound <= report["steps"] <= plan.steps + 1
    # The same file claims links that a line of nodes does not have.
    line = Ground(fl.Mesh(topology.nodes))
    assert any("there is no link" in text for text in check_msccl(file, line)["problems"])


def test_a_ring_by_hand_is_right_and_every_damage_is_found(tmp_path: Path) -> None:
    file = tmp_path / "ring.xml"

    def check(text: str) -> Any:
        file.write_text(text, encoding="utf-8")
        return check_msccl(file, Ground(fl.Torus(3)))

    report = check(ring())
    assert (report["problems"], report["steps"], report["bound"]) == ([], 2, 1)
    # A chunk in the wrong place, a name that promises more, a receive without a send, a step too early.
    wrong = check(ring().replace('dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="1"', 'dstoff="2" cnt="1" '
                                 'depid="-1" deps="-1" hasdep="1"', 1))  # fmt: skip
    # Where it should have gone is read by the next step; where it goes, its own chunk is copied to.
    assert wrong["problems"] == [
        "gpu 2, threadblock 0, step 1: chunk 1 of buffer o holds nothing yet",
        "gpu 2, threadblock 1, step 0: writes chunk 2 of buffer o of gpu 2, and nothing orders this with "
        "gpu 2, threadblock 2, step 0, which writes it",
    ]
    assert not check(ring().replace("allgather", "allreduce"))["passed"]
    late = re.sub(r'<step s="1" type="s"[^>]*/>', "", ring(), count=1)
    assert any("gpu 1, threadblock 1, step 1: waits forever (r:" in text for text in check(late)["problems"])
    early = ring().replace('depid="1" deps="0"', 'depid="-1" deps="-1"')
    assert any("holds nothing yet" in text for text in check(early)["problems"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<algo", "<graph", "is not XML"),
        ("</algo>", "", "is not XML"),
        (ring(), "", "is not XML"),
        ("allgather", "gossip", "coll: 'gossip' is unknown"),
        ('ngpus="3"', 'ngpus="4"', "3 of 4 gpus"),
        ('type="s"', 'type="q"', "gpu 0, threadblock 0, step 0: type: 'q' is unknown"),
        ('s="1" type="s"', 's="2" type="s"', "gpu 0, threadblock 0, step 1: s:"),
        ('cnt="1"', 'cnt="x"', "gpu 0, threadblock 0, step 0: cnt: 'x'"),
    ],
)
def test_msccl_files_that_cannot_be_read(
    old: str, new: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.xml"
    file.write_text(ring().replace(old, new, 1), encoding="utf-8")
    assert run(["check", str(file), "--torus", "3"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_convert_and_check_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, xml, goal = (str(tmp_path / f"plan.{ending}") for ending in ("json", "xml", "goal"))
    assert run(["collective", "all-gather", "--torus", "4x4", "-o", plan]) == 0
    assert run(["convert", plan, xml]) == 0
    assert run(["convert", plan, goal, "--chunk-bytes", "256"]) == 0
    capsys.readouterr()
    assert run(["check", xml, "--torus", "4x4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["passed"], report["steps"], report["problems"]) == (True, 4, [])
    assert run(["check", xml, "--mesh", "4x4"]) == 1
    capsys.readouterr()
    assert run(["simulate", goal, "--torus", "4x4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    # 240 messages of 256 bytes: 16 flits of 16 bytes and a header.
    assert result["flits_delivered"] == 240 * 17
    assert run(["simulate", goal, "--torus", "2x4"]) == 2
    assert "16 ranks, the network has 8 nodes" in capsys.readouterr().err


@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
def test_msccl_files_become_plans_again(
    operation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, xml, second = (str(tmp_path / name) for name in ("first.json", "plan.xml", "second.json"))
    assert run(["collective", operation, "--mesh", "2x3", "--chunks", "2", "-o", first]) == 0
    assert run(["convert", first, xml]) == 0
    assert run(["convert", xml, second, "--mesh", "2x3"]) == 0
    capsys.readouterr()
    plan, again = fl.collectives.read(first).expanded(), fl.collectives.read(second)
    assert fl.collectives.check(again)["problems"] == []
    # The same chunks over the same links, at the same time or before.
    assert sorted(row[1:] for row in again.moves) == sorted(row[1:] for row in plan.moves)
    assert sorted(row[1:] for row in again.sums) == sorted(row[1:] for row in plan.sums)
    assert again.steps <= plan.steps
    assert run(["convert", xml, second]) == 2
    assert "topology: is missing" in capsys.readouterr().err
    assert run(["convert", xml, second, "--mesh", "6"]) == 2
    assert "there is no link" in capsys.readouterr().err


def test_algorithms_have_the_published_rounds_and_bytes() -> None:
    known = {one.name: (one.rounds, round(one.factor, 3)) for one in algorithms((8, 8))}
    # 2 log2 N rounds; 2(N-1)/N of the vector over D links where no link idles.
    assert known["bucket"] == (28, 0.492)
    assert known["Swing, bandwidth"] == (12, 0.539)
    assert known["Swing, latency"] == (6, 2.5)
    assert known["recursive doubling"] == (6, 5.0)
    assert known["halving/doubling"] == (12, 1.219)
    assert known["multi-ring"] == (126, 0.492)
    assert ring_rounds(8, 2) == (1.0, 7.5)
    for sizes in [(8, 8), (4, 4, 4), (3, 5), (2, 4), (8, 4)]:
        nodes = 1
        for size in sizes:
            nodes *= size
        links = sum(1 if size == 2 else 2 for size in sizes)
        least = 2 * (nodes - 1) / nodes / links
        assert all(one.factor >= least - 1e-9 for one in algorithms(sizes)), sizes


@pytest.mark.parametrize("sizes", [(3, 4), (8, 8), (5, 7), (4, 4, 4), (3, 4, 5), (3, 3, 3, 3), (8, 8, 16)])
def test_rings_use_every_link_once(sizes: tuple[int, ...]) -> None:
    ground = Ground(fl.Torus(*sizes))
    cycles = hamiltonian_cycles(sizes)
    assert len(cycles) == len(sizes)
    used = Counter()
    for cycle in cycles:
        assert sorted(cycle) == list(range(ground.nodes))
        used.update(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        used.update(zip((*cycle[1:], cycle[0]), cycle, strict=True))
    assert used == ground.links
    found = next(one for one in algorithms(sizes) if one.name == "multi-ring")
    # The bandwidth bound, in as many rounds as a ring has.
    least = (ground.nodes - 1) / ground.nodes / len(sizes)
    assert found.rounds == 2 * (ground.nodes - 1)
    assert found.factor == pytest.approx(least)


def test_bine_trees_are_trees() -> None:
    for sizes in [(8,), (8, 8), (4, 4, 4), (2, 8)]:
        found = next(one for one in algorithms(sizes) if one.name == "Bine, tree")
        doublings = sum(size.bit_length() - 1 for size in sizes)
        # Up and down, and no link carries less than the whole vector.
        assert found.rounds == 2 * doublings
        assert min(found.loads) >= 0.5
    # On a ring of 8, partners at 1, 1 and 3 hops: nobody's message meets another's.
    assert next(one for one in algorithms((8,)) if one.name == "Bine, tree").loads == (1.0,) * 6


def test_advice_names_the_crossovers(capsys: pytest.CaptureFixture[str]) -> None:
    advice = weigh(fl.Torus(8, 8), [1024.0, 2.0**18, 2.0**20, 2.0**27], 1e-6, 50e9)
    assert [name for _, name in advice.crossovers()] == [
        "family (sums over all)",
        "family (3,sums)",
        "family (Swing, 4 of 6 halved)",
        "spheres",
    ]
    for row, bound in enumerate(advice.bounds):
        assert min(advice.seconds[row]) >= bound
    assert run(["collective", "advise", "--torus", "4x4", "--size", "1KiB:4KiB", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [row["bytes"] for row in facts["cases"]] == [1024, 2048, 4096]
    assert run(["collective", "advise", "--torus", "4x4x8", "--twist", "--size", "1KiB:1KiB"]) == 0
    assert "an all-to-all is 1.73 times as fast as on the network without a twist" in capsys.readouterr().out
    for wrong in (["--size", "4KiB:1KiB"], ["--size", "x"], ["--alpha", "1"], ["--bandwidth", "50GB"]):
        assert run(["collective", "advise", "--torus", "4x4", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_benchmark_meets_the_bounds_it_should(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from flitloom.benchmarks import collective

    monkeypatch.setattr(collective, "WHOLE", collective.WHOLE[:3])
    monkeypatch.setattr(collective, "FAILED", [("4x4", True, "all-gather", 2)])
    assert run(["bench", "collective", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    # 63 chunks over four links, and 256 hops per node over four links.
    assert [row["steps"] for row in rows[:3]] == [16, 32, 64]
    assert [row["at_bound"] for row in rows] == [1, 1, 1, 5]
