#!/usr/bin/env bash
# timeout: 300
# hark probe and libraries that come later: their calls are counted from the
# first to the last, whoever loads them, and nobody waits for a hark that is
# dead.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 37

build late
gcc -O2 -fno-ipa-cp -g -static -I"$ROOT/tests/guests" "$SRC/probe_truth.c" \
	-o static 2>/dev/null || gcc -static -g "$ROOT/tests/guests/hello.c" \
	-o static || exit 1
gcc -O2 -g -shared -fPIC "$SRC/probe_plugin.c" -o plugin.so || exit 1
gcc -O2 -g -shared -fPIC "$SRC/probe_first.c" -o first.so || exit 1
cp plugin.so plugin1.so
cp plugin.so plugin2.so

BY_PATTERN='pid$target:plugin*:plugin_work:entry,
pid$target:plugin*:plugin_trapped:entry { @[probefunc] = count(); }'
BY_NAME=${BY_PATTERN//plugin\*/plugin.so}

# -- Whoever loads it --

probe "$BY_PATTERN" ./late threads
unharmed "two threads load libraries at once"
counted "the calls of both are counted"
is "what is not there is said once" "$(grep -c 'yet$' errors)" 1
like "and how" "$err" "^hark: no module matches 'plugin\*' yet"
for mode in first spaces signals same; do
	probe "$BY_NAME" ./late $mode
	unharmed "a library comes late: $mode"
	counted "its calls are counted: $mode"
done

probe "$BY_NAME" sh -c 'exec ./late same'
unharmed "a library of a program that is executed later"
counted "its calls are counted there"
is "that it is not there is said once" "$(grep -c 'yet$' errors)" 1

# A child that executes a program loads libraries, too (probe-nursery.sh).
gcc -O2 -static -x c - -o starter <<'END' || exit 1
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int status;

	if (fork() == 0)
		execv(argv[argc > 1], argv + 1);
	wait(&status);
	return status != 0;
}
END
OPTIONS=(-f)
for _ in 1 2 3; do # whoever waits does so for five seconds, each time
	began=${EPOCHREALTIME/[.,]/}
	probe "$BY_NAME" ./starter ./late same
	took=$((${EPOCHREALTIME/[.,]/} - began))
	[ $took -ge 5000000 ] || break
done
OPTIONS=()
unharmed "libraries of a program that a child executes"
counted "their calls are counted"
ok "nobody waits for nothing: $took us" [ $took -lt 5000000 ]

# -- What is known of it --

OPTIONS=(-x quiet)
probe 'pid$target:plugin.so:plugin_work:return /arg1 == 7/
{ printf("%s %s %s %d\n", probemod, probefunc, probename, arg1); }' ./late first
is "its names and arguments" "$(cat shown)" "plugin.so plugin_work return 7"
probe 'pid$target:plugin.so:plugin_work:entry /arg0 == 3/
{ ustack(3); exit(0); }' ./late first
like "its stack: itself" "$(cat shown)" 'plugin.so.plugin_work'
like "its stack: who called it" "$(cat shown)" 'first.so.begin'
probe 'pid$target:plugin.so:plugin_work:entry { @[ustack(2)] = count(); }' \
	./late same
unlike "a stack of one that is gone" "$(cat shown)" '^ *0x'
like "has its names" "$(cat shown)" 'plugin.so.plugin_work'
OPTIONS=(-F)
probe 'pid$target:plugin.so:plugin_work:entry,
pid$target:plugin.so:plugin_work:return /arg0 < 2/ { trace(arg0); }' ./late first
like "in a flow" "$(cat shown)" '-> plugin_work'
OPTIONS=()

# -- What is no library --

probe 'pid$target:plugin.so:plugin_work:entry { @ = count(); }' ./static
is "a static program loads none" "$status" 125
like "and that is said" "$err" "no module matches 'plugin.so'$"
probe 'pid$target:plugni:plugin_work:entry { @ = count(); }' ./late first
is "what is not called like a library is none" "$status" 125
probe 'pid$target::plugin_wrok:entry { @ = count(); }' ./late first
is "a function in no module is a mistake" "$status" 125
probe 'pid$target:plugin.so:nothing:entry { @ = count(); }' ./late same
unharmed "one that the library does not have is none"
probe 'pid$target:a.out:use:entry { @ = count(); }' ./late same
unlike "nobody waits without need" "$(cat errors)" yet

# -- A process that runs --

mkfifo ask
# start: a guest that waits for bytes, $pid.
start() {
	rm -f guest.out
	./late ask <ask >guest.out &
	pid=$!
	exec 9>ask
	wait_for ready guest.out
}
# load N: it has called so many times altogether.
load() {
	printf x >&9
	wait_for "used $1 " guest.out
}
probed() {
	grep -q '^[^ ]* r-xs.*memfd:hark-probe' "/proc/$pid/maps" &&
		grep -q '^TracerPid:.0$' "/proc/$pid/status"
}
come() {
	printf '%s\n' "${1:-$BY_NAME}" >background.d
	rm -f shown
	"$HARK" probe -o shown -s background.d -p "$pid" >/dev/null 2>errors &
	hark=$!
	await probed
}

start
load 20
come
load 40
load 60
kill -INT "$hark"
wait "$hark"
load 80
exec 9>&-
wait "$pid"
is "it does not mind" "$?" 0
is "what was called meanwhile" "$(awk 'NF { print $1, $2 }' shown | sort | xargs)" \
	"plugin_trapped 40 plugin_work 40"

start
come
load 20
kill -KILL "$hark"
wait "$hark" 2>/dev/null
load 40
load 60
attach "$BY_NAME tick-10ms { exit(0); }" "$pid"
is "what a killed one has left is taken out" "$status" 0
load 80
exec 9>&-
wait "$pid"
is "nobody is harmed" "$?" 0
ok "and nobody waits for the dead" awk '$1 == "used" && $4 >= 5 { exit 1 }' \
	guest.out

# -- For ever --

# plan_size: kilobytes of what hark shares with the process.
plan_size() {
	awk '/memfd:hark/ { shared = 1 }
		/^Rss:/ { n += shared * $2; shared = 0 }
		END { print n }' "/proc/$hark/smaps"
}
start
come 'pid$target:libc*::entry, pid$target:plugin*::entry { @ = count(); }'
for n in {1..10}; do load $((20 * n)); done
before=$(plan_size)
for n in {11..40}; do load $((20 * n)); done
after=$(plan_size)
ok "what comes and goes at one place takes no more room: $before KiB, $after" \
	[ "$before" -gt 0 -a $((after - before)) -lt 128 ]
kill -INT "$hark"
wait "$hark"
exec 9>&-
wait "$pid"
is "and harms nobody" "$?" 0
