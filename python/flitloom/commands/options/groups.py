"""Groups of options that verbs take: what network, what routers, what traffic, what run."""

from __future__ import annotations

from typing import Any

from flitloom.commands.options.made import Group
from flitloom.commands.options.network import has_switches, topology_fields
from flitloom.commands.options.parts import merge
from flitloom.errors import SpecError
from flitloom.spec.what import with_network
from flitloom.spec.words import FIELDS


class Grid(Group, part="topology"):
    """A torus or a mesh."""

    def fields(self) -> dict[str, Any]:
        """Fields of the topology."""
        return topology_fields(self.torus, self.mesh, self.wrap, self.fail, self.twist)

    def required(self, network: str | None = None) -> dict[str, Any]:
        """Fields of the topology, of a network that is named so, if one is.

        Raises
        ------
        SpecError
            None is named, or one of switches with hosts.
        """
        if has_switches(None, network, None, None):
            problem = f"{network} has switches with hosts, and this is known of tori, meshes and products"
            raise SpecError.at("--network", problem)
        fields = topology_fields(self.torus, self.mesh, self.wrap, self.fail, self.twist, network)
        if not fields:
            raise SpecError.at("topology", "is missing")
        return fields


class Traffic(Group, part="traffic", only=(*list(FIELDS["traffic"])[:14], "outstanding")):
    """Who sends what."""

    def kind(self) -> str:
        """The kind of traffic that the options describe, where no file says it."""
        given = (
            about.says for name, about in FIELDS["traffic"].items() if getattr(self, name, None) is not None
        )
        return next(filter(None, given), "collective")


class Router(Group, part="router"):
    """The router at every node."""


class Run(Group, part="run"):
    """What else an experiment says, and changes to any field of it."""

    def apply(self, fields: dict[str, Any]) -> None:
        """Let these options overrule the fields of an experiment, those of ``--set`` last."""
        from flitloom.networks.experiment import change

        given = self.given()
        given.pop("settings", None)
        merge(fields, given)
        for setting in self.settings or []:
            change(fields, setting)
        fields.update(with_network(fields))
