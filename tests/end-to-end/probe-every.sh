#!/usr/bin/env bash
# timeout: 900
# debug files
# hark probe on every instruction at once: of a program that notices if one of
# its instructions is executed elsewhere, and of libc's string functions. Each
# is counted as often as single steps find it executed.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 12

build insns
# Bound at once: two threads may both ask the loader for one name.
build strings -fno-builtin -fno-tree-loop-distribute-patterns -Wl,-z,now
build steps
LOADER_STOP=$(nm -D /lib64/ld-linux-x86-64.so.2 |
	awk '$3 ~ /^_dl_debug_state(@|$)/ { print $1; exit }')
export LOADER_STOP

# names STEPS LIST: "FUNCTION OFFSET COUNT" of what was executed, from the steps
# ("ADDRESS COUNT"); what cannot be probed goes to `unprobed`.
names() {
	awk 'NR == FNR { name[$2] = $1; next }
		$1 == "status" { next }
		$1 in name {
			split(name[$1], part, ":")
			print part[2], part[3], $2
			next
		}
		{ print $1 >"unprobed" }' "$2" "$1"
}

# script LIST: counts all of them.
script() {
	sed 's/ .*//; s/^/pid$target:/; $!s/$/,/' "$1"
	echo '{ @[probefunc, probename] = count(); }'
}

# -- A program of its own --

every ./insns >list 2>list.err
note "$(tail -n 1 list.err)"
./steps /insns ./insns 3 2 >steps.out 2>/dev/null
rm -f unprobed
names steps.out list >truth
touch unprobed
# missing: executed, in a function that has a size, and cannot be probed. Of two
# instructions that overlap, objdump sees one.
missing() {
	nm -S insns | while read -r from len kind name; do
		[[ $kind == [tT] && $name != case_overlap ]] || continue
		while read -r a; do
			((0x$a >= 0x$from && 0x$a < 0x$from + 0x$len)) &&
				echo "$name+$((0x$a - 0x$from))"
		done <unprobed
	done
}
is "what is executed can be probed" "$(missing | xargs)" ""
export STANDIN_TRUTH=$T/truth
OPTIONS=(-x aggsize=64m)
probe "$(script list)" ./insns 3 2
unharmed "all $(wc -l <list) instructions of a program"
is "each is counted as often as it is executed" \
	"$(check pairs shown truth)" right
is "and accounted for" "$(check accounts errors)" right
unset STANDIN_TRUTH
probe "$(script list)" ./insns "$(times 1000)" 2
unharmed "for a while"
probe "$(script list)" ./insns "$(times 100)" 8
unharmed "with eight threads"
awk 'NR == FNR { if ($1 == "hit") of[$2] = 1; next }
	NF == 3 && $2 == "0" && of[$1] { print $1, $3 }' said shown >at_entry
is "with eight threads: every call is counted" "$(check counts at_entry said)" \
	right

# Each function by itself: then fewer patches disturb each other, and other
# forms are taken.
wrong=
for f in $(sed -n 's/^hit \(.*\) .*/\1/p' said); do
	grep ":$f:" list >some
	probe "$(script some)" ./insns "$(times 40)" 2
	[ "$status" = 0 ] && grep -qx ok said || wrong="$wrong $f"
done
is "function by function" "$wrong" ""

# -- libc's string functions, those that this processor gets --

./steps libc.so.6 ./strings 1 2 >steps.out 2>/dev/null
libc=$(ldd ./strings | awk '/libc.so/ { print $3 }')
symbols=$(readelf -n "$libc" 2>/dev/null | sed -nE 's,.*Build ID: (..)(.*),\1/\2,p')
symbols=/usr/lib/debug/.build-id/$symbols.debug
[ -e "$symbols" ] || symbols=$libc
# Those in which something was executed.
readelf -sW "$symbols" 2>/dev/null | awk '$4 == "FUNC" && $7 != "UND" && $3 != 0 {
	sub("@.*", "", $8); print $2, $3, $8 }' | sort -u >symbols
/usr/bin/python3 - >functions <<'END'
import re
starts = [int(line.split()[0], 16) for line in open("steps.out")
          if not line.startswith("status")]
found = {}
for line in open("symbols"):
    addr, size, name = line.split()
    addr, size = int(addr, 16), int(size, 0)
    if re.search(r"str|mem|stp", name) and \
            any(addr <= a < addr + size for a in starts):
        found.setdefault(addr, name)
print("\n".join(found.values()))
END
note "$(wc -l <functions) functions: $(xargs <functions | cut -c 1-200)"
ok "there are string functions" [ "$(wc -l <functions)" -ge 8 ]
set -f
mapfile -t functions <functions
every ./strings libc "${functions[@]}" >list 2>list.err
note "$(tail -n 1 list.err)"
names steps.out list >truth
export STANDIN_TRUTH=$T/truth
probe "$(script list)" ./strings 1 2
unharmed "all $(wc -l <list) instructions of libc's string functions"
# Those of the loader's and of exit are executed before and after: the steps
# begin at the program's entry, probes perhaps earlier.
is "each is counted as often as it is executed" \
	"$(check pairs shown truth)" right
unset STANDIN_TRUTH
probe "$(script list)" ./strings "$(times 400)" 2
unharmed "for a while"
