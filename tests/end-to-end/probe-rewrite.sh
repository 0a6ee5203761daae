#!/usr/bin/env bash
# timeout: 300
# hark probe and programs that change code of their own: what they make writable
# loses its probes, which is said, and they run as without hark.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 29

build rewrite
build rewrite -DOPEN -Wl,--no-warn-rwx-segments && mv rewrite rewrite-open
build rewrite

FUNCTIONS='whole middle beyond trapped steady across distant'
ENDS=$(printf 'pid$target:a.out:%s:,' $FUNCTIONS)
ENDS="${ENDS%,} { @[probefunc, probename] = count(); }"
# instructions FUNCTION: a description of each.
instructions() {
	local base at

	base=$(nm rewrite | awk -v f="$1" '$3 == f { print $1 }')
	objdump -d rewrite --disassemble="$1" --no-show-raw-insn |
		sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' |
		while read -r at; do
			printf 'pid$target:a.out:%s:%x,\n' "$1" $((0x$at - 0x$base))
		done
}
ALL=$(for f in $FUNCTIONS; do instructions $f; done)
ALL="${ALL%,} { @[probefunc, probename] = count(); }"
LINE='the probes of [0-9]+ places? were taken out: the program has made its code there writable'

for mode in once toggle refused threads libc; do
	is "$mode: without probes" "$(./rewrite $mode)" ok
	probe "$ENDS" ./rewrite $mode
	unharmed "$mode: with probes of entries and returns"
	like "$mode: what is given up is said" "$err" "$LINE"
	probe "$ALL" ./rewrite $mode
	unharmed "$mode: with probes of all instructions"
done

is "mapped: without probes" "$(./rewrite mapped)" ok
probe "$ENDS" ./rewrite mapped
unharmed "mapped: with probes of entries and returns"
probe "$ALL" ./rewrite mapped
unharmed "mapped: with probes of all instructions"

probe "$ENDS" ./rewrite once
is "until then each call is counted; of other pages all are" \
	"$(awk '$2 == "entry" { print $1, $3 }' shown | sort | xargs)" \
	"across 100 beyond 100 distant 200 middle 100 steady 100 trapped 100 whole 100"

probe "$ENDS" ./rewrite refused
is "where a call has failed nothing is given up" \
	"$(awk '$2 == "entry" { print $1, $3 }' shown | sort | xargs)" \
	"across 200 beyond 200 distant 200 middle 200 steady 200 trapped 200 whole 200"

# -- A process that runs, and goes on without hark --

begin ./rewrite step
printf '%s\n' "$ENDS" >script.d
"$HARK" probe -q -o shown -n 'tick-10ms /n == 1/ { printf("begun\n"); n = 2; }' \
	-n 'pid$target:a.out:distant:entry /n == 0/ { n = 1; }' -s script.d \
	-p "$pid" >/dev/null 2>errors &
hark=$!
wait_for begun shown || note "$(cat errors)"
: >change
wait_for changed guest.out || note "$(cat guest.out errors)"
kill -INT $hark
wait $hark
finish
is "one that runs on when hark has left: its code is its own" \
	"$?:$(tail -n 1 guest.out)" 0:ok
like "what was given up is said there, too" "$(cat errors)" "$LINE"

# -- Code that is writable from the start --

probe "$ENDS" ./rewrite-open once
refused=$status:$err
is "it is refused" "${refused%%:*}" 125
like "with the reason" "$refused" 'cannot be probed: its code is writable'
