#!/usr/bin/env bash
# also: asan
# hark probe -l: what descriptions name, against nm and objdump; how much of
# real libraries takes a jump; and that nothing was started or changed.
. "$(dirname "$0")/lib.sh"

plan 24

cp "$ROOT/tests/end-to-end/probe_list_prog.c" prog.c
gcc -g -O2 prog.c -o prog

# list DESCRIPTION: its lines, and the totals in the last.
list() { hark probe -l -n "$1" -- ./prog; }
# hex FUNCTION: its address, as linked.
hex() { nm prog | awk -v f="$1" '$3 == f { sub(/^0+/, "", $1); print $1 }'; }

# -- Names --

try hark probe -l -n 'pid$target:a.out:twice:entry' -- ./prog
is "an entry is one probe" "$status:$(wc -l <<<"$out")" 0:2
like "it is where nm says" "$out" "$(hex twice | tail -c 4) +\+0x0"
is "the program did not run" "$(grep -c '^42$' <<<"$out")" 0
like "the last line counts" "$out" '1 probes: .* 100.00 % by a jump$'

returns=$(objdump -d prog --disassemble=twice | grep -c '\sret')
is "all returns are there" \
	"$(list 'a.out:twice:return' | grep -c ' return ')" "$returns"
like "a jump to another function is a return" \
	"$(list 'a.out:tail:return')" ' tail +return '
is "a name left out is entry and return" \
	"$(list 'a.out:tail:' | awk '{print $5}' | head -n 2 | sort | xargs)" \
	"entry return"
like "patterns find functions" "$(list 'a.out:t[aw]*[le]:entry')" '2 probes: '
like "a linkage table has the calls out" \
	"$(list 'plt$target:a.out:printf:entry')" ' plt +prog +printf@plt '
line=$(awk '/line of twice/ { print NR }' prog.c)
like "a line of the source is a place" "$(list "prog.c:$line")" ' prog +twice '
second=$(objdump -d prog --disassemble=twice --no-show-raw-insn |
	awk '/^ / { n++; if (n == 2) { sub(":", "", $1); print $1 } }')
offset=$(printf '%x' $((0x$second - 0x$(hex twice))))
like "an offset is an instruction" "$(list "a.out:twice:$offset")" \
	" twice +$offset "

# -- Refusals --

try hark probe -l -n 'libc:fopne:entry' -- ./prog
is "an unknown function is an error" "$status" 125
like "similar ones are named" "$err" "no function matches 'fopne'; .*fopen"
try hark probe -l -n 'libc:malloc:ffffff' -- ./prog
like "an offset must be in the function" "$err" 'beyond the end'
try hark probe -l -n 'nosuch:main:entry' -- ./prog
like "a module must be there" "$err" "no module matches 'nosuch'"
try hark probe -l -n 'wrong$target:a:b:entry' -- ./prog
like "a provider must be there" "$err" "unknown provider"
try hark probe -l -n 'a.out:main:entry' -- ./nosuch
is "a program must be there" "$status" 127

# -- JSON, and a running process --

try hark probe -l --json -n 'a.out:twice:entry' -- ./prog
like "JSON has the bytes" "$out" '"form":"J[5WP2]".*"new":"(e9|eb)'
sleep 60 &
pid=$!
# Until it sleeps (clock_nanosleep), it is still being loaded.
await grep -q "^230 " /proc/$pid/syscall
before=$(cat /proc/$pid/maps)
try hark probe -l -n 'libc:nanosleep:entry' -p $pid
like "a running process can be looked at" "$out" ' libc.so.6 +.*nanosleep '
is "it is as before" "$(cat /proc/$pid/maps)" "$before"
kill $pid

# -- Real libraries --

share() { # MODULE NAME PROG: per cent that jump, without the decimals
	hark probe -l -n "$1::$2" -- "$3" | tail -n 1 |
		sed -n 's/.* \([0-9]*\)\.[0-9]* % by a jump/\1/p'
}
cat >cxx.cc <<'EOF'
#include <iostream>
int main() { std::cout << 1; }
EOF
g++ cxx.cc -o cxx
try hark probe -l -n 'usdt$target:libstdcxx::' -- ./cxx
is "all that readelf knows of the programmer's own" \
	"$(grep -c ' usdt ' <<<"$out")" \
	"$(ldd ./cxx | awk '/libstdc/ { print $3 }' |
		xargs readelf -n | grep -c 'Provider: libstdcxx')"
try hark probe -l --json -n 'usdt$target:libstdcxx::thr*' -- ./cxx
like "with their arguments" "$out" '"arguments":"8@%'
low=100
for what in "libc ./prog" "libstdc++ ./cxx" "libsqlite3 sqlite3"; do
	set -- $what
	for name in entry return; do
		got=$(share "$1" $name "$2")
		note "$1 $name: $got %"
		[ "${got:-0}" -ge $low ] || low=${got:-0}
	done
done
ok "97 % of entries and returns jump, in each" [ "$low" -ge 97 ]
try hark probe -l -n ':::' -- ./prog
is "everything at once can be planned" "$status" 0
