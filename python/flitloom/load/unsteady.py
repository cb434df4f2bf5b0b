"""Loads under which no network has a steady state, however small they are."""

from __future__ import annotations

from flitloom.networks.experiment import Experiment

#: The throttle under which nodes send only what they receive.
THROTTLE = "interlock"
#: What is told of it.
TEXT = (
    f"note: {THROTTLE} lets a node send only as many packets as it receives, and nodes generate different "
    "numbers of packets; what waits grows at any rate of an open load, like the square root of the cycles: "
    "there is no saturation. It is for patterns of flitloom simulate; a load needs closed sources with it "
    "(--outstanding)"
)


def never_steady(experiment: Experiment) -> bool:
    """Whether what waits at the sources grows for good at any rate.

    The throttle ``interlock`` has one permission per node, which goes with a packet and belongs to the node
    that receives it. What a node has generated minus what it has received differs from node to node by a
    random walk, and permissions, of which there are no more than nodes, make up for no more than as many.

    Examples
    --------
    >>> import flitloom as fl
    >>> open_load = fl.Load("rand", rate=0.01, cycles=100)
    >>> closed_load = fl.Load("rand", rate=0.01, cycles=100, outstanding=4)
    >>> torus = fl.Torus(4, 4)
    >>> [
    ...     never_steady(fl.Experiment(topology=torus, traffic=load, throttle="interlock"))
    ...     for load in (open_load, closed_load)
    ... ]
    [True, False]
    """
    return not experiment.traffic.has_closed_sources and experiment.throttle == THROTTLE
