#!/usr/bin/env bash
# bench/probe tells the truth: its arithmetic is right on known figures, calls
# that a tool misses or counts twice are seen, and what is not there is named.
# The tool that is measured is a script with a known price.
. "$(dirname "$0")/lib.sh"
plan 17
unset BENCH

# bench ARGS...: a quick run of the stand-in; the tables are in $out.
bench() {
	try "$ROOT/bench/probe" --out "$T/out" --hark "$T/hark" --repeat 3 \
		--threads 2 --scale 0.01 --json probe.json "$@"
}

# python PROGRAM: with bench/probe at hand, as probe.
python() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/bench python3 -c "
import importlib.machinery, importlib.util
loader = importlib.machinery.SourceFileLoader('probe', '$ROOT/bench/probe')
probe = importlib.util.module_from_spec(
    importlib.util.spec_from_loader('probe', loader))
import sys
sys.modules['probe'] = probe
loader.exec_module(probe)
import probes
$1"
}

# -- Arithmetic ---------------------------------------------------------------

ok "a price is what a call costs over the loop" python '
from stats import Figure
assert probes.over([12.0, 10.0, 17.0], 2.0) == Figure(10.0, 8.0, 15.0)
assert probes.over([5.0], 0.0) == Figure(5.0, 5.0, 5.0)
base = probes.bases()[0]
way = next(w for w in probes.our_ways() if w.shape == base.shape)
samples = {base.key: [probes.Sample(c, 2 * c, 9, 0, True, "3") for c in (1, 9, 2)],
           way.key: [probes.Sample(c, 2 * c, 9, 9, True, "3") for c in (7, 4, 9)]}
rows = probe.rows_of([base, way], samples)
assert rows[0].cpu == Figure(2, 1, 9), rows[0].cpu
assert rows[1].cpu == Figure(5, 2, 7), rows[1].cpu
assert rows[1].wall == Figure(10, 4, 14), rows[1].wall
assert (rows[1].executed, rows[1].counted, rows[1].faults()) == (27, 27, [])'

ok "missed, doubled, wrong and failed runs of hark are faults" python '
from probes import Sample
from stats import Figure
ours, peer = probes.our_ways()[0], probes.peers()[0]
def faults(way, *samples):
    return probe.Row(way, list(samples), Figure(1, 1, 1), Figure(1, 1, 1)).faults()
fine = Sample(1, 1, 10, 10, True, "3")
assert faults(ours, fine, fine) == []
assert faults(ours, fine, Sample(1, 1, 10, 9, True, "3")) == ["missed 1 of 10"]
assert faults(ours, Sample(1, 1, 10, 12, True, "3")) == ["missed -2 of 10"]
# one too many and one too few are two faults, not none
assert len(faults(ours, Sample(1, 1, 10, 11, True, "3"),
                  Sample(1, 1, 10, 9, True, "3"))) == 2
assert "results differ" in faults(ours, Sample(1, 1, 10, 10, False, "3"))[0]
assert "exit status 0" in faults(ours, Sample(1, 1, 10, 10, True, "0"))[0]
assert faults(ours, Sample(error="failed: x")) == ["failed: x"]
assert faults(peer, Sample(1, 1, 10, 9, False, "0")) == []'

ok "bars hold the dearest of ours against the cheapest of theirs" python '
from stats import Figure
def row(question, name, shape, ns):
    way = next(w for w in probes.our_ways() + probes.peers()
               if (w.question, w.name, w.shape) == (question, name, shape))
    return probe.Row(way, [], Figure(ns, ns, ns), Figure(ns, ns, ns))
bars = {b.name: b for b in probe.BARS}
def line(name, *rows):
    return probe.bar_line(bars[name], list(rows), 2)
cheap, dear = row("count", "hark", "lea", 9.0), row("count", "hark", "push", 10.0)
peers = [row("count", "bpftrace", "nop5", 500.0), row("count", "gdbserver", "nop5", 80.0)]
assert line("entry count", cheap, dear, *peers).endswith(
    "2t: 10.0 ns (push) against 80.0 (gdbserver, nop5): 0.125, at most 0.125: met")
peers.append(row("count", "uprobe", "push", 40.0))
assert line("entry count", cheap, dear, *peers).endswith(": missed by 2.00 x")
assert "against 40.0 (uprobe" in line("entry count, of real counters", dear, *peers)
assert line("latency", row("latency", "hark", "push", 60.0),
            row("latency", "bpftrace", "push", 10.0),
            row("return", "bpftrace", "push", 600.0)).endswith(": met")
assert line("trap form", row("trap", "hark", "trap", 3100.0),
            row("count", "uprobe", "push", 1000.0)).endswith("missed by 1.03 x")
assert line("record", row("record", "hark", "plain", 80.0),
            row("record", "uftrace", "plain", 90.0)).endswith("no figure of the peer")
assert line("record", row("record", "lttng-ust", "plain", 80.0)).endswith(
    "no figure of hark")
assert line("record", row("record", "hark", "plain", float("nan")),
            row("record", "lttng-ust", "plain", 80.0)).endswith("no figure of hark")'

ok "what tools print is counted" python '
class Said:
    function = "hot_plain"
    def __init__(self, text):
        self.text = text
    def said(self):
        return self.text
assert probes.lone_number(Said("hark: 5 probes\n\n     1234\n 12 x\n")) == 1234
assert probes.dtrace_rows(Said("""
        3
           value  ------------- Distribution ------------- count
              16 |                                         0
              32 |@@@@@@@@@@                               25
              64 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           75
             128 |                                         0
""")) == 100
assert probes.bpftrace_rows(Said("Attaching 1 probe...\n\n@: 1000\n")) == 1000
assert probes.bpftrace_rows(Said("""@[3]:
[0]                    2 |@                                   |
[1]                    4 |@@                                  |
[2, 4)               100 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[1K, 2K)              10 |@@@                                 |

""")) == 116
assert probes.hark_records(Said("123 0 7\n124 1 7\n125 2 8\n\n126 3 7\n")) == 3
assert probes.gdb_frames(Said("Collected 301 trace frames.\n")) == 301'

# -- The program that is probed -----------------------------------------------

bench --ways hark
ok "the program adds up what arithmetic says" python "
import subprocess
for shape in ('lea', 'push', 'nop5', 'usdt', 'trap', 'plain'):
    for calls, threads, all in ((5, 1, 5), (20000, 3, 63000)):
        done = subprocess.run(['out/hot', shape, str(calls), str(threads), 'r'])
        assert done.returncode == probes.STATUS
        cpu, wall, executed, total = map(int, open('r').read().split())
        assert executed == all and cpu > 0 and wall > 0
        assert total == threads * sum(i + 8 for i in range(all // threads))
        assert total == probes.right_sum(executed, threads)"
forms=$(for shape in lea push nop5 usdt trap plain; do
	hark probe -l -n "a.out:hot_$shape:entry" -- out/hot |
		awk -v s=$shape '/entry/ { print s, $6 }'
done)
is "its trap shape takes a trap, all others a jump" \
	"$(sed 's/J[5WP2]/jump/' <<<"$forms" | xargs)" \
	"lea jump push jump nop5 jump usdt jump trap T plain jump"

# -- A tool with a known price ------------------------------------------------

like "a hark that is not there is named, and the run fails" "$status $out" \
	'^1 .*count, hark, lea: failed: .*WRONG; '

# It runs the program, says that a call cost 1000 ns, and answers as asked.
cat >hark <<'END'
#!/bin/bash
echo "$*" >>order
script= shown= lost=0
while [ "$1" != -- ]; do
	[ "$1" != -n ] || script=$2
	[ "$1" != -o ] || shown=$2
	shift
done
shift
[ ! -e refuses ] || { echo "hark: probe: no such thing" >&2; exit 125; }
"$@"
status=$?
read -r _ wall executed sum <"$5"
[ ! -e spoils ] || sum=$((sum + 1))
[ ! -e swallows ] || status=0
[ ! -e loses ] || [ "$3" -lt 1000 ] || lost=1
echo "$(($3 * $4 * 1000)) $wall $executed $sum" >"$5"
seen=$((executed - lost))
case $script in
*quantize*) printf '   1 |@@@@   %d\n   2 |       %d\n' 10 $((seen - 10)) ;;
*printf*) awk -v n=$seen 'BEGIN { for (i = 0; i < n; i++) print 1, i, 7 }' ;;
*) echo "        $seen" ;;
esac >"$shown"
exit $status
END
sed -i "s,>>order,>>$T/order,; s,-e ,-e $T/,g" hark
chmod +x hark
bench --ways hark
is "a run without fault succeeds" "$status$err" 0
ok "its prices are those of the stand-in, less the loop" python '
import json, statistics
d = json.load(open("probe.json"))
# the usdt shape wants a header that need not be there
assert d["ok"] is True and set(d["absent"]) <= {"count, hark, usdt"}
rows = {r["way"]: r for r in d["threads"]["2"]}
assert len(rows) == 15 - 2 * len(d["absent"])
assert len(d["bars"]) == len(probe.BARS)
for key, row in rows.items():
    assert len(row["samples"]) == 3
    if key.startswith("base"):
        continue
    base = statistics.median(
        s["cpu_ns"] for s in rows["base, -, " + key.split(", ")[2]]["samples"])
    assert abs(row["cpu_ns"]["median"] + base - 1000) < 1e-6, key
    assert 0 < base < 900, base
    assert row["counted"] == row["executed"] == sum(
        s["executed"] for s in row["samples"])'
like "it prints a row for each, and bars" "$out" \
	$'\n  hark +trap +9[0-9.]+ \\(9.*\nbar entry count, 2t: unknown, no figure of the peer'

: >order
bench --ways hark --questions latency,trap --repeat 4
# two loops and two ways: the fourth repeat begins with the second way
is "ways take turns, and each repeat begins with another" \
	"$(tail -n +3 order | grep -o 'hot_[a-z]*:entry' | cut -c 5 | tr -d '\n')" \
	ptptpttp
ok "only what was asked for is measured" python '
import json
d = json.load(open("probe.json"))
assert [r["way"] for r in d["threads"]["2"]] == [
    "base, -, push", "base, -, trap", "latency, hark, push", "trap, hark, trap"]'

# -- Faults -------------------------------------------------------------------

fault() { # FILE: the stand-in does this
	touch "$1"
	bench --ways hark --questions count
	rm "$1"
}
fault loses
like "a lost call is seen" "$status $out" '^1 .* WRONG: missed 1 of '
fault spoils
like "a changed result is seen" "$status $out" '^1 .* results differ'
fault swallows
like "a changed exit status is seen" "$status $out" \
	'^1 .* exit status 0, without it 3'
fault refuses
like "a failure is told in the tool's words" "$status $out" \
	'^1 .*count, hark, lea: failed: hark: probe: no such thing'

# -- What is not there --------------------------------------------------------

mkdir bin
for name in sh gcc as ld nm readelf; do
	ln -s "$(command -v $name)" "bin/$name"
done
python=$(python 'import sys; print(sys.executable)')
try env PATH="$T/bin" BENCH="--questions record" "$python" "$ROOT/bench/probe" \
	--out "$T/out" --hark "$T/hark" --repeat 1 --threads 1 --scale 0.01
like "a missing peer is named with its package" "$out" \
	'record, uftrace, plain: not found: uftrace \(apt-get install uftrace\)'
