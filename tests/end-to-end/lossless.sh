#!/usr/bin/env bash
# Lossless probes in the program itself, on a machine without a delay slot and
# on one with: both promise the same, by name, and keep it.  tests/lossless has
# the tests; sparc64 runs under qemu.
# shellcheck source=tests/end-to-end/lib.sh
. "$(dirname "$0")/lib.sh"
LOSSLESS=$ROOT/build/lossless

# run MACHINE COMMAND...: its TAP is in MACHINE.tap, its names in MACHINE.names.
run() {
	local machine=$1

	shift
	"$@" >"$machine.tap" 2>"$machine.err"
	echo $? >"$machine.status"
	sed -nE 's/^(not )?ok [0-9]+ - //p' "$machine.tap" >"$machine.names"
}

planned() { sed -n 's/^1\.\.//p' "$1.tap"; }

# Its tests as tests of this script; those that did not run have failed.
tell() {
	local machine=$1 line n=0

	while IFS= read -r line; do
		case $line in
		"ok "*)
			pass "$machine: ${line#* - }"
			n=$((n + 1))
			;;
		"not ok "*)
			fail "$machine: ${line#* - }" "$(grep -A1 -Fx "$line" \
				"$machine.tap" | sed -n '2s/^# //p')"
			n=$((n + 1))
			;;
		esac
	done <"$machine.tap"
	while [ "$n" -lt "$(planned "$machine")" ]; do
		fail "$machine: test $((n = n + 1)) has not run" \
			"$(tail -n 5 "$machine.err")"
	done
	is "$machine: it ends well" "$(cat "$machine.status")" 0
}

# Names that the objects of a hit want from outside of them: probes may be
# anywhere else, and a hit in the middle of a hit is the end.
outside() {
	find "$LOSSLESS/$1/src" -name '*.o' ! -path '*/base/*' \
		! -name lossless.o -exec nm {} + |
		awk 'NF == 2 && $1 == "U" { want[$2] = 1 }
			NF == 3 { have[$3] = 1 }
			END { for (n in want) if (!(n in have)) print n }' |
		grep -vx _GLOBAL_OFFSET_TABLE_
}

sparc=yes
for tool in qemu-sparc64 "$LOSSLESS/sparc64/lossless-test"; do
	command -v "$tool" >/dev/null || sparc=
done

run x86_64 "$LOSSLESS/x86_64/lossless-test"
if [ $sparc ]; then
	run sparc64 qemu-sparc64 "$LOSSLESS/sparc64/lossless-test"
	plan $(($(planned x86_64) + $(planned sparc64) + 5))
else
	plan $(($(planned x86_64) + 3))
fi

tell x86_64
is "x86_64: a hit calls nothing outside of the library" "$(outside x86_64)" ""
if [ $sparc ]; then
	tell sparc64
	is "sparc64: a hit calls nothing outside of the library" \
		"$(outside sparc64)" ""
	is "both machines promise the same" "$(cat sparc64.names)" \
		"$(cat x86_64.names)"
else
	skip "sparc64" "no gcc-sparc64-linux-gnu when it was built, or no qemu-user"
fi
