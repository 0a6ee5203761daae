#!/usr/bin/env bash
# bench/run and bench/door tell the truth: wrong answers are called wrong, all
# that was spent is counted, and what is not there is named.  The tools that
# are measured here are scripts with a known fault or a known price.
. "$(dirname "$0")/lib.sh"
plan 43
unset BENCH

# bench ARGS...: a quick run with its own results; the tables are in $out.
bench() { try "$ROOT/bench/run" --out "$T/out" --size S --repeat 3 "$@"; }

# tool NAME <BODY: makes a tool that is put before a command.
tool() {
	{ echo '#!/bin/sh' && cat; } >"$T/$1"
	chmod +x "$T/$1"
}

# python PROGRAM [ARGS...]: with the modules of the bench at hand.
python() { PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/bench python3 -c "$@"; }

# field EXPRESSION: something of the newest results, d.
field() {
	python 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$T/out/latest.json" "$1"
}

# -- Figures ------------------------------------------------------------------

ok "medians, spreads, ratios and means are right on known samples" python '
import math
from stats import Figure, figure, geomean, median, rotated
assert median([3.0]) == 3.0
assert median([9.0, 1.0, 5.0]) == 5.0
assert median([4.0, 1.0, 100.0, 2.0]) == 3.0
assert figure([2.0, 8.0, 4.0]) == Figure(4.0, 2.0, 8.0)
assert figure([2.0, 8.0, 4.0]).over(2.0) == Figure(2.0, 1.0, 4.0)
assert math.isnan(figure([1.0]).over(0.0).median)
assert abs(geomean([2.0, 8.0]) - 4.0) < 1e-12
assert math.isnan(geomean([]))
assert [rotated(list("abc"), k) for k in range(4)] == [
    list("abc"), list("bca"), list("cab"), list("abc")]
try:
    median([])
    raise SystemExit("a median of nothing")
except ValueError:
    pass'

ok "what threads cost is told where both rows are there" python '
from measure import Sample
from programs import PROGRAMS
from report import Cell, thread_lines, thread_ratios
def row(native, way):
    return {"native": Cell([Sample(cpu_s=native)]), "w": Cell([Sample(cpu_s=way)])}
by = {p.id: p for p in PROGRAMS}
for p in PROGRAMS:
    assert (p.group == "threads") == bool(p.alone), p.id
    assert not p.alone or by[p.alone].package == p.package, p.id
rows = {"mt-2t": row(0.5, 1.0), "mt-1t": row(0.25, 0.25), "pigz-2t": row(1, 1)}
assert thread_ratios(PROGRAMS, rows, "w") == {"mt-2t": 2.0}
lines = thread_lines(PROGRAMS, rows, ["native", "w"])
assert len(lines) == 1 and "mt-2t:" in lines[0] and "OVER 1.3" in lines[0], lines
rows["mt-1t"] = row(0.5, 0.8)
lines = thread_lines(PROGRAMS, rows, ["native", "w"])
assert "1.25 <= 1.3" in lines[0], lines
del rows["mt-1t"]
assert thread_lines(PROGRAMS, rows, ["native", "w"]) == []'

ok "a cell is judged by ending and output, not by one of them" python '
from measure import Sample
from report import fault
from ways import NATIVE, Way
peer = Way("peer", "", lambda a: a)
ours = Way("ours", "", lambda a: a, option="run")
reads = Way("reads", "", lambda a: a, option="verify", own_output=True)
truth = Sample(status=3, sha256="a")
assert fault(Sample(status=3, sha256="a"), truth, peer) == ""
assert "differs" in fault(Sample(status=3, sha256="b"), truth, peer)
assert "status 0" in fault(Sample(status=0, sha256="a"), truth, peer)
assert "signal 11" in fault(Sample(signal=11, sha256="a"), truth, peer)
assert "left" in fault(Sample(status=3, sha256="a", left=1), truth, peer)
assert fault(Sample(signal=9, killed=1), truth, peer) == ""
assert "killed" in fault(Sample(signal=9, killed=1), truth, ours)
assert "killed" in fault(Sample(signal=9, killed=1), truth, NATIVE)
assert fault(Sample(status=0, sha256="x"), truth, reads) == ""
assert "status 1" in fault(Sample(status=1, sha256="x"), truth, reads)'

# -- Inputs and programs ------------------------------------------------------

small=(text-200k rows-16000.sql mix.lua mix.py mix.pl functions-6.c
	frames-6.y4m)
"$ROOT/bench/inputs.py" in-1 "${small[@]}" text-800k
"$ROOT/bench/inputs.py" in-2 "${small[@]}" text-800k
ok "inputs are the same every time" diff -r in-1 in-2
ok "a shorter text is the head of a longer one" \
	cmp -n 204800 in-1/text-200k in-1/text-800k
is "the inputs are those that older results were measured with" \
	"$(cat in-1/text-200k in-1/functions-6.c in-1/frames-6.y4m | sha256sum)" \
	"7388b8319f0b98f0d7324cb486677cf1399003c9e24aec2c02d47a868012afb9  -"

# A tool may show its program a lesser cpu; that is no wrong answer.
if command -v x264 >/dev/null; then
	"$ROOT/bench/inputs.py" in-1 frames-60.y4m
	x264=$(python 'import programs
print(next(p.medium for p in programs.PROGRAMS if p.id == "x264"))')
	# shellcheck disable=SC2086
	is "what x264 writes does not depend on the cpu" \
		"$(cd in-1 && $x264 --asm 0 2>/dev/null | sha256sum)" \
		"$(cd in-1 && $x264 2>/dev/null | sha256sum)"
else
	skip "what x264 writes does not depend on the cpu" "no x264 here"
fi

# -- A run in which nothing is wrong ------------------------------------------

tool plain <<'END'
exec "$@"
END
tool twice <<'END'
"$@" >/dev/null
exec "$@"
END
tool leaver <<'END'
setsid "$@" >/dev/null &
exec "$@"
END
bench --programs gzip,mt-2t,start,fib --ways native --json all.json \
	--way-command plain="$T/plain" --way-command twice="$T/twice" \
	--way-command leaver="$T/leaver"
is "a run without fault succeeds" "$status$err" 0
like "it prints a row for each program" "$out" \
	$'\ngzip .*\nmt-2t .*\nstart .*\nfib '
like "it prints means and the worst" "$out" \
	'geomean +single: +[0-9]+\.[0-9]+ of 1 .*worst +single: +[0-9]+\.[0-9]+ gzip'
like "it says where it was" "$out" "$(uname -r)"
ok "results are kept under their time, as latest, and as asked" \
	sh -c 'cmp out/latest.json all.json && cmp out/2*.json all.json'
ok "the results are valid and their medians those of the samples" python '
import json, statistics
d = json.load(open("all.json"))
assert d["ok"] is True and d["format"] == 1 and d["size"] == "S"
assert d["machine"]["cores"] >= 1 and d["machine"]["kernel"]
assert set(d["summary"]) == {"gzip", "mt-2t", "start", "fib"}
for program, row in d["summary"].items():
    assert set(row) == {"native", "plain", "twice", "leaver"}
    for way, cell in row.items():
        mine = [s for s in d["samples"]
                if (s["program"], s["way"]) == (program, way)]
        assert len(mine) == 3 == cell["n"]
        for key in ("cpu_s", "wall_s", "rss_kb"):
            values = [s[key] for s in mine]
            assert cell[key]["median"] == statistics.median(values)
            assert cell[key]["min"] == min(values)
            assert cell[key]["max"] == max(values)
        ratio = (cell["cpu_s"]["median"] / row["native"]["cpu_s"]["median"])
        assert abs(cell["cpu_ratio"] - ratio) < 1e-9
        assert all(abs(s["cpu_s"] - s["user_s"] - s["sys_s"]) < 1e-9
                   for s in mine)'
# least WAY: of gzip, in multiples of native: by the quickest runs, which other
# work on the machine disturbed least.
least() {
	field "(lambda g: g['$1']['cpu_s']['min'] / g['native']['cpu_s']['min'])(
		d['summary']['gzip'])"
}
like "a tool that works twice costs twice" \
	"$(least twice)" '^(1\.[5-9]|2\.[0-8])'
like "what an orphan spends is counted" \
	"$(least leaver)" \
	'^(1\.[5-9]|2\.[0-8])'
is "a small program is not charged with the runner's memory" \
	"$(field 'd["summary"]["fib"]["native"]["rss_kb"]["max"] < 4000')" True
is "fib prints what arithmetic says" "$(out/fib 5000 -t | tail -n 2)" "$(python '
a, b, at = 0, 1, {}
for k in range(1, 5001):
    a, b = b, (a + b) % 2 ** 64
    at[k] = a
print(4096, at[4096])
print(f"{at[5000]}, 4 writes, last {at[4096]}")')"

# -- Wrong answers ------------------------------------------------------------

tool liar <<'END'
"$@" | tr '0-9' '1-90'
END
tool failer <<'END'
"$@"
case $* in */gzip*) exit 7 ;; esac
END
tool dier <<'END'
"$@"
case $* in */gzip*) kill -SEGV $$ ;; esac
END
tool rarely <<END
echo x >>"$T/rarely.count"
[ "\$(wc -l <"$T/rarely.count")" -lt 4 ] || { "\$@" | tr a b; exit; }
exec "\$@"
END
bench --programs gzip --ways native --way-command liar="$T/liar" \
	--way-command failer="$T/failer" --way-command dier="$T/dier" \
	--way-command rarely="$T/rarely"
is "a wrong answer makes the run fail" "$status" 1
like "a changed output is wrong" "$out" \
	'WRONG gzip liar: output differs from native'
like "a changed exit status is wrong" "$out" \
	'WRONG gzip failer: exit status 7, native exit status 0'
like "a death by signal is wrong" "$out" \
	'WRONG gzip dier: signal 11, native exit status 0'
like "one wrong run of three is enough" "$out" \
	'WRONG gzip rarely: output differs'
is "the results say so" "$(field 'd["ok"], d["means"]')" "(False, {})"

# -- Turns and limits ---------------------------------------------------------

tool A <<END
echo A >>"$T/order"
exec "\$@"
END
tool B <<END
echo B >>"$T/order"
exec "\$@"
END
tool sleepy <<END
case \$* in */gzip*)
	setsid sh -c 'echo \$\$ >"$T/sleeper"; exec sleep 100' &
	sleep 100 ;;
esac
exec "\$@"
END
bench --programs gzip --ways native --limit 2 --way-command A="$T/A" \
	--way-command B="$T/B" --way-command sleepy="$T/sleepy"
is "ways take turns, and each repeat begins with another" \
	"$(tail -n +3 order | tr -d '\n')" ABABBA
like "a peer that is too slow is not wrong" "$status $out" '^0 .*> limit'
ok "nothing of it is left" gone "$(cat sleeper)"

rm sleeper
# It ends with its parent, which is this script.
out/meter -o 1 sh -c 'setsid sleep 100 & echo $! >sleeper; sleep 100' \
	>/dev/null &
meter=$!
await test -s sleeper
kill $meter
wait $meter 2>/dev/null
ok "a meter that is told to end leaves nothing behind" ended "$(cat sleeper)"

# -- What is not there --------------------------------------------------------

bench --programs gzip --ways native --way-command ghost="$T/no-such-tool"
like "an absent tool that was asked for is named, and the run fails" \
	"$status $out" '^1 .*way ghost: absent: .*/no-such-tool is not on PATH'
tool hopeless <<'END'
echo "cannot do that" >&2
exit 9
END
bench --programs gzip --ways native --way-command hopeless="$T/hopeless"
like "a tool that cannot run anything is called broken, and why" "$out" \
	'way hopeless: broken, .*: exit status 9: cannot do that'
mkdir bin
for name in sh sleep gcc as ld gzip; do
	ln -s "$(command -v $name)" "bin/$name"
done
python=$(python 'import sys; print(sys.executable)')
try env PATH="$T/bin" "$python" "$ROOT/bench/run" --out "$T/out" \
	--hark "$T/no-hark" --list
like "a missing program is named with its package" "$status $out" \
	'^0 .*program pigz-2t: missing: pigz \(apt-get install pigz\)'
like "a missing peer and a missing hark are named" "$out" \
	'way run-native: absent: [^ ]*/no-hark is not built.*way valgrind: absent: '
BENCH='--ways nonsense' bench
like "arguments are also read from BENCH; an unknown name is an error" \
	"$status $err" '^125 .*no way nonsense'

# -- hark itself --------------------------------------------------------------

# A stand-in that knows only `run --native`: a start costs 30 ms and more, and
# a visit stops its target for 300 ms.
tool hark <<END
[ "\$1" = run ] || exit 125
shift
if [ "\$1" = --help ]; then
	echo "usage: hark run [--native] [-f]"
	exit
fi
if [ "\$1" != --native ]; then
	[ -e "$T/clumsy" ] || echo "hark: run: only --native is there yet" >&2
	exit 125
fi
while :; do
	case \$1 in
	-p)
		kill -STOP "\$2"
		# It takes hold of a thread when that gets a processor; one that has
		# ended is none.
		while grep -qv ') [TZX] ' /proc/"\$2"/task/*/stat; do :; done
		sleep 0.3
		kill -CONT "\$2"
		[ ! -e "$T/clumsy" ] || kill -SEGV "\$2"
		exit ;;
	--) sleep 0.03 && shift && exec "\$@" ;;
	*) shift ;;
	esac
done
END
bench --programs fib --hark "$T/hark" --ways run-native,run-native-f
like "what hark can do is measured" "$status $out" \
	'^0 .*program +native +run-native +run-native-f'
bench --programs fib --hark "$T/hark" --ways run-native,record
like "what hark does not know is absent, and missed when it was asked for" \
	"$status $out" '^1 .*way record: absent: .*has no .record'
door() {
	try "$ROOT/bench/door" --out "$T/out" --hark "$T/hark" -n 10 \
		--cycles 3 --threads 1,4 --no-peers "$@"
}
door --json door.json
is "a door without fault passes" "$status$err" 0
ok "the door's prices and pauses are those of the stand-in" python '
import json
d = json.load(open("door.json"))
rows = {(r["program"][-4:], r["pinned"], r["door"]): r for r in d["start"]}
assert len(rows) == 16 and all(r["strays"] == 0 for r in rows.values())
for program in ("true", "musl"):
    for pinned in (True, False):
        plain = rows[program, pinned, "fork+exec"]
        behind = rows[program, pinned, "hark"]
        assert plain["over_us"] == 0 and behind["over_us"] > 5000
        assert plain["min_us"] <= plain["median_us"] <= plain["max_us"]
assert [v["threads"] for v in d["attach"]] == [1, 4]
for visits in d["attach"]:
    assert len(visits["wall_us"]) == len(visits["pause_us"]) == 3
    assert min(visits["wall_us"]) >= 300000
    assert min(visits["pause_us"]) >= 300000
    assert min(visits["idle_pause_us"]) < min(visits["pause_us"])'
# without PATH there are no peers, which would only cost time
alone() {
	try env PATH="$T/bin" "$python" "$ROOT/bench/run" --out "$T/out" \
		--size S --repeat 1 --programs fib --hark "$T/hark"
}
alone
like "what hark says is not there yet is absent, and that is no fault" \
	"$status $out" '^0 .*way run: absent: .*only --native is there yet'
touch clumsy
alone
like "a hark that cannot do what it knows is broken, and the run fails" \
	"$status $out" '^1 .*way run: broken, .*: exit status 125'
door
like "a target that does not survive its visitor is wrong" "$status $out" \
	'^1 .*WRONG: the target ended with -11'

# -- And the real one ---------------------------------------------------------

bench --programs fib,start --hark "$HARK" --ways run-native,run-native-f
like "hark itself can be measured" "$status $out" \
	'^0 .*program +native +run-native +run-native-f'
try "$ROOT/bench/door" --out "$T/out" --hark "$HARK" -n 5 --cycles 2 \
	--threads 1,4 --no-peers
like "hark comes and goes, and its target lives" "$status $out" '^0 .*ok; '
hark record -q -o small.hark -- "$GUESTS/back_writes" >/dev/null
try "$ROOT/bench/travel" --out "$T/out" --hark "$HARK" --recording small.hark
like "waiting in a recording is measured" "$status $out" \
	'^0 .*reverse-stepi +2 +[0-9.]+ .*gdb, from the command to its prompt +2000 +[0-9.]+ '
is "every figure was taken" "$(python 'import json, sys
d = json.load(open(sys.argv[1]))
print(len(d["runs"]), min(len(r["seek"]) for r in d["runs"]),
      min(len(r["stepi"]) for r in d["runs"]), len(d["gdb_s"]))' \
	"$T/out/travel-latest.json")" "2 60 2000 5"
