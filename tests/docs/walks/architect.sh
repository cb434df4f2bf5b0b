# An architect: 64 routers for adversarial traffic. Which shape, routing, throttle and buffers, and what does a cable cost?
. "$(dirname "$0")/session.sh"

# What links allow: three dimensions carry more than two.
flitloom load bound --torus 8x8 --pattern bcmp --json > flat.json
flitloom load bound --torus 4x4x4 --pattern bcmp --json > deep.json
holds flat.json deep.json "other['routings']['do']['throughput'] >= it['routings']['do']['throughput']"

# Every case stands beside the bound of its own routing, and stays below it.
flitloom load saturation --torus 8x8 --pattern bcmp --routing do,o1turn,valiant --throttle none,pt --within 0.1 \
  --warm-up 500 --measure 500 --json -o routings.csv > routings.json
holds routings.json "len(it) == 6 and all(row['saturation'] <= row['bound'] for row in it)"
holds routings.json flat.json "all(abs(row['bound'] - other['routings'][row['routing']]['throughput']) < 1e-9 for row in it)"
ends 0 "Compared with do, throttle none: " flitloom load saturation --torus 8x8 --pattern bcmp --routing do,valiant \
  --throttle none,pt --within 0.2 --warm-up 500 --measure 200

# How deep buffers should be: a curve with the bound in it, drawn by two verbs from the same rows.
flitloom load curve --torus 8x8 --pattern bcmp --rates 0.1,0.3,0.6 --buffer 4,16 --warm-up 500 --measure 500 --refine 0 \
  -o curve.csv --picture curve.png --json > curve.json
flitloom plot curve.csv --x rate --y latency --by buffer -o by-buffer.png
holds curve.json "[row['saturated'] for row in it] == [False, False, True] * 2"
holds curve.json flat.json "all((row['rate'] > other['routings']['do']['throughput']) == row['saturated'] for row in it)"
ends 0 "buffer 16 saturates between 0.3 and 0.6" flitloom load curve --torus 8x8 --pattern bcmp --rates 0.3,0.6 \
  --buffer 4,16 --warm-up 500 --measure 200 --refine 0

# A sweep over an experiment and a simulation of the same experiment have the same latency, and so has its page.
flitloom examples copy load.toml -o .
flitloom sweep load.toml --grid router.buffer=4,8 --set stop_at=1000 --set traffic.cycles=1000 -o sweep.csv --json > sweep.json
flitloom simulate load.toml --buffer 8 --cycles 1000 --stop-at 1000 --json -o run.nc --picture links.png > run.json
holds sweep.json run.json "it[1]['latency'] == other['latency'] and it[1]['packets_delivered'] == other['packets_delivered']"
flitloom view run.nc -o run.html --json > page.json
holds page.json run.json "it[0]['fingerprint'] == other['fingerprint']"

# What a failed cable costs, by tables alone.
flitloom route --torus 4x4x4 -o whole.json --picture whole.png --json > whole-report.json
flitloom route --torus 4x4x4 --fail link:0-1 -o failed.json --picture failed.png --json > failed-report.json
holds whole-report.json failed-report.json "it['max_load'] < other['max_load'] and not other['deadlock']"
flitloom load saturation --tables whole.json,failed.json --pattern rand,torn --within 0.05 --warm-up 500 --measure 300 \
  --json > cost.json
holds cost.json "[(row['tables'], row['pattern']) for row in it] == [(one, two) for one in ('whole.json', 'failed.json') for two in ('rand', 'torn')]"
# Random traffic does not miss one cable of 192; tornado traffic detours over a link that is then loaded twice.
holds cost.json "it[0]['below'] <= it[2]['above'] and it[2]['below'] <= it[0]['above']"
holds cost.json "it[1]['below'] > 1.5 * it[3]['above'] and it[3]['saturation'] <= it[3]['bound'] == 0.5"

# And what a paper says of the same routers.
flitloom papers run scaling-effects-2007/equation-2 --json > paper.json
holds paper.json "it and {row['status'] for row in it} == {'reproduced', 'no published value'}"
