#!/usr/bin/env bash
# timeout: 300
# Symbols, lines, inlined calls and call-frame rules of programs that were
# compiled in many ways, held against nm, llvm-symbolizer and readelf, address
# by address.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"

shapes=$ROOT/tests/guests/image_shapes.cc
names=$ROOT/tests/guests/image_names.c

# name  how it is compiled
flavours="
gcc5		g++ -std=c++17 -O2 -g -gdwarf-5 $shapes
gcc4		g++ -std=c++17 -O2 -g -gdwarf-4 $shapes
gcc-Og		g++ -std=c++17 -Og -g $shapes
gcc-O0		g++ -std=c++17 -O0 -g $shapes
gcc3		gcc -O2 -g -gdwarf-3 -gstrict-dwarf $names
gcc2		gcc -O2 -g -gdwarf-2 -gstrict-dwarf $names
clang5		clang++ -std=c++17 -O2 -g -gdwarf-5 $shapes
clang4		clang++ -std=c++17 -O2 -g -gdwarf-4 $shapes
clang-c		clang -O2 -g $names
no-pie		gcc -O2 -g -no-pie $names
static		gcc -O2 -g -static $names
static-pie	gcc -O2 -g -static-pie $names
library		g++ -std=c++17 -O2 -g -shared -fPIC $shapes
packed		g++ -std=c++17 -O2 -g -gz=zlib $shapes
packed-old	gcc -O2 -g -gz=zlib-gnu $names
sections	g++ -std=c++17 -O2 -g -ffunction-sections -Wl,--gc-sections $shapes
lto		g++ -std=c++17 -O2 -g -flto $shapes
split5		gcc -O2 -g -gsplit-dwarf -gdwarf-5 $names
split4		gcc -O2 -g -gsplit-dwarf -gdwarf-4 $names
split-clang	clang -O2 -g -gsplit-dwarf -gdwarf-5 $names
now		gcc -O2 -g -Wl,-z,now -fcf-protection $names
many5		gcc -O2 -g -gdwarf-5 -ffunction-sections many.c
many4		gcc -O2 -g -gdwarf-4 -ffunction-sections many.c
"

# A unit in 500 pieces: its list of ranges is longer than one look at it.
{
	for ((i = 0; i < 500; i++)); do
		echo "__attribute__((noinline)) int f$i(int x) { return x * $i + 1; }"
	done
	echo "int main(int c, char **v) { return 0"
	for ((i = 0; i < 500; i++)); do
		echo "+ f$i(c)"
	done
	echo "; }"
} >many.c

build_ask || exit 1

# Every address of .text, or every 7th of a big one.
compare_lines() {
	local step=1

	[ "$(stat -c %s "$1")" -lt 400000 ] || step=7
	text_addresses "$1" $step >"$1.addrs" &&
		./ask lines "$1" <"$1.addrs" >"$1.ours" &&
		llvm-symbolizer -e "$1" --no-demangle <"$1.addrs" >"$1.theirs" &&
		python3 "$ROOT/tests/end-to-end/image_compare.py" "$1" \
			"$1.addrs" "$1.ours" "$1.theirs"
}

# Every name of a function or object that nm knows leads to an address that
# nm has for it.  Names that say nothing (mapping, section ends) are left out.
compare_names() {
	nm --defined-only "$1" | awk '$2 ~ /^[TtWwiVvDdBbRruP]$/' |
		grep -Ev ' (_end|_edata|__bss_start|_GLOBAL_OFFSET_TABLE_|_DYNAMIC|__GNU_EH_FRAME_HDR|__dso_handle|data_start|__data_start|_IO_stdin_used|.*_array_(start|end)|__abi_tag|__TMC_END__|__FRAME_END__|__rel[a]*_iplt_(start|end)|__ehdr_start|_etext|etext|__etext|edata|end|GCC_except_table.*|.*[.]cc[.].*)$' |
		grep -Ev ' [DdBbRrVv] [^ ]*(\$|\.)' >"$1.nm"
	cut -d' ' -f3- "$1.nm" | sed 's/@@.*//' | ./ask named "$1" >"$1.named"
	paste -d' ' "$1.named" "$1.nm" | python3 -c '
import collections, sys
want, got = collections.defaultdict(set), {}
for line in sys.stdin:
    ours, addr, kind, name = line.rstrip("\n").split(" ", 3)
    want[name.split("@@")[0]].add(int(addr, 16))
    got[name.split("@@")[0]] = (ours, kind)
bad = [(n, hex(min(a)), got[n]) for n, a in want.items()
       if got[n][0] == "??" or int(got[n][0], 16) not in a]
# Objects in thread-local storage have offsets, not addresses.
bad = [b for b in bad if b[2][1] not in "bBdD" or b[2][0] != "??"]
print(len(want), "names,", len(bad), "wrong", bad[:5])
sys.exit(len(bad) != 0 or len(want) < 20)'
}

# As many pieces of code with rules as readelf prints, none not understood.
compare_rules() {
	local fdes theirs

	fdes=$(./ask frames "$1") || return 1
	theirs=$(readelf --debug-dump=frames "$1" 2>/dev/null |
		grep -c 'FDE cie=.*pc=0*[1-9a-f]')
	echo "$fdes; readelf: $theirs"
	[[ $fdes =~ ^fdes\ ([0-9]+)\ outside\ [0-9]+\ broken\ 0\ dropped\ 0 ]] &&
		[ "${BASH_REMATCH[1]}" -le "$theirs" ] &&
		[ "${BASH_REMATCH[1]}" -ge $((theirs * 9 / 10)) ]
}

n=$(grep -c . <<<"$flavours")
plan $((n * 3 + 5))

while read -r name how; do
	[ -n "$name" ] || continue
	if ! $how -w -o "$name" 2>"$name.log"; then
		for what in lines names rules; do
			fail "$name: $what" "$(head -n 3 "$name.log")"
		done
		continue
	fi
	ok "$name: lines and inlined calls are llvm-symbolizer's" \
		compare_lines "$name"
	ok "$name: names are nm's" compare_names "$name"
	ok "$name: rules are as many as readelf's" compare_rules "$name"
done <<<"$flavours"

# -- Some of what nm and addr2line cannot say

try ./ask functions gcc3
like "an ifunc is told" "$out" $'\n[0-9a-f]+ [0-9]+ 1 0 chosen\n'
like "code without a size has one by its rules" "$out" \
	$'\n[0-9a-f]+ [1-9][0-9]* 0 2 nameless\n'
like "linkage entries are named" "$out" $'\n[0-9a-f]+ 16 2 2 printf@plt\n'

# objdump names them, too: each that it knows has our name.
objdump -d -j .plt -j .plt.sec -j .plt.got gcc5 2>/dev/null |
	sed -n 's/^0*\([0-9a-f]*\) <\(.*@plt\)>:$/\1 \2/p' | sort >plt.theirs
./ask functions gcc5 '*@plt' | awk '{print $1, $5}' |
	sort >plt.ours
is "all linkage entries have objdump's names" \
	"$(comm -23 plt.theirs plt.ours | head -n 3)$(wc -l <plt.theirs |
		awk '$1 < 5')" ""

# Where segments are not separate, a segment with code has more in it.
gcc -O2 -Wl,-z,noseparate-code -w -o together "$names"
try ./ask functions together
unlike "labels outside of code are no functions" "$out" \
	'__GNU_EH_FRAME_HDR|_IO_stdin_used'
