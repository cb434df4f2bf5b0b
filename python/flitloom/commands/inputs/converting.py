"""What ``convert`` does with a plan of a collective operation or a message graph."""

from __future__ import annotations

from functools import partial

from flitloom import formats
from flitloom.collectives.collective_plan import vector_chunks
from flitloom.collectives.latencies import round_latencies
from flitloom.collectives.loaders import named_loader
from flitloom.collectives.reading import read_collective
from flitloom.collectives.rounds_plan import further_messages, read_rounds
from flitloom.commands.actions.grids import ground_of_options
from flitloom.commands.convert import Asked
from flitloom.commands.screen import say, several_progresses
from flitloom.errors import SpecError, show_file
from flitloom.ground.numerals import counted
from flitloom.ground.outputs import check_output
from flitloom.ground.units import read_size
from flitloom.spec.machine import Machine


def convert(asked: Asked) -> None:
    """Write the file in the format that the target's ending says."""
    target = asked.target
    check_output(target, formats.written_endings(), "TARGET")
    chunk_bytes, told = _sized(asked)
    if not 1 <= chunk_bytes <= 1 << 40:
        raise SpecError(f"--chunk-bytes {chunk_bytes}: 1 to {1 << 40} bytes are possible")
    form = formats.target_format(target)
    if asked.as_collective and form.name != "chakra":
        raise SpecError.at("--as-collective", "belongs to a Chakra trace", "end TARGET in .et")
    if asked.loader is not None:
        named_loader(asked.loader, form.name)
    ground = ground_of_options(asked.torus, asked.mesh, asked.fail, asked.twist, asked.network)
    read, written = f"read {show_file(asked.source)}", f"write {show_file(target)}"
    with several_progresses({read: "steps", written: "ranks"}) as show:
        how = formats.Writing(
            chunk_bytes,
            asked.as_collective,
            asked.by_hop,
            asked.loader,
            partial(show, written),
            partial(show, read),
        )
        notes = formats.convert(asked.source, target, ground, how)
    for note in (*notes, *told):
        say(f"note: {show_file(target)}: {note}")


def _sized(asked: Asked) -> tuple[int, list[str]]:
    """Bytes of a chunk, and how long the plan takes on the machine if there is one.

    Raises
    ------
    SpecError
        The size of a vector, or a machine, is meant, and the file is not a plan of flitloom.
    """
    chunk_bytes = 1024 if asked.chunk_bytes is None else asked.chunk_bytes
    if asked.machine is None and asked.size is None:
        return chunk_bytes, []
    if asked.size is not None and asked.chunk_bytes is not None:
        raise SpecError.at("--size", "--chunk-bytes says it, too", "leave one of them out")
    machine = None if asked.machine is None else Machine.read(asked.machine)
    size = None if asked.size is None else read_size(asked.size, "--size")
    form = formats.format_of(asked.source)
    if form is None or form.name not in ("plan", "rounds"):
        option = "--machine" if size is None else "--size"
        raise SpecError.at(option, "belongs to plans of flitloom (.json)", "leave it out")
    if machine is not None:
        machine.require_equal_links("files are written")
    further, priced, why, slow = 0, False, "", 0.0
    if form.name == "rounds":
        plan = read_rounds(asked.source)
        rounds, load, parts, further = plan.rounds, sum(plan.loads), plan.total, further_messages(plan)
        # A plan without a cost has as many messages of every part as there are links, or fewer.
        priced = plan.message is not None
        slow = sum(round_latencies(plan))
        size = plan.size if size is None and asked.chunk_bytes is None else size
        if not asked.by_hop and formats.target_format(asked.target).write_messages:
            why = "; it has a message per round and pair of nodes, and takes another time: --by-hop"
    else:
        steps = read_collective(asked.source, checked=False)
        rounds, load, parts = steps.steps, float(steps.steps), vector_chunks(steps)
    if size is not None:
        chunk_bytes = -int(-size // parts)
    if machine is None:
        return chunk_bytes, []
    if further and priced and machine.message is None:
        raise SpecError.at(
            "machine.message",
            "is missing, and nodes send more messages in a round than they have links",
            'write what each of them costs, e.g. message = "50ns"',
        )
    seconds = rounds * machine.round + load * chunk_bytes / machine.bandwidth
    seconds += further * (machine.message or 0.0) + slow
    what = f"{counted(chunk_bytes, 'byte')} a chunk, {1e6 * seconds:,.2f} us in {counted(rounds, 'round')}"
    return chunk_bytes, [what + why]
