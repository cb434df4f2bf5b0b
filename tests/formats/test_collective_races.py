"""Races in plans of others: files that are right in one order of threadblocks and wrong in another one."""

import json
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import flitloom as fl
from flitloom import formats
from flitloom.collectives.msccl import msccl_text
from flitloom.collectives.mscclpp import mscclpp_text
from foreign_files import all_pairs_allreduce, ring_allreduce
from gpu_programs import Threads, ever_wrong, races_of, right_once
from sample import sampled


def problems(text: str, tmp_path: Path, ending: str) -> list[str]:
    file = tmp_path / f"plan.{ending}"
    file.write_text(text, encoding="utf-8")
    found: list[str] = formats.check(file, None)["problems"]
    return found


def without_dependencies(text: str) -> list[str]:
    """The text with one dependency dropped, for each of them."""
    found = list(re.finditer(r'depid="\d+" deps="\d+"', text))
    return [text[: one.start()] + 'depid="-1" deps="-1"' + text[one.end() :] for one in found]


def with_swaps(text: str) -> list[str]:
    """The text with two steps swapped that follow each other in a threadblock."""
    lines = text.splitlines()
    steps = [place for place, line in enumerate(lines) if "<step" in line]
    found = []
    for place in steps:
        if place + 1 in steps:
            a, b = lines[place : place + 2]
            first, second = (re.search(r's="(\d+)"', one)[1] for one in (a, b))  # type: ignore[index]
            swapped = [
                b.replace(f's="{second}"', f's="{first}"', 1),
                a.replace(f's="{first}"', f's="{second}"', 1),
            ]
            found.append("\n".join([*lines[:place], *swapped, *lines[place + 2 :]]))
    return found


@pytest.mark.parametrize("operation", ["all-gather", "all-reduce"])
@pytest.mark.parametrize("topology", [fl.Torus(4, 4), fl.Mesh(2, 3)])
def test_xml_mutants_are_judged_by_what_orders_their_steps(
    operation: str, topology: fl.Topology, tmp_path: Path
) -> None:
    text = msccl_text(fl.collectives.plan(topology, operation))
    assert problems(text, tmp_path, "xml") == [] == races_of(text)
    dice = random.Random(1)
    dropped, swapped = without_dependencies(text), with_swaps(text)
    raced = 0
    mutants = sampled([*dice.sample(dropped, 12), *dice.sample(swapped, 12)], 3)
    for mutant in mutants:
        races = races_of(mutant)
        raced += bool(races)
        right = not races and right_once(mutant, random.Random(2))
        found = problems(mutant, tmp_path, "xml")
        assert (found == []) == right, (found, races)
        if races and right_once(mutant, random.Random(3)):
            assert any("nothing orders this with" in text for text in found)
    assert raced >= len(mutants) / 3


@pytest.mark.long
def test_the_right_order_by_chance_is_a_race(tmp_path: Path) -> None:
    text = msccl_text(fl.collectives.plan(fl.Torus(4, 4), "all-gather"))
    assert problems(text, tmp_path, "xml") == []
    for mutant in random.Random(4).sample(without_dependencies(text), 3):
        found = problems(mutant, tmp_path, "xml")
        assert re.search(
            r"gpu \d+, threadblock \d+, step \d+: (reads|writes) chunk \d+ of buffer o of gpu \d+, and "
            r"nothing orders this with gpu \d+, threadblock \d+, step \d+, which (reads|writes) it",
            "\n".join(found),
        ), found
    for other in (ring_allreduce(5), all_pairs_allreduce(4)):
        assert problems(other, tmp_path, "xml") == []


def mutants(data: dict[str, Any]) -> list[str]:
    """A plan of MSCCL++ with one operation dropped, or two swapped."""
    found = []
    for gpu, one in enumerate(data["gpus"]):
        for block, part in enumerate(one["threadblocks"]):
            for place in range(len(part["ops"])):
                for swap in (False, True):
                    changed = json.loads(json.dumps(data))
                    operations = changed["gpus"][gpu]["threadblocks"][block]["ops"]
                    if swap:
                        operations[place : place + 2] = reversed(operations[place : place + 2])
                    else:
                        del operations[place]
                    found.append(json.dumps(changed))
    return found


@pytest.mark.parametrize("operation", ["all-gather", "all-reduce"])
def test_mscclpp_mutants_that_can_go_wrong_are_refused(operation: str, tmp_path: Path) -> None:
    text = mscclpp_text(fl.collectives.plan(fl.Torus(3), operation, chunks=2))
    assert problems(text, tmp_path, "json") == []
    assert not ever_wrong(Threads(text).right_once, 40)
    wrong = 0
    for mutant in random.Random(5).sample(mutants(json.loads(text)), 40):
        if ever_wrong(Threads(mutant).right_once, 20):
            wrong += 1
            assert problems(mutant, tmp_path, "json") != []
    assert wrong >= 15


@pytest.mark.parametrize(("name", "before"), [("nop", "signal"), ("wait", "barrier"), ("barrier", "put")])
def test_mscclpp_operations_that_keep_order_are_needed(name: str, before: str, tmp_path: Path) -> None:
    data = json.loads(mscclpp_text(fl.collectives.plan(fl.Torus(3), "all-reduce")))
    operations = data["gpus"][1]["threadblocks"][0]["ops"]
    place = next(
        place
        for place, (one, then) in enumerate(pairwise(operations))
        if (one["name"], then["name"]) == (name, before)
    )
    del operations[place]
    found = problems(json.dumps(data), tmp_path, "json")
    assert found
    if name == "nop":
        # The signal may leave before all threads have put their part.
        assert "nothing orders this with gpu 1, threadblock 0" in found[0]


def test_signals_and_semaphores_of_several_threadblocks(tmp_path: Path) -> None:
    """Long plans go through several threadblocks a link, which share its channel one after the other."""
    data = json.loads(mscclpp_text(fl.collectives.plan(fl.Torus(4, 4), "all-reduce", chunks=2)))
    assert max(len(one["threadblocks"]) for one in data["gpus"]) > 4
    assert problems(json.dumps(data), tmp_path, "json") == []
    # Without the semaphore, the second threadblock of a link signals whenever it likes.
    second = data["gpus"][2]["threadblocks"][5]["ops"]
    assert second[0]["name"] == "sem_acquire"
    del second[0]
    assert problems(json.dumps(data), tmp_path, "json") != []
