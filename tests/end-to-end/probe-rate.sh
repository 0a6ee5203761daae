#!/usr/bin/env bash
# timeout: 600
# A program whose signals come faster than its probed handlers return gets on,
# and computes what it does natively.
. "$(dirname "$0")/lib.sh"
plan 10

gcc -O1 -g -std=gnu17 "$ROOT/tests/end-to-end/probe_rate.c" -o a.out || exit 1
native=$(./a.out)
like "natively" "$native" '^[0-9a-f]+, handlers ran whole, in time$'

# offsets FUNCTION: a probe for each of its instructions.
offsets() {
	local at start=

	while read -r at; do
		: "${start:=$at}"
		if [ "$at" = "$start" ]; then
			at=entry
		else
			at=$(printf '%x' $((16#$at - 16#$start)))
		fi
		# shellcheck disable=SC2016  # D's variable
		printf 'pid$target:a.out:%s:%s\n' "$1" "$at"
	done < <(objdump -d --no-show-raw-insn --disassemble="$1" a.out |
		sed -n 's/^ *\([0-9a-f]*\):.*/\1/p')
}

# gets_on WHAT SCRIPT SHOWN
gets_on() {
	rm -f shown
	try timeout -s KILL 150 "$HARK" probe -q -o shown -n "$2" -- ./a.out
	is "$1" "$status:$out" "0:$native"
	like "$1: what was executed was counted" "$(cat shown)" "$3"
}
# shellcheck disable=SC2016  # D's variables
{
	gets_on "entries are counted" \
		'pid$target:a.out::entry { @[probefunc] = count(); }' \
		'work +80
'
	gets_on "entries and returns, with stacks" \
		'pid$target:a.out::entry, pid$target:a.out::return
		{ @[probefunc, probename, ustack()] = count(); }' \
		'work +return'
	gets_on "each instruction of what is interrupted" \
		"$(offsets work | paste -sd,) { @[probefunc, probename] = count(); }
		"'pid$target:a.out:slow: { @stacks[ustack()] = count(); }' \
		'work +entry +80
'
	is "... as often" "$(awk '$1 == "work" { print $3 }' shown | sort -u |
		xargs)" "80 800"
}

# hark leaves threads that it steps through, and the program goes on.
./a.out for-ever >out &
target=$!
left=0 VISITS=$(times 2)
for ((i = 1; i <= VISITS; i++)); do
	# shellcheck disable=SC2016
	timeout -s KILL 150 "$HARK" probe -q -o "shown.$i" -p $target -n \
		'pid$target:a.out::entry { @[ustack()] = count(); }
		tick-100ms { exit(0); }' && left=$i
done
is "hark comes and leaves" "$left" "$VISITS"
kill -TERM $target
wait $target
is "and the program ends as it would" "$?:$(cat out)" "0:0, handlers ran whole, in time"
