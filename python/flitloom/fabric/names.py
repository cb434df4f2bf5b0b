"""Names of nodes: the one place where lists, roots, failed parts and files of hosts become numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from flitloom.errors import SpecError, show, show_file
from flitloom.fabric.hostlist import expand, parse_nodes, split_list
from flitloom.ground.limits import NODES_BYTES
from flitloom.ground.numerals import counted
from flitloom.ground.reading import read_text

#: What a list of nodes by their numbers consists of.
_NUMBERS = frozenset("0123456789,-:/[]")


@dataclass(frozen=True)
class Names:
    """What the nodes of a network are called.

    Attributes
    ----------
    count : int
        Number of nodes.
    called : tuple of str
        A name per node; several nodes may share one (two ports of a host). Empty where they have none.
    noun : str
        What a node is, for messages.

    Examples
    --------
    >>> names = Names(4, ("z0", "z1", "b0", "b1"))
    >>> names.numbers("z[0-1],b1"), names.number("b0"), Names(16).numbers("0-2,node7")
    ([0, 1, 3], 2, [0, 1, 2, 7])
    """

    count: int
    called: tuple[str, ...] = ()
    noun: str = "node"

    @cached_property
    def _known(self) -> dict[str, list[int]]:
        """The nodes of every name, and of the first word of every name."""
        known: dict[str, list[int]] = {}
        for node, name in enumerate(self.called):
            for word in dict.fromkeys([name, *name.split()[:1]]):
                known.setdefault(word, []).append(node)
        return known

    def numbers(self, text: str, place: str = "nodes") -> list[int]:
        """The nodes of a list in Slurm notation, in its order.

        Names are those of the network. Where it has none, and where no name of it is a number, whole
        numbers and ranges of them are numbers of nodes.

        Raises
        ------
        SpecError
            A name is unknown or stands twice, or the list is empty.
        """
        items = split_list(text, place)
        bare = all(set(item) <= _NUMBERS for item in items)
        if not self.called or (bare and not self._has_digits):
            return parse_nodes(",".join(map(_bracketed, items)), self.count, place)
        if bare:
            text = ",".join(map(_bracketed, items))
        found: dict[int, None] = {}
        for name in expand(text, place):
            nodes = self.of(name, place)
            if any(node in found for node in nodes):
                raise SpecError(f"{place}: {self.noun} {show(name)} is named twice")
            found.update(dict.fromkeys(nodes))
        if not found:
            raise SpecError(f"{place}: no {self.noun}s in the list")
        return list(found)

    def listed(self, text: str, place: str = "nodes") -> list[int]:
        """The same, of a list or of the file or pipe that has it."""
        # No file has a name as long as a list may be.
        file = Path(text if len(text) < 4096 else "")
        if file.is_file() or file.is_fifo():
            return self.read(file)
        try:
            return self.numbers(text, place)
        except SpecError as error:
            if file.suffix or len(file.parts) > 1:
                raise SpecError(f"{error}; there is no file of that name either") from None
            raise

    def read(self, file: str | Path) -> list[int]:
        """The nodes of the list in a file."""
        return self.numbers(read_text(file, NODES_BYTES), show_file(file))

    def number(self, name: str, place: str = "root") -> int:
        """The node of one name or number.

        Raises
        ------
        SpecError
            There is none, or several.
        """
        digits = name.isascii() and name.isdigit()
        if digits and (not self.called or not self._has_digits):
            return parse_nodes(f"node{name}", self.count, place)[0]
        if not self.called:
            last = self.count - 1
            raise SpecError(f"{place}: {show(name)} is not a {self.noun}; {self.noun}s are 0 to {last}")
        nodes = self.of(name, place)
        if len(nodes) > 1:
            raise SpecError(f"{place}: {counted(len(nodes), self.noun)} are called {show(name)}")
        return nodes[0]

    def numbered(self, parts: Iterable[str], place: str = "--fail") -> list[str]:
        """Failed parts with numbers for names: ``node:NAME`` and ``link:NAME-NAME``; others as they are.

        Raises
        ------
        SpecError
            A name is unknown.

        Examples
        --------
        >>> Names(3, ("z0", "z-1", "b0")).numbered(["node:b0", "link:z0-z-1", "link:(0,1)+x"])
        ['node:2', 'link:0-1', 'link:(0,1)+x']
        """
        return [self._numbered(part, place) for part in parts] if self.called else list(parts)

    def _numbered(self, part: str, place: str) -> str:
        kind, _, what = part.partition(":")
        if what.startswith("("):
            return part
        if kind == "node":
            return f"node:{self.number(what, place)}"
        if kind != "link":
            a, b = (show(name)[1:-1] for name in (self.called[0], self.called[-1]))
            known = f"write node:{part}" if part in self else f"write node:{a}, or link:{a}-{b}"
            raise SpecError.at(place, f"{show(part)} is not a failed part", known)
        a, b = two_ends(part, self.__contains__, place)
        return f"link:{self.number(a, place)}-{self.number(b, place)}"

    def find(self, name: str) -> int | None:
        """The node of a name or number; None where there is none, or several.

        Examples
        --------
        >>> names = Names(3, ("z0", "z1", "b0"))
        >>> names.find("b0"), names.find("1"), names.find("b1"), names.find("3")
        (2, 1, None, None)
        """
        try:
            return self.number(name)
        except SpecError:
            return None

    def __contains__(self, name: str) -> bool:
        """Whether a node has a name."""
        return name in self._known

    @cached_property
    def _has_digits(self) -> bool:
        """Whether a name is a number."""
        return any(name.isascii() and name.isdigit() for name in self._known)

    def of(self, name: str, place: str = "nodes") -> list[int]:
        """The nodes that have a name, or a name that begins with this word.

        Raises
        ------
        SpecError
            None has it; the message names the nearest name.
        """
        if name not in self._known:
            problem = f"no {self.noun} is called {show(name)}"
            advice = self._advice(name)
            raise SpecError(f"{place}: {problem}; {advice}", place, problem, advice, names=self.called)
        return self._known[name]

    def _advice(self, name: str) -> str:
        """The name that was meant, or one that there is."""
        longer = next((one for one in self.called if name in one.split()), None)
        if longer is not None and '"' not in longer:
            return f'a name with blanks stands in quotes: "{show(longer)[1:-1]}"'
        near = get_close_matches(name[:60], list(self._known), n=8, cutoff=0.4)
        if near:
            # Of names that look alike, one that differs at its end only.
            return f"did you mean {show(max(near, key=lambda one: one[: len(name) - 1] == name[:-1]))}?"
        return f"names are {show(self.called[0])} to {show(self.called[-1])}"


def two_ends(part: str, is_known: Callable[[str], bool], place: str = "--fail") -> tuple[str, str]:
    """The names of both ends of ``link:NAME-NAME``; names may have dashes.

    Raises
    ------
    SpecError
        There is no dash in it.

    Examples
    --------
    >>> two_ends("link:leaf-1-spine-2", ["leaf-1", "spine-2"].__contains__)
    ('leaf-1', 'spine-2')
    """
    what = part.partition(":")[2]
    cuts = [(what[:cut], what[cut + 1 :]) for cut, letter in enumerate(what) if letter == "-"]
    if not cuts:
        problem = f"{show(part)} is not a link"
        raise SpecError.at(place, problem, "write the names of both ends with a dash between them")
    return max(cuts, key=lambda ends: sum(map(is_known, ends)))


def _bracketed(item: str) -> str:
    """An item of a list of numbers as Slurm's notation has it."""
    return f"[{item}]" if set(item) <= _NUMBERS - {"["} else item


def read_hosts(file: str | Path, nodes: int) -> tuple[str, ...]:
    """The name of every node: a file of as many names, of which none stands twice.

    Raises
    ------
    SpecError
        The file has another number of names, or a name twice.
    """
    names: dict[str, None] = {}
    place = show_file(file)
    listed = expand(read_text(file, NODES_BYTES), place)
    for name in listed:
        if name in names:
            raise SpecError(f"{place}: the host {show(name)} is named twice")
        names[name] = None
    if len(listed) != nodes:
        raise SpecError(f"{place}: has {len(listed)} host names; the network has {counted(nodes, 'node')}")
    return tuple(names)
