#!/usr/bin/env bash
# timeout: 300
# A program that is killed before it has begun, at every step of the way there:
# hark says just that, in one line, and leaves no file.
. "$(dirname "$0")/lib.sh"
plan 6

gcc -std=gnu17 -O2 -Wall -D_GNU_SOURCE -shared -fPIC -o killer.so \
	"$ROOT/tests/end-to-end/launch_killer.c" || exit 1

# killed HARK-COMMAND...: at the first step, the second, ... until it lives: sets
# $steps, how many were said as they should, and $other, what else came of it.
killed() {
	steps=0 other=
	while [ $steps -lt 500 ]; do
		rm -f f.hark
		{ try env LD_PRELOAD="$PWD/killer.so" KILL_AT=$((steps + 1)) \
			timeout 60 "$HARK" "$@" -- /bin/echo lives; } 2>/dev/null
		[ "$status:$out:$err" = "125::hark: /bin/echo ended before it began" ] &&
			[ ! -e f.hark ] || break
		steps=$((steps + 1))
	done
	other="$status:$out:$err"
}

# beginnings NAME HARK-COMMAND...
beginnings() {
	local name=$1

	shift
	killed "$@"
	note "$name: $steps steps"
	ok "$name: killed at each of its steps, it is said so" test $steps -gt 10
	is "$name: afterwards it lives, or has begun" \
		"${other/#137::*/0:lives:}" "0:lives:"
}

beginnings record record -q -o f.hark
beginnings run run -q
beginnings 'run --native' run --native -q
