# A user of BookSim2: my file, its curve with the bound in it, another option, and the same network in flitloom's words.
. "$(dirname "$0")/session.sh"

cat > mesh.cfg <<'CONFIG'
// An 8x8 mesh under transposed traffic; rates in flits.
topology = mesh;
k = 8;
n = 2;
routing_function = dor;
num_vcs = 4;
vc_buf_size = 8;
traffic = transpose;
packet_size = 4;
injection_rate = 0.05;
injection_rate_uses_flits = 1;
sample_period = 500;
CONFIG

# One run, in both forms of output.
flitloom simulate mesh.cfg --json > run.json
flitloom simulate mesh.cfg --booksim > run.txt
latency=$(sed -n 's/^Packet latency average = \([0-9.]*\).*/\1/p' run.txt | tail -1)
holds run.json "it['outcome'] == 'stable' and abs(it['classes'][0]['packet_latency'] - $latency) < 0.001"

# The curve: its bound is what `load bound` finds for the busiest link in dimension order.
flitloom load curve mesh.cfg --rates 0.05,0.1,0.3 --refine 0 -o curve.csv --picture curve.png --json > curve.json
flitloom load bound --mesh 8x8 --pattern transpose --json > bound.json
holds curve.json run.json "it[0]['packet_latency'] == other['classes'][0]['packet_latency']"
holds curve.json bound.json "all(abs(row['bound'] - other['routings']['do']['throughput']) < 1e-6 for row in it)"
holds curve.json "[row['saturated'] for row in it] == [row['rate'] > row['bound'] for row in it]"
flitloom plot curve.csv --x offered --y packet_latency -o again.png
ends 0 "BookSim2 calls it stable" flitloom load curve mesh.cfg num_vcs=8 --rates 0.15 --refine 0

flitloom load saturation mesh.cfg --within 0.05 --json > saturation.json
holds saturation.json curve.json "other[1]['rate'] < it[0]['saturation'] < other[2]['rate']"

# Options behind the file, mistakes with the nearest name, and verbs that do not take such a file.
flitloom simulate mesh.cfg routing_function=xy_yx injection_rate=0.1 --json > xy-yx.json
holds xy-yx.json "it['outcome'] == 'stable'"
ends 2 "did you mean injection_rate?" flitloom simulate mesh.cfg injection_rat=0.2
flitloom view mesh.cfg -o mesh.html --json > page.json
holds page.json "it[0]['flits over links'] > 10000"
ends 2 "flitloom load curve runs it at several rates" flitloom load steady mesh.cfg

# As a spec and back: the same run, and the same bits.
flitloom convert mesh.cfg spec.toml
flitloom convert spec.toml back.cfg
flitloom simulate spec.toml --json > spec.json
flitloom simulate back.cfg --json > back.json
holds run.json spec.json back.json "it == other == third"

# The same network without a file: its own random numbers, a latency nearby, and a page.
flitloom simulate --model pipelined --mesh 8x8 --pattern transpose --rate 0.05 --length 4 --channels 4 --buffer 8 \
  --cycles 3000 --stop-at 3000 --json > ours.json
holds ours.json run.json "abs(it['latency'] / other['classes'][0]['packet_latency'] - 1) < 0.1"
flitloom simulate --model pipelined --mesh 8x8 --pattern transpose --html page.html
