"""What ``flitloom stack`` does."""

from __future__ import annotations

from flitloom.commands import pictures, screen
from flitloom.commands.options import check_files
from flitloom.commands.stack import Asked, Reported
from flitloom.errors import SpecError
from flitloom.ground import interrupts
from flitloom.ground.numerals import counted
from flitloom.ground.workers import usable_cores
from flitloom.networks.experiment import Experiment, build_experiment
from flitloom.run.simulation import experiment_memory
from flitloom.scheduling.stacking import Stacking, save_curves, stack_each
from flitloom.spec import PERMUTATIONS, SCHEMES


def run(asked: Asked) -> None:
    """Sweep the intervals of all experiments; what is finished at Ctrl-C is kept."""
    reported = asked.reported
    check_files(reported.out, (".csv", ".nc"), reported.chart)
    experiments = _experiments(asked)
    intervals = read_intervals(asked.stacked.intervals)
    _foretell_memory(experiments, reported.threads)
    done: list[Stacking] = []
    try:
        with interrupts.keeping(), screen.progress("sweeps (%)") as show:
            done.extend(stack_each(experiments, intervals, threads=reported.threads, progress=show))
    except KeyboardInterrupt:
        # What is finished is kept; charts take longer than a user waits.
        if done:
            interrupts.kept()
            reported.chart = None
            _report(done, reported)
        raise
    _report(done, reported)


def _experiments(asked: Asked) -> list[Experiment]:
    sent = asked.stacked
    patterns: list[str | None] = [None] if sent.destinations else list(sent.pattern or ["all"])
    if "all" in patterns:
        patterns = list(PERMUTATIONS)
    schemes = sent.arbitration or ["C00"]
    fields = asked.experiments(patterns, list(SCHEMES) if "all" in schemes else schemes)
    return [build_experiment(one) for one in fields]


def _foretell_memory(experiments: list[Experiment], threads: int | None) -> None:
    largest = max(experiment_memory(one, links=False) for one in experiments)
    cores = min(threads or usable_cores(), usable_cores())
    screen.foretell_memory([largest] * cores, cores)


def _report(done: list[Stacking], reported: Reported) -> None:
    if reported.out is not None:
        save_curves(done, reported.out)
    if reported.chart is not None:
        pictures.plot_stackings(_panels(done), reported.chart)
    screen.print_rows([stacking.row() for stacking in done], reported.json)


def _panels(done: list[Stacking]) -> dict[str, list[tuple[str, Stacking]]]:
    """A panel per pattern, a curve per scheme and number of slices."""
    panels: dict[str, list[tuple[str, Stacking]]] = {}
    for stacking in done:
        row = stacking.row()
        label = (
            f"{row['arbitration']}, {counted(row['slices'], 'slice')} of "
            f"{counted(row['slice_length'], 'flit')}"
        )
        panels.setdefault(f"{row['pattern']}, {stacking.network.topology}", []).append((label, stacking))
    return panels


def read_intervals(text: str | None) -> range | None:
    """The intervals of ``FIRST:LAST``.

    >>> read_intervals("8:11")
    range(8, 12)
    """
    if text is None:
        return None
    first, _, last = text.partition(":")
    if not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (first, last)):
        raise SpecError(f"--intervals {text[:40]}: write first and last interval, like 8:95")
    if not int(first) <= int(last) < int(first) + 100_000:
        raise SpecError(f"--intervals {text[:40]}: must rise, by less than 100000 cycles")
    return range(int(first), int(last) + 1)
