"""What is written down of tables, verdicts and plans: numbers, and hashes of what is long.

A hash is the beginning of the SHA-256 of whole numbers as little-endian 64-bit words, or of a text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import flitloom as fl
from flitloom.collectives.advice import compare, weigh
from flitloom.errors import FlitloomError
from flitloom.fabric import examples, route_subnet
from flitloom.fabric.failures import without
from flitloom.fabric.recognition import recognise
from flitloom.ground.limits import LISTED_NODES
from flitloom.spec.product import with_beside
from flitloom.tables.by_destination.checking import judge
from flitloom.tables.by_destination.writing import levels_text
from flitloom.tables.by_source.checking import check
from flitloom.tables.by_source.making import route
from flitloom.tables.by_source.resilience import survive
from flitloom.tables.verdict import circle

Facts = dict[str, Any]
#: Subnets of more switches have no hashes of their files.
WRITTEN = 128


def digest(*parts: Any) -> str:
    """The hash of arrays of whole numbers, bytes and texts."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            part = part.encode()
        found.update(part if isinstance(part, bytes) else np.asarray(part).astype("<u8").tobytes())
    return found.hexdigest()[:24]


def topology(fields: Facts) -> fl.Topology:
    """A topology by its fields."""
    return fl.Topology(**fields)


def by_source(network: Facts, **options: Any) -> Facts:
    """Tables by source: what `flitloom route` makes, and what `flitloom check` says of it."""
    weights = options.pop("weights", None)
    if weights is not None:
        nodes = topology(network).nodes
        draw = np.random.default_rng(weights)
        options["traffic"] = draw.integers(0, 5, (nodes, nodes))
    tables = route(topology(network), **options)
    routes = tables.listed() if tables.topology.nodes <= LISTED_NODES else (tables.headers(),)
    facts: Facts = {
        "routes": digest(*routes),
        "loads": digest(tables.loads),
        "max_load": tables.max_load,
        "min_load": tables.min_load,
        "sigma4": round(tables.sigma4, 9),
        "max_distance": tables.max_distance,
        "bound": tables.bound,
        "proof": tables.bound_value.proof,
        "turns": digest(json.dumps(tables.system.turns())),
    }
    if tables.calls is not None:
        facts["calls"] = tables.calls
    return facts | verdict(check(tables))


def verdict(report: Any) -> Facts:
    """What the check of tables by source says."""
    facts: Facts = {"passed": report.passed, "problems": report.problem_count}
    if report.cycle:
        facts["cycle"] = circle(report.cycle)
    if report.ranks is not None:
        facts["ranks"] = digest(report.ranks)
    return facts


def under(network: Facts, rules: str, **options: Any) -> Facts:
    """The verdict on tables under other rules than they were made for."""
    return verdict(check(route(topology(network), **options).under(rules)))


def resilience(network: Facts, **options: Any) -> Facts:
    """How many failures leave every pair with a route, by regime."""
    found = asdict(survive(topology(network), **options))
    count = found["systems"]
    return {"systems": count, "served": [round(part * count) for part in found["fractions"]]}


#: Fabrics by name.
FABRICS: dict[str, Callable[..., Any]] = {
    name: getattr(examples, name)
    for name in (
        "torus",
        "twisted_torus",
        "express_mesh",
        "hyperx",
        "dragonfly",
        "fat_tree",
        "random_regular",
    )
}


def fabric(name: str, arguments: list[Any], gone: list[list[int]] | None = None) -> Any:
    """A fabric by the name and arguments of its maker, less switches and cables."""
    whole = FABRICS[name](*[tuple(part) if isinstance(part, list) else part for part in arguments])
    return whole if gone is None else without(whole, set(gone[0]), set(gone[1]))


def by_destination(fabric_: list[Any], **options: Any) -> Facts:
    """Tables by destination: what `flitloom route --fabric` makes, its files, and its verdict."""
    tables = route_subnet(fabric(*fabric_), **({"safe_for": ()} | options))
    return _by_destination(tables)


def _by_destination(tables: Any) -> Facts:
    report = tables.report
    facts: Facts = {
        "fabric": tables.recognition.describe(),
        "entries": digest(tables.following),
        "levels": digest(tables.levels),
        "lane_tables": digest(tables.lane_start, tables.lane_rows),
        "loads": digest(report.loads),
        "load": report.max_load,
        "bound": tables.bound["value"],
        "proof": report.bound_proof,
        "lanes": tables.lanes,
        "mode": tables.mode,
        "passed": report.passed,
    }
    if report.unreachable:
        facts["unreachable"] = report.unreachable
    if len(tables.subnet.switches) <= WRITTEN:
        with TemporaryDirectory() as folder:
            place = tables.write(Path(folder) / "out")
            names = ("opensm-lfts.dump", "path-sl.txt", "slvl.txt", "sl2vl.dump", "torus-2QoS.conf")
            texts = {n: (place / n).read_bytes() for n in names if (place / n).exists()}
            # Service levels are not written where all are 0.
            texts.setdefault("path-sl.txt", "".join(levels_text(tables)).encode())
            assert bool(tables.levels.any()) == (place / "path-sl.txt").exists()
            facts["files"] = digest(*[texts[n] for n in names if n in texts])
    return facts | _on_one_lane(tables)


def _on_one_lane(tables: Any) -> Facts:
    """The verdict on the same entries with a single lane: most have credit loops there."""
    given = tables.forwarding()
    plain = replace(given, levels=np.zeros_like(given.levels), rows=None, lanes=1, rule="one lane")
    report = judge(plain)
    return {"cycle_on_one_lane": report.cycle}


def repaired(fabric_: list[Any], gone: list[list[int]]) -> Facts:
    """Tables repaired after a failure, with the order of the changes."""
    whole = fabric(*fabric_)
    with TemporaryDirectory() as folder:
        old = route_subnet(whole, safe_for=()).write(Path(folder) / "old")
        tables = route_subnet(without(whole, set(gone[0]), set(gone[1])), old=old, safe_for=())
    update = tables.update
    assert update is not None
    return {
        **_by_destination(tables),
        "changed": tables.changed,
        "safe": update.safe,
        "first": [entry for entries in update.rounds for entry in entries],
        **({"last": update.last} if update.last else {}),
        "moved": update.moved,
    }


def recognised(fabric_: list[Any]) -> Facts:
    """What a fabric is taken for."""
    found = recognise(fabric(*fabric_))
    return {"fabric": found.describe()}


def plan(network: Facts, operation: str, **options: Any) -> Facts:
    """A plan of a collective operation and the proof of its bound."""
    matrix = options.pop("demands", None)
    if matrix is not None:
        nodes = topology(network).nodes
        options["matrix"] = np.random.default_rng(matrix).choice([0, 0, 0, 1, 2], (nodes, nodes))
        np.fill_diagonal(options["matrix"], 0)
    beside = {"twist": options.pop("twist", False), "width": options.pop("width", [])}
    named = topology(network)
    made = fl.collectives.plan(with_beside(named, **beside), operation, **options)
    # No plan of one group says so in its file. Files of before say a twist and widths beside the network.
    fields = made.model_dump(mode="json", exclude={"version", "groups"})
    if any(beside.values()):
        fields |= {"topology": named.model_dump(mode="json"), **beside}
    return {
        "plan": digest(json.dumps(fields, sort_keys=True)),
        "steps": made.steps,
        "bound": made.bound,
        "proof": made.proof_text,
    }


def advice(network: Facts, **options: Any) -> Facts:
    """What algorithms of an all-reduce take, and what failures and twists cost."""
    named = with_beside(topology(network), options.pop("twist", False))
    found = weigh(named, **options)
    times = {
        algorithm.name: [f"{row[number]:.9e}" for row in found.seconds]
        for number, algorithm in enumerate(found.algorithms)
    }
    best = [[f"{size:g}", name] for size, name in found.crossovers()]
    bounds = [f"{bound:.9e}" for bound in found.bounds]
    facts: Facts = {"best": best, "times": digest(json.dumps(times)), "bounds": bounds}
    return facts | {"compared": compare(named)}


KINDS: dict[str, Callable[..., Facts]] = {
    "by source": by_source,
    "under": under,
    "resilience": resilience,
    "by destination": by_destination,
    "repaired": repaired,
    "recognised": recognised,
    "plan": plan,
    "advice": advice,
}


def facts(kind: str, arguments: Facts) -> Facts:
    """What comes of something, or that it is refused."""
    try:
        return KINDS[kind](**arguments)
    except FlitloomError as error:
        return {"refused": type(error).__name__}


def plain(found: Facts) -> Facts:
    """Facts as a file has them."""
    read: Facts = json.loads(json.dumps(found))
    return read


def differences(old: Facts, new: Facts) -> Iterable[str]:
    """What differs between two sets of facts, in words."""
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield f"{name}: {old.get(name)} before, {new.get(name)} now"
