"""What came of a simulation: totals, labelled arrays, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flitloom.ground import provenance
from flitloom.ground.fixed import Fixed
from flitloom.ground.lazy import xr
from flitloom.ground.notebook import fields_html
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output, write_netcdf, write_text
from flitloom.networks.experiment import Experiment
from flitloom.spec import DIMENSION_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from flitloom.networks.network import Bound, Network
    from flitloom.tables.by_source.tables import Tables
    from flitloom.view import Film


class Result(Fixed):
    """What came of one simulation; `simulate` makes it.

    A record that was not asked for is taken when it is first looked at, in a second run that is the same
    to the bit.

    Attributes
    ----------
    network : Network
        The network it ran on.
    spec : Experiment
        What was simulated, the seed included.
    tables : Tables or None
        Routes of the packets; None for dimension order.
    version, commit : str
        The flitloom that made it.
    """

    def __init__(
        self,
        network: Network,
        spec: Experiment,
        raw: dict[str, Any],
        bound: Bound | None,
        tables: Tables | None = None,
        *,
        again: Callable[..., Result],
    ) -> None:
        self.network = network
        self.spec = spec
        self.tables = tables
        self.version = provenance.version()
        self._raw = raw
        self._bound = bound
        self._again = again
        self._fix()

    @property
    def commit(self) -> str:
        """The commit of the flitloom that made it, with ``+`` if files had changed since."""
        return provenance.commit()

    @property
    def duration(self) -> int:
        """Index of the cycle in which the last flit was ejected, plus 2, in cycles.

        An unhindered packet of L flits over h hops takes h + L + 1.
        """
        return int(self._raw["duration"])

    @property
    def makespan(self) -> int | None:
        """Of a message graph: the cycle in which its last operation is complete, computing included.

        ``None`` for other traffic, and before the end.

        Examples
        --------
        >>> import flitloom as fl
        >>> from flitloom.messages import MessageGraph
        >>> graph = MessageGraph.steps(2, [([(0, 1, 64)], 0), ([], 100)])
        >>> result = fl.simulate(fl.Network(fl.Torus(4)), fl.Messages(graph))
        >>> result.duration, result.makespan
        (7, 106)
        """
        return self._raw.get("makespan")

    @property
    def height(self) -> int:
        """Height t_d of a slice, which is its duration (cup-stacking-2022, 4.3), in cycles."""
        return self.duration

    @property
    def effective_thickness(self) -> int:
        """Effective thickness T_e: the longest occupation of any link (cup-stacking-2022, 4.3), in cycles."""
        return int(self._record("links")["effective_thickness"])

    @property
    def span(self) -> int:
        """Span of the network: cycles from the first flit over any link to the last one over any link.

        It is what the cup-stacking papers print as effective thickness T_e.

        Examples
        --------
        >>> import flitloom as fl
        >>> net = fl.Network(fl.Torus(16, 16), fl.Router(preset="cup-stacking"))
        >>> result = fl.simulate(net, fl.Collective("bcmp"))
        >>> result.span, result.effective_thickness
        (62, 46)
        """
        return int(self._record("links")["span"])

    @property
    def lower_bound(self) -> int | None:
        """A duration nothing could beat on the same routes, in cycles; ``None`` for a load or messages."""
        return self._bound[0] if self._bound else None

    @property
    def bottleneck(self) -> str | None:
        """What the lower bound rests on; ``None`` for a load or messages."""
        return self._bound[1] if self._bound else None

    @property
    def cycles(self) -> int:
        """Cycles simulated."""
        return int(self._raw["cycles"])

    @property
    def packets_injected(self) -> int:
        """Packets whose header left the processor queue of its router."""
        return int(self._raw["packets_injected"])

    @property
    def packets_delivered(self) -> int:
        """Packets whose tail was ejected."""
        return int(self._raw["packets_delivered"])

    @property
    def flits_delivered(self) -> int:
        """Flits ejected."""
        return int(self._raw["flits_delivered"])

    @property
    def flit_hops(self) -> int:
        """Flits that crossed a network link, counted once per link."""
        return int(self._raw["flit_hops"])

    @property
    def throughput(self) -> float:
        """Flits ejected per node and cycle, over all nodes that work and all cycles simulated.

        Of a load that is the accepted load with the filling and the draining of the network;
        `flitloom.load.curve` measures steady states.

        Examples
        --------
        >>> import flitloom as fl
        >>> result = fl.simulate(fl.Network(fl.Torus(8)), fl.Load("next", rate=0.5, cycles=10_000))
        >>> round(result.throughput, 1)
        0.5
        """
        working = self.network.nodes - len(self.network.topology.failed_nodes)
        return self.flits_delivered / max(1, working) / max(1, self.cycles)

    @property
    def mean_latency(self) -> float | None:
        """Mean age of delivered packets, from their start to their tail's ejection; ``None`` without any.

        In cycles, counted as `duration` and as every latency of `flitloom load`: an unhindered packet of L
        flits over h hops takes h + L + 1, one cycle into the network and one out of it included.

        Examples
        --------
        >>> import flitloom as fl
        >>> result = fl.simulate(fl.Network(fl.Torus(8)), fl.Packets([(0, 3, 5, 0)]))
        >>> result.mean_latency, result.duration
        (9.0, 9)
        """
        delivered = self.packets_delivered
        return self.age_sum / delivered if delivered else None

    @property
    def age_sum(self) -> int:
        """Sum over delivered packets of their age: from their start to their tail's ejection, in cycles.

        Counted as `duration` is, h + L + 1 for an unhindered packet.
        """
        return int(self._raw["latency_sum"]) + 2 * self.packets_delivered

    @property
    def engine(self) -> str:
        """The engine it ran on, ``planes`` or ``general``; the result does not depend on it."""
        return str(self._raw["engine"])

    @property
    def parts(self) -> int:
        """Parts the network was divided into, each with a thread; the result does not depend on it."""
        return int(self._raw["parts"])

    @property
    def fingerprint(self) -> str:
        """A hash of all tail ejections (cycle and node), the same for the same behaviour."""
        return f"{self._raw['fingerprint']:016x}"

    @cached_property
    def links(self) -> xr.Dataset:
        """Every link by the coordinates of the node it leaves and its direction; of switches, by its name.

        Variables: ``first`` and ``last`` cycle in which flits cross it (-1 for none), ``flits``,
        ``occupation`` (last - first + 1, in cycles), and whether it ``works``.
        """
        record, network = self._record("links"), self.network
        shape: tuple[int, ...]
        dims: tuple[str, ...]
        coordinates: dict[str, Any]
        if network.topology.grid is None:
            called = [network.name_of_link(link) for link in range(len(record["first"]))]
            shape, dims, coordinates = (len(called),), ("link",), {"link": called}
        else:
            sizes = network.topology.dimensions
            names = DIMENSION_NAMES[: len(sizes)]
            shape = (*reversed(sizes), len(network.directions))
            dims = (*reversed(names), "direction")
            coordinates = {name: np.arange(size) for name, size in zip(names, sizes, strict=True)}
            coordinates["direction"] = list(network.directions)
        first, last = record["first"].reshape(shape), record["last"].reshape(shape)
        variables = {
            "first": (dims, first, {"units": "cycles", "long_name": "cycle of the first flit"}),
            "last": (dims, last, {"units": "cycles", "long_name": "cycle of the last flit"}),
            "flits": (dims, record["flits"].reshape(shape), {"units": "flits"}),
            "occupation": (dims, np.where(first < 0, 0, last - first + 1), {"units": "cycles"}),
            "works": (dims, np.array(network.working_links()).reshape(shape)),
        }
        return xr.Dataset(variables, coordinates)

    def link_rows(self) -> list[dict[str, Any]]:
        """Every used link as a row: ``link`` (as ``(0,3)+x``), first, last, flits and occupation."""
        record = self._record("links")
        rows = []
        for index in np.flatnonzero(record["flits"]).tolist():
            first, last = int(record["first"][index]), int(record["last"][index])
            rows.append(
                {
                    "link": self.network.name_of_link(index),
                    "first": first,
                    "last": last,
                    "flits": int(record["flits"][index]),
                    "occupation": last - first + 1,
                }
            )
        return rows

    @property
    def working_links(self) -> int:
        """How many links work, each direction counted."""
        return sum(self.network.working_links())

    @cached_property
    def packets(self) -> xr.Dataset:
        """Every delivered packet, by source and by its number there.

        Variables: ``source``, ``destination``, ``number``, ``slice``; the cycles in which it was
        ``generated`` (available to its router), ``injected`` (its header left the processor queue) and in
        which its head and tail were ejected (``head_arrival``, ``tail_arrival``); and its ``hops``.

        With pipelined routers a flit is ejected when it leaves its last router. Its packet's latency ends two
        cycles later. Replies are numbered from 2^31.
        """
        return xr.Dataset({name: ("packet", values) for name, values in self._record("packets").items()})

    @cached_property
    def link_time(self) -> xr.DataArray:
        """What every link did in every cycle: 0 idle, 255 blocked, otherwise 1 + the slice of its flit."""
        cells, width = self._record("link_time")
        directions = self.network.directions
        return xr.DataArray(
            cells.reshape(-1, width // len(directions), len(directions)),
            dims=("cycle", "node", "direction"),
            coords={"direction": list(directions)},
            name="link_time",
            attrs={"flag_meanings": "0 idle, 255 blocked, otherwise 1 + slice"},
        )

    def summary(self) -> dict[str, Any]:
        """The totals by name."""
        summary: dict[str, Any] = {"duration": self.duration, "height": self.height}
        if "links" in self._raw:
            summary["effective_thickness"] = self.effective_thickness
        summary |= {
            "bound": self.lower_bound,
            "bottleneck": self.bottleneck,
            "cycles": self.cycles,
            "packets_injected": self.packets_injected,
            "packets_delivered": self.packets_delivered,
            "flits_delivered": self.flits_delivered,
            "flit_hops": self.flit_hops,
            "latency": self.mean_latency,
            "age_sum": self.age_sum,
            "fingerprint": self.fingerprint,
            "engine": self.engine,
            "parts": self.parts,
        }
        summary |= self.spec.traffic.totals(self)
        if "network_latency_sum" in self._raw:
            delivered = self.packets_delivered or 1
            summary["network_latency"] = self._raw["network_latency_sum"] / delivered
            summary["routers_passed"] = self._raw["hop_sum"] / delivered
        if "replies" in self._raw:
            count, latency = self._raw["replies"]
            summary |= {"replies_delivered": count, "reply_latency": latency / count if count else None}
        return summary

    def to_dict(self, *, records: bool = False) -> dict[str, Any]:
        """Totals, spec and origin as plain values; with `records`, links and packets too."""
        values = {
            **self.summary(),
            "seed": self.spec.seed,
            "version": self.version,
            "commit": self.commit,
            "spec": self.spec.model_dump(mode="json"),
        }
        if self.tables is not None:
            values["tables"] = {"method": self.tables.method, "seed": self.tables.seed}
        if records:
            for name in ("links", "packets"):
                if name in self._raw:
                    values[name] = getattr(self, name).to_dict()
        return values

    def to_json(self, path: str | Path | None = None, *, records: bool = False) -> str:
        """Write `to_dict` as JSON, to a file if one is named, and return the text."""
        text = json.dumps(self.to_dict(records=records), indent=2, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def to_netcdf(self, path: str | Path) -> None:
        """Write everything recorded to a NetCDF file with a group per record.

        Totals, seed, version, commit and the spec (as JSON) are attributes of the root group.
        """
        check_output(path)
        attributes = {
            name: value if isinstance(value, int | float | str) else json.dumps(value)
            for name, value in self.to_dict().items()
        }
        groups = {"/": xr.Dataset(attrs=attributes)}
        for name in ("links", "packets", "link_time"):
            if name in self._raw:
                record = getattr(self, name)
                groups[f"/{name}"] = record.to_dataset() if isinstance(record, xr.DataArray) else record
        write_netcdf(path, groups)

    def plot_link_time(self, path: str | Path | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw what every link did in every cycle, as in cup-stacking-2022, Fig. 2."""
        from flitloom.plots.link_time import plot_link_time

        return plot_link_time(self, path, ax=ax)

    def _record(self, name: str) -> Any:
        """A record; one that was not taken is taken now, in a second run that is the same to the bit."""
        if name not in self._raw:
            again = self._again(self.spec, tables=self.tables, **{"links": False, name: True})
            self._raw[name] = again._raw[name]
        return self._raw[name]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return fields_html(self.spec.traffic.describe(self.network), self.summary())

    def film(self) -> Film:
        """All that moved, as a page that plays; a notebook shows it at once, `write_page` writes it.

        Raises
        ------
        SpecError
            It is too long to play.
        """
        from flitloom.view import film_of

        return film_of(self)

    def __repr__(self) -> str:
        bound = "" if self.lower_bound is None else f", lower bound {self.lower_bound}"
        return (
            f"Result(duration {counted(self.duration, 'cycle')}{bound}, "
            f"{counted(self.packets_delivered, 'packet')})"
        )
