#!/usr/bin/env bash
# timeout: 600
# A recording is travelled through hark/recording.h: what it says of the past is
# what the program itself said, and every way to a moment leads to the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 17

build_image travel rel "$ROOT/tests/end-to-end/travel_ask.c" || exit 1

try hark record -q -o writes.hark -- "$GUESTS/back_writes"
is "it ends as it should" "$status:$err" "0:"
read -r address len <<<"$out"
tail -n +2 <<<"$out" >told
is "it has much to tell" "$(wc -l <told)" 4000
./travel writes writes.hark "$address" "$len" >seen
ok "all writes are found, with what they wrote" diff told seen
is "the last one is the last" \
	"$(./travel last writes.hark "$address" "$len" | cut -d' ' -f2)" \
	"$(tail -n 1 told)"

try hark record -q -o shared.hark -- "$GUESTS/back_shared"
is "threads that share end as they should" "$status:$err" "0:"
read -r address stop <<<"$out"
tail -n +2 <<<"$out" >told
./travel values shared.hark "$address" "$stop" >seen
ok "what they shared is what they saw, in their order" diff told seen
./travel runs shared.hark "$address" "$stop" >seen
ok "... and from one stop to the next, and back" diff told seen

for guest in back_writes turns thread_atomics sig_storm insn_avx512; do
	hark record -q -o "$guest.hark" -- "$GUESTS/$guest" >/dev/null 2>&1
	try ./travel walk "$guest.hark" 1 25
	is "there and back again: $guest" "$status:$out" "0:25 rounds"
	try ./travel frames "$guest.hark" 1 100
	is "frames lead to the same: $guest" "$status:$out" "0:100 rounds"
done
