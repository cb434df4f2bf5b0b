from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMITS: dict[str, int]
LISTS: dict[str, tuple[str, ...]]
#: Where each route ends among all hops, and the directions of these.
PackedRoutes = tuple[NDArray[np.int64], NDArray[np.uint8]]

def build() -> tuple[str, str]: ...
def routing_functions() -> list[tuple[str, str, str]]: ...
def throttle_variables() -> list[tuple[str, str]]: ...
def throttles() -> list[tuple[str, str, list[tuple[str, str]]]]: ...
def throttle_text(text: str) -> str: ...

#: Has the fields of a spec as attributes.
_Spec = object

def pipelined_options() -> list[tuple[str, str]]: ...
def described_network(options: Sequence[tuple[str, str]]) -> tuple[list[int], int, list[tuple[int, int]]]: ...

class Pipelined:
    def __new__(
        cls, options: Sequence[tuple[str, str]], packets: bool, threads: int, ranks: Any | None
    ) -> Pipelined: ...
    def advance(self) -> dict[str, Any] | None: ...
    @property
    def parts(self) -> int: ...
    @property
    def now(self) -> int: ...
    def packets(self) -> dict[str, NDArray[np.int64]]: ...
    def demand(self) -> tuple[float, float | None]: ...

class Judged:
    def __new__(cls, options: Sequence[tuple[str, str]]) -> Judged: ...
    def look(
        self, cycle: int
    ) -> tuple[list[tuple[str, float, float, int] | None], tuple[str, int] | None]: ...

class Network:
    @staticmethod
    def of_grid(grid: _Spec, ties: str = "wrap") -> Network: ...
    @staticmethod
    def of_cables(
        nodes: int,
        cables: Sequence[tuple[int, int]],
        one_way: Sequence[tuple[int, int]],
        failed_nodes: Sequence[int],
        failed_links: Sequence[tuple[int, int]],
    ) -> Network: ...
    @staticmethod
    def of_switches(
        hosts: Sequence[int],
        cables: NDArray[np.uint32],
        sizes: Sequence[int] | None = None,
        grid: tuple[list[int], list[list[int]], list[list[int]]] | None = None,
    ) -> Network: ...
    def without_nodes(self, nodes: Sequence[int]) -> Network: ...
    def working_links(self) -> list[bool]: ...
    def directions(self) -> list[str]: ...

class Routers:
    def __new__(cls, network: Network, router: _Spec) -> Routers: ...
    @property
    def channels(self) -> int: ...
    @property
    def channel_classes(self) -> int: ...
    def bytes_per_router(self, longest: int, links: bool) -> int: ...

class Destinations:
    @staticmethod
    def of_pattern(
        network: Network, name: str, fraction: float, target: int | None, seed: int
    ) -> Destinations: ...
    @staticmethod
    def given(network: Network, destinations: Sequence[int]) -> Destinations: ...
    @staticmethod
    def weighted(network: Network, weights: Sequence[Sequence[int]], seed: int) -> Destinations: ...
    @staticmethod
    def classes(classes: Sequence[tuple[int, Destinations]], seed: int) -> Destinations: ...
    def among_working(self, network: Network) -> Destinations: ...
    def of(self, node: int, index: int) -> int: ...

class Workload:
    @staticmethod
    def collective(network: Network, destinations: Destinations, collective: _Spec) -> Workload: ...
    @staticmethod
    def load(
        destinations: Destinations,
        load: _Spec,
        changes: Sequence[tuple[int, Destinations]],
        impulse: Destinations | None,
        seed: int,
    ) -> Workload: ...
    @staticmethod
    def packets(network: Network, table: NDArray[np.int64]) -> Workload: ...
    @property
    def count(self) -> int | None: ...
    def without(self, nodes: Sequence[int]) -> Workload: ...
    def over_table(self, network: Routers, table: RoutingTable) -> Workload: ...
    def over_routes(
        self,
        network: Routers,
        sources: NDArray[np.uint32],
        destinations: NDArray[np.uint32],
        offsets: NDArray[np.uint64],
        nodes: NDArray[np.uint32],
    ) -> Workload: ...

class Simulation:
    def __init__(
        self,
        network: Routers,
        workload: Workload,
        experiment: _Spec,
        settings: Mapping[str, Any],
    ) -> None: ...
    @staticmethod
    def pipelined(
        network: Network,
        routers: Routers | None,
        workload: Workload,
        router: Mapping[str, Any],
        settings: Mapping[str, Any],
        tables: Mapping[str, Any] | None,
        names: Callable[[str, int, int], str],
    ) -> Simulation: ...
    def run(self, stop_at: int | None, cycle_limit: int | None, seconds: float | None) -> bool: ...
    def save(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...
    @property
    def delivered(self) -> int: ...
    @property
    def packets(self) -> int | None: ...
    @property
    def now(self) -> int: ...
    @property
    def finished(self) -> bool: ...
    @property
    def engine(self) -> str: ...
    def totals(self, stop_at: int | None, records: bool) -> dict[str, Any]: ...
    def windows(self) -> dict[str, Any] | None: ...
    def measure(self, first: int, end: int) -> None: ...
    def occupancy(self) -> NDArray[np.uint16]: ...
    def film(self) -> dict[str, Any] | None: ...
    def copy(self) -> Simulation: ...

def source_queue_verdict(
    slots: int,
    slot_cycles: int,
    length: float,
    busy: NDArray[np.uint64],
    sent: NDArray[np.uint64],
    generated: NDArray[np.uint64],
    generated_for: NDArray[np.uint64],
    rate: float | None,
) -> tuple[str, float, float, int]: ...
def lower_bound(network: Routers, workload: Workload) -> tuple[int, str, list[int], int | None] | None: ...
def stack(
    network: Routers,
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
def best_planes(network: Routers, workload: Workload, networks: int) -> str | None: ...
def repeat(
    network: Routers,
    workload: Workload,
    engine: str,
    repeats: int,
    stop_at: int | None,
    fingerprints: bool,
) -> dict[str, Any]: ...
def in_parts(
    network: Routers, workload: Workload, engine: str, threads: int, before: int, cycles: int
) -> tuple[float, int, int]: ...
def exchange_seconds(threads: int, words: int, exchanges: int) -> float: ...

class RoutingRules:
    def __new__(
        cls,
        name: str,
        order: Sequence[str],
        direction_bits: bool,
        first_steps: Sequence[str],
        last_steps: Sequence[str],
        channels: int | None,
        datelines: bool,
        any_walk: bool,
    ) -> RoutingRules: ...
    @staticmethod
    def named(name: str, dimensions: int) -> RoutingRules: ...
    def parts(self) -> dict[str, Any]: ...

class RoutingSystem:
    def __new__(
        cls,
        network: Network,
        rules: RoutingRules,
        turns: str,
        progress: Callable[[float], None] | None = None,
    ) -> RoutingSystem: ...
    def with_turns(
        self, turns: Sequence[tuple[int, str, str]], withheld: Sequence[tuple[int, str, str]]
    ) -> RoutingSystem: ...
    def unserved(self) -> list[tuple[int, int]]: ...
    def turns(self) -> tuple[list[tuple[int, str, str]], list[tuple[int, str, str]]]: ...
    def links(self) -> list[tuple[int, int, int, str]]: ...
    def route_counts(self) -> tuple[int, int]: ...
    def header_widths(self) -> list[int]: ...
    def program(self, traffic: NDArray[np.uint64] | None) -> dict[str, NDArray[Any]]: ...
    def left_out(self, method: str, traffic: NDArray[np.uint64] | None) -> list[tuple[int, int]]: ...
    def mirrored(
        self,
        method: str,
        turns: str,
        traffic: NDArray[np.uint64] | None,
        progress: Callable[[float], None] | None = None,
    ) -> RoutingRules | None: ...
    def advise(
        self, method: str, turns: str, traffic: NDArray[np.uint64] | None
    ) -> dict[str, Any] | None: ...
    def check(
        self,
        sources: NDArray[Any],
        destinations: NDArray[Any],
        offsets: NDArray[Any],
        nodes: NDArray[Any],
        channels: NDArray[np.uint8] | None,
        any_turn: bool,
        progress: Callable[[float], None] | None = None,
    ) -> dict[str, Any]: ...
    def bound(
        self,
        loads: NDArray[np.uint64],
        traffic: NDArray[np.uint64] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> tuple[int, int, str, NDArray[np.uint64]] | None: ...

class RoutingTable:
    @staticmethod
    def from_headers(system: RoutingSystem, headers: NDArray[np.uint32]) -> RoutingTable: ...
    def headers(self) -> NDArray[np.uint32]: ...
    def nodes(self, source: int, destination: int) -> list[int] | None: ...
    def hops(self, source: int, destination: int) -> str | None: ...
    def listed(self, most: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
    def check(self, any_turn: bool, progress: Callable[[float], None] | None = None) -> dict[str, Any]: ...

def route(
    system: RoutingSystem,
    method: str,
    traffic: NDArray[np.uint64] | None,
    seed: int,
    effort: int,
    genetic: tuple[int, float, int, float],
    unique_first: bool,
    progress: Callable[[float], None] | None,
) -> tuple[RoutingTable, dict[str, Any]]: ...
def resilience(
    network: Network,
    rules: RoutingRules,
    failures: Sequence[tuple[Sequence[int], Sequence[tuple[int, int]]]],
) -> list[tuple[bool, ...]]: ...
def goal_workload(
    text: str,
    flit_bytes: int,
    calc_cycles: int,
    packet_payload: int,
    nodes: Sequence[int],
) -> Workload: ...
def genetic_search(
    network: Routers,
    destinations: Destinations,
    case: dict[str, Any],
    settings: dict[str, Any],
    threads: int | None,
    progress: Callable[[int], None] | None,
) -> dict[str, Any]: ...
def genetic_replay(
    network: Routers,
    destinations: Destinations,
    case: dict[str, Any],
    settings: dict[str, Any],
    chromosome: dict[str, Any],
) -> dict[str, int]: ...
def genetic_extrapolate(
    network: Routers,
    destinations: Destinations,
    case: dict[str, Any],
    settings: dict[str, Any],
    chromosome: dict[str, Any],
    threads: int | None,
) -> dict[str, Any]: ...

class ScheduleProblem:
    def __new__(
        cls,
        network: Routers,
        messages: NDArray[np.int64],
        routes: str,
        interval: int | None = None,
        free: bool = False,
        guard: int = 0,
        phases: Sequence[int] | None = None,
    ) -> ScheduleProblem: ...
    def proof(self) -> tuple[int, str, str]: ...
    def exact(self) -> list[tuple[str, float]]: ...
    def methods(self) -> list[str]: ...
    def search(
        self,
        methods: Sequence[tuple[str, float]] | None,
        seed: int,
        moves: int,
        seconds: float | None = None,
        progress: Callable[[int, int, int, int], None] | None = None,
    ) -> dict[str, Any] | None: ...
    def candidates(
        self, target: int
    ) -> list[tuple[int, list[tuple[list[tuple[int, int]], list[int]]]]] | None: ...
    def packets(self, placements: Sequence[tuple[int, int]]) -> dict[str, Any]: ...

def delays(nodes: int, most: int, seed: int, trial: int) -> NDArray[np.int64]: ...
def other_route(
    network: Routers, table: NDArray[np.int64], paths: PackedRoutes, routes: str
) -> int | None: ...
def check_plan(network: Routers, table: NDArray[np.int64], routes: PackedRoutes) -> int: ...
def plan_workload(
    network: Routers, table: NDArray[np.int64], routes: PackedRoutes, channels: bytes, place: str
) -> Workload: ...
def spread_plan(
    network: Routers,
    table: NDArray[np.int64],
    routes: PackedRoutes,
    together: bool,
    target: int,
    reach: int,
    sweeps: int,
    seed: int,
) -> list[int]: ...
def separate_channels(
    network: Routers, table: NDArray[np.int64], routes: PackedRoutes
) -> tuple[int, list[int]] | None: ...
def plan_dependencies(
    network: Routers, table: NDArray[np.int64], routes: PackedRoutes, channels: int, first: bytes
) -> dict[str, Any]: ...
def phases_respected(
    network: Routers, table: NDArray[np.int64], routes: PackedRoutes, phases: Sequence[int]
) -> bool: ...
def tighten_phases(
    network: Routers,
    table: NDArray[np.int64],
    routes: PackedRoutes,
    phases: Sequence[int],
    bound: int,
    seed: int,
    moves: int,
    seconds: float | None,
) -> tuple[list[int], bool]: ...
def operation_phases(
    network: Routers, name: str, root: int, payload: int, nodes: Sequence[int] | None
) -> tuple[list[NDArray[np.int64]], int]: ...
def watch_interrupts(reader: int, patience: float) -> None: ...
def hold_interrupts() -> None: ...
def first_to_tell() -> bool: ...
def recognise(
    switches: int, cables: NDArray[np.uint32], sizes: Sequence[int] | None
) -> dict[str, Any] | None: ...
def recognise_fat_tree(network: Network) -> tuple[list[int], list[int]] | None: ...
def recognise_groups(network: Network) -> list[int] | None: ...
def recognise_product(network: Network) -> dict[str, Any] | None: ...
def forward(
    network: Network,
    roots: Sequence[int],
    old: NDArray[np.uint32] | None,
    demand: tuple[NDArray[np.uint32], list[int] | None] | None,
    extra: Sequence[int],
    mode: str | None,
    lanes: int,
    tries: int,
    slack: float,
    reversible: bool,
    method: str | None,
    tree: Sequence[int] | None,
) -> dict[str, Any]: ...
def repair_forwarding(
    network: Network,
    roots: Sequence[int],
    old: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    demand: tuple[NDArray[np.uint32], list[int] | None] | None,
    lanes: int,
    tries: int,
    slack: float,
    bounded: bool,
) -> dict[str, Any] | None: ...
def patch_forwarding(
    network: Network,
    roots: Sequence[int],
    old: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    lost: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    lanes: int,
    missing: NDArray[np.uint32],
    choices: Sequence[Sequence[int]] | None,
) -> dict[str, Any] | None: ...
def mixed_forwarding(
    network: Network,
    roots: Sequence[int],
    at: Sequence[int],
    first: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    second: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    lanes: int,
) -> dict[str, Any]: ...
def unsafe_managers(
    network: Network,
    roots: Sequence[int],
    first: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    second: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    known: NDArray[np.uint32],
    places: Sequence[tuple[int, Sequence[int]]],
    used: int,
    lanes: int,
) -> list[int]: ...
def change_together(
    network: Network,
    roots: Sequence[int],
    at: Sequence[int],
    now: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    aim: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    changes: Sequence[tuple[Sequence[int], Sequence[tuple[int, int]]]],
    smallest: int,
    lanes: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]] | None: ...
def survive_forwarding(
    network: Network,
    roots: Sequence[int],
    following: NDArray[np.uint32],
    demand: tuple[NDArray[np.uint32], list[int] | None] | None,
    lanes: int,
    load: int,
    seed: int,
    looks: int,
) -> dict[str, Any] | None: ...
def check_forwarding(
    network: Network,
    roots: Sequence[int],
    owners: Sequence[int],
    following: NDArray[np.uint32],
    levels: NDArray[np.uint8] | None,
    tables: tuple[NDArray[np.uint64], NDArray[np.uint8]] | None,
    rising: Sequence[bool] | None,
    lanes: int,
    demand: tuple[NDArray[np.uint32], list[int] | None] | None,
    bounded: bool,
    others: tuple[list[int], int, list[list[int]], int, list[int], list[int]] | None,
) -> dict[str, Any]: ...
def multicast_tree(network: Network, ports: Sequence[int]) -> list[int]: ...
def rising_lanes(network: Network) -> tuple[tuple[list[bool], int] | None, list[int]]: ...
def read_lfts(
    pieces: Iterable[bytes], guids: Sequence[int], strict: bool
) -> tuple[NDArray[np.uint8], list[int]]: ...
def read_path_levels(
    pieces: Iterable[bytes], sources: dict[int, list[int]], lids: Sequence[int], hosts: int
) -> tuple[NDArray[np.uint8], int, int]: ...
def fabric_bound(network: Network) -> tuple[int, int]: ...
def fabric_distances(network: Network, lengths: Sequence[int] | None = None) -> NDArray[np.int64]: ...
def octant_pair(mixed: bool, cycles: int, beams: int, width: int, seed: int) -> str | None: ...

class PlacementProblem:
    def __new__(
        cls, network: Network, order: Sequence[int], traffic: Any, slots: Sequence[int], ways: Any = None
    ) -> PlacementProblem: ...
    def bounds(
        self, axes: Sequence[tuple[int, str, int]]
    ) -> tuple[tuple[int, dict[str, Any]], tuple[int, dict[str, Any]]]: ...
    def search(
        self,
        axes: Sequence[int],
        by_hops: bool,
        bound: int,
        seed: int,
        effort: int,
        progress: Callable[[float], None] | None = None,
    ) -> dict[str, Any]: ...
    def loads(self, nodes: NDArray[np.uint32]) -> tuple[NDArray[np.uint64], tuple[int, int, int], int]: ...

class JobFloor:
    def __new__(cls, network: Network, taken: Sequence[int]) -> JobFloor: ...
    def free(self) -> int: ...
    def find(self, boxes: Sequence[Sequence[int]], contact: bool) -> tuple[int, int] | None: ...
    def flip(self, corner: int, sides: Sequence[int]) -> None: ...
    def stream(
        self,
        jobs: Sequence[tuple[Sequence[Sequence[int]], int, int]],
        window: int,
        contact: bool,
        largest: bool,
    ) -> tuple[list[tuple[int, int, int] | None], int, bool]: ...

def plan_collective(
    network: Network,
    name: str,
    chunks: int,
    root: int,
    latency: int,
    seed: int,
    members: Sequence[int] | None,
    demands: NDArray[np.uint32] | None,
) -> dict[str, Any]: ...
def nested_rounds(
    costs: NDArray[np.int32], own: NDArray[np.uint32], shifts: NDArray[np.int64]
) -> NDArray[np.uint32]: ...
def spread_pieces(
    loads: NDArray[np.float64], owners: NDArray[np.uint32], first: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
def raises(starts: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]: ...
