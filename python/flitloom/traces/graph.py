"""Message graphs: whole applications as sends, receives and computations per rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from flitloom.errors import SpecError, show_file
from flitloom.ground.reading import placed
from flitloom.traces.chakra import read_chakra
from flitloom.traces.goal import goal_text, parse_goal, read_goal, without_comments
from flitloom.traces.operations import Ranks


class MessageGraph:
    """Operations of all ranks, as a GOAL text.

    Parameters
    ----------
    text : str
        ``num_ranks N``, then per rank ``rank r { ... }`` with lines like ``l1: send 8b to 3 tag 0``,
        ``l2: recv 8b from 0 tag 0``, ``l3: calc 100``, ``l2 requires l1`` (Group Operation Assembly
        Language, as LogGOPSim reads it).

    Examples
    --------
    >>> from flitloom.messages import MessageGraph
    >>> graph = MessageGraph.exchange(4, [(0, 2, 1024), (2, 0, 1024)])
    >>> graph.ranks
    4
    """

    def __init__(self, text: str) -> None:
        # The core knows no comments over several lines.
        self.text = without_comments(text)
        words = text.split(None, 2)
        if len(words) < 2 or words[0] != "num_ranks" or not words[1].isdecimal() or len(words[1]) > 7:
            raise SpecError("a GOAL text begins with num_ranks and a number")
        self.ranks = int(words[1])

    @classmethod
    def read(cls, file: str | Path) -> MessageGraph:
        """Read a GOAL file, text or binary, or a Chakra trace, of which one file (NAME.RANK.et) is named.

        Raises
        ------
        SpecError
            It cannot be read.
        """
        found = read_chakra(file) if Path(file).suffix == ".et" else read_goal(file)
        return placed(show_file(file), lambda: cls(found) if isinstance(found, str) else cls.of(found))

    @classmethod
    def of(cls, ranks: Ranks) -> MessageGraph:
        """The graph of the given operations of every rank.

        Examples
        --------
        >>> from flitloom.messages import MessageGraph
        >>> from flitloom.traces import Operation
        >>> MessageGraph.of([[Operation("send", 8, 1)], [Operation("recv", 8, 0)]]).ranks
        2
        """
        return cls(goal_text(ranks))

    def operations(self) -> Ranks:
        """What every rank does."""
        return parse_goal(self.text)

    @classmethod
    def exchange(cls, ranks: int, messages: Iterable[tuple[int, int, int]]) -> MessageGraph:
        """Messages of (source, destination, bytes), all ready at once; each rank sends its own in order."""
        return cls.steps(ranks, [(messages, 0)])

    @classmethod
    def steps(cls, ranks: int, phases: Iterable[tuple[Iterable[tuple[int, int, int]], int]]) -> MessageGraph:
        """Phases of messages, each after a computation of this many cycles.

        A rank computes, sends its messages one after the other, and continues to the next phase when it
        has sent and received all of this one.
        """
        lines: list[list[str]] = [[] for _ in range(ranks)]
        numbers = [0] * ranks
        last: list[list[str]] = [[] for _ in range(ranks)]

        def add(rank: int, what: str, after: Sequence[str]) -> str:
            numbers[rank] += 1
            label = f"l{numbers[rank]}"
            lines[rank].append(f"{label}: {what}")
            lines[rank] += [f"{label} requires {other}" for other in after]
            return label

        for tag, (messages, cycles) in enumerate(phases):
            begun = [list(after) for after in last]
            if cycles:
                begun = [[add(rank, f"calc {cycles}", last[rank])] for rank in range(ranks)]
            ends: list[list[str]] = [list(after) if not cycles else after for after in begun]
            sent: dict[int, str] = {}
            fresh: list[list[str]] = [[] for _ in range(ranks)]
            for source, destination, size in messages:
                after = [sent[source]] if source in sent else begun[source]
                sent[source] = add(source, f"send {size}b to {destination} tag {tag}", after)
                fresh[source].append(sent[source])
                fresh[destination].append(
                    add(destination, f"recv {size}b from {source} tag {tag}", begun[destination])
                )
            last = [new or end for new, end in zip(fresh, ends, strict=True)]
        blocks = [
            f"rank {rank} {{\n" + "".join(f"{line}\n" for line in block) + "}"
            for rank, block in enumerate(lines)
        ]
        return cls(f"num_ranks {ranks}\n" + "\n".join(blocks) + "\n")
