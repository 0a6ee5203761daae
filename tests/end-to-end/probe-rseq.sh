#!/usr/bin/env bash
# timeout: 300
# hark probe and restartable sequences (rseq): the kernel aborts a sequence only
# where it stands, so none of its instructions is moved; and the program's own
# traps in one reach its handlers.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 16

build rseq
build rseq -no-pie && mv rseq rseq-fixed
build rseq -Wl,-z,pack-relative-relocs && mv rseq rseq-packed
build rseq

# everywhere PROG: all instructions of the functions with sequences in them.
everywhere() {
	every "$1" a.out 'add_*' 'by_*' 2>list.err |
		sed 's/ .*//; s/^/pid$target:/; $!s/$/,/'
	echo '{ @[probefunc, probename] = count(); }'
}

is "without probes nothing is lost" "$(./rseq count 20000)" ok
for prog in rseq rseq-fixed rseq-packed; do
	probe "$(everywhere ./$prog)" "./$prog" count 20000
	unharmed "$prog: nothing is lost"
	is "$prog: and every hit is accounted for" "$(check accounts errors)" right
done

# -- What is refused --

# refusals FUNCTION: the offsets that are, each with the reason, as objdump has
# them.
refusals() {
	hark probe -l --json "${@:2}" -- ./rseq 2>/dev/null |
		sed -n 's/.*"linked":"'"$1"'".*"name":"\([^"]*\)".*"refusal":"\([^"]*\)".*/\1 \2/p'
}
# all FUNCTION: descriptions of all its instructions, as options.
all() {
	local base at

	base=$(nm rseq | awk -v f="$1" '$3 == f { print $1 }')
	objdump -d rseq --disassemble="$1" --no-show-raw-insn |
		sed -n '/ud[12]\|int3\|(bad)/d; s/^ *\([0-9a-f]*\):\t.*/\1/p' |
		while read -r at; do
			printf -- '-n\na.out:%s:%x\n' "$1" $((0x$at - 0x$base))
		done
}

for f in add_apart add_inside; do
	mapfile -t options < <(all $f)
	refusals $f "${options[@]}" >refused
	is "$f: from the store to rseq_cs to the commit" \
		"$(grep -c 'restartable sequence' refused)" 9
done
mapfile -t options < <(all add_made)
refusals add_made "${options[@]}" >refused
is "a sequence whose descriptor is not in the file: its whole function" \
	"$(grep -c 'bounds are not known' refused)" "$((${#options[@]} / 2))"
probe 'pid$target:a.out:add_*: { @ = count(); }' ./rseq count 10
like "how many are refused is said" "$err" '[0-9]+ of [0-9]+ probes are impossible'
like "the entry of such a function is probed" \
	"$(hark probe -l -n 'a.out:add_apart:entry' -- ./rseq)" ' refused 0;'
is "a signature that is but a number (glibc registers it) is none" \
	"$(hark probe -l -n 'libc:*:' -- ./rseq | grep -c 'restartable')" 0

# -- Traps of the program's own --

is "without probes its handlers are called" "$(./rseq traps)" ok
probe 'pid$target:a.out:on_trap:entry { @[probefunc] = count(); }' ./rseq traps
unharmed "ud2 and int3 in a sequence"
try hark profile -o prof -- ./rseq traps
is "the same when it is profiled" "$status:$out" 0:ok
