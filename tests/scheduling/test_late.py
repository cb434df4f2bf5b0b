"""Late nodes, operations of some nodes, certificates, interrupted searches."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import flitloom as fl
from flitloom import _core
from flitloom.commands import run
from flitloom.jobs import Store
from flitloom.plans.plan import Plan
from flitloom.plans.values import PlannedPacket
from flitloom.scheduling import cp_sat
from flitloom.scheduling.checking import deadlock_certificate
from flitloom.scheduling.guards import mean_duration
from flitloom.scheduling.jitter_table import jitter_table
from places import ROOT


@pytest.fixture(scope="module")
def network() -> fl.Network:
    return fl.Network(fl.Torus(8, 8))


def square(start: int = 0) -> Plan:
    """Four long packets that turn around one square of a mesh, one after the other."""
    ways = [(0, 5, "+x1 +y1"), (1, 4, "+y1 -x1"), (5, 0, "-x1 -y1"), (4, 1, "-y1 +x1")]
    packets = [
        PlannedPacket(source=source, destination=to, start=start + 30 * number, length=20, route=route)
        for number, (source, to, route) in enumerate(ways)
    ]
    return Plan(
        duration=start + 113, bound=23, optimal=False, topology=fl.Mesh(4, 4).model_dump(mode="json"),
        traffic="a square", method="by hand", routes="any-order", packets=packets,
    )  # fmt: skip


def test_rerunning_the_spec_keeps_the_routes(network: fl.Network) -> None:
    plan = fl.plans.search(
        network, fl.Collective("shfl", payload=14, slices=2), routes="minimal", moves=100_000
    )
    result = fl.simulate(network, plan)
    again = fl.run_experiment(result.spec)
    assert (again.duration, again.fingerprint) == (result.duration, result.fingerprint)
    assert result.duration == plan.duration
    # The same packets in dimension order need more: the routes matter.
    bare = fl.Packets(result.spec.traffic.table)
    assert fl.simulate(network, bare).duration > plan.duration
    # Records are taken in a second run of the spec.
    assert int(result.links.flits.sum()) == result.flit_hops
    assert result.link_time.sizes["cycle"] >= plan.duration - 2
    separated = fl.simulate(fl.Network(fl.Torus(8, 8), fl.Router(channels=6)), plan.separated())
    assert max(separated.spec.traffic.channels) == 3
    assert fl.run_experiment(separated.spec).fingerprint == result.fingerprint


def test_routes_in_specs_are_checked() -> None:
    table = [(0, 5, 8, 0), (1, 4, 8, 3)]
    net = fl.Network(fl.Mesh(4, 4))
    assert fl.simulate(net, fl.Packets(table, routes=["+y1 +x1", "+y1 -x1"])).packets_delivered == 2
    for fields, message in [
        ({"routes": ["+x1 +y1"]}, "routes has 1 entry"),
        ({"routes": ["+x1 +y1", "+x1"]}, "not at its destination 4"),
        ({"routes": ["+x1 +y1", "-y1 -x1 +y2"]}, "hop 0 does not lead on"),
        ({"routes": ["+x1 +y1", "up"]}, r"traffic.routes\[1\]: route: 'up' is not understood"),
        ({"channels": [0, 0]}, "channels need routes"),
        ({"routes": ["+x1 +y1", "+y1 -x1"], "channels": [0, 7]}, "virtual channel 7 is asked for"),
    ]:
        with pytest.raises(fl.SpecError, match=message):
            fl.simulate(net, fl.Packets(table, **fields))
    with pytest.raises(fl.SpecError, match="listed by their starts"):
        fl.Packets([(0, 5, 8, 9), (0, 5, 8, 3)], routes=["+x1 +y1", "+x1 +y1"])


def test_late_nodes_deadlock_unless_channels_are_separated(tmp_path: Path) -> None:
    plan = square()
    report = fl.plans.check(plan)
    assert report["passed"], report["problems"]
    assert len(report["cycle"]) == 4
    unison = fl.plans.study_jitter(plan.network(), plan, jitter=0, trials=1)
    assert unison.plan == [plan.duration]
    assert unison.unison == [-1]
    assert unison.summary()["unison_mean"] is None
    file = tmp_path / "plan.json"
    plan.save(file)
    assert run(["simulate", "--plan", str(file), "--jitter", "0", "--trials", "1", "--json"]) == 0
    with pytest.raises(fl.SpecError, match="late nodes can cause a deadlock"):
        deadlock_certificate(plan)
    separated = plan.separated()
    assert fl.plans.check(separated)["cycle"] == []
    assert fl.plans.study_jitter(plan.network(), separated, jitter=0, trials=1).unison[0] > 0
    # Separated channels that are not are a problem.
    broken = separated.model_copy(update={"packets": plan.packets})
    assert "wait in a circle" in fl.plans.check(broken)["problems"][0]
    # Nor are they run.
    with pytest.raises(fl.SpecError, match="make them for this router"):
        fl.plans.study_jitter(plan.network(), broken, jitter=0, trials=1)
    assert run(["check", str(file), "--certificate", str(tmp_path / "none.json")]) == 2
    assert not (tmp_path / "none.json").exists()


@pytest.mark.parametrize("routes", ["any-order", "minimal"])
def test_certificates_hold_for_the_independent_script(tmp_path: Path, routes: str) -> None:
    file, certificate = tmp_path / "plan.json", tmp_path / "certificate.json"
    command = ["schedule", "--torus", "6x5", "--pattern", "rpar", "--routes", routes, "--moves", "5000"]
    assert run([*command, "--separate", "-o", str(file)]) == 0
    assert run(["check", str(file), "--certificate", str(certificate)]) == 0
    recheck = [sys.executable, str(ROOT / "tools" / "recheck.py"), str(file), str(certificate)]
    assert subprocess.run(recheck, capture_output=True, text=True, check=False).returncode == 0
    fields = json.loads(certificate.read_text(encoding="utf-8"))
    fields["channels"] = [[*row[:3], 7] for row in fields["channels"]]
    certificate.write_text(json.dumps(fields), encoding="utf-8")
    done = subprocess.run(recheck, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "rank does not rise" in done.stdout


def test_channels_are_separated_for_the_router_that_runs_them() -> None:
    plan = fl.plans.search(fl.Network(fl.Torus(5, 4)), fl.Collective("rpar"), routes="minimal", moves=2000)
    for datelines in ("both", "wrap", "passing", "checkerboard"):
        network = fl.Network(fl.Torus(5, 4), fl.Router(datelines=datelines))
        study = fl.plans.study_jitter(network, plan, jitter=4, trials=3, separate=True)
        assert min(study.plan) >= plan.duration
        assert -1 not in study.unison


def test_spreading_keeps_the_duration_and_widens_gaps(network: fl.Network) -> None:
    collective = fl.Collective("brev", payload=14, slices=2)
    plan = fl.plans.search(network, collective)
    wide = fl.plans.spread(plan, jitter=8)
    assert wide.duration == plan.duration
    assert wide == fl.plans.spread(plan, jitter=8)
    report = fl.plans.check(wide)
    assert report["passed"], report["problems"]

    def gaps(plan: Plan) -> list[int]:
        held: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for packet, hops in zip(plan.packets, plan.directions().each(), strict=True):
            node, stride = packet.source, (1, 8)
            for number, hop in enumerate(hops):
                held.setdefault((node, hop), []).append((packet.start + number, packet.length))
                place = node // stride[hop // 2] % 8
                node += ((place + (1 if hop % 2 == 0 else -1)) % 8 - place) * stride[hop // 2]
        pairs = (
            pair for users in held.values() for pair in zip(sorted(users), sorted(users)[1:], strict=False)
        )
        return [after - before - length for (before, length), (after, _) in pairs]

    def tight(found: list[int]) -> int:
        return sum(gap < 4 for gap in found)

    assert min(gaps(wide)) >= 0
    assert tight(gaps(wide)) < tight(gaps(plan))
    with pytest.raises(fl.SpecError, match="wait for each other"):
        fl.plans.spread(fl.plans.search(network, fl.Operation("all-gather")), jitter=4)


def test_the_best_guard_is_the_best_of_those_tried(network: fl.Network) -> None:
    tried = fl.plans.guarded(
        network, fl.Collective("brev"), 8, guards=(1, 2), extras=(0, 2), trials=6, moves=20_000
    )
    assert len(tried) == 9
    means = [candidate.mean for candidate in tried]
    assert means == sorted(means)
    for candidate in tried:
        assert candidate.mean == mean_duration(network, candidate.plan, 8, 6, (1, 1), candidate.lead)
        assert fl.plans.check(candidate.plan)["passed"]


def test_ctrl_c_keeps_the_guards_tried(network: fl.Network) -> None:
    def press(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    tried = fl.plans.guarded(network, fl.Collective("shfl"), 8, trials=2, moves=2000, progress=press)
    assert len(tried) == 2
    assert tried[0].mean <= tried[1].mean
    assert [candidate.plan.reproducible for candidate in tried] == [False, True]


def test_guard_auto_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["schedule", "--torus", "4x4", "--pattern", "shfl", "--routes", "any-order", "--moves", "2000"]
    file = str(tmp_path / "plan.json")
    assert run([*command, "--guard", "auto", "--jitter", "6", "--separate", "--json", "-o", file]) == 0
    fields = json.loads(capsys.readouterr().out)
    plan = fl.plans.read(file)
    assert (fields["guard"], fields["spread"], fields["channels"]) == (plan.guard, plan.spread, plan.channels)
    assert fields["late"] == mean_duration(plan.network(), plan, 6, 20, (1, 1), fields["lead"])
    assert run([*command, "--guard", "auto"]) == 2
    assert run([*command, "--jitter", "3"]) == 2
    assert run([*command, "--guard", "some"]) == 2


def test_jitter_table(network: fl.Network) -> None:
    collectives = [fl.Collective(name, payload=14, slices=2) for name in ("shfl", "trns")]
    table = jitter_table(network, collectives, (0, 6), guards=(1,), extras=(0,), trials=3, moves=20_000)
    on_time = {name: means[0] for name, means in table.means.items()}
    assert on_time["unison"] == np.mean([fl.simulate(network, each).duration for each in collectives])
    assert on_time["stacked"] == np.mean([fl.stack(network, each).duration for each in collectives])
    exact = [fl.plans.search(network, each, moves=20_000).duration for each in collectives]
    assert {on_time[name] for name in ("exact", "best guard", "spread", "auto")} == {np.mean(exact)}
    late = {name: means[1] for name, means in table.means.items()}
    assert late["exact"] >= on_time["exact"]
    assert run(["jitter", "--torus", "4x4", "--patterns", "shfl", "--jitter", "0,x"]) == 2
    assert run(["jitter", "--torus", "4x4", "--patterns", "shfl", "--jitter", "2", "--trials", "2"]) == 0


def mixed(value: int) -> int:
    """SplitMix64's finaliser after one step of its counter."""
    mask = (1 << 64) - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def drawn_delay(seed: int, node: int, index: int, most: int) -> int:
    """The core's counter-based draw (purpose 12: by how much a node is late), written anew."""
    key = mixed(seed ^ mixed((node << 8) | 12))
    return mixed((key + index * 0x9E3779B97F4A7C15) % (1 << 64)) * (most + 1) >> 64


def test_delays_are_the_draws_of_the_core(network: fl.Network) -> None:
    for seed, index, most in [(1, 0, 6), (7, 3, 0), (2**64 - 1, (1 << 32) + 5, 1 << 20)]:
        expected = [drawn_delay(seed, node, index, most) for node in range(64)]
        assert _core.delays(64, most, seed, index).tolist() == expected
    plan = fl.plans.search(network, fl.Collective("brev"))
    durations = []
    for trial in range(3):
        late = plan.table.copy()
        late[:, 3] += [drawn_delay(9, node, trial, 6) for node in late[:, 0].tolist()]
        durations.append(fl.simulate(network, fl.Packets([tuple(row) for row in late.tolist()])).duration)
    assert fl.plans.study_jitter(network, plan, 6, 3, seed=9).plan == durations
    # NumPy may change its generators' distributions; nothing in the package draws from them.
    for file in (ROOT / "python" / "flitloom").rglob("*.py"):
        assert not re.search(r"(np|numpy)\.random|default_rng", file.read_text()), file


def test_a_lead_is_a_delay_the_other_way(network: fl.Network) -> None:
    plan = fl.plans.search(network, fl.Collective("brev"))
    by_hand = plan.table.copy()
    by_hand[:, 3] = [max(start - 5, 0) for start in by_hand[:, 3]]
    early = [
        packet.model_copy(update={"start": int(row[3])})
        for packet, row in zip(plan.packets, by_hand, strict=True)
    ]
    moved = plan.model_copy(update={"packets": early})
    expected = fl.simulate(network, fl.Packets([tuple(row) for row in by_hand.tolist()])).duration
    assert fl.plans.study_jitter(network, plan, 0, 1, lead=5).plan == [expected]
    assert (
        fl.plans.study_jitter(network, plan, 9, 4, lead=5).plan
        == fl.plans.study_jitter(network, moved, 9, 4).plan
    )
    with pytest.raises(fl.SpecError, match="lead: -1"):
        fl.plans.study_jitter(network, plan, 4, lead=-1)
    for seed in (-1, 2**64):
        with pytest.raises(fl.SpecError, match=f"^seed: {seed} is out of range"):
            fl.plans.study_jitter(network, plan, 4, seed=seed)
        with pytest.raises(fl.SpecError, match=f"^seed: {seed} is out of range"):
            fl.plans.spread(plan, 4, seed=seed)


def test_ctrl_c_in_cp_sat_keeps_the_schedule(network: fl.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fl.plans.search(network, fl.Operation("all-to-all", nodes=range(9)), moves=1)
    assert not plain.optimal

    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cp_sat, "decide", press)
    kept = fl.plans.search(network, fl.Operation("all-to-all", nodes=range(9)), moves=1, cp_sat_seconds=9)
    assert kept.packets == plain.packets
    assert not kept.reproducible


@pytest.mark.parametrize("name", ["all-to-all", "all-gather", "reduce-scatter", "all-reduce", "broadcast"])
@pytest.mark.parametrize("nodes", [(0, 1, 2, 8, 9, 10), (0, 1, 2, 3, 12, 20, 33)])
def test_operations_of_some_nodes(network: fl.Network, name: str, nodes: tuple[int, ...]) -> None:
    operation = fl.Operation(name, payload=3, nodes=nodes)
    by_phase = fl.plans.search(network, operation, moves=20_000)
    as_one = fl.plans.search(network, operation, as_one=True, moves=20_000)
    assert by_phase.duration >= as_one.duration >= as_one.bound >= as_one.algorithm_bound
    for plan in (by_phase, as_one):
        report = fl.plans.check(plan)
        assert report["passed"], report["problems"]
        assert fl.simulate(network, plan).duration == plan.duration
        assert {end for packet in plan.packets for end in (packet.source, packet.destination)} == set(nodes)


def test_a_broken_order_is_found(network: fl.Network) -> None:
    plan = fl.plans.search(network, fl.Operation("broadcast", payload=3), as_one=True)
    last = plan.packets[-1]
    early = [*plan.packets[:-1], last.model_copy(update={"start": 0})]
    problems = fl.plans.check(plan.model_copy(update={"packets": early}))["problems"]
    assert any("before what its node needs" in problem for problem in problems)
    other = plan.model_copy(update={"operation": {**plan.operation, "name": "all-gather"}})
    assert "not the messages of all-gather" in fl.plans.check(other)["problems"][0]


def test_operations_refuse_what_cannot_be(network: fl.Network) -> None:
    for fields, message in [
        ({"nodes": (1, 64)}, "node 64 does not exist"),
        ({"nodes": (1,)}, "at least two"),
        ({"nodes": (1, 1)}, "named twice"),
        ({"nodes": (1, 2), "root": 3}, "does not take part"),
        ({"payload": 0}, "out of range"),
    ]:
        with pytest.raises(fl.SpecError, match=message):
            fl.plans.search(network, fl.Operation("broadcast", **fields))
    assert run(["schedule", "--torus", "4x4", "--pattern", "trns", "--nodes", "0-3"]) == 2
    assert run(["schedule", "--torus", "4x4", "--operation", "all-gather", "--nodes", "0-3,9"]) == 0


def test_mismatched_plans_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "plan.json")
    assert run(["schedule", "--torus", "4x4", "--pattern", "shfl", "-o", file]) == 0
    simulate = ["simulate", "--plan", file]
    assert run([*simulate, "--torus", "4x4", "--pattern", "shfl"]) == 0
    for options, message in [
        (["--torus", "4x2"], "the plan is for 4x4 torus, the network is 4x2 torus"),
        (["--pattern", "trns"], "the plan is for shfl"),
        (["--pattern", "shfl", "--payload", "9"], "the plan is for shfl, payload 7"),
        (["--fail", "node:5", "--torus", "4x4"], "does not exist or has failed"),
        (["--pattern", "rand", "--rate", "0.1", "--cycles", "9"], "a random load has no plan"),
    ]:
        assert run([*simulate, *options]) == 2, options
        assert message in capsys.readouterr().err
    assert run(["check", file, "--torus", "8x8"]) == 2
    text = Path(file).read_text(encoding="utf-8")
    for damaged, message in [
        (text.replace("flitloom plan 2", "flitloom plan 9"), "not a plan that this version reads"),
        (text[: len(text) // 2], "is not JSON"),
        (text.replace('"source": 1,', '"source": -1,'), "source"),
    ]:
        Path(file).write_text(damaged, encoding="utf-8")
        for verb in (["check", file], simulate):
            assert run(verb) == 2
            assert message in capsys.readouterr().err


def ctrl_c(arguments: list[str], ready: Callable[[bytes], bool]) -> tuple[int, str]:
    """Run Python on a terminal; press Ctrl-C when `ready`, given what it wrote to it; code and text."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    text = b""
    limit = time.monotonic() + 120
    pressed = False
    while time.monotonic() < limit:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                text += os.read(terminal, 4096)
            except OSError:
                break
        if not pressed and ready(text):
            os.killpg(process.pid, signal.SIGINT)
            pressed = True
    process.kill()
    os.close(terminal)
    assert pressed, text
    return process.wait(), text.decode()


@pytest.mark.alone("signals")
def test_ctrl_c_keeps_the_best_schedule(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    command = ["-m", "flitloom", "schedule", "--torus", "8x8", "--operation", "all-to-all", "--routes", "dor"]
    code, text = ctrl_c([*command, "--seconds", "10m", "-o", str(file)], lambda text: b"trying" in text)
    assert code == 130, text
    assert "interrupted: the best schedule found so far is kept" in text
    plan = fl.plans.read(file)
    assert not plan.reproducible
    assert fl.plans.check(plan)["passed"]


@pytest.mark.alone("signals")
def test_ctrl_c_keeps_finished_searches_of_a_campaign(tmp_path: Path) -> None:
    campaign = tmp_path / "campaign.toml"
    small = (ROOT / "examples" / "campaigns" / "small.toml").read_text(encoding="utf-8")
    campaign.write_text(small.replace("repeats = 2", "repeats = 1000"), encoding="utf-8")
    store = tmp_path / "campaign.sqlite"

    def finished(_: bytes) -> bool:
        with contextlib.closing(Store(store)) as results:
            return len(results.finished()) > 1

    code, text = ctrl_c(["-m", "flitloom", "campaign", "run", str(campaign), "--threads", "1"], finished)
    assert code == 130, text
    assert "Traceback" not in text
    kept = int(re.search(r"interrupted: ([0-9]+) of 4000 searches are finished and kept", text)[1])
    with contextlib.closing(Store(store)) as results:
        assert len(results.finished()) == kept > 1


@pytest.mark.alone("signals")
def test_ctrl_c_keeps_the_best_chromosome() -> None:
    script = """
import sys
import flitloom as fl
from flitloom import genetic

def show(done, total):
    print("generation", done, file=sys.stderr)

settings = genetic.GeneticSettings(generations=1_000_000)
collective = fl.Collective("shfl", payload=14, slices=2)
found = genetic.search(fl.Network(fl.Torus(4, 4)), collective, settings, threads=1, progress=show)
again = fl.simulate(found.network, found.collective).duration
print("stopped", found.stopped, "replayed", found.duration == again, file=sys.stderr)
"""
    code, text = ctrl_c(["-c", script], lambda text: b"generation" in text)
    assert code == 0, text
    assert "stopped True replayed True" in text
