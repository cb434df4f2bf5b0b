"""Plans of the cup-stacking papers' genetic search, in which packets wait for each other."""

from __future__ import annotations

from collections.abc import Callable

from flitloom.genetic import GeneticResult, GeneticSettings, search
from flitloom.ground import provenance
from flitloom.networks.network import Network
from flitloom.plans.plan import Plan
from flitloom.plans.proofs import waiting_bound
from flitloom.plans.values import PlannedPacket
from flitloom.spec import Collective


def genetic_plan(
    network: Network,
    collective: Collective,
    packets: list[PlannedPacket],
    words: str,
    settings: GeneticSettings | None = None,
    *,
    genes: str = "full",
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """The plan of one genetic search (cup-stacking-extended-2023, 5.3).

    Parameters
    ----------
    network, collective
        What is scheduled.
    packets : list of PlannedPacket
        The packets of any plan for it, node by node in the order in which they are sent.
    words : str
        What is sent, as text.
    settings, genes, seed, progress
        As for `flitloom.genetic.search`.
    """
    found: GeneticResult = search(network, collective, settings, genes=genes, seed=seed, progress=progress)
    chosen = found.collective
    each = collective.packets * collective.slices
    timed = []
    for number, packet in enumerate(packets):
        delay = chosen.delays[packet.source] if chosen.delays else 0
        start = number % each * chosen.interval + delay
        timed.append(packet.model_copy(update={"start": start}))
    plan = Plan(
        duration=found.duration,
        claimed_bound=0,
        claimed_optimal=False,
        topology=network.topology.model_dump(mode="json"),
        traffic=words,
        method="genetic" if genes == "full" else f"genetic, {genes}",
        routes="dor",
        interval=chosen.interval or None,
        router=found.network.router.model_dump(mode="json"),
        seed=seed,
        reproducible=not found.stopped,
        version=provenance.version(),
        packets=timed,
    )
    bound = waiting_bound(plan)
    return plan.model_copy(update={"claimed_bound": bound, "claimed_optimal": bound == plan.duration})
