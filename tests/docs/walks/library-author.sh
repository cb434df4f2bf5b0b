# The author of a collective library: which all-reduce for 4x4 GPUs, as a file that MSCCL loads, also without a node?
. "$(dirname "$0")/session.sh"

flitloom collective advise --torus 4x4 --size 1KiB:1MiB --alpha 1us --bandwidth 50GB/s --picture advice.png --json > advice.json
holds advice.json "it['members'] == 16 and all(row['bound'] <= row['seconds'][row['best']] == min(row['seconds'].values()) for row in it['cases'])"

# The plan, its bound, and the check that computes both anew.
flitloom collective all-reduce --torus 4x4 -o plan.json --picture busy.png --json > plan-report.json
flitloom check plan.json --json > checked.json
holds plan-report.json checked.json "it['steps'] == other['steps'] == other['bound'] and other['passed'] and other['optimal']"

# As MSCCL XML and as a plan of MSCCL++: checked, and run, without a way back by hand.
flitloom convert plan.json plan.xml --for msccl-executor
flitloom convert plan.json plan.mscclpp.json
flitloom simulate plan.json --flits 64 --json > run.json
for theirs in plan.xml plan.mscclpp.json; do
  flitloom check "$theirs" --torus 4x4 --json > theirs.json
  holds theirs.json checked.json "it['passed'] and (it['steps'], it['bound']) == (other['steps'], other['bound'])"
  flitloom simulate "$theirs" --torus 4x4 --flits 64 --json > theirs-run.json
  holds theirs-run.json run.json "it == other"
done
ends 1 "there is no link from node 0 to node 3" flitloom check plan.xml --mesh 4x4

# A step that is lost makes it wrong, and the check says where.
sed '0,/type="s"/s//type="nop"/' plan.xml > broken.xml
ends 1 "NOT VALID" flitloom check broken.xml --torus 4x4

# A node fails: fifteen ranks, the file that says which nodes they are, and the same checks.
flitloom collective all-reduce --torus 4x4 --fail node:5 -o hurt.json --json > hurt-report.json
holds hurt-report.json plan-report.json "it['steps'] > other['steps'] and it['steps'] >= it['bound']"
flitloom convert hurt.json hurt.xml
test "$(wc -l < hurt.ranks.csv)" = 16
! grep -q ',5$' hurt.ranks.csv
# Without that file the check asks.
cp hurt.xml alone.xml
ends 2 "name the failed ones, e.g. --fail node:5" flitloom check alone.xml --torus 4x4
flitloom check alone.xml --torus 4x4 --fail node:5
flitloom check hurt.xml --torus 4x4 --fail node:5 --json > hurt-checked.json
holds hurt-checked.json hurt-report.json "it['passed'] and it['gpus'] == 15 and it['steps'] == other['steps']"
flitloom convert hurt.xml back.json --torus 4x4 --fail node:5
flitloom simulate hurt.json --flits 64 --json > hurt-run.json
flitloom simulate back.json --flits 64 --json > back-run.json
holds hurt-run.json back-run.json run.json "it == other and it['cycles'] > third['cycles']"
flitloom view hurt.xml --torus 4x4 --fail node:5 -o steps.html --json > steps.json
holds steps.json "it[0]['nodes'] == '15 of 16'"
