"""Published tables and figures, computed anew, one file each.

Every module named in `MODULES` reproduces one table or figure through the public API. It has an
``IDENTIFIER`` (paper/table), a ``TITLE``, and a function ``reproduce(context) -> Report``.

Examples
--------
>>> from flitloom import papers
>>> "cup-stacking-2022/table-2" in papers.identifiers()
True
>>> report = papers.reproduce("cup-stacking-extended-2023/table-2")  # doctest: +SKIP
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from types import ModuleType

from flitloom.errors import SpecError, nearest, show
from flitloom.papers.report import SOURCES, Cell, Context, Report

__all__ = [
    "SOURCES",
    "Cell",
    "Context",
    "Report",
    "find",
    "identifiers",
    "of_paper",
    "options",
    "reproduce",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)


#: Modules of this package that reproduce something, in the order they are listed to the user.
MODULES = [
    "cup_stacking_2022_table_2",
    "cup_stacking_2022_table_2_ga",
    "cup_stacking_2022_figure_1",
    "cup_stacking_2022_figure_2",
    "cup_stacking_extended_2023_table_2",
    "cup_stacking_extended_2023_table_3",
    "cup_stacking_extended_2023_table_4",
    "cup_stacking_extended_2023_table_6",
    "cup_stacking_extended_2023_figure_3",
    "cup_stacking_extended_2023_figure_4",
    "cup_stacking_extended_2023_figure_5",
    "cup_stacking_extended_2023_figure_6a",
    "cup_stacking_extended_2023_figure_6bc",
    "angara_routing_2021_table_2",
    "angara_routing_2021_figure_4",
    "angara_routing_2021_figure_5",
    "angara_routing_2021_figure_6",
    "angara_routing_2021_table_3",
    "state_propagation_throttling_2015_table_2",
    "state_propagation_throttling_2015_table_3",
    "state_propagation_throttling_2015_figure_5",
    "state_propagation_throttling_2015_figure_6",
    "state_propagation_throttling_2015_figure_8",
    "state_propagation_throttling_2015_figure_9",
    "state_propagation_throttling_2015_figure_10",
    "state_propagation_throttling_2015_figure_11",
    "state_propagation_throttling_2015_figure_12",
    "state_propagation_throttling_2015_figure_13",
    "scaling_effects_2007_equation_2",
    "scaling_effects_2007_figure_2",
    "scaling_effects_2007_figure_3",
    "scaling_effects_2007_figure_4",
    "scaling_effects_2007_figure_5",
    "scaling_effects_2007_figure_6",
    "scaling_effects_2007_figure_7",
    "scaling_effects_2007_figure_8",
    "scaling_effects_2007_figure_9",
    "scaling_effects_2007_figure_10",
    "scaling_effects_2007_figure_11",
    "scaling_effects_2007_figure_12",
]


def identifiers() -> list[str]:
    """Identifiers of all tables and figures, as ``paper/table``."""
    return [_identifier(module) for module in MODULES]


def of_paper(paper: str) -> list[str]:
    """Identifiers of all tables and figures of a paper; none if there is no such paper.

    >>> of_paper("cup-stacking-2022")[0]
    'cup-stacking-2022/table-2'
    """
    return [identifier for identifier in identifiers() if identifier.split("/")[0] == paper]


def find(identifier: str, columns: Sequence[str] = ()) -> ModuleType:
    """The module that reproduces a table or figure.

    Raises
    ------
    SpecError
        There is none of that name, or it has no such columns to choose.
    """
    for name in MODULES:
        if _identifier(name) == identifier:
            module = import_module(f"flitloom.papers.{name}")
            known = getattr(module, "SEARCHED_COLUMNS", ())
            for column in columns:
                if column not in known:
                    hint = f"they are {', '.join(known)}" if known else f"{identifier} has none to choose"
                    raise SpecError.at("columns", f"{column!r} is unknown", str(hint))
            return module
    same = [name for name in identifiers() if name.rpartition("/")[2] == identifier]
    whole = dict.fromkeys(name.partition("/")[0] for name in identifiers())
    likely = same or _with_all_words(identifier, whole) or _with_all_words(identifier, identifiers())
    if not likely and (near := nearest(identifier, [*whole, *identifiers()])):
        likely = [near]
    hint = f"; did you mean {' or '.join(likely)}?" if likely else ""
    raise SpecError.at(
        "papers", f"there is no {show(identifier)}{hint}\nflitloom papers list names all of them"
    )


def _with_all_words(asked: str, names: Iterable[str]) -> list[str]:
    """The names that have every word that was asked for.

    >>> _with_all_words("cup-stacking-2023", ["cup-stacking-2022", "cup-stacking-extended-2023"])
    ['cup-stacking-extended-2023']
    """
    words = set(re.split("[-/]", asked.lower()))
    return [name for name in names if words <= set(re.split("[-/]", name))]


def options(identifier: str) -> tuple[str, ...]:
    """Which of the options ``quick``, ``full`` and ``searches`` change what a reproduction computes.

    >>> options("cup-stacking-extended-2023/figure-4")
    ('quick',)
    """
    return tuple(getattr(find(identifier), "OPTIONS", ()))


def reproduce(identifier: str, context: Context | None = None) -> Report:
    """Compute a published table or figure anew.

    Parameters
    ----------
    identifier : str
        The table or figure, e.g. ``"cup-stacking-2022/table-2"``; `identifiers` lists them.
    context : Context, optional
        How it runs: folder of its pictures, threads, seed, quick or full.

    Returns
    -------
    Report
        Every cell with the published value; `Report.dataset` has them as labelled arrays.

    Raises
    ------
    SpecError
        There is none of that name, or it has no such columns to choose.

    Examples
    --------
    >>> import flitloom as fl
    >>> found = fl.papers.reproduce("scaling-effects-2007/equation-2").dataset
    >>> dict(found.sizes)["row"] > 2, bool((found.status != "not reproduced").all())
    (True, True)
    """
    context = context or Context()
    report = find(identifier, context.columns).reproduce(context)
    assert isinstance(report, Report)
    return report


def _identifier(module: str) -> str:
    """``cup_stacking_2022_table_2`` -> ``cup-stacking-2022/table-2``."""
    words = module.split("_")
    kind = max(index for index, word in enumerate(words) if word in {"table", "figure", "equation"})
    return "-".join(words[:kind]) + "/" + "-".join(words[kind:])
