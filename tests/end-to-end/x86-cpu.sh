#!/usr/bin/env bash
# The CPU agrees with the decoder: on lengths, and on what instructions do.
# timeout: 300
. "$(dirname "$0")/lib.sh"
plan 4

SECONDS_EACH=$(times 3)
sift=$ROOT/build/x86/sift
semantic=$ROOT/build/x86/semantic

try "$sift" -t "$SECONDS_EACH"
is "the CPU sees the same lengths" "$status" 0
[ "$status" = 0 ] || note "$out"
like "it was asked of many" "$out" 'cells: [0-9]{5,} asked'

try "$semantic" -t "$SECONDS_EACH"
is "nothing but what the tables say is read, written or killed" "$status" 0
[ "$status" = 0 ] || note "$out"
ok "a wrong fact would have been found" "$semantic" -m -n 3 -t "$SECONDS_EACH"
