#!/usr/bin/env bash
# A profile in other tools' formats: decoded by hand, everything is still there.
# timeout: 300
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 41

build_write() { # OUT FLAVOUR
	build_image "$1" "$2" -I"$ROOT/tests/unit" \
		"$ROOT/tests/unit/stacks_sample.c" \
		"$ROOT/tests/end-to-end/stacks_write.c"
}
build_write stacks_write rel

check() { # NAME FORMAT TRUTH FILE
	said=$(/usr/bin/python3 "$ROOT/tests/end-to-end/stacks_check.py" \
		"$2" "$3" "$4" 2>&1)
	like "$1" "$said" '^ok'
}

for profile in "empty 1 1" "real 3000 5" "hostile 400 17" "deep 40 3000"; do
	# shellcheck disable=SC2086  # three words
	./stacks_write $profile truth >truth
	for format in folded perf speedscope pprof perfetto firefox flame; do
		# shellcheck disable=SC2086
		./stacks_write $profile "$format" >file
		check "$format keeps all of: $profile" "$format" truth file
	done
done

# A reader that others have written.
for profile in "real 3000 5" "hostile 400 17" "deep 40 3000"; do
	# shellcheck disable=SC2086
	./stacks_write $profile truth >truth
	# shellcheck disable=SC2086
	./stacks_write $profile pprof >file
	if go tool pprof -raw -output raw file >said 2>&1; then
		check "pprof reads: $profile" raw truth raw
	elif ! command -v go >/dev/null; then
		skip "pprof reads: $profile" "go is not installed"
	else
		fail "pprof reads: $profile" "$(cat said)"
	fi
done

# Weights may be times.
export STACKS_NS=1
./stacks_write real 3000 5 truth >truth
for format in speedscope pprof firefox flame; do
	./stacks_write real 3000 5 "$format" >file
	check "$format keeps times" "$format" truth file
done
unset STACKS_NS

# Far more than a page, or speedscope, can take.
./stacks_write wide 30000 8000 truth >truth
./stacks_write wide 30000 8000 flame >file
check "a large profile is a page of bounded size" flame truth file
./stacks_write deep 4500 5000 truth >truth
./stacks_write deep 4500 5000 speedscope >file
check "a deep one is bounded for speedscope" speedscope truth file
like "by leaving out the lightest" "$said" 'named, [1-9][0-9]* merged'
./stacks_write real 3000 700 truth >truth
./stacks_write real 3000 700 flame >file
check "many threads are one" flame truth file

# A full disk is told.
for format in folded flame; do
	./stacks_write real 3000 5 "$format" 2>said >/dev/full
	is "$format to a full disk" "$? $(cat said)" \
		"1 cannot write the profile: No space left on device"
done
