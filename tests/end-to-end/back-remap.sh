#!/usr/bin/env bash
# timeout: 600
# same addresses
# What memory held before something else was mapped there is not shown as what
# it holds now, nor the other way round: for every way to a moment, and held
# against what the program itself says.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
. "$ROOT/tests/end-to-end/back.bash"
plan 42
STEPS=$(times 20)

build_image seen rel "$SRC/back_remap_ask.c" || exit 1
gcc -g -O0 -std=gnu17 -pthread "$SRC/back_remap.c" -o remap || exit 1

# check NAME WHAT OPTION...: back_remap WHAT, recorded.
check() {
	local name=$1 what=$2 way hidden=known

	shift 2
	# What shares its place in the shadow is looked for in four segments.
	[ $# = 0 ] || hidden=maybe
	try hark record -q "$@" -o "$name.hark" -- ./remap "$what"
	is "$name: the program knows what it does" "$status:$err" "0:"
	sed "s/ hidden / $hidden /" <<<"$out" >"$name.told"
	for way in up down mixed steps; do
		try timeout 300 ./seen "$way" "$name.hark" "$name.told" "$STEPS"
		is "$name: what is known, $way" "$out$err" "asked, 0 wrong"
	done
}
check one one
check two two
check child fork
check second exec
check one-keys one --key-every 60
check two-keys two --key-every 60
check child-keys fork --key-every 60

for name in two two-keys; do
	try timeout 300 ./seen possible "$name.hark" "$name.told"
	is "$name: what it may be" "$out$err" "asked, 0 wrong"
done

# -- The same in words --
place='*(unsigned long *)0x123456700000'
# moment N: its position.
moment() {
	hark ask one.hark calls moment --json | sed -n "$(($1 + 1))p" |
		sed -nE 's/.*"position": ?"([^"]*)".*/\1/p'
}
is "a value that was written" \
	"$(hark ask one.hark value "$place" --at "$(moment 1)")" \
	"$place = 1229782938247303441"
is "not when it is unmapped" \
	"$(hark ask one.hark value "$place" --at "$(moment 2)")" "$place = ??"
try hark ask one.hark last-write "$place" --at "$(moment 1)"
like "who wrote it" "$out" ' -> 1229782938247303441 '
try hark ask one.hark last-write "$place" --at "$(moment 3)"
like "nobody wrote what is there now" "$err" 'nothing in the recording has written '

# -- gdb, over the call and back --
X='x/gx 0x123456700000'
back one.hark 'break *&the_unmap' 'run' "$X" 'stepi' "$X" 'reverse-stepi' "$X" \
	'stepi' 'stepi' "$X" 'reverse-stepi' "$X" 'reverse-stepi' "$X" \
	'delete' 'break moment' 'reverse-continue' "$X" 'reverse-continue'
# seen: what each x said, in order.
seen() {
	grep -oE '^0x123456700000:.*|^Cannot access memory' <<<"$out" |
		sed -E 's/.*\t//; s/Cannot.*/none/' | paste -sd' '
}
v=0x9191919191919191
is "gdb sees it come and go" "$(seen)" "$v none $v none none $v $v"
