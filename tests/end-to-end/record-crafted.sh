#!/usr/bin/env bash
# also: asan
# Recordings that no recorder made: good files whose few instructions try to
# reach memory of hark's, or to change its thread. They are replayed as what
# they are, by everything that replays.
. "$(dirname "$0")/lib.sh"
kinds=(string-up string-down ac pkru)

plan $((3 * ${#kinds[@]} + 2))

gcc -std=gnu17 -O2 -w -D_GNU_SOURCE -I"$ROOT/src" -o craft \
	"$ROOT/tests/end-to-end/record_craft.c" \
	"$ROOT/tests/unit/record_encode.c" "$ROOT/build/rel/libhosted.a" \
	-lcheck -Wl,-Bstatic -lz -llzma -lzstd -lxxhash -liberty \
	-Wl,-Bdynamic -pthread -ldl || exit 1

for kind in "${kinds[@]}"; do
	./craft "$kind.hark" "$kind" || exit 1
	try hark verify "$kind.hark"
	is "$kind: it is verified" "$status $err" "0 "
	try hark ask "$kind.hark" regs
	like "$kind: its registers are told" "$status $out" '^0 .*rip'
	try hark core "$kind.hark" -o "$kind.core"
	is "$kind: it has a core file" "$status" 0
done

# A program that divides by zero where its recording has no record of that.
./craft fault.hark ac-fault || exit 1
try hark verify fault.hark
is "a fault that was not recorded is a mismatch" "$status" 1
try hark ask fault.hark regs
is "and an error for those who ask" "$status" 125
