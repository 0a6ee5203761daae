#!/usr/bin/env bash
# What an instruction has stored that the recorder leaves to the CPU is known
# right after it, and listed with what it found and left.
. "$(dirname "$0")/lib.sh"
plan 18

for flags in "-O1" "-O1 -static"; do
	# shellcheck disable=SC2086
	gcc -g $flags -mcx16 -o left "$ROOT/tests/end-to-end/ask_left.c" || exit 1
	try hark record -q --force -o left.hark -- ./left
	is "the program ends as it should ($flags)" "$status" 0
	hark ask left.hark calls mark | sed 's/ .*//' >moments
	mapfile -t at <moments
	seen=
	for i in 0 1; do
		seen+=$(hark ask left.hark value pair --at "${at[$i]}")' '
	done
	is "... a pair that cmpxchg16b has stored ($flags)" "$seen" "pair = 0x00000000000000005 pair = 0x00000000000000007 "
	seen=
	for i in 2 3; do
		seen+=$(hark ask left.hark value 'bits' --at "${at[$i]}")' '
	done
	is "... bits that bts has set ($flags)" "$seen" \
		"bits = {9, 2, 3, 4} bits = {9, 2, 35, 4} "
	seen=
	for i in 4 5 6; do
		seen+=$(hark ask left.hark value own --at "${at[$i]}")' '
	done
	is "... constants in a thread-local variable ($flags)" "$seen" \
		"own = 890499184 own = 990863338 own = 990863338 "
	is "... a thread-local variable's bit ($flags)" \
		"$(hark ask left.hark value 'own_bits[1]' --at "${at[6]}")" "own_bits[1] = 518"
	is "... and it stays when memory is unmapped that has the same low halves ($flags)" \
		"$(hark ask left.hark value own --at "${at[7]}")" "own = 990863338"
	is "... what fxsave has stored ($flags)" \
		"$(hark ask left.hark value 'area[0]' --at "${at[7]}")" "area[0] = 127 '\\177'"
	is "... what each found and left ($flags)" \
		"$(for what in pair 'bits[0]' 'bits[2]' 'area[0]'; do
			hark ask left.hark writes "$what" | sed 's/^[^ ]* *//; s/  (.*//' | tail -n 2
		done)" \
		"pair: ?? -> 0x00000000000000005
pair: 0x00000000000000005 -> 0x00000000000000007
bits[0]: 1 -> 9
bits[2]: 3 -> 35
area[0]: ?? -> 1 '\\001'
area[0]: 1 '\\001' -> 127 '\\177'"
	is "... and the recording is replayed as it was recorded ($flags)" \
		"$(hark verify left.hark | sed 's/.*, //')" "0 mismatches"
done
