#!/usr/bin/env bash
# timeout: 240
# hark profile --confidence: callers that no rule tells of.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"

plan 26

gcc -O2 -g "$SRC/profile_bare.c" -o bare || exit 1

# seen KIND N [OPTION...]: what is known of the callers of KIND. A sample may
# be of main() itself, before it calls: few are.
seen() {
	local kind=$1 n=$2
	shift 2
	EXTRA=(--check --confidence "$n" "$@")
	profile "./${PROGRAM:-bare}" "$kind"
	[ "$status $out" = "0 ok" ] || note "status $status $out $err"
	grep -q ', 0 differ;' errors || note "$err"
	look between main $CALLED between decoy 0 0
	"$HARK" show p.hark | grep -v '^note' | grep -o '[a-z]* \[guess\]' |
		sort -u | paste -sd ' '
}

# -- By frame pointers, by what is on the stack, not at all --

NOBODY="0 0.1"
CALLED="0.9 1"
is "no rule, and nothing is guessed" "$(CALLED=$NOBODY seen linked 100)" \
	"yes yes"
is "a frame pointer" "$(seen linked 75 | paste -sd ' ')" "yes yes outer [guess]"
is "without one there is nothing" "$(CALLED=$NOBODY seen bare 75)" "yes yes"
like "that is said" "$("$HARK" show p.hark)" \
	'samples? not to the outermost caller: '
is "what is on the stack" "$(seen bare 25 | paste -sd ' ')" \
	"yes yes outer [guess]"
like "how many samples" "$("$HARK" show p.hark)" \
	'samples? with guessed frames, marked \[guess\]'
is "a frame pointer is better" "$(seen linked 25 | paste -sd ' ')" \
	"yes yes outer [guess]"

# -- A program of which no rules are there --

for how in -fno-omit-frame-pointer -fomit-frame-pointer; do
	gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables $how \
		"$SRC/profile_bare.c" -o plain || exit 1
	PROGRAM=plain seen linked 25 >answer
	is "no rules, $how" "$(head -n 1 answer)" "yes yes"
	like "no rules, $how: marked" "$(tail -n 1 answer)" 'main \[guess\]'
done
objcopy --remove-section .eh_frame --remove-section .eh_frame_hdr bare cut \
	2>/dev/null
if ./cut linked >/dev/null 2>&1; then
	is "rules were cut off" "$(PROGRAM="cut" seen linked 25 | head -n 1)" "yes yes"
else
	skip "rules were cut off" "it does not run then"
fi

# -- Code that the program makes: hark looks for it when it is met --

EXTRA=(--check)
profile ./bare made "$(times 1)"
unharmed "made"
is "made: callers are found" "$(look between main 0.1 1 between outer 0.1 1)" \
	"yes yes"
profile ./bare gone "$(times 1)"
unharmed "made, and gone"
not_ok "made, and gone: no sample ends in a fault" \
	grep -q '[1-9][0-9]* faults' errors
EXTRA=()

# -- In all formats --

seen bare 25 >/dev/null
for format in folded speedscope perf firefox; do
	like "$format" "$("$HARK" show --format "$format" p.hark)" \
		'outer \[guess\]'
done
for format in pprof perfetto; do
	"$HARK" show --format "$format" -o p.out p.hark || note "$format"
	ok "$format" sh -c '{ gzip -dc p.out 2>/dev/null || cat p.out; } |
		grep -aq "outer \[guess\]"'
	rm -f p.out
done
ok "JSON" sh -c '"$HARK" show --json p.hark | grep -q "\"guess\":true"'

# -- What cannot be --

for n in -1 101 x; do
	try "$HARK" profile --confidence=$n -- ./bare
	is "--confidence $n" "$status $err" \
		"125 hark: profile: --confidence takes a number from 0 to 100; see 'hark help profile'"
done
