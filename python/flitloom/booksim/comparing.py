"""BookSim2 itself, as a program, compared with the router here."""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from flitloom.booksim.options import Options
from flitloom.booksim.printing import lines
from flitloom.booksim.results import results
from flitloom.booksim.running import run
from flitloom.errors import SpecError, show

#: What a comparison can come to.
EQUAL, DIFFERENT, REFUSED, ENDED = "equal", "different", "refused", "ended by BookSim2"
#: Where BookSim2's statistics begin and end.
_BEGIN, _END = "END Configuration File", "Total run time"
#: What the first line of a run begins with; where no class is measured, samples have none.
_FIRST = ("Class ", "WARNING: ", "Sending batch ", "Warmed up ", "Too many sample periods ")
#: Seconds after which BookSim2 is stopped, and where it is only asked whether it ends.
_PATIENCE, _BRIEFLY = 600.0, 60.0


@dataclass(frozen=True)
class Comparison:
    """One configuration on both.

    Attributes
    ----------
    verdict : str
        ``equal``: every printed line is; ``different``; ``refused`` here, and BookSim2 runs it;
        ``ended by BookSim2`` without statistics.
    detail : str
        The first line that differs, or the reason.
    lines, packets : int
        Lines compared, and packets delivered.
    seconds, theirs : float
        User CPU time here and of BookSim2.
    """

    verdict: str
    detail: str = ""
    lines: int = 0
    packets: int = 0
    seconds: float = math.nan
    theirs: float = math.nan

    def fields(self) -> dict[str, object]:
        """All of it, with None where a time is unknown."""
        times = {"seconds": self.seconds, "theirs": self.theirs}
        known = {name: None if math.isnan(value) else value for name, value in times.items()}
        return {
            "verdict": self.verdict,
            "detail": self.detail,
            "lines": self.lines,
            "packets": self.packets,
            **known,
        }


def check_binary(binary: Path) -> None:
    """Refuse what cannot be run."""
    try:
        is_program = binary.is_file() and os.access(binary, os.X_OK)
    except OSError:
        is_program = False
    if not is_program:
        raise SpecError.at(
            "--binary", f"{show(str(binary))} is not a program", "give the program that BookSim2's make built"
        )


def printed(binary: Path, options: Options, patience: float = _PATIENCE) -> tuple[list[str], float]:
    """The lines that BookSim2 prints of a run, none if it ended early, and its user CPU time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "drawn")
        file.write_text(f"{options.text()}print_csv_results = 1;\n")
        before = os.times().children_user
        try:
            done = subprocess.run(
                [binary.resolve(), file],
                capture_output=True,
                text=True,
                timeout=patience,
                check=False,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return [], math.nan
        except OSError as error:
            raise SpecError.at("--binary", f"cannot be run: {error.strerror or error}") from None
        seconds = os.times().children_user - before
    all_lines = done.stdout.splitlines()
    begin = next((at for at, line in enumerate(all_lines) if line.startswith(_BEGIN)), None)
    end = next((at for at, line in enumerate(all_lines) if line.startswith(_END)), None)
    if begin is None or end is None:
        return [], seconds
    lines = all_lines[begin + 1 : end]
    # Some networks describe themselves before the first sample.
    first = next((at for at, line in enumerate(lines) if line.startswith(_FIRST)), len(lines))
    return lines[first:], seconds


def compare(binary: Path, options: Options) -> Comparison:
    """Run one configuration on both, and compare all that is printed of it, line for line."""
    begin = time.process_time()
    try:
        outcome = run(options, packets=True)
    except SpecError as error:
        theirs, _ = printed(binary, options, _BRIEFLY)
        return Comparison(REFUSED if theirs else ENDED, str(error))
    seconds = time.process_time() - begin
    ours = [*lines(outcome.events), *results(outcome.events, options)]
    theirs, their_seconds = printed(binary, options)
    if not theirs:
        return Comparison(ENDED, "it printed no statistics", seconds=seconds, theirs=their_seconds)
    packets = len(outcome.packets["packet"])
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if one != other:
            detail = f"line {number}: {one.strip()!r} here, {other.strip()!r} there"
            return Comparison(DIFFERENT, detail, number, packets, seconds, their_seconds)
    if len(ours) != len(theirs):
        detail = f"{len(ours)} lines here, {len(theirs)} there"
        return Comparison(DIFFERENT, detail, min(len(ours), len(theirs)), packets, seconds, their_seconds)
    return Comparison(EQUAL, "", len(ours), packets, seconds, their_seconds)
