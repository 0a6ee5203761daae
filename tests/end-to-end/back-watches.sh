#!/usr/bin/env bash
# timeout: 300
# Many long watchpoints at once stop where they stop if there are only a few.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"

plan 7

gcc -g -O1 -fno-builtin -o watches "$SRC/back_watches.c" || exit 1
hark record -q -o w.hark -- ./watches >/dev/null

# stops KIND WHAT...: where a session with these watchpoints stops, in order,
# from main to the end.
stops() {
	local kind=$1 commands=('tbreak main' run) i

	shift
	for i; do commands+=("$kind -l $i"); done
	for ((i = 0; i < 12 * $#; i++)); do commands+=(continue when); done
	back w.hark "${commands[@]}"
	positions | uniq
}

arrays=('arrays['{0..11}']')
for kind in awatch rwatch watch; do
	for ((i = 0; i < 12; i += 4)); do
		stops $kind "${arrays[@]:i:4}" | sed '$d'
	done >few
	stops $kind "${arrays[@]}" >all
	is "$kind: many stop where few at a time do" \
		"$(sed '$d' all)" "$(sort -t: -k2 -V few)"
	ok "$kind: and that is often" test "$(wc -l <few)" -gt 12
done

# What a thread reaches through fs has a window of its own, and comes last here.
stops awatch own | sed '$d' >few
stops awatch "${arrays[@]}" own >all
is "thread-local data after the others is not forgotten" \
	"$(grep -cxFf few all)" "$(wc -l <few)"
