#!/usr/bin/env bash
# hark probe -x evaltime: from when on a program that hark starts is probed.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

MAKES=("pie" "no-pie -no-pie" "static -static" "static-pie -static-pie"
	"bound-now -Wl,-z,now" "unoptimised -O0")
plan $((4 + 2 * ${#MAKES[@]} + 2 + 3 + 2 + 2 + 2))

# What work() was called with, and how often: 1 and 2 before main, 4 in it, 7
# when it is over.
COUNT='pid$target:a.out:work:entry { @[arg0] = count(); }'
ALL="1 1 2 1 4 1 7 1" LATE="4 1 7 1"

# counts EVALTIME [PROG]: keys and counts; the program's own result is its status.
counts() {
	OPTIONS=(-q -x "evaltime=$1")
	probe "$COUNT" "${2:-./early}"
	OPTIONS=()
	echo "$status: $(xargs <shown)"
}

build early
is "exec: initialisers are probed" "$(counts exec)" "7: $ALL"
is "preinit: so they are" "$(counts preinit)" "7: $ALL"
is "postinit: they are not" "$(counts postinit)" "7: $LATE"
probe "#pragma D option evaltime=main
#pragma D option quiet
$COUNT" ./early
is "a pragma says the same" "$status: $(xargs <shown)" "7: $LATE"

for make in "${MAKES[@]}"; do
	# shellcheck disable=SC2086 # several words
	set -- $make
	name=$1
	shift
	build early "$@"
	is "$name: from main on" "$(counts main)" "7: $LATE"
	OPTIONS=(-q -x evaltime=main)
	probe 'BEGIN { printf("begin "); } pid$target:a.out:main:entry
{ printf("main %d\n", arg0); }' ./early
	OPTIONS=()
	is "$name: main itself is probed, behind BEGIN" "$(cat shown)" "begin main 1"
done

# Without names: main is what __libc_start_main is given.
build early && cp early twin
address=$(nm twin | awk '$3 == "work" { sub(/^0+/, "", $1); print $1 }')
build early -s
COUNT="pid\$target:a.out:sub_$address:entry { @[arg0] = count(); }"
is "stripped: from main on" "$(counts main)" "7: $LATE"
is "stripped: and before" "$(counts exec)" "7: $ALL"

build early -s -static
probe '#pragma D option evaltime=main
BEGIN { exit(0); }' ./early
is "stripped and static: nobody knows where main is" "$status $err" \
	"125 hark: the program does not tell where its main is"
is "stripped and static: nothing ran" "$out" ""
ok "stripped and static: it is not refused otherwise" \
	timeout 60 "$HARK" probe -n 'BEGIN { exit(0); }' -- ./early

# Threads that are there before main.
build early -DTHREADS
COUNT='pid$target:a.out:work:entry { @[arg0] = count(); }'
probe "#pragma D option evaltime=main
$COUNT" ./early
like "threads before main: refused" "$status $err" \
	'^125 hark: process [0-9]+ has several threads before main: it cannot be held there$'
[[ $err =~ [0-9]+ ]]
ok "threads before main: nothing is left behind" gone "${BASH_REMATCH[0]}"

# What ends before main.
cat >ends.c <<'END'
#include <stdlib.h>
__attribute__((constructor)) static void end(void) { _Exit(3); }
int main(void) { return 0; }
END
gcc ends.c -o ends
probe '#pragma D option evaltime=main
BEGIN { trace(1); }' ./ends
is "one that ends before main" "$status $err" \
	"125 hark: ./ends ended before it began"
probe 'BEGIN { trace(1); }' ./ends
is "without the option it ends as it does" "$status" 3

try hark probe -x evaltime=mian -n BEGIN -- ./early
is "another word" "$status $err" \
	"125 hark: option evaltime=mian: it is exec, preinit, postinit or main"
try hark probe -x evaltime -n BEGIN -- ./early
is "no word" "$status $err" \
	"125 hark: option evaltime needs a value: evaltime=VALUE"
