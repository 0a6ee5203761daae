#!/usr/bin/env bash
# timeout: 120
# The order that a recording gives to threads agrees with what they saw.
. "$(dirname "$0")/lib.sh"
plan 5

# seen ADDRESS: of records of a merged dump on standard input, what a counter at
# ADDRESS was seen to be: how often, and how often less than before.
seen() {
	/usr/bin/python3 -c '
import re, sys
index = (int(sys.argv[1], 16) + 0x5840) & 0xffffffff
last, n, falls = -1, 0, 0
for line in sys.stdin.buffer:
    m = re.match(rb"\d+: \d+ [0-9a-f]+ (?:GRANULE|BYTES) +"
                 rb"\[([0-9a-f]+)\] ([0-9a-f]+)", line)
    if m and int(m[1], 16) == index:
        value = int.from_bytes(bytes.fromhex(m[2].decode()), "little")
        n, falls, last = n + 1, falls + (value < last), value
print("many" if n >= 30 else f"only {n}", "falls", falls)' "$1"
}

try hark record -q -o turns.hark -- "$GUESTS/turns"
is "it ends as it should" "$status:$err" "0:"
address=$out
ok "its recording verifies" hark verify turns.hark
"$ROOT/tools/record-dump" turns.hark 1.all >merged 2>merged.err
is "what was seen, in the order of the recording" "$(seen "$address" <merged)" \
	"many falls 0"
like "each turn is there" "$(cat merged.err)" '^[0-9]+ turns, [0-9]+ corrections$'
for t in 2 3 4 5; do
	"$ROOT/tools/record-dump" turns.hark 1.$t | sed "s/^/$t: /"
done >apart
like "... and thread by thread it would not do" "$(seen "$address" <apart)" \
	'^many falls [1-9]'
