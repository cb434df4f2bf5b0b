"""Networks as cases of studies, and what is found of them as labelled arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from flitloom.errors import SpecError
from flitloom.load.cases import Case, machine_router
from flitloom.load.given import network_fields, router_fields
from flitloom.networks.kinds import described
from flitloom.networks.network import Network, network_of
from flitloom.spec import Load, Router
from flitloom.spec.units import unit_of
from flitloom.tables.by_source.tables import Tables

#: What studies are made of: networks, or tables for them.
Networks = Network | Tables | str | Path | Mapping[str, Network | Tables | str | Path]


def cases_of(
    networks: Networks, traffic: str | Load, length: int | None, throttle: str, seed: int
) -> list[Case]:
    """A case per network, with all that its experiment needs but a rate."""
    if isinstance(traffic, str):
        sent = {"pattern": traffic} | ({} if length is None else {"length": length})
    else:
        given = Load.of(traffic, place="traffic")
        sent = given.model_dump(
            exclude_none=True, exclude_defaults=True, exclude={"rate", "profile", "cycles"}
        )
    named = networks if isinstance(networks, Mapping) else {"": networks}
    if not named:
        raise SpecError.at("networks", "names no network", "give fl.Network(...) or several by name")
    cases = []
    for name, network in named.items():
        if isinstance(network, Tables):
            router = router_fields(network, sent.get("length", Load.model_fields["length"].default))
            topology = network_fields(network)
        else:
            network = _network(network, sent.get("length", Load.model_fields["length"].default))
            router = network.router.model_dump(exclude_none=True)
            topology = network.topology.model_dump(exclude_none=True)
        parts = {"topology": topology, "router": router, "traffic": sent}
        fields: dict[str, Any] = {**parts, "throttle": throttle, "seed": seed}
        cases.append(Case({"case": name}, fields, tables=network if isinstance(network, Tables) else None))
    return cases


def _network(network: Network | str | Path, length: int) -> Network:
    """A network; what is only named has a machine's routers."""
    if isinstance(network, str | Path):
        topology = described(network, "network")
        model = {"model": "pipelined"} if topology.subnet is not None else {}
        return Network(topology, Router(**{**model, **machine_router(model, {}, length)}))
    return network_of(network)


def go_on(interrupted: bool) -> None:
    """End as Ctrl-C does where it came."""
    if interrupted:
        raise KeyboardInterrupt


def dataset(rows: Sequence[Mapping[str, Any]], dimension: str) -> xr.Dataset:
    """Rows of equal names as arrays over one of them; what is missing in numbers is not a number."""
    made = xr.Dataset(coords={dimension: [row[dimension] for row in rows]})
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in ("case", dimension):
            continue
        numbers = all(value is None or isinstance(value, int | float) for value in values)
        array = [np.nan if value is None else value for value in values] if numbers else values
        made[name] = (dimension, array)
    for key, variable in made.variables.items():
        if unit := unit_of(str(key), rows[0]):
            variable.attrs["units"] = unit
    return made


def by_case(networks: Networks, rows: Sequence[Mapping[str, Any]]) -> xr.Dataset:
    """A row per network as arrays over them, without a dimension for a single one."""
    made = dataset(rows, "case")
    return made if isinstance(networks, Mapping) else made.isel(case=0, drop=True)


def joined(networks: Networks, parts: Sequence[xr.Dataset], told: Sequence[str]) -> xr.Dataset:
    """One dataset of several networks; what is said of each is an array over them."""
    if not isinstance(networks, Mapping):
        return parts[0]
    plain = [part.drop_attrs(deep=False) for part in parts]
    whole: xr.Dataset = xr.concat(plain, "case", join="outer", combine_attrs="override")
    whole = whole.assign_coords(case=list(networks))
    for name in told:
        values = [part.attrs.get(name) for part in parts]
        missing = "" if any(isinstance(value, str) for value in values) else np.nan
        whole.coords[name] = ("case", [missing if value is None else value for value in values])
    return whole
