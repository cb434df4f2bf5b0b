"""Everything a process pool would send or keep comes back as it was."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import flitloom as fl

NETWORK = fl.Network(fl.Torus(4, 4))
FAILED = fl.Torus(4, 4, 2, failed_nodes=[0, 5])
TRAFFIC = fl.Collective(pattern="trns", slices=2)


def tables(topology=FAILED, **options):
    return fl.tables.make(topology, turns="on-demand", effort=1, **options)


def from_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("tables") / "t.json"
    tables().to_json(file)
    return fl.tables.read(file)


KINDS = {
    "network": lambda _: NETWORK,
    "result": lambda _: fl.simulate(NETWORK, TRAFFIC),
    "simulation": lambda _: fl.Simulation(NETWORK, TRAFFIC),
    "stacking": lambda _: fl.stack(NETWORK, TRAFFIC),
    "plan": lambda _: fl.plans.search(NETWORK, TRAFFIC, moves=100),
    "collective": lambda _: fl.collectives.plan(fl.Torus(4, 4), "all-gather"),
    "tables": lambda _: tables(),
    "tables of a file": from_file,
    "check": lambda _: fl.tables.check(tables()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_same_once_more(kind, tmp_path_factory):
    value = KINDS[kind](tmp_path_factory)
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert type(again) is type(value)
        assert repr(again) == repr(value)


def test_tables_keep_their_routes_turns_and_bound(tmp_path_factory):
    for made in (tables(), from_file(tmp_path_factory)):
        again = pickle.loads(pickle.dumps(made))
        assert again.system.turns() == made.system.turns() != ([], [])
        assert again.bound_value == made.bound_value
        assert all(np.array_equal(a, b) for a, b in zip(again.listed(), made.listed(), strict=True))
        assert fl.tables.check(again).passed


def largest_load(made):
    return made.max_load, fl.tables.check(made).deadlock


def test_tables_travel_to_other_processes():
    made = tables()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(largest_load, made).result() == (made.max_load, False)
