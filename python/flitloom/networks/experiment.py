"""A whole experiment: what exists, who sends what, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pydantic
from pydantic import ValidationInfo, WrapValidator, model_validator
from pydantic_core import PydanticCustomError

from flitloom.errors import SpecError, require_file, show
from flitloom.fabric.names import Names
from flitloom.ground import limits
from flitloom.ground.reading import parse_toml, read_toml
from flitloom.networks.kinds import AnyOrName, Simulated, choose_model, choose_topology
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.any_traffic import AnyTraffic
from flitloom.spec.base import Problems, SpecModel, refusal, whole
from flitloom.spec.router import Router
from flitloom.spec.tables import locate, packets_in
from flitloom.spec.throttle import Throttle
from flitloom.spec.traffic.fields import Cycle
from flitloom.spec.traffic.known import Traffic
from flitloom.spec.traffic.packets import PACKET
from flitloom.spec.what import with_network


class Experiment(SpecModel):
    """One simulation, completely described.

    Parameters
    ----------
    topology : Topology, Product or str
        What exists: a table of fields, or a text as ``--network`` takes it, e.g. "8x8" or "mesh.csv".
    router : Router
        The router at every node.
    traffic : Collective, Load, Packets, TrafficMatrix or Messages
        Who sends what.
    seed : int
        Seed of everything random, 0 to 2^64 - 1.
    stop_at : int, optional
        End at the start of this cycle and report the totals, also with packets in flight.
    cycle_limit : int, optional
        Fail if not everything is delivered before this cycle.
    throttle : str
        Injection throttle, e.g. ``spth:margin=8`` (docs/throttles.md).
    """

    topology: Annotated[Simulated, WrapValidator(choose_topology), AnyOrName]
    router: Router = Router()
    traffic: Traffic
    seed: Annotated[int, whole(0, 2**64 - 1)] = 1
    stop_at: Cycle | None = None
    cycle_limit: Cycle | None = None
    throttle: Throttle = "none"

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            topology: AnyNetwork | str,
            router: Router = ...,
            traffic: AnyTraffic,
            seed: int = 1,
            stop_at: int | None = None,
            cycle_limit: int | None = None,
            throttle: str = "none",
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _choose_model(cls, data: Any, info: ValidationInfo) -> Any:
        return _with_numbers(choose_model(data, info), info)


def _with_numbers(data: Any, info: ValidationInfo) -> Any:
    """The fields of an experiment with the numbers of hosts for names in a table of packets."""
    if not isinstance(data, Mapping):
        return data
    topology, traffic = data.get("topology"), data.get("traffic")
    if not isinstance(topology, AnyNetwork) or not topology.node_names or not isinstance(traffic, Mapping):
        return data
    names, table = Names(topology.nodes, topology.node_names, "host"), traffic.get("table")
    problems = Problems()
    try:
        if isinstance(table, str | Path):
            # What stands in a file is not shown.
            table = packets_in(locate(table, info), PACKET, names.find)
        elif isinstance(table, list | tuple):
            table = [_numbered(row, names) for row in table]
        else:
            return data
    except PydanticCustomError as error:
        problems.add("traffic.table", error)
    problems.end()
    return {**data, "traffic": {**traffic, "table": table}}


def _numbered(row: Any, names: Names) -> Any:
    """A packet with the numbers of hosts for their names."""
    if not isinstance(row, list | tuple):
        return row
    ends = [names.number(end, "traffic.table") if isinstance(end, str) else end for end in row[:2]]
    return [*ends, *row[2:]]


def read_experiment(file: str | Path, settings: Sequence[str] = ()) -> Experiment:
    """Read an experiment from a TOML file; files it names are relative to its folder.

    Parameters
    ----------
    file : path
        The spec.
    settings : sequence of str
        Changes to it, each written ``router.buffer=8``.

    Raises
    ------
    SpecError
        The file cannot be read, or a field is unknown, missing or out of range.
    """
    require_file(file)
    fields = read_fields(file)
    for setting in settings:
        change(fields, setting)
    return build_experiment(fields, Path(file).parent)


def read_fields(file: str | Path) -> dict[str, Any]:
    """Read the fields of a TOML file, unchecked; a text that names a network becomes its fields."""
    return with_network(read_toml(file), Path(file).parent)


def build_experiment(fields: dict[str, Any], folder: Path = Path()) -> Experiment:
    """Check the fields of an experiment; files they name are relative to `folder`."""
    try:
        return Experiment.model_validate(fields, context={"folder": folder})
    except pydantic.ValidationError as error:
        raise refusal(error) from None


def change(fields: dict[str, Any], setting: str) -> None:
    """Set one field of a spec, written ``router.buffer=8``.

    >>> fields = {}
    >>> change(fields, "router.buffer=8")
    >>> change(fields, "traffic.pattern=shfl")
    >>> fields
    {'router': {'buffer': 8}, 'traffic': {'pattern': 'shfl'}}
    """
    place, equals, text = setting.partition("=")
    names = place.strip().split(".")
    if not equals or not all(names):
        raise SpecError(
            f"--set {show(setting)}: write the path to a field and its value, like router.buffer=8"
        )
    if len(names) > limits.DEPTH:
        raise SpecError(f"--set {show(setting)}: a path of more than {limits.DEPTH} parts")
    try:
        value = parse_toml(f"value = {text}", "--set")["value"]
    except SpecError:
        # Names need no quotes.
        value = text.strip()
    put(fields, ".".join(names), value, f"--set {show(setting)}")


def put(fields: dict[str, Any], path: str, value: Any, place: str) -> None:
    """Set the field at a path; `place` says in messages who asks for it.

    >>> fields = {}
    >>> put(fields, "router.buffer", 8, "--buffer")
    >>> fields
    {'router': {'buffer': 8}}
    """
    *names, last = path.split(".")
    table = fields
    for name in names:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise SpecError(f"{place}: {show(name)} is not a table of fields")
    table[last] = value
