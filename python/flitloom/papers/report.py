"""What a reproduction returns: cells with computed beside published values, remarks and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flitloom.ground.fixed import explained
from flitloom.ground.lazy import np, xr
from flitloom.ground.outputs import check_output, within

#: Citations of the papers, by the first part of an identifier.
SOURCES = {
    "cup-stacking-2022": (
        "T. Yokota, K. Ootsu, S. Kojima: On a Cup-Stacking Concept in Repetitive Collective "
        "Communication. IEICE Trans. Inf. & Syst. E105-D(7), 1325-1329, 2022. "
        "doi:10.1587/transinf.2021EDL8098"
    ),
    "cup-stacking-extended-2023": (
        "T. Yokota, K. Ootsu, S. Kojima: Enhancing Cup-Stacking Method for Collective Communication. "
        "IEICE Trans. Inf. & Syst., 2023. doi:10.1587/transinf.2022EDP7179"
    ),
    "angara-routing-2021": (
        "A. Mukosey, A. Semenov, A. Tretiakov: Optimized Graph Based Routing Algorithm for the Angara "
        "Interconnect. 2021."
    ),
    "state-propagation-throttling-2015": (
        "T. Yokota, K. Ootsu, T. Ohkawa: Relaxing Heavy Congestion by State Propagation. Journal of "
        "Information Processing 23(5), 2015."
    ),
    "scaling-effects-2007": (
        "T. Yokota, K. Ootsu, T. Baba: Preliminary Discussions on Scaling Effects of Interconnection "
        "Networks (in Japanese). IPSJ SIG Technical Reports, 2007."
    ),
}

#: What tells cells of a table apart.
_PLACES = ("row", "column")
Value = int | float | bool | str | None


@explained
@dataclass(frozen=True)
class Cell:
    """One published value, or a statement that is true or not, and the computed one.

    What is true or not is a statement of the paper, so it is counted. A computed statement without a
    published one is refused.

    Attributes
    ----------
    row, column : str
        Its place in the table.
    paper : number, bool, str or None
        The published value; ``None`` where only a picture was published.
    computed : number, bool or str
        What flitloom computes.
    at_most : bool
        Whether the published value is the best of a search, to be reached or beaten.
    tolerance : float
        How far the computed value may be off and still reproduce the published one: the rounding of what is
        printed, or the spread of what is random.
    equation : bool
        Whether an equation of the paper gives the published value, which nobody measured.
    """

    row: str
    column: str
    paper: Value
    computed: Value
    at_most: bool = False
    tolerance: float = 0
    #: What the default router gives, the plainest reading of the papers' words, where it was asked, too.
    plain: Value = None
    equation: bool = False

    def __post_init__(self) -> None:
        assert isinstance(self.paper, bool) or not isinstance(self.computed, bool), (
            "a statement needs a published one"
        )

    @property
    def status(self) -> str:
        """How they compare.

        ``reproduced``, ``not reproduced`` or ``no published value``; of a search ``reached``, ``beaten``
        or ``not reached``; of a statement, which is not a value, ``holds``, ``does not hold`` or, where the
        computed one has a word instead, ``undecided``.
        """
        if self.paper is None:
            return "no published value"
        if isinstance(self.paper, bool):
            if not isinstance(self.computed, bool):
                return "undecided"
            return "holds" if self.paper == self.computed else "does not hold"
        if self.at_most and isinstance(self.paper, int) and isinstance(self.computed, int):
            if self.computed == self.paper:
                return "reached"
            return "beaten" if self.computed < self.paper else "not reached"
        if isinstance(self.paper, int | float) and isinstance(self.computed, int | float):
            return "reproduced" if abs(self.paper - self.computed) <= self.tolerance else "not reproduced"
        return "reproduced" if self.paper == self.computed else "not reproduced"

    @property
    def text(self) -> str:
        """The computed value as a person reads it, and in parentheses the published value where it differs.

        >>> Cell("a", "x", 1301, 1298).text, Cell("a", "grows", True, True).text
        ('1298 (1301)', 'yes')
        """
        differs = self.status in ("not reproduced", "not reached", "beaten", "does not hold")
        return f"{_text(self.computed)} ({_text(self.paper)})" if differs else _text(self.computed)

    def as_dict(self) -> dict[str, Any]:
        """The cell by name."""
        return {
            "row": self.row,
            "column": self.column,
            "paper": self.paper,
            "computed": self.computed,
            "status": self.status,
            **({} if self.plain is None else {"plain": self.plain}),
        }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass
class Report:
    """A table or figure, computed anew.

    Attributes
    ----------
    identifier, title : str
        Which one.
    cells : list of Cell
        Computed beside published values.
    remarks : list of str
        What a reader has to know to compare them.
    files : list of Path
        Pictures and data that were written.
    """

    identifier: str
    title: str
    cells: list[Cell]
    remarks: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """One sentence: how many published values are reproduced or reached, and how many statements hold.

        What an equation gives is counted apart: it was never measured.

        Examples
        --------
        >>> cells = [Cell("a", "x", 3, 3), Cell("b", "x", 4, 5), Cell("a", "grows", True, True)]
        >>> Report("paper/table-1", "", cells).verdict
        '1 of 2 published values reproduced, 1 of 1 published statements hold; others in parentheses.'
        """
        counts = Counter(cell.status for cell in self.cells if not cell.equation)
        given = Counter(cell.status for cell in self.cells if cell.equation)
        parts = []
        if given:
            parts.append(f"{given['reproduced']} of {given.total()} values of equations reproduced")
        if values := counts["reproduced"] + counts["not reproduced"]:
            parts.append(f"{counts['reproduced']} of {values} published values reproduced")
        reached = counts["reached"] + counts["beaten"]
        if searched := reached + counts["not reached"]:
            beaten = f" ({counts['beaten']} beaten)" if counts["beaten"] else ""
            parts.append(f"{reached} of {searched} published values reached{beaten}")
        if statements := counts["holds"] + counts["does not hold"] + counts["undecided"]:
            undecided = f" ({counts['undecided']} undecided)" if counts["undecided"] else ""
            parts.append(f"{counts['holds']} of {statements} published statements hold{undecided}")
        if not parts:
            return ""
        if others := [cell for cell in self.cells if cell.plain is not None]:
            exact = sum(cell.plain == cell.paper for cell in others)
            parts.append(f"{exact} of {len(others)} by the plain router")
        different = (counts + given).keys() & {"not reproduced", "not reached", "beaten", "does not hold"}
        return ", ".join(parts) + ("; others in parentheses." if different else ".")

    @property
    def dataset(self) -> xr.Dataset:
        """The cells as labelled arrays: ``computed``, ``published`` and ``status`` by ``row`` and ``column``.

        Numbers are real; a statement is 1 where it holds and 0 where not. A cell that the table does not have
        is not a number, with an empty status. What a number counts, the title and the column say.

        Examples
        --------
        >>> cells = [Cell("a", "x", 3, 3), Cell("b", "x", 4, 5), Cell("b", "y", None, 7)]
        >>> found = Report("scaling-effects-2007/equation-2", "An equation", cells).dataset
        >>> float(found.computed.sel(row="b", column="x") - found.published.sel(row="b", column="x"))
        1.0
        >>> found.status.sel(row="a").values.tolist()
        ['reproduced', '']
        """
        rows, columns = (list(dict.fromkeys(getattr(cell, of) for cell in self.cells)) for of in _PLACES)
        shape = len(rows), len(columns)
        numbers = {name: np.full(shape, np.nan) for name in ("computed", "published")}
        status = np.full(shape, "", dtype=object)
        for cell in self.cells:
            place = rows.index(cell.row), columns.index(cell.column)
            for name, value in (("computed", cell.computed), ("published", cell.paper)):
                if isinstance(value, int | float):
                    numbers[name][place] = value
            status[place] = cell.status
        data = {name: (_PLACES, values) for name, values in {**numbers, "status": status.astype(str)}.items()}
        about = {"identifier": self.identifier, "title": self.title, "source": self.source}
        return xr.Dataset(data, {"row": rows, "column": columns}, {**about, "verdict": self.verdict})

    @property
    def source(self) -> str:
        """Citation of the paper."""
        return SOURCES[self.identifier.split("/")[0]]


def overall(reports: Sequence[Report]) -> str:
    """The verdict on all tables and figures together; empty where there is nothing to compare.

    Examples
    --------
    >>> one = Report("paper/table-1", "", [Cell("a", "x", 3, 3), Cell("b", "x", 4, 5)])
    >>> two = Report("paper/figure-1", "", [Cell("a", "grows", True, True)])
    >>> overall([one, two])
    'In all: 1 of 2 published values reproduced, 1 of 1 published statements hold.'
    """
    words = Report("", "", [cell for report in reports for cell in report.cells]).verdict
    return f"In all: {words.removesuffix('; others in parentheses.').removesuffix('.')}." if words else ""


@explained
@dataclass(frozen=True)
class Context:
    """How a reproduction runs.

    Attributes
    ----------
    folder : Path or None
        Where pictures and data go; without one none are written.
    threads : int or None
        Threads to use; by default all cores.
    seed : int
        Seed of everything random.
    quick : bool or None
        For reproductions with a choice: a smaller budget (True) or the papers' (False).
    progress : callable or None
        Called with a text, the steps done and the number of all.
    searches : int or None
        Genetic searches per value at most.
    columns : tuple of str
        Columns to compute, for tables that allow it; all of them if there are none.
    """

    folder: Path | None = None
    threads: int | None = None
    seed: int = 1
    quick: bool | None = None
    progress: Callable[[str, int, int], None] | None = None
    searches: int | None = None
    columns: tuple[str, ...] = ()

    @property
    def lasts(self) -> Path | None:
        """Where runs of the papers' lengths are kept, so that they can continue."""
        return None if self.folder is None or self.quick is not False else self.folder / "runs"

    def step(self, text: str) -> Callable[[int, int], None] | None:
        """A progress callback for one step named `text`."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(text, done, total)

    def file(self, identifier: str, ending: str) -> Path | None:
        """Where a file of a reproduction goes, if anywhere."""
        if self.folder is None:
            return None
        return check_output(within(self.folder, identifier.replace("/", "-") + ending))
