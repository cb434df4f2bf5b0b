"""What ``convert`` does with a plan of a collective operation or a message graph."""

from __future__ import annotations

from functools import partial

from flitloom import formats
from flitloom.collectives.loaders import named_loader
from flitloom.commands.actions.grids import ground_of_options
from flitloom.commands.convert import Asked
from flitloom.commands.screen import say, several_progresses
from flitloom.errors import SpecError, show_file
from flitloom.ground.outputs import check_output


def convert(asked: Asked) -> None:
    """Write the file in the format that the target's ending says."""
    target = asked.target
    check_output(target, formats.written_endings(), "TARGET")
    if not 1 <= asked.chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {asked.chunk_bytes}: 1 to {1 << 40} bytes are possible")
    form = formats.target_format(target)
    if asked.as_collective and form.name != "chakra":
        raise SpecError.at("--as-collective", "belongs to a Chakra trace", "end TARGET in .et")
    if asked.loader is not None:
        named_loader(asked.loader, form.name)
    ground = ground_of_options(asked.torus, asked.mesh, asked.fail, asked.twist, asked.network)
    read, written = f"read {show_file(asked.source)}", f"write {show_file(target)}"
    with several_progresses({read: "steps", written: "ranks"}) as show:
        how = formats.Writing(
            asked.chunk_bytes, asked.as_collective, asked.loader, partial(show, written), partial(show, read)
        )
        notes = formats.convert(asked.source, target, ground, how)
    for note in notes:
        say(f"note: {show_file(target)}: {note}")
