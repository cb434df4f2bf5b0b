"""Where a curve saturates, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flitloom.errors import SpecError


def check_refine(refine: float) -> None:
    """Refuse what is no share of a load."""
    if not 0 <= refine < 1:
        raise SpecError.at("refine", f"{refine:g} is not a share of a load", "it must be from 0 to below 1")


def middle(rows: Sequence[Mapping[str, Any]], refine: float) -> float | None:
    """The load amid the window in which a curve saturates, where this is still too wide.

    >>> low, high = ({"rate": rate, "accepted": 0.2, "saturated": rate > 0.3} for rate in (0.2, 0.4))
    >>> middle([low, high], 0.1), middle([low, high], 0.5)
    (0.3, None)
    """
    told = verdict(rows)
    if told["outcome"] != "between":
        return None
    below, above = float(told["below"]), float(told["above"])
    return round((below + above) / 2, 6) if above - below > refine * above else None


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
        ``outcome`` ("between", "not reached", "below", "closed sources", "incomplete"), ``below`` and
        ``above`` (flits/node/cycle), the largest ``accepted`` load, and a ``text`` that says so.
    """
    ordered = sorted(rows, key=lambda row: row["rate"])
    measured = {row["rate"] for row in ordered}
    missing = [rate for rate in rates if rate not in measured]
    if missing:
        text = f"{len(rates) - len(missing)} of {len(rates)} loads are measured: no verdict"
        return {"outcome": "incomplete", "below": None, "above": None, "accepted": None, "text": text}
    if closed and ordered:
        most = max(ordered, key=lambda row: row["accepted"])
        text = f"accepts most at a rate of {most['rate']:g}: {most['accepted']:.4g} flits/node/cycle"
        none = dict.fromkeys(("below", "above"))
        return {"outcome": "closed sources", **none, "accepted": most["accepted"], "text": text}
    saturated = [row["rate"] for row in ordered if row["saturated"]]
    first = saturated[0] if saturated else None
    last = max((row["rate"] for row in ordered if first is None or row["rate"] < first), default=None)
    if first is None:
        outcome, text = "not reached", f"does not saturate up to {last:g} flits/node/cycle; try higher rates"
        if last is not None and last >= 1:
            text = "does not saturate up to 1 flit/node/cycle, the most that a node can send"
    elif last is None:
        outcome, text = "below", f"saturates at {first:g} flits/node/cycle already; try lower rates"
    else:
        outcome, text = "between", f"saturates between {last:g} and {first:g} flits/node/cycle"
    accepted = max((row["accepted"] for row in ordered), default=None)
    return {"outcome": outcome, "below": last, "above": first, "accepted": accepted, "text": text}
