# The operator of a fabric: what is it, which tables, what if a switch dies, and how is that repaired without a stop?
. "$(dirname "$0")/session.sh"

flitloom examples copy
fabric=examples/fabrics/torus-4x4x2.topo
flitloom fabric show "$fabric" --json --picture fabric.png > fabric.json
holds fabric.json "it['kind'] == 'torus' and sorted(it['sizes']) == [2, 4, 4] and it['missing_cables'] == 1"
ends 0 "exchange one end of each" flitloom fabric show examples/fabrics/miscabled.csv

# Tables, and an independent judgement of what was written.
flitloom route --fabric "$fabric" -o out/ --json > made.json
flitloom check --fabric "$fabric" --lft out/ --json > judged.json
holds made.json judged.json "it['max_load'] == other['max_load'] == other['bound'] and other['passed'] and not other['deadlock']"
ends 2 "tables by destination fill a folder" flitloom route --fabric "$fabric" -o tables.json

# Before anything fails: no single failure needs a stop.
flitloom route --fabric "$fabric" --critical --from out --json > critical.json
holds critical.json made.json "len(it) == other['switches'] + 79 and all(row['repair'] == 'safe' for row in it)"

# A switch dies. What is lost now, with the tables that are loaded?
dead=node:S1-1-1
flitloom check --fabric "$fabric" --fail "$dead" --lft out/ --json > lost.json || test $? = 1
holds lost.json "it['unreachable'] > 0 and not it['passed']"
flitloom simulate --graph "$fabric" --fail "$dead" --tables out/ --json > sent.json
holds sent.json lost.json "it['unreachable'] == other['unreachable'] and it['packets_delivered'] == 930 - it['unreachable']"

# The repair: few entries, all pairs, and as many differences as it says.
flitloom route --fabric "$fabric" --fail "$dead" --from out -o repaired/ --json > repair.json
holds repair.json "it['update_safe'] and it['unreachable'] == 0 and it['changed_entries'] < it['entries'] / 5"
flitloom route diff out repaired --fabric "$fabric" --json > diff.json
holds diff.json repair.json "it['changed_entries'] == other['changed_entries'] and it['entries'] == other['entries']"
flitloom check --fabric "$fabric" --fail "$dead" --lft repaired/ --json > repaired.json
holds repaired.json repair.json "it['passed'] and it['max_load'] == other['max_load']"

# What the repaired fabric does, in motion and under load, and as a page.
flitloom simulate --graph "$fabric" --fail "$dead" --tables repaired/ --json > moved.json
holds moved.json "it['outcome'] == 'delivered' and it['packets_delivered'] == 930 and it['cycles'] >= it['bound']"
flitloom load curve --fabric "$fabric" --fail "$dead" --tables repaired/ --pattern rand --rates 0.2 --measure 300 --json > load.json
holds load.json "not it[0]['saturated'] and 'without node:S1-1-1' in it[0]['network']"
flitloom view --fabric "$fabric" repaired/ --fail "$dead" -o fabric.html --json > page.json
holds page.json repair.json "it[0]['switches'] == 31 and it[0]['largest load'] == f\"{other['max_load']} pairs of hosts\""

# A job of a few nodes has tables of its own, and a grid of ranks finds cables.
printf 'S0-0-0-host0, S0-0-1-host0, S0-1-0-host0, S0-1-1-host0\n' > nodes
flitloom route --fabric "$fabric" --nodes nodes -o job/ --json > job.json
holds job.json made.json "it['job_hosts'] == 4 and it['max_load'] <= other['max_load']"
flitloom place --graph "$fabric" --shape 8x4 --json > grid.json
holds grid.json "it['fits'] and sorted(it['placement']) == list(range(32))"
