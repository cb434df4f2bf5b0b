"""What the names in the JSON of commands mean: one name for a quantity, whichever command prints it."""

from __future__ import annotations

#: Type and meaning of every name, a line each; a type with a question mark may be null.
_TABLE = """
about: string: what the example is
above: number?: a rate above saturation, or the upper end of its 95 % interval, in flits/node/cycle
accepted: number?: flits accepted per node and cycle
accepted_at_end: number?: flits accepted per node and cycle in the last window
accepted_confidence: number?: half width of its 95 % interval, in flits/node/cycle
advice: string?: what would help where nothing was measured
age_sum: integer?: sum of the latencies of all delivered packets, in cycles, counted from their creation
algbw: number: bytes per second of the operation
algorithm: string: its name among those that are compared
algorithm_bound: integer?: lower bound of the algorithm, in cycles
algorithms: array: algorithms that are compared, with their rounds and factors
alone: number: cycles without other jobs
answer: any: what the command prints with --json
apart: boolean: whether no channel has bytes of two jobs, so that none slows another one down
arbitration: string: the arbitration scheme, e.g. C00
averaging: integer?: windows that are averaged
balanced_load: integer?: largest load of tables balanced before lanes were chosen
behind: string?: the busiest channel, where it joins a switch that is hung on a torus or mesh
behind_bound: integer?: what no tables can go below on channels that join no hung switch
behind_load: integer?: largest load of these channels
below: number?: a rate below saturation, or the lower end of its 95 % interval, in flits/node/cycle
best_node: integer?: the node that sends most
bottleneck: string?: the channel that the lower bound is for
bound: number?: what is proven: no load or duration is below it, no throughput above it
bound_exact: string: the same as a fraction
bound_of: string?: what the bound is the bound of
bound_proof: string?: what proves the bound
busbw: number: bytes per second that a link of every node would need at least
busiest_channel: number: bytes on the busiest channel
busiest_port: number: bytes at the busiest port of a node
busy: number: fraction of the channels that are busy in a step
bytes: number: bytes of the vector
cables: integer: cables between switches
case: string: the case of a benchmark
cases: array: the cases, an object each
cause: string?: why there is no result
certificate: object?: its kind, and what a short independent program needs to check what is proven
chain: array: the messages that the last one waited for, one after the other
chain_length: integer: messages in the longest chain
changed_entries: integer?: entries that differ
channels: integer?: virtual channels per link
channels_at_maximum: integer: channels with the same load as the busiest one
chosen: array: the guard chosen for every pattern
chunks: integer: chunks per node
chunks_sent: integer: chunks that crossed a link
citation: string: the full reference
column: string: column of the published table
command: string: the command that answers the question
commit: string: commit of flitloom that computed it
compared: array: algorithms of a schedule file, replayed
computed: any: what flitloom computes
confidence: number?: half width of the 95 % confidence interval of the mean latency, in cycles
coordinates: object: coordinates of every switch, by its name
correlation: number?: correlation of consecutive batches
critical_load: number?: load at which throughput begins to fall behind, in flits/node/cycle
crossovers: array: sizes at which another algorithm becomes the best
cut_off: integer: ordered pairs of hosts that no route joins then
cycle: array?: a shortest cycle of channels, each waiting for the next one, or an empty list
cycles: integer: cycles that were simulated
cycles_per_step: number: cycles per step
deadlock: boolean: whether packets can wait for each other in a cycle
decisions: integer: boxes that were looked at
description: string: what it is, as text
differences: array: why the run does not take the time in the model, as text
duration: integer?: cycles until the last flit is delivered
effective_thickness: integer?: cycles in which the busiest link is used, from its first flit to its last
effort: integer: factor on the work of the search
end: number?: the load at the end of the window in which the critical load is
engine: string: the engine that simulated, general or planes
entries: integer: entries of all tables
exhaustive: boolean: whether all failed systems were tried
fabric: string: what the fabric is, as text
factor: number: vectors on the busiest links, over all rounds
factors: array: what every dimension of a product is, e.g. full8, ring16 or line2
failures: string: what fails
file: string: the file
file_exists: boolean: whether the file is there
final: number?: flits accepted per node and cycle at the end
fingerprint: string: hash over all deliveries
first_again: boolean: whether the first tables are loaded again
fits: boolean: whether the shape has a place
fitted: integer?: windows that a line was fitted to
flit_hops: integer?: links that flits crossed in all
flits_delivered: integer: flits that arrived
flits_per_chunk: integer: flits of a chunk
found_by: string?: what found the place
full_start: number?: largest load at which source queues that begin with 100 packets empty
gain: number: duration over that of whole packets
gap: number: how far above the bound: a count of pairs for tables, a fraction for schedules
generated: number?: flits generated per node and cycle
given_up: array: kinds of traffic that tables were not to be safe for
goal: string: what the benchmark should reach
gpus: integer: ranks of a third-party schedule
guard: integer: cycles kept free behind every packet
half_width: number?: half width of the 95 % interval of the saturation, in flits/node/cycle
height: integer?: cycles from the first flit to the last
histogram: object: links by their load
hop_bytes: number: bytes times the links they cross
hop_bytes_bound: number: proven lower bound of hop_bytes
hop_bytes_certificate: object?: what checks that bound
host_names: array: the host of every port of hosts, in order
host_order: array: hosts of a fat tree in the order of the tree
host_pairs_load: integer?: largest load of tables for host pairs alone, where more costs over 10 %
hosts: integer: hosts
id: string: identifier of the simulation
identifier: string: what papers run takes
in_flight: number?: packets in the network, in the mean
interval: integer?: cycles between slices
jitter: integer: largest delay of a start, in cycles
job_hosts: integer?: hosts whose pairs count, if not all do
jobs: array: the jobs, an object each
kind: string?: what it is: torus, mesh, twisted, fat tree or graph; of files tables, folder, plan, and so on
kinds: array: groups whose nodes are joined alike, with their nodes and algorithms
lanes: integer: virtual lanes: those that a fabric's tables use, those of a torus's rules
lanes_from: string?: the port with the fewest lanes, if a file says how many ports have
lanes_there: integer: lanes that tables could use
late: number?: mean duration with late nodes, in cycles; null where a trial ended in a deadlock
latency: number?: mean cycles from the start of a packet to its ejection, h + L + 1 where nothing hinders
lead: integer: cycles by which nodes aim before their planned starts
levels: object: level of every switch of a fat tree, 0 for leaves
links: array: every link: first and last use, flits, share of the time
load: number: offered work over the capacity
loads: string: largest load beside the bound
lost_to_contention: integer: cycles that chunks waited for each other
makespan: integer?: cycle in which the last operation of a message graph is complete
managers: array: hosts of managers and monitors that were named
max: integer?: largest latency, in cycles
max_distance: integer: hops of the longest route
max_flits: integer: flits on the busiest channel
max_latency: integer?: cycles of the slowest packet
max_load: integer: pairs on the busiest channel
mean_age: number?: mean latency counted from the beginning of the burst, in cycles
measured: integer?: cycles that were measured
median: integer?: median latency, in cycles
members: integer: nodes that take part
messages: integer: to how many nodes a node sends in a round, or from how many it receives, at most
mesh: string: sizes of the mesh
method: string: what made it
method_loads: object: largest load by method, of those that were tried
microseconds: number: how long it takes
min_load: integer: pairs on the emptiest link
minimal_routes: object: the bound of all minimal routes
minimised: string: what was minimised
misfit_cables: array: cables that fit nowhere, by their ends
misfits: integer: cables that fit nowhere
missing: array: cables of the shape that are not there
missing_cable_ends: array: missing cables by their ends
missing_cables: integer: cables that the torus or mesh lacks
missing_switch_coordinates: array: places without a switch
missing_switches: integer: how many places there are without a switch
mix: string: the mix of jobs
mode: string: portable (lane = service level), sl2vl or rising
mode_loads: object: largest load by mode
model_cycles: number: cycles of the plan in its model
model_microseconds: number: the same on the machine that is given
more_may_help: boolean: whether more effort may find better
most_loaded: array: the busiest links and their loads
moved: integer?: ordered pairs of hosts that have another service level after the repair
moved_levels: integer?: ordered pairs of hosts that have another service level
multicast_sl: integer: service level of multicast
name: string: its name
names: array: names of the nodes, in the order of the shape
network: string: the network, as text
network_latency: number?: mean cycles from entering the network to delivery
network_max: integer?: largest of these, in cycles
network_median: integer?: median of these, in cycles
network_p95: integer?: 95th percentile of these, in cycles
network_p99: integer?: 99th percentile of these, in cycles
nodes: integer: nodes
not_verified: object: claims that were not checked, and why
on_machine: object: microseconds on the machine that is given, with placed, row_major and bound
operation: string: the collective operation
optimal: any: whether the bound is met; for schedules of a file: proven, refuted or open
optimal_of: string: among which schedules it is optimal
outcome: string: how it ended
p95: integer?: 95th percentile of latency, in cycles
p99: integer?: 99th percentile of latency, in cycles
packets: integer: packets in all
packets_delivered: integer?: packets that arrived
packets_injected: integer?: packets that entered the network
pairs_checksum: integer?: checksum of the pairs that count, if not all do
paper: any: the published value
part: string: the part that fails, as --fail takes it
parts: integer: parts that the network was divided into
passed: boolean: whether all that was checked is right
pattern: string: the traffic pattern
peak: number?: largest throughput of the run, in flits/node/cycle
perfect_load: number: mean load of a link
phases: array: phases of the traffic, one after the other, an object each
pictures: array: files that were drawn
placement: array: the node of every rank
plan_deadlocks: integer: trials in which the plan ended in a deadlock
plan_mean: number?: mean duration of the plan with late nodes, in cycles
plan_worst: integer?: longest duration of the plan with late nodes, in cycles
planned: integer: duration that the plan says, in cycles
plateau: number?: accepted load at 1.2 times the saturation
points: integer: simulations that were run
policy: string: how waiting jobs are placed
ports: integer: links that a node may send on at once
problem_count: integer: problems in all
problems: array: what is wrong, as text
question: string: what is asked
ranks: integer: ranks of the application
rate: number: offered flits per node and cycle
receive_bound: number?: what the most wanted node can receive, in flits/node/cycle
remarks: array: what was odd
repair: string?: safe (beside traffic) or stop; null where not tried
replies_delivered: integer: replies of pipelined routers that arrived
reply_latency: number?: mean cycles from the arrival of a request to the delivery of its reply
reproducible: boolean: whether the same command finds the same
resolution: number?: step of the load, in flits/node/cycle
rounds: integer?: rounds
router: string: the router, as text
routers_passed: number: routers that a packet passes, a mean
routes: any: routes: their kind, or how many
routing: string: which routes count: do (dimension order), balanced or tables
routings: object: throughput and largest load of every routing
row: string: row of the published table
row_major: object: the same for ranks in the order of the nodes
rows: integer: sets of links that are used in a step
rules: any: rules of the routes
rules_from: string: where the rules are from
rules_in_words: string: the rules, as text
runs: array: placements that were simulated, an object each
safe_for: string?: which kinds of traffic cannot deadlock, and which can; of a fabric
run_cycles: integer?: cycles of the longest runs of a search; null: of BookSim2's files
saturated: boolean?: whether what waits at some source grows for good; null: undecided
saturation: number?: the largest load at which no source queue grows without bound, in flits/node/cycle
scratch_load: integer?: largest load of tables made from scratch
seconds: number?: seconds that it took
seed: integer: seed of all random numbers
service_levels: integer: service levels that are used
setting: string: name of the setting
settings: array: every setting, its value and where that is from
settling_time: integer?: cycles until throughput stays near its end
shape: string: the shape, e.g. 8x4
shift_load: number?: mean over shifts of pairs on the busiest channel, for fat trees
shift_load_worst: integer?: pairs on the busiest channel of the worst shift, for fat trees
short_of_lanes: boolean: whether the lanes did not suffice for balanced tables
sigma4: number?: fourth root of the mean fourth power of the loads over their mean
simulated: any: duration when simulated, in cycles
sizes: array: sizes of every dimension
slice_length: integer: flits of a slice
slices: integer: slices of a message
slope: number?: relative growth of the utilisation over that of the load at saturation
slope_rule: object?: the critical load by the slope of throughput
sm_sl: integer: service level of managers and monitors, OpenSM's sm_sl
source_max: integer?: most packets that a node sent
source_median: integer?: packets, median over the nodes
source_min: integer?: fewest packets that a node sent
source_p10: integer?: packets, 10th percentile over the nodes
spare_lanes: integer: lanes that are left free
spec: object: the experiment, complete
spent: integer?: moves that the search tried
spread: integer: cycles of lateness against which spare time is spread
stacked: integer?: duration with the best interval, in cycles
starved: integer?: nodes that sent less than a tenth of the mean
status: string: reproduced, reached, beaten or holds, not so, undecided, or no published value
step_cycles: integer?: cycles a step takes at least
steps: integer: steps
stopped: string: how much was finished before Ctrl-C
swapped: array: pairs of cables plugged the wrong way round
switch: string: the switch
switches: any: switches: how many, or an object each
systems: integer: failed systems that were tried
tables: object: method and seed of the routing tables of the packets
throughput: number?: flits delivered per node and cycle
time: number: simulated seconds, where the bandwidth of a link says how long a cycle is
title: string: what it is
topology: object?: the network, field by field, if it is a torus or mesh
torus: string: sizes of the torus
traffic: string: what is sent
traffic_kinds: array?: every kind of traffic of a fabric: whether it can deadlock, a cycle, what was assumed
trials: integer: simulations with late nodes
uneven: array: switches of a fat tree with fewer cables up than most of their level
uniform_rule: number?: what 2 b / n says, in flits/node/cycle; null for switches
unison: integer?: duration if all start together, in cycles
unison_deadlocks: integer: trials in which sending in unison ended in a deadlock
unison_mean: number?: mean duration in unison with late nodes, in cycles
unison_worst: integer?: longest duration in unison with late nodes, in cycles
unreachable: integer: ordered pairs of nodes or hosts without a route
unreachable_pairs: array: such pairs by name
update: string?: how to get there from the old tables
update_last: array?: entries to change last
update_rounds: array?: entries to change first, round by round
update_safe: boolean?: whether it can be loaded beside traffic
utilisation: number?: load of the busiest source queue over the rate at which it sends; above 1 it grows
utilisation_error: number?: standard error of the utilisation
verdict: string?: reached or missed; of a load steady, growing, undecided, deadlock, impossible (closed: null)
verified: array: claims that were checked
version: string: version of flitloom
waited_for_chunks: integer: chunks that waited for one they follow
waited_for_ports: integer: chunks that waited for a port
waiting: array: names of jobs for which too few nodes are free
waits: array: what waits for what
warm_up: integer?: cycles before what is measured
whole: integer: duration as whole packets, in cycles
window_cycles: integer: cycles of a window
worst_accepted: number?: flits accepted per cycle of those of the worst node
worst_node: integer?: the node with the busiest source queue, or, where that is unknown, that sends least
wraps: array: whether each dimension wraps
"""

#: Type and meaning by name.
WORDS: dict[str, tuple[str, str]] = {
    name: (kind, meaning)
    for name, kind, meaning in (line.split(": ", 2) for line in _TABLE.strip().splitlines())
}
