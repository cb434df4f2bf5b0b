"""What is done once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flitloom.ground.fixed import explained


@explained
@dataclass(frozen=True)
class Job:
    """A piece of work whose result is a function of its spec.

    Attributes
    ----------
    kind : str
        What is done: ``search``, ``simulation``, ``plan``, ``series``.
    spec : dict
        Everything the result depends on, the seed and flitloom's version included.

    Examples
    --------
    >>> from flitloom.jobs import Job
    >>> Job("plan", {"seed": 1}).id[:16]
    'fbe47f6d82b435a8'
    """

    kind: str
    spec: dict[str, Any]

    @cached_property
    def id(self) -> str:
        """SHA-256 of the spec."""
        text = json.dumps(self.spec, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
