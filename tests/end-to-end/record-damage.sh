#!/usr/bin/env bash
# timeout: 300
# Recordings that are damaged, by chance and on purpose, thousands a second,
# under the sanitizers (record_damage.c): what is not as it was written is
# never believed; nobody crashes, hangs, leaks or takes much memory.
# HARK_DAMAGE="FROM TO" runs those cases of each kind: make record-fuzz-long.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
IMAGE_LIBS="$IMAGE_LIBS -lxxhash"
read -r from to <<<"${HARK_DAMAGE:-0 $(times 1500)}"

plan 8

build_image damage asan "$ROOT/tests/end-to-end/record_damage.c" || exit 1

for name in one two; do
	hark record -q --key-every=40 -o $name.hark -- "$GUESTS/rec_small" >/dev/null
done
try hark verify one.hark
like "a recording is good to begin with" "$out" ' 0 mismatches$'
hark record -q --key-every=20 -o three.hark -- "$GUESTS/code_unmap_all" >/dev/null

for pair in 'one two' 'three one'; do
	for kind in plain sealed; do
		# shellcheck disable=SC2086
		try ./damage $kind "$from" "$to" ${pair/ /.hark }.hark
		note "$pair, $kind: $out"
		like "$pair, $kind: nothing is believed, nobody dies" "$status:$out" \
			'^0:[^;]*; 0 believed, 0 died, 0 hung, 0 large$'
	done
done

# It sees what it should see: a reader that takes chunks of other files, or one
# that dies or hangs now and then.
cat >bad.c <<'EOF'
#include "outside/file.h"
#include <string.h>
#include <unistd.h>
const char *__real_file_bad_chunk(const struct wire_file_chunk *c, uint64_t id,
				  uint64_t number);
const char *__wrap_file_bad_chunk(const struct wire_file_chunk *c, uint64_t id,
				  uint64_t number)
{
	const char *bad = __real_file_bad_chunk(c, id, number);
#ifdef DIES
	if (bad != NULL && strcmp(bad, "a chunk is missing or out of order") == 0)
		*(volatile int *)8 = 1;
	return bad;
#else
	return bad != NULL && strcmp(bad, "a chunk's header is wrong") == 0
		   ? NULL
		   : bad;
#endif
}
EOF
for flag in TRUSTS DIES; do
	build_image "$flag" rel -D$flag -Wl,--wrap=file_bad_chunk bad.c \
		"$ROOT/tests/end-to-end/record_damage.c" || exit 1
done
try ./TRUSTS plain 0 2000 one.hark two.hark
like "a reader that trusts is told" "$status:$out" '^1:.*; [1-9][0-9]* believed'
try ./DIES plain 0 2000 one.hark two.hark
like "a reader that dies is told" "$out" 'case [0-9]+: ended with signal 11'
like "... each time, and at last it is enough" "$out" ' 20 died, 0 hung'
