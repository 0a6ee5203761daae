#!/usr/bin/env bash
# hark run: processes that are stopped while they execute another
# program do not keep others from doing the same, and go on when they may.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/stopped.bash"

MANY=40 # more than there are words for requests (wire/run.h)

is_traced() { grep -q "^TracerPid:[[:space:]]*$2$" "/proc/$1/status"; }

# stopped N WHAT HARK...: N children are stopped as they execute; hark comes to
# each of them, and to one that is not stopped; then all go on.
stopped() {
	local n=$1 what=$2 i good=0 hark

	shift 2
	rm -f go.* pid.*
	crowd $((n + 1)) '/bin/echo $i' >crowd
	: >out
	"$@" bash crowd >out 2>err &
	hark=$!
	crowd_waits $((n + 1))
	for ((i = 1; i <= n; i++)); do
		stop_at_execve $hark "$i"
		await is_traced "$child" "$hark" || break
		good=$i
	done
	is "$what: hark comes to each that is stopped" "$good" "$n"
	: >"go.$((n + 1))"
	ok "$what: another one executes meanwhile" wait_for "^$((n + 1))$" out
	is "$what: those have not" "$(grep -c '^[0-9]' out)" 1
	for ((i = 1; i <= n; i++)); do
		kill -CONT "$(cat pid.$i)" 2>/dev/null
		((i <= good)) || kill "$(cat pid.$i)" 2>/dev/null
	done
	wait $hark
	is "$what: all go on" "$?:$(grep '^[0-9]' out | sort -n | tr '\n' ' ')" \
		"0:$(seq -s ' ' $((n + 1))) "
}

plan 8
stopped 3 "run" "$HARK" run -q --
stopped $MANY "more than there is room for" "$HARK" run -q --
