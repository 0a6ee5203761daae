#!/usr/bin/env bash
# timeout: 400
# hark ask races: what is in order is not told, and what is not is, whatever way
# threads were scheduled.
. "$(dirname "$0")/lib.sh"
plan 54

# record WAY [OPTION...]: WAY.hark
record() {
	local way=$1
	shift
	rm -f "$way.hark"
	"$HARK" record -q -o "$way.hark" "$@" -- "$GUESTS/races" "$way" \
		>/dev/null 2>"$way.err" || note "$(cat "$way.err")"
}
races() { timeout 120 "$HARK" ask "$@" races; }

# symbols FILE: what is raced for, once each.
symbols() {
	races "$1" --json 2>/dev/null | python3 -c '
import json, sys
print(*sorted({json.loads(line)["symbol"] for line in sys.stdin}))'
}

# -- In order --

for way in mutex spin rwlock atomics release polling semaphores cond barrier \
	pipe eventfd once parts reading malloc stdio join inside; do
	record $way
	try races $way.hark
	is "in order: $way" "$status:$out" "1:"
done
like "it is said" "$err" 'there are no races'

# -- Not in order --

for row in counter:counter bytes:buffer+0x5 memcpy:buffer movs:buffer \
	vector:buffer+0x8 "flag:counter flag" locks:counter \
	behind:buffer+0x40 calls:counter late:counter; do
	way=${row%%:*}
	record "$way"
	is "not in order: $way" "$(symbols "$way.hark")" "${row#*:}"
done
# What stands behind the pointer may have been seen without the lock, or not.
record init
like "not in order: init" "$(symbols init.hark)" '(^| )pointer$'

# -- What is told --

races flag.hark --json >flag.json 2>/dev/null
ok "which instructions it was, and what they did" python3 - "$ROOT" <<'END'
import json, re, sys

source = open(sys.argv[1] + "/tests/guests/races.c").read().split("\n")
rows = [json.loads(line) for line in open("flag.json")]
seen = set()
for r in rows:
    a, b = r["first"], r["second"]
    assert a["thread"] != b["thread"] and {a["thread"], b["thread"]} == {2, 3}
    assert a["write"] or b["write"]
    assert int(r["address"], 16) >= int(a["address"], 16)
    assert r["times"] >= 1
    for x in a, b:
        assert x["position"].startswith("%d:" % x["thread"])
        assert x["function"] in ("racy_flag", "thread")
        assert x["file"].endswith("races.c")
        text = source[x["line"] - 1]
        assert r["symbol"] in text, text
        if x["write"]:
            seen.add((r["symbol"], x["after"]))
assert seen == {("flag", "0x1"), ("counter", "0x5")}, seen
END
try races flag.hark
like "in words" "$out" 'flag, 4 bytes: threads [23] and [23], [0-9]+ times?
  [23]:[0-9+]+ +(writes|reads)  *[^(]*\((racy_flag|thread) at races.c:[0-9]+\)
  [23]:[0-9+]+ +(writes|reads)  *[^(]*\((racy_flag|thread) at races.c:[0-9]+\)'
is "one is enough" "$(races flag.hark --limit 1 2>/dev/null | grep -c bytes)" 1
position=$(python3 -c 'import json
print(json.loads(open("flag.json").readline())["second"]["position"])')
like "the moment is there" \
	"$("$HARK" ask flag.hark regs --at "$position" --json)" '"rip"'
races memcpy.hark --json >memcpy.json 2>/dev/null
ok "two copies, once each" python3 - <<'END'
import json

rows = [json.loads(line) for line in open("memcpy.json")]
assert rows and all(r["times"] == 1 for r in rows)
assert any(r["first"]["write"] and r["second"]["write"] for r in rows)
END
races locks.hark --json >locks.json 2>/dev/null
ok "every pair of stretches counts" python3 - <<'END'
import json

(row,) = [json.loads(line) for line in open("locks.json")]
assert row["times"] >= 100, row["times"]
assert row["first"]["size"] == row["size"] == 8
END
like "inside of the library: it is said" "$(races inside.hark 2>&1)" \
	'inside of the C library (is|are) left out'
try races inside.hark --all
like "... and told on demand" "$status:$out" '^0:.*\((__)?l64a'
record strtok
like "functions that touch what they are given are told" \
	"$(races strtok.hark --json 2>&1)" '"symbol": ?"(__)?strtok'

# -- What a word may hold --

record choice
races choice.hark --json >choice.json 2>/dev/null
# possible THREAD STEPS: so many instructions behind this thread's write.
possible() {
	local at

	at=$(python3 - "$@" <<'END'
import json, re, sys

thread, steps = map(int, sys.argv[1:])
row = json.loads(open("choice.json").readline())
at, = [x["position"] for x in (row["first"], row["second"])
       if x["thread"] == thread]
t, count, step = re.fullmatch(r"(\d+):(\d+)(?:\+(\d+))?", at).groups()
print(f"{t}:{count}+{int(step or 0) + steps}")
END
	)
	timeout 60 "$HARK" ask choice.hark value counter --all --at "$at" \
		--json 2>&1 | python3 -c '
import json, sys
row = json.load(sys.stdin)
print(*sorted(row["possible"]), ":", *sorted(row["threads"]))'
}
is "before it writes: as it was, or the other one's" "$(possible 2 0)" "1 7 : 3"
is "... and the other way round" "$(possible 3 0)" "1 5 : 2"
is "then: its own, or the other one's" "$(possible 2 1)" "5 7 : 2 3"
is "... and the other way round" "$(possible 3 1)" "5 7 : 2 3"
like "when they are no more, it is what was written then" \
	"$(timeout 60 "$HARK" ask choice.hark value counter --all)" \
	'^counter = [0-9]+$'
record mutex
is "what is in order is one thing" \
	"$(timeout 60 "$HARK" ask mutex.hark value counter --all)" \
	"$(timeout 60 "$HARK" ask mutex.hark value counter)"

# -- It can be given up --

record busy
# The signal may come at any instant of the replay, before it, or too late.
ok "an interrupt is nothing but that" python3 - "$HARK" "$(times 3)" <<'END'
import signal, subprocess, sys, time

n = int(sys.argv[2])
for i in range(n):
    p = subprocess.Popen([sys.argv[1], "ask", "busy.hark", "races"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    time.sleep(1.1 * i / (n - 1) + 0.05)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert (p.returncode, err) == (125, "hark: interrupted\n") or \
        p.returncode == -signal.SIGINT or \
        p.returncode == 1 and "there are no races" in err, (p.returncode, err)
END

# -- Key frames, one thread, none --

for way in mutex join; do
	record $way --key-every 500
	try races $way.hark
	is "with many key frames in order: $way" "$status:$out" "1:"
done
for row in counter:counter locks:counter; do
	way=${row%%:*}
	record "$way" --key-every 500
	is "... and not: $way" "$(symbols "$way.hark")" "${row#*:}"
done
"$HARK" record -q -o hello.hark -- "$GUESTS/hello" >/dev/null 2>&1
try races hello.hark
is "one thread has none" "$status:$out" "1:"
like "... as is said" "$err" 'there are no races'
"$HARK" record -q -o births.hark -- "$GUESTS/thread_births" >/dev/null 2>&1
try races births.hark
is "threads by the hundreds, one after the other" "$status:$out" "1:"
try timeout 60 "$HARK" ask mutex.hark races counter
like "nothing is asked for" "$status:$err" '^125:.*one argument too many'
