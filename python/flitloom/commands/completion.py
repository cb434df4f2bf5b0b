"""Values of options: what TAB offers, and underscores for hyphens; verbs by the names of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from flitloom.errors import FlitloomError, SpecError, nearest, show
from flitloom.spec.words import OPTIONS, flags

#: Options whose values are names of a list of the core.
LISTED = {flag: about.among for name, about in OPTIONS.items() if about.among for flag in flags(name)} | {
    "--impulse": "patterns",
    "--operation": "operations",
    "--patterns": "patterns",
    "--turns": "turns",
    "--rules": "rules",
    "--then": "patterns",
}
#: Characters up to which a word may be the name of a file.
LONGEST = 255
#: What other tools and other people call it, and the words for that here.
MEANT = {
    "allgather": "collective all-gather",
    "allreduce": "collective all-reduce",
    "alltoall": "collective all-to-all",
    "animate": "view",
    "booksim": "simulate",
    "draw": "view",
    "embed": "place",
    "export": "convert",
    "garnet": "load curve",
    "latency": "load curve",
    "map": "place",
    "opensm": "route --fabric",
    "paper": "papers",
    "reproduce": "papers run",
    "run": "simulate",
    "saturate": "load saturation",
    "sim": "simulate",
    "solve": "collective",
    "synthesize": "collective",
    "throughput": "load saturation",
    "topology": "simulate --torus 4x4",
    "traffic": "load",
    "verify": "check",
    "visualize": "view",
}


#: How a message about a spec begins or ends, and the options, of which a command line lacks one.
LACKING = (
    ("topology: is missing", "--torus --network", "add --torus 8x8, --mesh 8x8 or --network 'full8 x full8'"),
    ("topology: is missing", "--torus", "add --torus 8x8 or --mesh 8x8"),
    ("topology: is missing", "--network", "add --network 8x8"),
    ("traffic: is missing", "--pattern", "add --pattern rand"),
    ("traffic: give either pattern", "--pattern", "add --pattern rand"),
    ("routing tables can", "--tables", "add --tables, with a file that flitloom route --fail writes"),
)


def advised(error: FlitloomError, command: Any, arguments: Sequence[str]) -> str:
    """The text of an error, with the option to add where the command has one."""
    words = [word for word in arguments if not word.startswith("-")]
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    options = {option for parameter in getattr(command, "params", ()) for option in parameter.opts}

    def told(line: str) -> str:
        for part, needed, advice in LACKING:
            at_an_end = line.startswith(part) or line.endswith(part)
            if at_an_end and options.issuperset(needed.split()) and " --" not in line:
                return f"{line}; {advice}"
        return line

    return "\n".join(map(told, str(error).split("\n")))


def hyphenated(arguments: Sequence[str]) -> list[str]:
    """The arguments with hyphens for underscores, in options and in names of closed lists, but not in files.

    >>> hyphenated(["--flow_control", "cut_through", "--operation=all_to_all", "-o", "my_plan.json"])
    ['--flow-control', 'cut-through', '--operation=all-to-all', '-o', 'my_plan.json']
    >>> hyphenated(["--routing", "my_tables.json", "--throttle", "when:idle_outputs > 4"])
    ['--routing', 'my_tables.json', '--throttle', 'when:idle_outputs > 4']
    """

    def listed(word: str) -> str:
        # Behind a colon there are values, and no names of lists.
        is_other = {"/", ".", ":"} & set(word) or (len(word) < LONGEST and Path(word).exists())
        return word if is_other else word.replace("_", "-")

    made: list[str] = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if made and made[-1] in LISTED:
            made.append(listed(word))
        elif name.startswith("--"):
            name = name.replace("_", "-")
            made.append(name + equals + (listed(value) if name in LISTED else value))
        else:
            made.append(word)
    return made


def find_anyway(group: Any) -> None:
    """Let the commands of a group be found with underscores, and name the nearest where there is none."""
    resolved = group.resolve_command

    def resolve(context: Any, words: list[str]) -> Any:
        name = words[0] if words[0] in group.commands else words[0].replace("_", "-")
        if name not in group.commands and not (name.startswith("-") or context.resilient_parsing):
            near = nearest(name, group.list_commands(context))
            top = context.parent is None
            meant = MEANT.get(name.lower(), near) if top else near
            hint = f"did you mean {meant}? " if meant else ""
            called = "flitloom" if top else f"flitloom {context.info_name}"
            raise SpecError(
                f"{called}: there is no command {show(words[0])}; {hint}{called} --help lists all"
            )
        return resolved(context, [name, *words[1:]])

    group.resolve_command = resolve
    for inner in group.commands.values():
        if hasattr(inner, "commands"):
            find_anyway(inner)


def offer_values(command: Any, words: Sequence[str] = ()) -> None:
    """Let TAB offer the names that options of a command, and of those below it, may have."""
    for parameter in command.params:
        for option in parameter.opts:
            if (names := _names(words, option)) is not None:
                parameter._custom_shell_complete = _offer(names)
    for name, inner in getattr(command, "commands", {}).items():
        offer_values(inner, [*words, name])


def _names(words: Sequence[str], option: str) -> Callable[[], Iterable[str]] | None:
    """The names that an option of a command may have, found when they are asked for."""
    from flitloom._core import LISTS

    verb = words[0] if words else ""
    match verb, option:
        case "place", "--routing":
            # Tables, in a file, are the third.
            return lambda: ("do", "balanced")
        case "place", "--minimise":
            return _objectives
    if option in LISTED:
        return lambda: LISTS[LISTED[option]]
    match verb, option:
        case _, "--preset":
            return _presets
        case _, "--model":
            return _models
        case "convert", "--for":
            return _programs
        case "examples", "wanted":
            return _examples
        case "route", "--method":
            return lambda: dict.fromkeys((*LISTS["table_methods"], *LISTS["forwarding_methods"]))
        case "schedule", "--genes":
            return _genes
        case "schedule", "--method":
            return lambda: ("exact", "genetic", *LISTS["schedule_methods"])
        case "schedule" | "jitter", "--routes":
            return lambda: (*LISTS["routes"], "staircase")
        case "papers", "identifier":
            return _papers
        case "bench", "what":
            return _benchmarks
    return None


def _presets() -> Sequence[str]:
    from flitloom.spec.router import PRESETS

    return list(PRESETS)


def _models() -> Sequence[str]:
    from flitloom.spec.pipeline import MODELS

    return list(MODELS)


def _objectives() -> Sequence[str]:
    from flitloom.placing.search import OBJECTIVES

    return OBJECTIVES


def _programs() -> Sequence[str]:
    from flitloom.collectives.loaders import LOADERS

    return list(LOADERS)


def _examples() -> Sequence[str]:
    from flitloom.commands.examples import names

    return names()


def _genes() -> Sequence[str]:
    from flitloom.genetic import GENES

    return list(GENES)


def _papers() -> Sequence[str]:
    from flitloom.papers import identifiers

    return [*identifiers(), *sorted({name.partition("/")[0] for name in identifiers()})]


def _benchmarks() -> Sequence[str]:
    from flitloom.benchmarks import BENCHMARKS

    return list(BENCHMARKS)


def _offer(names: Callable[[], Iterable[str]]) -> Any:
    def complete(_context: Any, _parameter: Any, given: str) -> list[str]:
        # Several values stand behind each other, separated by commas.
        before, comma, last = given.rpartition(",")
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete
