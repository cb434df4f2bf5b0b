# A teacher: experiments for a lecture that give the same numbers on every machine, a deadlock, and pages for students.
. "$(dirname "$0")/session.sh"

flitloom examples copy
flitloom examples list --json > examples.json
holds examples.json "{'shuffle.toml', 'load.toml'} <= {row['name'] for row in it} and all(row['about'] for row in it)"

# A packet alone takes h + L + 1 cycles: one hop and eight flits.
flitloom simulate --torus 8 --pattern next --payload 7 --json > alone.json
holds alone.json "it['duration'] == 1 + 8 + 1 == it['latency'] == it['bound']"

# Packets that block each other, then slices, then the right start times: the same payload, ever sooner.
flitloom simulate --torus 8x8 --pattern shfl --payload 14 --picture whole.png --html whole.html --json > whole.json
flitloom stack --torus 8x8 --pattern shfl --payload 14 --slices 2 --json > stack.json
flitloom schedule --torus 8x8 --pattern shfl --payload 14 --slices 2 -o plan.json --html plan.html --json > plan-report.json
holds stack.json whole.json plan-report.json "it[0]['whole'] == other['duration'] > it[0]['duration'] > third['duration']"
holds plan-report.json stack.json "it['optimal'] and it['stacked'] == other[0]['duration'] and it['duration'] == it['bound']"
flitloom simulate plan.json --json > planned.json
flitloom check plan.json --json > checked.json
holds planned.json checked.json "it['duration'] == it['planned'] == other['duration'] and other['passed']"

# The example of the files gives the same whether it is simulated or shown.
flitloom simulate examples/shuffle.toml --json > shuffle.json
flitloom view examples/shuffle.toml -o shuffle.html --json > shuffle-page.json
holds shuffle.json shuffle-page.json "it['fingerprint'] == other[0]['fingerprint'] and it['duration'] >= it['bound']"

# A deadlock: who waits for whom, on a page, and two ways out of it.
ring="--torus 8 --pattern rand --rate 0.9 --cycles 1000 --length 8"
ends 2 "64 flits can never move again, waiting in the cycle (0)+x vc0" flitloom simulate $ring --channels 1 --html deadlock.html
ends 2 "deadlock.html shows the deadlock" flitloom simulate $ring --channels 1 --html deadlock.html
grep -q "deadlock in cycle" deadlock.html
flitloom simulate $ring --channels 2 --json > dateline.json
flitloom simulate $ring --channels 1 --flow-control bubble --buffer 16 --json > bubble.json
holds dateline.json bubble.json "it['packets_delivered'] == other['packets_delivered'] == it['packets_injected'] > 0"

# Saturation in class: the step to a load, and the load that is too much.
flitloom load step --torus 8x8 --pattern bcmp --rate 0.3 --cycles 4000 --window 50 --picture step.png --json > step.json
holds step.json "0.25 < it[0]['final'] < 0.35"
ends 0 "8x8 torus saturates between 0.3 and 0.9" flitloom load curve --torus 8x8 --pattern bcmp --rates 0.3,0.9 --refine 0 \
  --warm-up 500 --measure 300 --picture saturation.png

# The page in which students change everything; in a clone the engine must be built for it.
if ! flitloom view --live -o live.html 2> no-engine; then
  grep -q "make wasm builds it" no-engine
fi
