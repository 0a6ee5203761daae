#!/usr/bin/env bash
# debug files
# With debug files of the C library its own functions have names; what hark does
# with them and without is the same. The other scripts see no debug files.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/back.bash"

gcc -O1 -g -pthread -w "$SRC/bare_signals.c" -o signals || exit 1
cat >aborts.c <<'END'
#include <stdlib.h>
int main(void) { abort(); }
END
gcc -g aborts.c -o aborts || exit 1

# The name of a place in the C library differs, not what is done with it.
outermost() {
	"$@" show --json --min 0 p.hark | /usr/bin/python3 -c '
import json, sys
page = json.load(sys.stdin)
print(*sorted({c["name"] for c in page["calls"] if c["parent"] == 0}))'
}

plan 12
build_prog
profile ./prog depth 100
unharmed "sampled"
is "the first function of a thread has its name" "$(outermost "$HARK")" clone3
is "without debug files it has none" "$(
	outermost "$ROOT/tools/bare" "$HARK" | sed 's/+0x[0-9a-f]*$/+N/')" \
	"libc.so.6+N"

try hark record -q -o aborts.hark ./aborts
back aborts.hark bt starti
like "abort() has its lines" "$out" 'abort \(\) at [^ ]*abort\.c:[0-9]+'
like "the loader's first function has its name" "$out" '_start \(\) from target:'

try hark probe -l -n 'pid$target:libc.so.6:start_thread:entry {}' ./signals
like "functions of the C library's own can be probed" "$out" 'start_thread +entry'
try "$ROOT/tools/bare" "$HARK" probe -l \
	-n 'pid$target:libc.so.6:start_thread:entry {}' ./signals
like "without debug files there are none of that name" "$err" \
	"no function matches 'start_thread'"

# What is kept of a library was made with debug files, or without. Nothing is
# kept of a file that has just been written.
is_old() { [ $(($(date +%s) - $(stat -c %Z signals))) -gt 4 ]; }
await is_old || note "the clock does not go on"
runs() { timeout 60 "$@" >/dev/null 2>&1; echo $?; }
sampled=("$HARK" profile -q --force -o s.hark ./signals)
export HARK_CACHE=$T/cache-with
is "signals with debug files" "$(runs "${sampled[@]}")" 7
is "kept with them, and then there are none" \
	"$(runs "$ROOT/tools/bare" "${sampled[@]}")" 7
kept() { (cd "$HARK_CACHE" && sha256sum ./*.hooks2 || echo none "$HARK_CACHE"); }
with=$(kept)
export HARK_CACHE=$T/cache-without
is "signals without debug files" "$(runs "$ROOT/tools/bare" "${sampled[@]}")" 7
is "kept without them, and then there are some" "$(runs "${sampled[@]}")" 7
is "what is kept is the same" "$(kept)" "$with"
