# A user of ASTRA-sim: a Chakra trace per rank. How long does the step take, on which network, and with which algorithm?
. "$(dirname "$0")/session.sh"

# Traces of sixteen ranks: an all-reduce of 64 KiB as one collective node each, and the planned steps of the same.
flitloom collective all-reduce --torus 4x4 -o plan.json
flitloom convert plan.json step.et --as-collective --chunk-bytes 4096
flitloom convert plan.json planned.et --chunk-bytes 4096
test "$(ls step.*.et | wc -l)" = 16

# To time: links of 50 GB/s.
flitloom simulate step.0.et --torus 4x4 --bandwidth 50GB/s --json > step.json
flitloom simulate step.et --torus 4x4 --bandwidth 400Gb/s --json > bits.json
flitloom simulate planned.0.et --torus 4x4 --bandwidth 50GB/s --json > planned.json
holds step.json bits.json "it == other and it['ranks'] == 16 and it['network'].startswith('4x4 torus')"
holds step.json "abs(it['time'] - it['cycles'] * 16 / 50e9) < 1e-12"
ends 0 "a cycle is 0.32 ns" flitloom simulate step.0.et --torus 4x4 --bandwidth 50GB/s
# A trace goes through one port of a node; no ring of the model, which uses all of its links, takes longer.
flitloom collective advise --torus 4x4 --size 64KiB:64KiB --alpha 500ns --bandwidth 50GB/s --json > advice.json
holds advice.json "'ring' in it['cases'][0]['seconds'] and it['cases'][0]['best'] != 'ring'"
# The plan moves every chunk over one link a hop.
holds planned.json "it['flit_hops'] == it['flits_delivered']"

# ASTRA-sim's [ Ring, FullyConnected ] is a product; wider links, and routers with more room, are faster.
flitloom simulate step.0.et --network "ring4 x full4" --bandwidth 50GB/s --json > product.json
holds product.json step.json "it['packets_delivered'] == other['packets_delivered'] and it['network'].startswith('ring4 x full4')"
flitloom simulate step.0.et --torus 4x4 --bandwidth 100GB/s --flit-bytes 32 --flow-control cut-through --buffer 64 --json > wide.json
holds wide.json step.json "it['time'] < 0.6 * other['time']"
# Routers with a pipeline move the same packets over the same links, and take longer.
flitloom simulate step.0.et --torus 4x4 --model pipelined --bandwidth 50GB/s --json > staged.json
holds staged.json step.json "it['flit_hops'] == other['flit_hops'] and it['time'] > other['time']"

# Which rank on which node: no placement has less on its busiest channel, and the trace runs there.
flitloom place --torus 4x4 --traffic step.0.et -o placed.json --picture placed.png --json > placement.json
holds placement.json "it['optimal'] and it['hop_bytes'] < it['row_major']['hop_bytes']"
flitloom check placed.json --json > checked.json
holds checked.json placement.json "it['passed'] and it['busiest_channel'] == other['busiest_channel']"
flitloom simulate step.0.et --placement placed.json --bandwidth 50GB/s --json > moved.json
holds moved.json step.json "it['flit_hops'] < other['flit_hops'] and it['time'] <= other['time']"
flitloom view placed.json -o placed.html

# As GOAL for LogGOPSim, and as a plan again.
flitloom convert step.0.et step.goal
flitloom simulate step.goal --torus 4x4 --bandwidth 50GB/s --json > goal.json
holds goal.json step.json "it == other"
flitloom convert step.goal step.bin
flitloom convert planned.0.et again.json
flitloom check again.json --json > again-checked.json
holds again-checked.json "it['passed'] and it['optimal']"

# What does not fit is told.
ends 2 "16 ranks, the network has 8 nodes" flitloom simulate step.0.et --torus 2x4
ends 2 "topology: is missing; add --torus 8x8, --mesh 8x8" flitloom simulate step.0.et
ends 2 "is a message graph, which flitloom view does not take" flitloom view step.0.et -o step.html
