"""Words of before: a twist and parallel links that calls say beside a network, for one release."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from flitloom.fabric.networks import direct_network
from flitloom.spec.any_network import AnyNetwork
from flitloom.spec.product import with_beside

P = ParamSpec("P")
R = TypeVar("R")
#: What the network says itself now.
WORDS = ("twist", "width")


def one_network(function: Callable[P, R]) -> Callable[P, R]:
    """A function of a network that also takes what was said beside it, with a warning that says how now.

    Examples
    --------
    >>> import warnings
    >>> import flitloom as fl
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     print(one_network(str)(fl.Torus(4, 8), twist=True), "-", len(told))
    4x8 twisted torus - 1
    """

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        words: dict[str, Any] = {**named}
        beside = {word: words.pop(word) for word in WORDS if word in words}
        if not beside:
            return function(*given, **named)
        warnings.warn(
            f"{' and '.join(beside)} beside a network: say it in the network, as "
            'fl.Torus(4, 8, twist=True) or fl.Product("ring4*2 x ring8"); old words go with the next release',
            FutureWarning,
            stacklevel=2,
        )
        first: Any = words.pop("topology") if "topology" in words else given[0]
        network = first if isinstance(first, AnyNetwork) else direct_network(first)
        twist, width = beside.get("twist", False), beside.get("width") or ()
        rest: Any = given[1:]
        whole: Any = function
        result: R = whole(with_beside(network, twist, width), *rest, **words)
        return result

    return called
