#!/usr/bin/env bash
# timeout: 300
# A replay that takes more time or memory than it may is given up, with one line
# that says how it may have more.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"

plan 13

# So much memory is touched that hark core looks at it for a while.
cat >much.c <<'END'
#include <string.h>
char much[48 << 20];
int main(void)
{
	memset(much, 7, sizeof much);
	return 0;
}
END
gcc -g -O1 -o much much.c || exit 1
hark record -q -o much.hark -- ./much

try hark core -o core much.hark
is "within its bounds hark core makes a core file" "$status" 0
rm -f core
try env HARK_MAX_TIME=0 "$HARK" core -o core much.hark
is "beyond its time it fails" "$status" 125
is "with a line" "$err" \
	'hark: given up: the replay takes more than 0 s of processor time; HARK_MAX_TIME=SECONDS allows more'
ok "and leaves no half of a core file" test ! -e core
try env HARK_MAX_MEMORY=1M "$HARK" core -o core much.hark
is "beyond its memory it fails, too" "$status" 125
is "with a line of its own" "$err" \
	'hark: given up: the replay takes more than 1 MiB of memory; HARK_MAX_MEMORY=BYTES allows more'
ok "and leaves nothing either" test ! -e core
try env HARK_MAX_MEMORY=1M "$HARK" ask much.hark reads much
is "so does hark ask" "$status" 125

# -- gdb's server --

export HARK_MAX_TIME=0
back much.hark 'find /w &much, +sizeof much, 1234567' \
	'find /w &much, +sizeof much, 1234568'
unset HARK_MAX_TIME
like "hark back says so" "$out" 'hark: given up: the replay takes more than 0 s'
is "and leaves neither a socket nor a directory" "$(ls "$XDG_RUNTIME_DIR")" ''

# -- Workers --

cat >long.c <<'END'
int main(void)
{
	volatile unsigned n = 0;

	for (unsigned i = 0; i < 400000000; i++)
		n = n * 3 + i;
	return 0;
}
END
gcc -O1 -o long long.c || exit 1
hark record -q --key-every=4000000000 -o long.hark -- ./long
try hark verify long.hark
is "a segment that takes long is verified" "$status" 0
try env HARK_MAX_TIME=0 "$HARK" verify long.hark
is "beyond its time it is not" "$status" 1
like "which is said of the segment" "$err" \
	'given up after 0 s of processor time; HARK_MAX_TIME=SECONDS allows more'
