#!/usr/bin/env bash
# timeout: 300
# hark probe and hark profile: processes that are stopped while they execute
# another program stay so, do not keep others from doing the same, and have
# probes when they go on.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"
. "$ROOT/tests/end-to-end/stopped.bash"

MANY=40 # more than there are words for requests (wire/run.h)

build next
is_stopped_in_bash() {
	in_state "$1" T && [ "$(cat "/proc/$1/comm")" = bash ]
}
has_run() { grep -qx ok "done.$1" 2>/dev/null; }
n_run() { cat done.* 2>/dev/null | grep -cx ok; }

# stopped N WHAT HARK...: N children are stopped as they execute; hark passes
# over each of them, and goes with one that is not stopped; then all go on.
stopped() {
	local n=$1 what=$2 i hark

	shift 2
	rm -f go.* pid.* done.* shown
	crowd $((n + 1)) './next 10 >done.$i' >crowd
	: >out
	"$@" bash crowd >out 2>errors </dev/null &
	hark=$!
	crowd_waits $((n + 1))
	for ((i = 1; i <= n; i++)); do
		stop_at_execve $hark "$i"
	done
	: >"go.$((n + 1))"
	ok "$what: another one executes meanwhile" await has_run $((n + 1))
	is "$what: those have not" "$(n_run)" 1
	for ((i = 1; i <= n; i++)); do
		is_stopped_in_bash "$(cat pid.$i)" || break
	done
	is "$what: they are stopped in front of it" $((i - 1)) "$n"
	for ((i = 1; i <= n; i++)); do
		kill -CONT "$(cat pid.$i)"
	done
	wait $hark
	is "$what: all go on" "$?:$(n_run)" "0:$((n + 1))"
}

plan 15
printf '%s\n' 'pid$target:a.out:hot:entry { @ = count(); }' >script.d
stopped 3 "probe" "$HARK" probe -o shown -f -s script.d --
is "probe: each has its probes" "$(check total shown 40)" right
stopped $MANY "more than there is room for" \
	"$HARK" probe -o shown -f -s script.d --
is "more than there is room for: each has its probes" \
	"$(check total shown $((10 * MANY + 10)))" right
stopped 3 "profile" "$HARK" profile -q -f -o p.hark --
like "profile: none was missed" "-$(cat errors)-" '^--$'
