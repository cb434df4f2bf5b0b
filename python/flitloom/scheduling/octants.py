"""Search for the pairs of octants that the all-to-all of 8x8x8 is made of, as this project stores them.

The files are `mixed.txt` and `equal.txt` beside ``core/src/schedule/methods/slots/octants/stored.rs``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from flitloom import _core


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a pair of octants as it is stored."""
    parser = argparse.ArgumentParser(prog="python -m flitloom.scheduling.octants", description=__doc__)
    parser.add_argument("pair", choices=("mixed", "equal"), help="Which pair of opposite octants.")
    parser.add_argument(
        "--cycles", type=int, default=1072, help="Cycles of the schedule; 1024 are without any loss."
    )
    parser.add_argument("--beams", type=int, default=150, help="Searches through a stage, at most.")
    parser.add_argument("--width", type=int, default=1000, help="States that a search keeps of every cycle.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    limits = (("cycles", 1024, 4096), ("beams", 1, 1 << 32), ("width", 1, 1 << 20), ("seed", 0, 1 << 63))
    for name, least, most in limits:
        if not least <= getattr(given, name) <= most:
            parser.error(f"--{name} {getattr(given, name)}: it must be {least} to {most}")
    found = _core.octant_pair(given.pair == "mixed", given.cycles, given.beams, given.width, given.seed)
    if found is None:
        print(f"nothing found in {given.cycles} cycles with {given.beams} beams", file=sys.stderr)
        return 1
    print(found, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
