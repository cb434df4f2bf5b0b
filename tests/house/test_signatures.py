"""What Python users read: signatures, names for editors, and messages for what was meant otherwise."""

import inspect
import re
from typing import get_args

import pytest

import flitloom as fl
from flitloom.spec import PATTERNS, SCHEMES
from flitloom.spec.router import SchemeName
from flitloom.spec.traffic.patterned import PatternName

TORUS, SHUFFLE = fl.Torus(4, 4), fl.Collective("shfl", payload=14, slices=2)


NETWORK = fl.Network(TORUS)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (
            lambda: fl.simulate(TORUS, SHUFFLE),
            r"4x4 torus has no routers yet; give fl.Network\(Torus\(4, 4\)\)",
        ),
        (lambda: fl.Simulation(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.plans.search(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.stack(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.lower_bound(TORUS, SHUFFLE), "has no routers yet"),
        (lambda: fl.simulate(4, SHUFFLE), "4 is not a network; give fl.Network"),
        (lambda: fl.Network(4), "give fl.Torus"),
        (lambda: fl.Collective("shfl", 14), "14 is given without a name; write NAME=14, .*payload"),
        (lambda: fl.Router(3), "3 is given without a name; write NAME=3, .*channels"),
    ],
)
def test_what_was_meant_otherwise_is_told(misuse, message):
    with pytest.raises(fl.SpecError, match=message):
        misuse()


def test_signatures_can_be_read():
    text = str(inspect.signature(fl.Collective))
    assert text.startswith("(pattern: Optional[str] = None, *, ")
    assert "payload: int = 7" in text
    for part in (fl.Collective, fl.Load, fl.Router, fl.Packets, fl.TrafficMatrix, fl.Messages):
        assert not re.search("Validator|function|0x|Annotated", str(inspect.signature(part)))


def test_editors_offer_all_names_there_are():
    assert get_args(PatternName) == PATTERNS
    assert get_args(SchemeName) == (*SCHEMES, "packet")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fl.run_experiment("a.toml"), "experiment: 'a.toml' is not an experiment; give"),
        (lambda: fl.plans.check("plan.json"), "plan: 'plan.json' is not a plan; give fl.plans.search"),
        (
            lambda: fl.plans.deadlock_certificate(SHUFFLE),
            "plan: Collective(pattern='shfl', payload=14, slices=2) is not a plan",
        ),
        (
            lambda: fl.plans.spread(SHUFFLE, 4),
            "plan: Collective(pattern='shfl', payload=14, slices=2) is not a plan",
        ),
        (
            lambda: fl.plans.study_jitter(NETWORK, SHUFFLE, 4),
            "plan: Collective(pattern='shfl', payload=14, slices=2) is not a plan",
        ),
        (
            lambda: fl.plans.study_jitter(SHUFFLE, NETWORK, 4),
            "network: Collective(pattern='shfl', payload=14, slices=2) is not a network",
        ),
        (
            lambda: fl.plans.guarded(SHUFFLE, NETWORK, 4),
            "network: Collective(pattern='shfl', payload=14, slices=2) is not a network",
        ),
        (lambda: fl.plans.guarded(NETWORK, SHUFFLE, "4"), "jitter: '4' is not a whole number"),
        (lambda: fl.plans.search(NETWORK, SHUFFLE, guard="1"), "guard: '1' is not a whole number"),
        (lambda: fl.plans.search(NETWORK, SHUFFLE, moves=0), "moves: 0 is out of range"),
        (lambda: fl.simulate(NETWORK, SHUFFLE, threads="2"), "threads: '2' is not a whole number"),
        (lambda: fl.stack(NETWORK, SHUFFLE, threads=1.5), "threads: 1.5 is not a whole number"),
        (lambda: fl.Operation("allgather"), "did you mean all-gather?"),
        (
            lambda: fl.collectives.check(SHUFFLE),
            "is not a plan of a collective operation; give fl.collectives.plan",
        ),
        (lambda: fl.collectives.plan(NETWORK, "all-gather"), "is not a network; give fl.Torus(...)"),
        (lambda: fl.tables.check(5), "file: 5 is not a name of a file; give a text"),
        (lambda: fl.plans.read(5), "file: 5 is not a name of a file"),
        (lambda: fl.tables.read(None), "file: None is not a name of a file"),
        (lambda: fl.collectives.read([]), "file: [] is not a name of a file"),
        (lambda: fl.read_experiment({}), "file: {} is not a name of a file"),
    ],
)
def test_what_stands_in_the_wrong_place_is_told(call, message):
    with pytest.raises(fl.SpecError, match=re.escape(message)):
        call()
