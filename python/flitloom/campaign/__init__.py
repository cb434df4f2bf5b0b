"""Campaigns: many genetic searches over combinations of parameters, stopped and resumed at will.

Examples
--------
>>> from flitloom.campaign import parse_campaign
>>> campaign = parse_campaign({
...     "topology": {"sizes": "8x8"}, "patterns": ["brev", "shfl"], "payload": 14, "slices": 2,
...     "genetic": {"generations": 10}, "grid": {"mutation_rate": [0.05, 0.02]}, "repeats": 3})
>>> len(campaign.jobs())
12
"""

from flitloom.campaign.jobs import Campaign, Search, parse_campaign, read_campaign
from flitloom.campaign.running import run_campaign, search_rows
from flitloom.jobs import Store

__all__ = ["Campaign", "Search", "Store", "parse_campaign", "read_campaign", "run_campaign", "search_rows"]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
