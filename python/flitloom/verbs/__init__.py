"""The list of verbs; it imports nothing, so that ``flitloom --help`` is there at once."""

from __future__ import annotations

#: Every verb with its summary. It is a module of `flitloom.commands` with a function ``command`` or a Typer
#: group ``app``, and imported only when it is used; its own help begins with the same words.
VERBS = {
    "demo": "Answer five questions with a picture each, in half a minute.",
    "simulate": "Simulate traffic on a network, cycle by cycle.",
    "load": "Where a network saturates, and how it behaves below and beyond: curves and responses.",
    "stack": "Find the best interval between slices that all nodes send in unison (simple stacking).",
    "schedule": "Find when every packet should start so that none ever waits, and prove how good that is.",
    "collective": "Plan collective operations that keep every link busy, and prove how good they are.",
    "convert": "Write a plan of a collective operation, a trace of messages, or a file of BookSim2 in "
    "another format.",
    "jitter": "Compare methods of sending when nodes are late: mean durations over patterns and trials, in "
    "cycles.",
    "campaign": "Run many genetic searches over combinations of parameters; stop and resume at will.",
    "sweep": "Simulate an experiment over a grid of any of its fields; stop and resume at will.",
    "plot": "Draw columns of a table as curves: means over seeds, with bands from the least to the largest.",
    "route": "Make balanced, deadlock-free routing tables and report how good they are.",
    "place": "Put ranks on nodes to minimise the load of the busiest link, with a lower bound for any "
    "placement.",
    "check": "Check a plan, routing tables, a placement or adaptive routing.",
    "fabric": "Recognise a fabric described by ibnetdiscover, OpenSM, ibsim or Slurm.",
    "view": "Show a result, a plan, tables, a placement or a fabric as one HTML page that needs no network.",
    "bench": "Measure how fast flitloom is here, on one core, in CPU time.",
    "examples": "List the examples that come with flitloom, or copy them.",
    "recheck": "Verify a certificate with an independent program.",
    "validate": "Compare results with another simulator or with long runs, on this machine.",
    "config": "Show how the command line behaves here, and why.",
    "papers": "Reproduce published tables and figures, with computed beside published values.",
    "cite": "Name the papers that flitloom is based on.",
    "version": 'Print the version, and the commit it was made from ("+": with changes).',
}
