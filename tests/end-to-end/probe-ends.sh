#!/usr/bin/env bash
# timeout: 300
# hark probe when it or the program comes to a sudden end; and that every hit is
# accounted for when reads fail and buffers are full.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 32

build exact
build crash
build pointers
build signals

# diary N: the N-th number of what probe_crash keeps.
diary() { od -An -t u8 -j $((8 * $1)) -N 8 diary | tr -d ' '; }
# far: it has come some way.
far() { [ -s diary ] && [ "$(diary 1)" -gt "${1:-200000}" ]; }

# launch SCRIPT PROG...: hark in the background, $hark; its program is $target.
launch() {
	printf '%s\n' "$1" >script.d
	rm -f shown said
	"$HARK" probe -o shown "${OPTIONS[@]}" -s script.d -- "${@:2}" \
		>said 2>errors </dev/null &
	hark=$!
	wait_for ready said || note "not ready: $(head -n 3 errors)"
	target=$(awk '/ready/ { print $2 }' said)
}
# The shell says when a job of its own is killed: not here.
reap() {
	wait "$1" 2>/dev/null
	status=$?
	[ -e shown ] || : >shown
}

COUNT='pid$target:a.out:hot:entry { @ = count(); }'

# -- hark is killed --

# The program goes on to its end, which is right; its probes count for nobody.
for how in jump trap; do
	rm -f end
	launch "pid\$target:a.out:$how:entry { @ = count(); }" ./exact $how 2 end
	sleep 0.3
	kill -KILL $hark
	reap $hark
	is "$how: hark was killed" "$status" 137
	sleep 0.3
	ok "$how: the program lives" kill -0 "$target"
	: >end
	gone "$target"
	ok "$how: and ends well" grep -qx ok said
done

# Attached, and killed: somebody else may come then (probe-left.sh), and the
# program is well.
begin ./exact jump 2 end
printf '%s\n' 'pid$target:a.out:jump:entry { @ = count(); }' >script.d
"$HARK" probe -o shown -s script.d -p "$pid" >/dev/null 2>errors </dev/null &
hark=$!
sleep 0.5
kill -KILL $hark
reap $hark
attach 'pid$target:a.out:jump:entry { @ = count(); } tick-20ms { exit(0); }' \
	"$pid"
is "the next one after a killed one comes in" "$status" 0
status=1
finish && status=0
cp guest.out said
unharmed "the program does not mind"

# SIGINT ends hark, not the program that it came to; what it has is shown.
begin ./exact jump 2 end
rm -f shown
{ cat script.d && echo 'pid$target:a.out:jump:entry /!seen/ { seen = 1; printf("here\n"); }'; } >here.d
"$HARK" probe -o shown -s here.d -p "$pid" >/dev/null 2>errors </dev/null &
hark=$!
wait_for here shown || note "hark did not come: $(head -n 3 errors)"
kill -INT $hark
reap $hark
is "SIGINT: hark ends well" "$status" 0
like "SIGINT: what it has is shown" "$(xargs <shown)" '(^| )[0-9]+$'
is "SIGINT: accounts" "$(check accounts errors)" right
ok "SIGINT: the program goes on" kill -0 "$pid"
is "SIGINT: nothing is left" \
	"$(/usr/bin/python3 "$SRC/probe_same.py" "$pid" | grep code: | sort -u | xargs)" \
	"code: as in the file"
status=1
finish && status=0
cp guest.out said
unharmed "SIGINT: unharmed"

# -- The program is killed --

launch "$COUNT" ./crash diary spin
await far || note "it does not get far"
kill -KILL "$target"
reap $hark
is "killed: hark ends as the program did" "$status" 137
n=$(awk 'NF { print $NF }' shown)
next=$(diary 0) last=$(diary 1)
ok "killed: ${n:-nothing} counted, $((last + 1)) or $((next + 1)) called" \
	[ "${n:-0}" -ge $((last + 1)) -a "${n:-0}" -le $((next + 1)) ]
is "killed: accounts" "$(check accounts errors)" right

# A ring has what was last.
OPTIONS=(-x bufpolicy=ring -x bufsize=64k)
launch 'pid$target:a.out:hot:entry { printf("at %d\n", arg0); }' \
	./crash diary spin
await far 50000 || note "it does not get far"
kill -KILL "$target"
reap $hark
OPTIONS=()
next=$(diary 0) last=$(diary 1)
first=$(awk 'NF > 1 && $(NF - 1) == "at" { print $NF; exit }' shown)
got=$(awk 'NF > 1 && $(NF - 1) == "at" { n = $NF } END { print n }' shown)
ok "ring: ${got:-nothing} is the last, as $last or $next was" \
	[ "${got:--1}" = "$last" -o "${got:--1}" = "$next" ]
is "ring: none between is missing" \
	"$(awk 'NF > 1 && $(NF - 1) == "at" { if (n++ && $NF != last + 1) print last, $NF
		last = $NF }' shown | head -n 3)" ""
ok "ring: more than a few" [ $((${got:-0} - ${first:-0})) -gt 100 ]
is "ring: accounts" "$(check accounts errors)" right

# -- The program crashes --

# blocks: of its core file.
blocks() { find . -name 'core*' -printf '%b\n' | head -n 1; }
ulimit -c unlimited
rm -f core*
{ ./crash diary segv; } >/dev/null 2>&1
usual=$(blocks)
rm -f core*
probe "$COUNT
pid\$target:a.out:crash:entry, pid\$target:a.out:crash:2 { @ = count(); }" \
	./crash diary segv
unharmed "crashed: as the program did" 139
is "crashed: counted" "$(check total shown 100002)" right
core=$(find . -name 'core*' | head -n 1)
if [ -n "$core" ]; then
	is "crashed: the core has the program's own pc" \
		"$(gdb -nx -batch -ex 'p/x $pc == (unsigned long)&crash_here' \
			./crash "$core" 2>/dev/null | grep '^\$')" '$1 = 0x1'
	is "crashed: one core" "$(find . -name 'core*' | wc -l)" 1
	ok "crashed: of $(blocks) blocks, not much more than $usual" \
		[ "$(blocks)" -lt $((usual + 16384)) ] # changed code is in it
else
	skip "crashed: the core has the program's own pc" "cores go elsewhere"
	skip "crashed: one core" "cores go elsewhere"
	skip "crashed: its size" "cores go elsewhere"
fi
ulimit -c 0

# -- Accounts --

probe 'pid$target:a.out:look:entry { @[copyinstr(arg0)] = count(); }
ERROR { @e["error"] = count(); }' ./pointers 30000
unharmed "bad pointers"
is "bad pointers: what could be read is counted" \
	"$(awk 'NF == 2 && $1 != "error" { print $1, $2 }' shown | sort | xargs)" \
	"even 10000 odd 10000"
is "bad pointers: ERROR saw the others" \
	"$(awk '$1 == "error" { print $2 }' shown)" 10000
is "bad pointers: accounts" "$(check accounts errors executed=30000 \
	recorded=20000 faulted=10000)" right

OPTIONS=(-x bufsize=16k -x bufpolicy=fill)
probe 'pid$target:a.out:jump:entry { printf("at %d\n", arg0); }' \
	./exact jump 1 100000
OPTIONS=()
unharmed "a small buffer"
recorded=$(grep -c ' at [0-9]*$' shown)
is "a small buffer: what is not there was dropped, and it says so" \
	"$(check accounts errors executed=100000 "recorded=$recorded" \
		"dropped=$((100000 - recorded))")" right
