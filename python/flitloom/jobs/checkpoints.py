"""Where a simulation that was interrupted continues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.run.simulation import Simulation


def begun_or_resumed(
    begin: Callable[[], Simulation],
    checkpoint: str | Path | None,
    *,
    threads: int = 1,
    on_ranks: bool = False,
    checked: bool = True,
) -> Simulation:
    """A simulation from its checkpoint, or from its beginning if there is none.

    Parameters
    ----------
    begin : callable
        Makes the simulation at its beginning.
    checkpoint : path, optional
        Where it was saved, if it was.
    threads : int
        Threads of one that continues.
    on_ranks : bool
        Whether it continues over all ranks of MPI.
    checked : bool
        Whether what was saved must be the same simulation; a checkpoint that is named by a job's id is.

    Raises
    ------
    SpecError
        The checkpoint is of another simulation.
    """
    if checkpoint is None or not Path(checkpoint).exists():
        return begin()
    saved = Simulation.load(checkpoint, threads=threads, _on_ranks=on_ranks)
    if not checked:
        return saved
    begun = begin()
    if saved.spec != begun.spec or not saved.same_records(begun):
        raise SpecError(f"{show_file(checkpoint)}: is of another run; take another file, or delete this one")
    return saved
