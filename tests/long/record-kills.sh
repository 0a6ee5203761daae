#!/usr/bin/env bash
# timeout: 7200
# same addresses
# SIGKILL at moments that chance chooses: of a recorded program, KILLS times, and
# of the hark that records it, WRITER_KILLS times (record_kills.py says what must
# hold). One thread and two, children, signals; --ring, --key-every. Recordings
# that are not as they should be are kept in build/kills-found. SEED=N makes
# others; ONLY=N repeats one.
. "$(dirname "$0")/../end-to-end/lib.sh"
plan 4

gcc -std=gnu17 -O2 -g -Wall -D_GNU_SOURCE -pthread -o record_beat \
	"$ROOT/tests/long/record_beat.c" || exit 1
found=$ROOT/build/kills-found
mkdir -p "$found"

# kills WHAT N [OPTION...]: $out is what it printed, $last its last line.
kills() {
	try env DUMP="$ROOT/build/record/dump" /usr/bin/python3 \
		"$ROOT/tests/long/record_kills.py" "$1" "$2" "$PWD/record_beat" \
		"$found" --seed="${SEED:-1}" ${ONLY:+--only="$ONLY"} "${@:3}"
	last=$(tail -n 1 <<<"$out")
	note "$out"
}

hark record -q -o hello.hark -- "$GUESTS/hello" >/dev/null
ok "what a recording says can be read" "$ROOT/tools/record-dump" hello.hark

kills target 20 --spoil
like "recordings that lack their end are told" "$status:$out" \
	'^1:.*beater [0-9]: lost [0-9]+ of [0-9]+ beats'
kills target "${KILLS:-1000}"
like "killed programs: recorded to their last beats" "$status:$last" \
	'^0:target: [0-9]+ kills, .*; 0 faults$'
kills writer "${WRITER_KILLS:-200}"
like "a killed hark: programs go on, what is written replays" "$status:$last" \
	'^0:writer: [0-9]+ kills, .*; 0 faults$'
