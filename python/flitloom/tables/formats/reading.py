"""Tables by source from files of any format."""

from __future__ import annotations

import os
from pathlib import Path

from flitloom.errors import SpecError, require_file, show_file
from flitloom.ground.limits import TABLE_BYTES
from flitloom.ground.reading import Progress, opened
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.grids import torus_of
from flitloom.spec.topology import BY_DESTINATION
from flitloom.tables.by_source.rules import RouterRules
from flitloom.tables.by_source.tables import Tables
from flitloom.tables.formats.known import formats


def read_tables(
    file: str | Path,
    topology: AnyNetwork | str | Path | None = None,
    rules: str | RouterRules | None = None,
    progress: Progress | None = None,
) -> Tables:
    """Read tables by source; parameters are those of `flitloom.tables.read`."""
    require_file(file)
    path = Path(file)
    # A name may be longer than any that pathlib looks for.
    if os.path.isdir(path):
        raise SpecError.at(
            show_file(path),
            "is a folder of tables by destination, which do not name their network",
            "name it with --fabric FILE, --network NAME or --torus SIZES --twist",
        )
    known = list(formats())
    form = next((one for some, one in known if one.sniff is None and path.suffix in some), None)
    with opened(path, TABLE_BYTES if form is None else form.limit) as source:
        if form is None:
            start = source.start()
            form = next(one for _, one in known if one.sniff is not None and one.sniff(start))
        plain = None if topology is None else torus_of(topology, "source routes", BY_DESTINATION)
        tables: Tables = form.read(source, plain, rules, progress)
        return tables
