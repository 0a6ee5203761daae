#!/usr/bin/env bash
# hark probe: what users of DTrace do without thinking.
. "$(dirname "$0")/lib.sh"

plan 39

gcc -g -O2 -pthread "$ROOT/tests/end-to-end/probe_run_prog.c" -o prog || exit 1
WORK='pid$target:a.out:work:entry'
probe() { try timeout -s KILL 100 "$HARK" probe "$@"; }
shown() { printf '%s: %s' "$status" "$(xargs <<<"$out")"; }

# -- Scripts that are commands --

# command NAME OPTIONS: a file that begins with #!; the kernel gives all that is
# behind the tool as one argument.
command_of() {
	ln -sf "$HARK" ./hark # the first line has little room
	printf '#!%s/hark probe %s\n%s\n' "$T" "$2" \
		"$WORK /arg0 >= \$1/ { printf(\"%s %d\\n\", \$\$2, arg0); }" >"$1"
	chmod +x "$1"
}
command_of plain -s
try ./plain -q -c './prog calls 5' 3 word
is "#!... probe -s" "$(shown)" "0: 5 word 3 word 4"
command_of quiet -qs
try ./quiet -c './prog calls 5' 3 word
is "#!... probe -qs" "$(shown)" "0: 5 word 3 word 4"
try ./quiet -c './prog calls 5' 3
is "an argument too few" "$status $err" \
	"125 hark: ./quiet:2:62: [MACRO] '\$2' has no value: no such argument was given"
try ./quiet -x defaultargs -c './prog calls 5' 3
is "unless they have defaults" "$(shown)" "0: 5 3 4"
try ./quiet
is "a command without a program" "$status $err" \
	"125 hark: probe: which program?; see 'hark help probe'"
try "$HARK" "probe -l"
is "one word alone is no first line" "$status $err" \
	"125 hark: unknown command 'probe -l'; see 'hark help'"
try "$HARK" "what ever" file
is "nor is what begins with no command" "$status $err" \
	"125 hark: unknown command 'what ever'; see 'hark help'"

# -- Macros --

probe -q -n 'BEGIN { printf("%d %d %d %d %d\n", $uid, $euid, $gid, $egid, $sid);
exit(0); }' -c /bin/true
is "who hark is" "$(shown)" \
	"0: $(id -ru) $(id -u) $(id -rg) $(id -g) $(ps -o sid= -p $$ | xargs)"
probe -q -n 'BEGIN { printf("%d\n", $pid != $target && $ppid > 0 && $pgid > 0); }' \
	-c /bin/true
is "which process hark is" "$(shown)" "0: 1"
printf 'BEGIN { printf("%%s\\n", $$0); }\n' >zero.d
probe -q -s zero.d -c /bin/true
is "what the script is" "$(shown)" "0: zero.d"
probe -q -x defaultargs -n 'BEGIN { printf("%d <%s>\n", $7, $$7); }' -c /bin/true
is "defaults: 0 and an empty text" "$(shown)" "0: 0 <>"
probe -q -n 'BEGIN { trace($what); }' -c /bin/true
is "a macro that is none" "$status $err" \
	"125 hark: -n:1:15: [MACRO] '\$what' has no value: there is no macro of that name"

# -- Order --

# Values are the same: then keys are in their order, as numbers are and as the
# alphabet has it.
probe -q -n "$WORK { @[arg0] = count(); }" -c './prog calls 600'
is "equal values: numbers in order" \
	"$(awk 'NF == 2 { print $1 }' <<<"$out" | sort -nc && echo sorted)" sorted
probe -q -n "$WORK { @[(int)(2 - arg0)] = count(); }" -c './prog calls 5'
is "equal values: signed numbers" "$(shown)" "0: 5 -2 1 -1 1 0 1 1 1 2 1"
probe -q -n "$WORK { @[arg0 == 0 ? \"bb\" : arg0 == 1 ? \"a\" : \"ab\"] = count(); }" \
	-c './prog calls 3'
is "equal values: texts by the alphabet" "$(shown)" "0: 3 a 1 ab 1 bb 1"
SUM="$WORK { @[arg0] = sum(10 - arg0); }"
probe -q -n "$SUM" -c './prog calls 3'
is "by value" "$(shown)" "0: 3 2 8 1 9 0 10"
probe -q -x aggsortkey -n "$SUM" -c './prog calls 3'
is "by key" "$(shown)" "0: 3 0 10 1 9 2 8"
probe -q -x aggsortrev -n "$SUM" -c './prog calls 3'
is "by value, reversed" "$(shown)" "0: 3 0 10 1 9 2 8"
probe -q -x aggsortkey -x aggsortrev -n "$SUM" -c './prog calls 3'
is "by key, reversed" "$(shown)" "0: 3 2 8 1 9 0 10"
TWO="$WORK { @[arg0 % 2, 10 - arg0] = count(); } END { printa(\"%d,%d \", @); }"
probe -q -x aggsortkey -n "$TWO" -c './prog calls 4'
is "by two keys" "$(shown)" "0: 4 0,8 0,10 1,7 1,9"
probe -q -x aggsortkey -x aggsortkeypos=1 -n "$TWO" -c './prog calls 4'
is "by the second key first" "$(shown)" "0: 4 1,7 0,8 1,9 0,10"
probe -q -n "#pragma D option aggsortrev
$SUM END { trunc(@, 1); }" -c './prog calls 3'
is "trunc() keeps the largest all the same" "$(shown)" "0: 3 0 10"

# -- Several aggregations at once --

BOTH="$WORK { @n[arg0 % 3] = count(); } $WORK /arg0 > 2/ { @s[arg0 % 3] = sum(arg0); }
$WORK /arg0 == 1/ { @m[arg0] = max(arg0); }"
probe -q -n "$BOTH END { printa(@n, @s, @m); }" -c './prog calls 5'
is "side by side, 0 where one has no such row" "$(shown)" \
	"0: 5 2 1 0 0 0 2 3 0 1 2 4 1"
probe -q -n "$BOTH END { printa(\"%d:%@d/%@4d \", @s, @n); normalize(@n, 2);
	printa(\"%d:%@d/%@d \", @n, @s); }" -c './prog calls 5'
is "by a format, in the order of the first" "$(shown)" \
	"0: 5 2:0/ 1 0:3/ 2 1:4/ 2 2:0/0 0:1/3 1:1/4 1 1"
probe -q -n "$WORK { @a = count(); @b = quantize(arg0); } END { printa(@a, @b); }" \
	-c './prog calls 2'
like "a number and a picture" "$(shown)" \
	'^0: 2 2 value -+ Distribution -+ count .* 0 \|@+ 1 1 \|@+ 1 2 \| 0$'
probe -q -n "BEGIN { @a[1] = count(); @b[\"x\"] = count(); } END { printa(@a, @b); }" \
	-c './prog calls 1'
like "of other keys: refused" "$status: $err" \
	"^125: .*\[AGG_KEYS\] the keys of '@b' are not those of '@a'"
probe -q -n "BEGIN { @a = count(); @b = count(); } END { printa(\"%@d %@d %@d\", @a, @b); }" \
	-c './prog calls 1'
like "more values than aggregations: refused" "$status: $err" \
	"^125: .*\[PRINTF_ARGS\] there is no aggregation for '%@d'"

# -- Ends --

# A shell has its background jobs ignore signals. ./with SIG_DFL COMMAND has them
# as at a terminal, ./with SIG_IGN as behind nohup.
cat >with <<'END'
#!/usr/bin/python3
import os, signal, sys
for s in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
    signal.signal(s, getattr(signal, sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
END
chmod +x with
# A running process is probed until hark gets a signal, and goes on.
begin ./prog long
for how in INT TERM HUP QUIT; do
	rm -f said
	./with SIG_DFL "$HARK" probe -q -n 'END { printf("over\n"); }
'"$WORK"' { @ = count(); } '"$WORK"' /!seen/ { seen = 1; printf("begun\n"); }' -p "$pid" \
		>said 2>errors &
	prober=$!
	wait_for begun said
	kill -$how $prober
	wait $prober
	is "SIG$how ends it: status" "$? $(cat errors)" "0 "
	like "SIG$how ends it: and all is shown" "$(xargs <said)" \
		'^begun over [1-9][0-9]*$'
done
rm -f said
./with SIG_IGN "$HARK" probe -q -n 'BEGIN { printf("begun\n"); }
tick-500ms { exit(3); }' -p "$pid" >said 2>errors &
prober=$!
wait_for begun said
kill -HUP $prober
wait $prober
is "SIGHUP that is ignored does not" "$?" 3
# What has one reader less.
probe_to_nobody() {
	"$HARK" probe -n "$WORK { trace(arg0); }" -p "$pid" 2>errors | head -n 3 >said
	echo "${PIPESTATUS[0]} $(wc -l <said) $(grep -c 'cannot be written' errors)"
}
is "a pipe that nobody reads ends it" "$(probe_to_nobody)" "125 3 1"
kill -TERM "$pid"
wait "$pid"
is "the program itself has ended as it does" "$?" 9

# A program that ends by a signal is said so by hark's own end.
probe -q -n "$WORK { @ = count(); }" -c './prog crash' 2>/dev/null
is "hark ends as the program did" "$(shown)" "137: 100000"
