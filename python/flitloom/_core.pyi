from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMITS: dict[str, int]

def build() -> tuple[str, str]: ...
def pattern_names() -> list[str]: ...

class Network:
    def __new__(
        cls,
        sizes: Sequence[int],
        wraps: Sequence[bool],
        failed_nodes: Sequence[int],
        failed_links: Sequence[tuple[int, int]],
        channels: int | None,
        buffer: int,
        latency: int,
        flow_control: str,
        schemes: Sequence[str],
        port_lists: bytes | Sequence[int],
    ) -> Network: ...
    @property
    def channels(self) -> int: ...
    def working_links(self) -> list[bool]: ...
    def directions(self) -> list[str]: ...

class Destinations:
    @staticmethod
    def of_pattern(
        network: Network, name: str, fraction: float, target: int | None, seed: int
    ) -> Destinations: ...
    @staticmethod
    def given(network: Network, destinations: Sequence[int]) -> Destinations: ...
    def of(self, node: int, index: int) -> int: ...

class Workload:
    @staticmethod
    def collective(
        network: Network,
        destinations: Destinations,
        payload: int,
        slices: int,
        interval: int,
        delays: Sequence[int],
        packets: int,
    ) -> Workload: ...
    @staticmethod
    def load(destinations: Destinations, rate: float, length: int, cycles: int, seed: int) -> Workload: ...
    @staticmethod
    def packets(network: Network, table: NDArray[np.int64]) -> Workload: ...

def simulate(
    network: Network,
    workload: Workload,
    stop_at: int | None,
    cycle_limit: int | None,
    links: bool,
    packets: bool,
    link_time: bool,
) -> dict[str, Any]: ...
def lower_bound(network: Network, workload: Workload) -> tuple[int, str] | None: ...
def stack(
    network: Network,
    destinations: Destinations,
    payload: int,
    slices: int,
    delays: Sequence[int],
    packets: int,
    intervals: Sequence[int],
    cycle_limit: int | None,
    threads: int | None,
    progress: Callable[[int], None] | None,
) -> list[int]: ...
def engines() -> list[str]: ...
def best_planes(network: Network) -> str: ...
def repeat(
    network: Network,
    workload: Workload,
    engine: str,
    repeats: int,
    stop_at: int | None,
    fingerprints: bool,
) -> dict[str, Any]: ...
