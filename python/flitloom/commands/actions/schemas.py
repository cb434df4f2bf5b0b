"""JSON schemas of the files that people write: what editors offer, explain and mark as wrong.

A file names its schema in its first line, as ``#:schema schemas/experiment.json``; taplo and the editors
that use it (Even Better TOML among them) understand that.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from flitloom import spec
from flitloom.campaign import Campaign
from flitloom.genetic import GeneticSettings
from flitloom.networks.experiment import Experiment
from flitloom.networks.fabric import Fabric
from flitloom.spec.answer_schemas import DIALECT
from flitloom.spec.base import SpecModel
from flitloom.spec.traffic.known import KINDS

#: Files that have a schema, with what they hold.
FILES = {
    "experiment": "An experiment of flitloom: one simulation, completely described.",
    "campaign": "A campaign of flitloom: genetic searches over combinations of parameters.",
}


def schema(file: str) -> dict[str, Any]:
    """The JSON schema of a kind of file, one of `FILES`.

    Examples
    --------
    >>> from flitloom.commands.actions.schemas import schema
    >>> schema("experiment")["$defs"]["Router"]["properties"]["buffer"]["maximum"]
    1024
    """
    model, parts = _models(file)
    found = model.model_json_schema()
    by_name = {part.__name__: part for part in parts}
    for field in found["properties"].values():
        _define(field, by_name, found.get("$defs", {}))
    found["$defs"] = dict(sorted(found["$defs"].items()))
    for name, definition in found["$defs"].items():
        _finish(definition, by_name.get(name))
    _finish(found, model)
    return {"$schema": DIALECT, "title": f"flitloom {file}", **found, "description": FILES[file]}


def _models(file: str) -> tuple[type[SpecModel], list[type[SpecModel]]]:
    """The model of a file, and those of its parts."""
    if file == "experiment":
        names = [getattr(spec, name) for name in spec.__all__]
        parts = [one for one in names if isinstance(one, type) and issubclass(one, SpecModel)]
        return Experiment, [*parts, Fabric, *KINDS.values()]
    return Campaign, [spec.Topology, spec.Router, GeneticSettings]


def _define(field: dict[str, Any], parts: Mapping[str, object], definitions: dict[str, Any]) -> None:
    """Give parts that stand inside a field a name."""
    for form in field.get("anyOf", ()):
        name = form.get("title")
        if name in parts:
            definitions[name] = dict(form)
            form.clear()
            form["$ref"] = f"#/$defs/{name}"


def _finish(definition: dict[str, Any], model: type[SpecModel] | None) -> None:
    """Say what the docstring says of every field, and nothing that pydantic made up."""
    definition.pop("title", None)
    definition.pop("description", None)
    about = {} if model is None else field_docs(model)
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        field.pop("discriminator", None)
        _leave_nothing_out(field)
        if "const" in field:
            # What tells kinds apart must be there.
            definition["required"] = [name, *definition.get("required", [])]
        if about.get(name):
            field["description"] = about[name]
        elif len(field.get("enum", ())) == 1:
            field["description"] = "The kind of network. It may be left out."


def _leave_nothing_out(field: dict[str, Any]) -> None:
    """A file says nothing by leaving a field out: there is no null in TOML."""
    forms = [form for form in field.get("anyOf", ()) if form != {"type": "null"}]
    if len(forms) == len(field.get("anyOf", ())):
        return
    del field["anyOf"], field["default"]
    field.update(forms[0] if len(forms) == 1 else {"anyOf": forms})


def field_docs(model: type[SpecModel]) -> dict[str, str]:
    """What the docstring of a part of a spec says of its fields.

    Examples
    --------
    >>> import flitloom as fl
    >>> from flitloom.commands.actions.schemas import field_docs
    >>> field_docs(fl.TrafficClass)["weight"]
    'How many packets belong to it, relative to the other classes.'
    >>> field_docs(fl.Load)["pattern"] == field_docs(fl.Collective)["pattern"]
    True
    """
    import flitloom

    text = inspect.getdoc(model) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section[1].rstrip()) if section else ():
        head, _, rest = entry.partition("\n")
        words = re.sub(r"`+", "", " ".join(rest.split()))
        for name in head.partition(" : ")[0].split(","):
            elsewhere = re.fullmatch(r"As in (\w+)\.", words)
            there = getattr(flitloom, elsewhere[1]) if elsewhere else None
            found[name.strip()] = words if there is None else field_docs(there)[name.strip()]
    return found
