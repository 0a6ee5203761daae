#!/usr/bin/env bash
# timeout: 600
# Random programs keep an account of what they load and store; a recording says
# the same: lists of loads and stores with what they found, last writes, and
# values at moments and at the end. PROGRAMS=1000 is a long run, FIRST=N begins with
# another one.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"

PROGRAMS=${PROGRAMS:-$(times 1)} FIRST=${FIRST:-1}
OPTIONS=("-O0" "-O1" "-O2" "-O3" "-O2 -static" "-O1 -fno-pie -no-pie" "-O3 -fPIC"
	"-O0 -static")
plan $((PROGRAMS + 1))

build_image compare rel "$ROOT/tests/end-to-end/ask_random.c" || exit 1

answers=0
for ((seed = FIRST; seed < FIRST + PROGRAMS; seed++)); do
	options=${OPTIONS[seed % 8]} compiler=gcc keys=()
	((seed / 8 % 2 == 0)) || compiler="g++ -x c++"
	((seed % 3 != 1)) || keys=("--key-every=$((seed * 37 % 1000 + 20))")
	python3 "$ROOT/tests/end-to-end/ask_random.py" "$seed" >random.c
	# shellcheck disable=SC2086
	$compiler -g -w $options -pthread -o random random.c || exit 1
	hark record -q --force "${keys[@]}" -o random.hark -- ./random >account
	try ./compare random.hark account
	is "program $seed: $compiler $options ${keys[*]}" "$status:$(tail -n 1 <<<"$out" |
		sed 's/.*, //')" "0:0 differ"
	[ "$status" = 0 ] || note "$out"
	answers=$((answers + $(tail -n 1 <<<"$out" | sed 's/ .*//')))
done
ok "that was many answers ($answers)" test "$answers" -gt $((PROGRAMS * 500))
