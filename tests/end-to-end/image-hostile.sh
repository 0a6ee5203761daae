#!/usr/bin/env bash
# timeout: 300
# Damaged ELF files, thousands of them, under the address and undefined-
# behaviour sanitizers: no signal, no hang, no leak. HARK_MUTATIONS=1000000
# makes it that many of each file (and hours).
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"

per_file=${HARK_MUTATIONS:-300}
corpus=$ROOT/tests/fuzz/corpus/image_elf

plan 6

build_image mutate asan "$ROOT/tests/end-to-end/image_mutate.c" \
	"$ROOT/tests/fuzz/image_elf.c" || exit 1

try ./mutate 0 "$per_file" "$corpus"/*
like "mutations of the corpus are survived" "$out" ' mutations, 0 bad$'

gcc -O2 -g -w -o names "$ROOT/tests/guests/image_names.c"
try ./mutate 0 "$per_file" names
like "mutations of an ordinary program are survived" "$out" \
	' mutations, 0 bad$'

build_image mutate-vars asan "$ROOT/tests/end-to-end/image_mutate.c" \
	"$ROOT/tests/fuzz/image_vars.c" || exit 1
try ./mutate-vars 0 "$per_file" "$ROOT"/tests/fuzz/corpus/image_vars/*
like "types and variables of damaged files are survived" "$out" \
	' mutations, 0 bad$'

# The runner sees what it should see: a program that dies is counted.
cat >dies.c <<'EOF'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 40)
		return 0;
	if (data[4] != 2)
		abort();
	return 0;
}
EOF
gcc -w -o dies dies.c "$ROOT/tests/end-to-end/image_mutate.c"
try ./dies 0 2000 "$corpus/gcc-dwarf5"
like "the runner counts those that die" "$out" ' mutations, [1-9][0-9]* bad$'

# Lengths that lie, in a sparse file: an error, not an allocation.
cp "$corpus/gcc-dwarf5" sparse
truncate -s 200G sparse
build_ask || exit 1
(
	ulimit -v 2000000
	./ask functions sparse
) >sparse.out 2>&1
like "a sparse file of 200 GB is refused" "$(cat sparse.out)" 'too long'

# A bomb: 64 MB of zeros in 64 kB, many times in one file.
head -c 67108864 /dev/zero >zeros
cp "$corpus/gcc-dwarf5" bomb
objcopy --add-section .debug_str_offsets=zeros \
	--compress-debug-sections=zlib bomb 2>/dev/null
(
	ulimit -v 3000000
	timeout 100 ./ask functions bomb | wc -l
) >bomb.out 2>&1
like "a packed section that is mostly air costs little" \
	"$(cat bomb.out)" '^[1-9]'
