"""A function called with several sets of arguments side by side, on all cores or by an executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from flitloom.jobs.pool import as_finished, pool_of

Made = TypeVar("Made")
Name = TypeVar("Name")
Arguments = Mapping[str, Any] | Sequence[Any]


def run_many(
    function: Callable[..., Made],
    cases: Mapping[Name, Arguments],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Name, Made]:
    """Call a function with several sets of arguments, side by side.

    For any function that takes long: `flitloom.plans.search`, `flitloom.placing.place`,
    `flitloom.collectives.plan` and `advise`, `flitloom.tables.make`, `flitloom.simulate` and so on.

    Parameters
    ----------
    function : callable
        A function of a module.
    cases : mapping
        Its arguments by the name of each case: a sequence, or a mapping of names to values.
    workers : int, optional
        Processes; by default one per core.
    executor : concurrent.futures.Executor, optional
        Where calls run instead: e.g. a Dask client or ``mpi4py.futures.MPIPoolExecutor``.
    progress : callable, optional
        Told how many of how many are finished.

    Returns
    -------
    dict
        The results by the names of the cases, in their order.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.jobs import run_many
    >>> network = fl.Network(fl.Torus(4, 4))
    >>> cases = {name: (network, fl.Collective(name)) for name in ("torn", "shfl")}
    >>> plans = run_many(fl.plans.search, cases, workers=2)
    >>> {name: plan.optimal for name, plan in plans.items()}
    {'torn': True, 'shfl': True}
    """
    tasks = [(function, arguments) for arguments in cases.values()]
    made = dict(as_finished(_call, tasks, pool_of(executor, workers), progress))
    return {name: made[place] for place, name in enumerate(cases)}


def _call(function: Callable[..., Made], arguments: Arguments) -> Made:
    return function(**arguments) if isinstance(arguments, Mapping) else function(*arguments)
