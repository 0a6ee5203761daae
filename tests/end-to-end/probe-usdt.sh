#!/usr/bin/env bash
# hark probe: arguments of the programmer's probes, of every shape that compilers
# write, have the values that the program itself says.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

MAKES=("pie" "no-pie -no-pie" "static -static" "static-pie -static-pie"
	"unoptimised -O0" "clang" "exported -rdynamic -s")
SHAPES=(names memory constants registers narrow segments compiled)
plan $((${#MAKES[@]} * 2 + 4 + 9 + 4 + 4))

# values PROBE N: a clause that shows so many of its arguments.
values() {
	local i formats='' args=''

	for ((i = 0; i < $2; i++)); do
		formats+=" %d" args+=", arg$i"
	done
	printf 'usdt$target:shapes::%s { printf("%%s%s\\n", probename%s); }\n' \
		"$1" "$formats" "$args"
}

# said_of FILE: the lines of a guest that are about arguments.
said_of() { grep -E "^($(tr ' ' '|' <<<"${SHAPES[*]} library mine")) " "$1"; }

script="$(values names 10)
$(values memory 8)
$(values constants 9)
$(values registers 10)
$(values narrow 6)
$(values segments 7)
$(values compiled 10)"
OPTIONS=(-q)

# -- All shapes, in programs of all makes --

for make in "${MAKES[@]}"; do
	# shellcheck disable=SC2086 # several words
	set -- $make
	name=$1
	shift
	if [ "$name" = clang ]; then
		if ! type clang >/dev/null 2>&1; then
			skip "clang: status" "there is no clang"
			skip "clang: as the program says" "there is no clang"
			continue
		fi
		clang -O2 "$SRC/probe_usdt.c" -o usdt || exit 1
	else
		build usdt "$@"
	fi
	if [ "$name" = exported ]; then
		# What is local cannot be known any more; what is not, can.
		probe "$(values segments 2)
usdt\$target:shapes::names { printf(\"%s %d %x\\n\", probename, arg0, arg3); }" \
			./usdt
		is "$name: status" "$status" 0
		is "$name: as the program says" "$(xargs <shown)" \
			"names -4 fffffffc segments -1000 $((0xffffffff - 999))"
		continue
	fi
	probe "$script" ./usdt
	is "$name: status" "$status $err" "0 "
	is "$name: as the program says" "$(cat shown)" "$(said_of said)"
done

# -- In a library, and in a program of several parts --

gcc -O2 -fPIC -shared -DOTHER "$SRC/probe_usdt.c" -o libother.so &&
	build usdt -Wl,--no-as-needed -L. -lother -Wl,-rpath,.
probe "$(values library 2)" ./usdt
is "a library: as the program says" "$(cat shown) $(grep ^library said)" \
	"library 78187493520 -77 library 78187493520 -77"
# Of its own name each file has one.
probe "$(values mine 1)$(values twice 1)" ./usdt
is "each file's own" "$(xargs <shown)" "twice 1 mine 2"

gcc -O2 -DOTHER -c "$SRC/probe_usdt.c" -o other.o && build usdt other.o
probe "$(values library 2)" ./usdt
is "another part: as the program says" "$(cat shown) $(grep ^library said)" \
	"library 78187493520 -77 library 78187493520 -77"
probe "$(values mine 1)" ./usdt
is "two of one name: nobody knows which" "$status $err" \
	"125 hark: shapes:mine: arg0 is '-8@twice(%rip)': the file has several of that name"

# -- What cannot be had --

build usdt
# refused N SPECIFICATION REASON
refused() {
	probe "usdt\$target:shapes::beyond { trace(arg$1); }" ./usdt
	is "$2 is refused" "$status $err$(cat said)" \
		"125 hark: shapes:beyond: arg$1 is '$2': $3"
}
refused 1 "16@%xmm0" "its size is none of 1, 2, 4 and 8 bytes"
refused 2 "8f@%xmm1" "it is a fraction, which scripts do not have"
refused 3 "4f@8(%rsp)" "it is a fraction, which scripts do not have"
refused 4 "8@counter@GOTPCREL(%rip)" "its address is in a table of the loader's"
refused 5 "8@%ymm3" "it is in a vector register"
refused 6 "8@8(%rip)" "it is not understood"
refused 7 "3@%eax" "its size is none of 1, 2, 4 and 8 bytes"
refused 8 "8@nowhere(%rip)" "the file has nothing of that name"
probe 'usdt$target:shapes::beyond { @[arg0] = count(); }' ./usdt
is "what can be had beside it is" "$status $(xargs <shown)" "0 1 1"

build usdt -s
probe "$(values names 1)" ./usdt
is "stripped: what it says" "$status $err" \
	"125 hark: shapes:names: arg0 is '-4@counter(%rip)': the file has lost its names (it was stripped)"
probe 'usdt$target:shapes::names { @ = count(); }' ./usdt
is "stripped: the probe itself is there" "$status $(xargs <shown)" "0 1"
probe "$(values memory 8)" ./usdt
is "stripped: what has no name is known" "$(cat shown)" "$(grep ^memory said)"
try hark probe -l --json -n 'usdt$target:shapes::names' -- ./usdt
like "stripped: it is listed with its arguments" "$out" '4@counter.%rip'

# -- Semaphores --

build usdt
probe 'usdt$target:shapes::on, usdt$target:shapes::alone { @[arg0] = count(); }' \
	./usdt
is "semaphores: as often as there are probes" "$(grep semaphores said)" \
	"semaphores 2 1 0"
is "semaphores: and they are hit" "$(xargs <shown)" "1 1 2 1 3 1"
rm -f go
begin ./usdt go
printf '%s\n' 'usdt$target:shapes::on { @ = count(); }' >script.d
rm -f shown
timeout -s KILL 100 "$HARK" probe -o shown -s script.d -p "$pid" \
	>/dev/null 2>errors </dev/null &
prober=$!
# Probes are in when the semaphore is up.
up() {
	/usr/bin/python3 -c '
import subprocess, sys
names = subprocess.run(["nm", "usdt"], capture_output=True, text=True).stdout
offset = [int(l.split()[0], 16) for l in names.splitlines()
          if l.endswith(" first_semaphore")][0]
base = next(int(l.split("-")[0], 16)
            for l in open(f"/proc/{sys.argv[1]}/maps") if l.endswith("/usdt\n"))
with open(f"/proc/{sys.argv[1]}/mem", "rb") as f:
    f.seek(base + offset)
    sys.exit(f.read(2) == b"\0\0")' "$pid"
}
await up || note "it is not up"
: >go
wait_for "done" guest.out
is "-p: up while it is probed" "$(grep semaphores guest.out)" "semaphores 2 0 0"
kill -INT $prober
wait $prober
: >go
wait "$pid"
is "-p: down again, two hits" "$(tail -n 1 guest.out), $(xargs <shown)" \
	"semaphores 0 0 0, 2"
