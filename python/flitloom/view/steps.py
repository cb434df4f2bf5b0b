"""Plans of collective operations as a page shows them, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.view.films import CELLS
from flitloom.view.pack import Packer
from flitloom.view.wires import Wiring, twist_facts, wiring

if TYPE_CHECKING:
    from flitloom.collectives.collective_plan import CollectivePlan

#: Columns of moves, in the order of `Steps.moves`.
COLUMNS = ("link", "step", "adds", "owner", "target", "chunk")


@dataclass
class Steps:
    """A plan of a collective operation for a page.

    Attributes
    ----------
    plan : CollectivePlan
        The plan.
    until : int, optional
        Only the steps before this one are shown.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.view import Steps, write_page
    >>> shown = Steps(fl.collectives.plan(fl.Torus(4, 4), "all-gather"))
    >>> shown.all_facts()["links busy"]
    '93.8 % of all link steps, 16 idle'
    >>> write_page([shown], "plan.html")  # doctest: +SKIP
    """

    plan: CollectivePlan
    until: int | None = None

    @property
    def title(self) -> str:
        """What a page calls it."""
        return f"{self.plan.operation} on {self.plan.ground}"

    @property
    def length(self) -> int:
        """Steps that a page can have."""
        return self.plan.steps

    def cut(self, until: int) -> Steps:
        """The same up to a step."""
        part = Steps(self.plan, until)
        # What took long is the same.
        vars(part).update(wiring=self.wiring, moves=self.moves)
        return part

    def all_facts(self) -> dict[str, Any]:
        """Totals by name, of the whole plan."""
        plan = self.plan
        links = sum(plan.ground.links.values())
        busy = len(self.moves)
        slots = links * plan.steps
        facts = {
            "steps": f"{plan.steps}, {'proven optimal' if plan.optimal else f'bound {plan.bound}'}",
            "bound": plan.proof_text,
            "nodes": f"{len(plan.members)} of {plan.ground.nodes}",
            "chunks": _chunks(plan),
            "moves": busy,
            "links busy": f"{100 * busy / max(slots, 1):.1f} % of all link steps, {slots - busy} idle",
        }
        facts |= twist_facts(plan.ground.topology)
        if plan.latency:
            facts["latency"] = (
                f"{counted(plan.latency, 'step')} on a link besides the one in which it is busy"
            )
        if self.until is not None and self.until < plan.steps:
            facts["shown"] = f"steps 0 to {self.until - 1}"
        return facts

    @cached_property
    def wiring(self) -> Wiring:
        """The network as it is drawn."""
        return wiring(self.plan.ground)

    @cached_property
    def moves(self) -> NDArray[np.int64]:
        """Every move of the plan, link by link: the columns of `COLUMNS`; a target of -1 is none."""
        plan = self.plan.expanded()
        rows = [(row, 1) for row in plan.sums] + [(row, 0) for row in plan.moves]
        rows.sort(key=lambda entry: entry[0][0])
        taken: dict[tuple[int, int, int], int] = {}
        table = np.empty((len(rows), len(COLUMNS)), dtype=np.int64)
        for place, (row, adds) in enumerate(rows):
            step, start, end, *block = row
            # Parallel links of a step, one after the other.
            lane = taken[step, start, end] = taken.get((step, start, end), -1) + 1
            target = block[1] if len(block) == 3 else -1
            table[place] = self.wiring.links[start, end][lane], step, adds, block[0], target, block[-1]
        return table[np.lexsort((table[:, 1], table[:, 0]))]

    def head(self, packer: Packer) -> dict[str, Any]:
        """What the page needs to know; its columns go to `packer`."""
        steps = self.plan.steps if self.until is None else min(self.until, self.plan.steps)
        if self.wiring.count * steps > CELLS:
            raise SpecError.at(
                "plan",
                f"{counted(self.wiring.count, 'link')} and {steps} steps are more than a page can hold",
                f"show fewer: --stop-at {CELLS // self.wiring.count}",
            )
        moves = self.moves
        moves = moves[moves[:, 1] < steps]
        columns = dict(zip(COLUMNS, moves.T, strict=True))
        if not (columns["target"] >= 0).any():
            del columns["target"]
        return {
            "kind": "steps",
            "title": self.title,
            "operation": self.plan.operation,
            "chunks": self.plan.chunks,
            "fabric": self.wiring.head(packer),
            "cycles": steps,
            "bound": self.plan.bound if self.plan.bound < steps else None,
            "facts": self.all_facts(),
            "columns": {name: packer.add(values) for name, values in columns.items()},
        }


def _chunks(plan: CollectivePlan) -> str:
    if plan.operation == "all-to-all-v":
        return f"{sum(row[2] for row in plan.demands or [])} in all"
    if plan.operation == "all-to-all":
        return f"{plan.chunks} per pair"
    return f"{plan.chunks} {'in all' if plan.operation in ('broadcast', 'reduce') else 'per node'}"
