#!/usr/bin/env bash
# timeout: 300
# same addresses
# Threads take turns, in all ways to do that; whose turn it was is certain. The
# list of writes has that order, each has found what the one before left, at each
# moment memory is what it was, and the last one is the last.
. "$(dirname "$0")/lib.sh"
TURNS=$(times 60)
WAYS=(flag fresh spin mutex count)
plan $((11 * ${#WAYS[@]}))

# chain: of a list of writes, what is not "one less -> the next number".
chain() {
	sed 's/^.*: \(.*\) -> \([0-9]*\)  (.*$/\1 \2/' list |
		awk '$2 != NR || (NR > 1 && $1 != NR - 1) { print NR ": " $0 }' |
		head -n 3
}

# moments: of some writes, what was there right before, if it is not right.
moments() {
	local i at what

	for ((i = 17; i <= TURNS; i += TURNS / 4 - 1)); do
		at=$(sed -n "$i{s/ .*//p;q}" list)
		for what in shared.value counted.value; do
			hark ask o.hark value "$what" --at "$at" |
				grep -vx "$what = $((i - 1))"
		done
	done
}

for way in "${WAYS[@]}"; do
	# Key frames in the middle: shadows are empty there. Who waits for a flag
	# counts all the while.
	every=$((TURNS * 3 / 2))
	case $way in flag | fresh) every=3000 ;; esac
	for keys in "" --key-every=$every; do
		how=$way${keys:+, with key frames}
		# shellcheck disable=SC2086
		hark record -q --force $keys -o o.hark -- \
			"$GUESTS/back_handover" "$way" $TURNS >said
		is "$how: it runs" "$(cat said)" ok
		hark ask o.hark writes shared.value >list
		is "$how: stores are in order" "$(wc -l <list) $(chain)" "$TURNS "
		[ -z "$keys" ] ||
			is "$how: at each it is what the one before left" "$(moments)" ""
		hark ask o.hark writes counted.value >list
		is "$how: so are additions" "$(wc -l <list) $(chain)" "$TURNS "
		try hark ask o.hark last-write shared.value
		like "$how: the last one is the last" "$out" \
			"shared\.value: $((TURNS - 1)) -> $TURNS "
		try hark ask o.hark value shared.value
		is "$how: it is what was stored last" "$out" \
			"shared.value = $TURNS"
	done
done
