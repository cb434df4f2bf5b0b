"""Where a curve saturates, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flitloom.errors import SpecError


def check_refine(refine: float) -> None:
    """Refuse what is not a share of a load."""
    if not 0 <= refine < 1:
        raise SpecError.at("refine", f"{refine:g} is not a share of a load", "it must be from 0 to below 1")


def check_within(within: float) -> None:
    """Refuse what cannot be the precision of a saturation."""
    if not 0.0001 <= within < 1:
        raise SpecError.at(
            "within", f"{within:g} is not a share of a load", "it must be from 0.0001 to below 1"
        )


def middle(rows: Sequence[Mapping[str, Any]], refine: float) -> float | None:
    """The load amid the widest gap about saturation between which nothing is measured, where it is too wide.

    >>> low, high = ({"rate": rate, "accepted": 0.2, "saturated": rate > 0.3} for rate in (0.2, 0.4))
    >>> middle([low, high], 0.1), middle([low, high], 0.5)
    (0.3, None)
    >>> middle([low, {"rate": 0.3, "accepted": 0.3, "saturated": None}, high], 0.1)
    0.35
    >>> stuck = {"rate": 0.3, "accepted": None, "saturated": None, "verdict": "deadlock", "cause": "a circle"}
    >>> middle([low, stuck, high], 0.1)
    0.35
    """
    told = verdict(rows)
    if told["outcome"] != "between":
        return None
    below, above = float(told["below"]), float(told["above"])
    # What is undecided or failed once stays so: between such loads nothing is to be found.
    loads = sorted({below, above, *(row["rate"] for row in rows if below < row["rate"] < above)})
    gaps = [(loads[0], loads[1]), (loads[-2], loads[-1])]
    low, high = max(gaps, key=lambda gap: gap[1] - gap[0])
    return round((low + high) / 2, 6) if high - low > refine * above else None


def verdict(
    rows: Sequence[Mapping[str, Any]], rates: Sequence[float] = (), *, closed: bool = False
) -> dict[str, Any]:
    """Where a curve saturates, as an outcome: between which loads, or that it does not or does already.

    Parameters
    ----------
    rows : sequence of mappings
        The points of one curve.
    rates : sequence of float
        The loads that were to be measured. Without one of them there is no verdict, since where a curve
        saturates depends on all.
    closed : bool
        Whether sources are closed, which accept all that they generate.

    Returns
    -------
    dict
        ``outcome`` ("between", "not reached", "below", "undecided", "closed sources", "incomplete"),
        ``below`` and ``above`` (flits/node/cycle), the loads between them that are ``undecided``, the largest
        ``accepted`` load, and a ``text`` that says so.
    """
    ordered = sorted(rows, key=lambda row: row["rate"])
    measured = {row["rate"] for row in ordered}
    missing = [rate for rate in rates if rate not in measured]
    none: dict[str, Any] = {"below": None, "above": None, "undecided": [], "accepted": None}
    if missing:
        text = f"{len(rates) - len(missing)} of {len(rates)} loads are measured: no verdict"
        return {"outcome": "incomplete", **none, "text": text}
    if closed and ordered:
        most = max(ordered, key=lambda row: row["accepted"] or 0.0)
        text = f"accepts most at a rate of {most['rate']:g}: {most['accepted']:.4g} flits/node/cycle"
        return {"outcome": "closed sources", **none, "accepted": most["accepted"], "text": text}
    first = next((row["rate"] for row in ordered if row["saturated"]), None)
    before = [row for row in ordered if first is None or row["rate"] < first]
    last = max((row["rate"] for row in before if row["saturated"] is False), default=None)
    failed = {row["rate"]: row["verdict"] for row in ordered if row.get("cause")}
    open_loads = [
        row["rate"] for row in before if row["rate"] not in failed and (last is None or row["rate"] > last)
    ]
    outcome, text = _outcome(last, first, open_loads)
    if failed:
        text = text.removesuffix("; try higher rates")
    for why in dict.fromkeys(failed.values()):
        text += f"; {why} at {', '.join(f'{load:g}' for load in failed if failed[load] == why)}"
    if open_loads:
        text += f"; undecided at {', '.join(f'{load:g}' for load in open_loads)} (--limit)"
    return {
        "outcome": outcome,
        "below": last,
        "above": first,
        "undecided": open_loads,
        "accepted": max((row["accepted"] for row in ordered if row["accepted"] is not None), default=None),
        "text": text,
    }


def _outcome(last: float | None, first: float | None, undecided: Sequence[float]) -> tuple[str, str]:
    """What the largest steady load and the smallest growing one mean, and a text that says so."""
    if first is None and last is None and undecided:
        return "undecided", "no load is known to be steady or growing"
    if first is None:
        if last is not None and last >= 0.99:
            return "not reached", "does not saturate up to 1 flit/node/cycle, the most that a node can send"
        return "not reached", f"does not saturate up to {last or 0:g} flits/node/cycle; try higher rates"
    if last is None:
        return "below", f"saturates at {first:g} flits/node/cycle already; try lower rates"
    return "between", f"saturates between {last:g} and {first:g} flits/node/cycle"
