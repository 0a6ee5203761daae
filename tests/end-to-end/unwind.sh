#!/usr/bin/env bash
# timeout: 300
# Samples of stacks that move, taken ten thousand times a second: each must be
# what a walk gives, and that what libunwind gives.  UNWIND_SAMPLES says how
# many; `make profile-long` takes a million.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 8

g++ -std=c++17 -O2 -g -c "$ROOT/tests/end-to-end/unwind_work.cc" -o work.o || exit 1
build_image sampled rel -I"$ROOT/tests/unit" "$ROOT/tests/unit/unwind_self.c" \
	"$ROOT/tests/end-to-end/unwind_sampled.c" work.o -lgcc_s -lunwind -lstdc++ ||
	exit 1

samples=${UNWIND_SAMPLES:-20000}

# sum WORD: of all threads that the last run has told about
sum() {
	printf '%s\n' "$out" | awk -v word="$1" '
		{ for (i = 1; i < NF; i++) if ($i == word) n += $(i + 1) }
		END { print n + 0 }'
}

# sampled NAME: no sample was wrong, and they have looked at something
sampled() {
	[ -z "$err" ] || printf '# %s\n' "$out" "$err"
	is "$1: samples are walks, and libunwind's" "$status $(sum wrong) $(sum differ)" "0 0 0"
	ok "$1: libunwind is seldom alone with what it says" \
		[ $(($(sum alone) * 100)) -le "$(sum asked)" ]
	ok "$1: all were taken, few could not be" \
		[ $(($(sum samples) + $(sum faulted))) -ge "$2" -a \
		$(($(sum faulted) * 100)) -lt "$2" ]
	ok "$1: frames were kept, and libunwind was asked" \
		[ $(($(sum kept) * 100)) -gt "$(sum frames)" -a \
		$(($(sum asked) * 50)) -gt "$2" ]
}

try ./sampled "$samples" 2
sampled "two threads, by perf or a timer" "$samples"

try env UNWIND_NO_PERF=1 ./sampled 300 1
sampled "one thread, by a timer" 300
