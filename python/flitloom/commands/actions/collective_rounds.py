"""What ``flitloom collective all-reduce --algorithm NAME`` and its like do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flitloom.collectives.advice import COMPARED, Advice, weigh
from flitloom.collectives.making import choose, from_messages
from flitloom.collectives.telling import share
from flitloom.commands import options, screen
from flitloom.commands.actions.collective_plan import ADDS, ADVICE, root_of, say_who_takes_part
from flitloom.commands.collective import InRounds, Planned, Where, costs
from flitloom.errors import SpecError
from flitloom.ground.numerals import counted
from flitloom.ground.units import read_size, show_size
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.ground import Ground
from flitloom.spec.machine import Machine
from flitloom.spec.product import network_of
from flitloom.spec.speeds import in_equal_links, latencies_of


def run(operation: str, where: Where, planned: Planned, asked: InRounds) -> None:
    """Make an algorithm that advice compares, print its time, and write what is asked for."""
    if asked.algorithm is None:
        raise SpecError("--size, --machine, --alpha, --bandwidth, --message-cost: they belong to --algorithm")
    if asked.size is None:
        raise SpecError.at("--size", "is missing", "write the bytes of the vector, e.g. --size 1MiB")
    if operation not in COMPARED:
        raise SpecError.at("--algorithm", f"is of {', '.join(COMPARED)}", "leave it out")
    if planned != Planned(out=planned.out, json=planned.json, root=planned.root):
        raise SpecError.at(
            "--algorithm",
            "goes with a network, --root, --size, --machine, --alpha, --bandwidth, --message-cost and --out",
            "leave the others out",
        )
    options.check_files(planned.out, (".json",), None)
    topology = network_of(where.fields(ADVICE))
    say_who_takes_part(topology, ADDS if operation == "reduce" else "only forward")
    root = root_of(planned.root, topology, where)
    size = read_size(asked.size, "--size")
    topology, machine, latencies = equal_links(topology, costs(asked))
    alpha, bandwidth, message = machine.round, machine.bandwidth, machine.message
    machine.require_ports(Ground(topology).most_links)
    made = None
    with screen.progress("plan of the algorithm", "percent") as told:
        advice = weigh(
            topology,
            [size],
            alpha,
            bandwidth,
            operation=operation,
            root=root,
            message=message,
            latencies=latencies,
            told=share(told, 100, 0.0, 0.6),
        )
        chosen = choose(advice, 0, asked.algorithm)
        if chosen.messages is not None:
            # About the parts of the time on large networks.
            told(60, 100)
            messages = chosen.messages()
            by_round = share(told, 100, 0.7, 1.0)
            made = from_messages(advice, chosen, messages, size, alpha, bandwidth, by_round)
    if made is None:
        assert chosen.plan is not None
        rows = chosen.plan.count_rows()
        seconds = chosen.seconds(size, alpha, bandwidth)
        if planned.out is not None:
            chosen.plan.save(planned.out)
    else:
        rows, seconds = sum(1 for _ in made.rows()), made.seconds
        chosen = replace(chosen, loads=tuple(load / made.total for load in made.loads))
        if planned.out is not None:
            made.save(planned.out)
    facts = _facts(advice, chosen.name, chosen.rounds, chosen.factor, seconds) | {"rows": rows}
    if planned.json:
        screen.print_json(facts)
    else:
        _print(facts)


def equal_links(
    topology: AnyNetwork, machine: Machine
) -> tuple[AnyNetwork, Machine, dict[tuple[int, int], float]]:
    """A network with links of one speed, which is said if it is another one, its machine, and latencies."""
    latencies = latencies_of(topology, machine)
    network, equal = in_equal_links(topology, machine)
    if network is not topology:
        unit = f"{equal.bandwidth / 1e9:g} GB/s"
        screen.say(f"note: {network} here: a link of {unit} counts as one, faster ones as several")
    return network, equal, latencies


def _facts(advice: Advice, name: str, rounds: int, factor: float, seconds: float) -> dict[str, Any]:
    """What is said of an algorithm that was made for the first size of an advice."""
    algbw = advice.sizes[0] / seconds
    return {
        "operation": advice.operation,
        "network": str(advice.plan.ground),
        "algorithm": name,
        "rounds": rounds,
        "factor": round(factor, 6),
        "bytes": advice.sizes[0],
        "microseconds": round(1e6 * seconds, 4),
        "bound": round(1e6 * advice.bounds[0], 4),
        "algbw": algbw,
        "busbw": algbw * advice.bus_factor,
    }


def _print(facts: dict[str, Any]) -> None:
    screen.print_fields(
        {
            "network": facts["network"],
            "algorithm": f"{facts['algorithm']}, {counted(facts['rounds'], 'round')}",
            "bytes on a link": f"{facts['factor']:.4g} of the vector",
            "time": f"{facts['microseconds']:,.2f} us for {show_size(facts['bytes'])}, bound "
            f"{facts['bound']:,.2f} us, {100 * facts['bound'] / facts['microseconds']:.1f} % of it",
            "bandwidth": f"algbw {facts['algbw'] / 1e9:,.1f} GB/s, busbw {facts['busbw'] / 1e9:,.1f} GB/s",
            "rows": facts["rows"],
        }
    )
