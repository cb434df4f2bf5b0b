"""Compare all golden files with what comes of their entries now: ``python tests/golden/compare.py``.

Words limit it to groups (``failed``, ``large``, ...); ``--write`` writes what comes out. It ends with 1 if
anything differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden import files, kinds
from golden.catalogue import entries


def main(words: list[str]) -> int:
    """Compare, or write."""
    everything = entries()
    groups = [word for word in words if word != "--write"] or list(
        dict.fromkeys(entry[0] for entry in everything)
    )
    wrong = 0
    for group in groups:
        chosen, stored = [entry for entry in everything if entry[0] == group], files.read(group)
        found = {}
        for entry, facts in files.computed(chosen):
            name = files.key(entry)
            found[name] = facts
            lines = list(kinds.differences(stored.get(name, {}), facts))
            wrong += bool(lines)
            print("".join(f"{name}\n  {line}\n" for line in lines), end="")
        wrong += len(stored.keys() - found.keys())
        print(f"{group}: {len(chosen)} entries", file=sys.stderr)
        if "--write" in words:
            files.write(group, everything, found)
    return wrong > 0 and "--write" not in words


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
