#!/usr/bin/env bash
# timeout: 300
# hark probe -f and libraries that children load: their calls are counted from
# the first to the last, however the child came to be, and it is left as it was.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 29

build nursery
gcc -O2 -g -shared -fPIC "$SRC/probe_plugin.c" -o plugin.so || exit 1
# Other files, and another code each: they are told apart.
for i in 1 2; do
	gcc -O2 -g -shared -fPIC -Wl,--build-id=0x5eed0$i "$SRC/probe_plugin.c" \
		-o plugin$i.so || exit 1
done
WORK='pid$target:plugin*:plugin_work:entry { @[probefunc] = count(); }'

# -- Children of fork --

OPTIONS=(-f)
for mode in crowd threads turns; do
	probe "$WORK" ./nursery $mode
	unharmed "$mode"
	counted "$mode: counted"
	[ $mode != crowd ] || like "however many, they are one in the accounts" \
		"$err" 'hark: 1 probe: 500 executed'
done
probe 'pid$target:plugin*:plugin_work:entry { @[pid == $target, probemod] = count(); }' \
	./nursery turns
is "which library it was" "$(awk 'NF { print $1, $2, $3 }' shown |
	LC_ALL=C sort | xargs)" \
	"0 plugin.so 40 0 plugin1.so 20 0 plugin2.so 10 1 plugin.so 30 1 plugin1.so 20 1 plugin2.so 20"
probe 'pid$target:plugin*:plugin_begin:entry { @[probefunc] = count(); }' \
	./nursery crowd
unharmed "an initialiser: unharmed"
is "an initialiser is not missed" "$(awk 'NF { print $1, $2 }' shown)" "plugin_begin 50"
probe 'usdt$target:plugin*::meet { @["plugin_work"] = count(); }' ./nursery turns
unharmed "a probe of the programmer's"
counted "a probe of the programmer's: counted"
OPTIONS=(-f -x quiet)
probe 'pid$target:plugin*:plugin_work:entry { @[ustack(2)] = count(); }' \
	./nursery crowd
like "its stack has names" "$(xargs <shown)" '^plugin.so`plugin_work nursery`call'
unlike "and nothing else" "$(cat shown)" '^ *0x'
probe 'pid$target:plugin*:plugin_work:return /arg1 == 7/
	{ printf("%s %s %d %d\n", probeprov, probefunc, arg1, pid); }' ./nursery crowd
ok "its names and arguments" awk '$1 != "pid" $4 || $2 != "plugin_work" { exit 1 }
	END { exit NR != 50 }' shown
OPTIONS=(-f)
probe "$WORK" ./nursery kill
unharmed "children are killed while they load"
OPTIONS=()
probe "$WORK" ./nursery crowd
unharmed "without -f: unharmed"
is "without -f: children are not counted" "$(awk 'NF { print $2 }' shown)" 50

# -- What children execute --

OPTIONS=(-f)
probe "$WORK" sh -c './nursery crowd'
unharmed "a program that a child executes"
counted "a program that a child executes: counted"
probe "$WORK" sh -c './nursery crowd >one; ./nursery crowd >one; exec ./nursery crowd'
is "one after the other" "$(check total <(awk 'NF { print $2 }' shown) 1500)" right

# -- There and back --

mkfifo ask
start() {
	rm -f guest.out
	./nursery serve <ask >guest.out &
	pid=$!
	exec 9>ask
	wait_for ready guest.out
}
probed() {
	grep -q '^[^ ]* r-xs.*memfd:hark-probe' "/proc/$pid/maps" &&
		grep -q '^TracerPid:.0$' "/proc/$pid/status"
}
come() {
	printf '%s\n' "$WORK" >background.d
	rm -f shown
	"$HARK" probe -f -o shown -s background.d -p "$pid" >/dev/null 2>errors &
	hark=$!
	await probed || note "hark does not come: $(cat errors)"
}
# load N: one more child, the N-th, has loaded the library: $child.
load() {
	printf x >&9
	await has "$1"
	child=$(awk '/loaded/ { n = $2 } END { print n }' guest.out)
}
has() { [ "$(grep -c loaded guest.out)" = "$1" ]; }
same() { /usr/bin/python3 "$SRC/probe_same.py" "$1"; }
clean() { ! grep -q hark-probe "/proc/$child/maps"; }

start
load 1
one=$child
same "$one" >before
come
load 2
load 3
ok "a child has them" grep -q hark-probe "/proc/$child/maps"
kill -INT $hark
wait $hark
is "what they called meanwhile" "$(awk 'NF { print $2 }' shown)" 20
ok "they are out of the child again" clean
# One that was made before is like them but for where it is.
is "its code is as it was" "$(same "$child" | grep -c text)" \
	"$(grep -c text before)"
load 4
exec 9>&-
wait "$pid"
is "nobody is harmed" "$? $(tail -n 1 guest.out)" "0 ok"

start
come
load 1
kill -KILL $hark
wait $hark 2>/dev/null
load 2
attach "BEGIN { exit(0); }" "$child"
is "what a killed one has left in a child is taken out" "$status" 0
ok "all of it" clean
exec 9>&-
wait "$pid"
is "and the child does not mind" "$? $(tail -n 1 guest.out)" "0 ok"
