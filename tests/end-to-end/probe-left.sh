#!/usr/bin/env bash
# timeout: 600
# hark probe where another hark is, or was when it was killed: one that lives is
# left alone; what a dead one has left is taken out, wherever it was killed.
# KILLS=N for more of them, SEED=N for others.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

KILLS=${KILLS:-$(times 2)}
RANDOM=${SEED:-1}
plan 50

build left -I"$ROOT/src"
same() { /usr/bin/python3 "$SRC/probe_same.py" "$1"; }
differs() { diff <(echo "$1") <(echo "$2") | head -n 10; }

SMALL='pid$target:a.out:hot:entry, pid$target:a.out:cold:entry,
usdt$target:left::meet { @ = count(); }'
# Many probes: long to put in, long to take out.
LARGE='pid$target:libc::entry, pid$target:libc::return, pid$target:a.out::entry,
usdt$target:left::meet { @ = count(); }'

# Ends soon, but not before the program has been there.
COUNTED="$SMALL"'
pid$target:a.out:hot:entry { seen = 1; } tick-20ms /seen/ { exit(0); }'

# come SCRIPT: a hark in the background, $hark.
come() {
	printf '%s\n' "$1" >background.d
	rm -f background
	"$HARK" probe -x quiet -o background -s background.d -p "$pid" \
		>/dev/null 2>background.err </dev/null &
	hark=$!
}
# probed: and nobody is attached any more.
probed() {
	grep -q '^[^ ]* r-xs.*memfd:hark-probe' "/proc/$pid/maps" &&
		grep -q '^TracerPid:.0$' "/proc/$pid/status"
}
# pause MOST: for at most so many milliseconds.
pause() { sleep "$(printf '0.%03d' $(((RANDOM % 1000) * $1 / 1000)))"; }
killed() {
	kill -KILL "$hark" 2>/dev/null
	wait "$hark" 2>/dev/null
}

# -- One that lives --

begin ./left end
before=$(same "$pid")
come "$SMALL"
await probed || note "no probes came: $(cat background.err)"
OPTIONS=(-x quiet)
attach "$SMALL tick-10ms { exit(0); }" "$pid"
is "a second one is refused" "$status" 125
is "and says by whom" "$err" \
	"hark: process $pid is probed by hark (pid $hark) already"
for command in run record; do
	[ $command = run ] && how=() || how=(-o recording)
	try timeout 20 "$HARK" $command "${how[@]}" -p "$pid"
	is "hark $command is refused" "$status" 125
	like "and says why: hark $command" "$err" "process $pid has probes of hark"
done
kill -STOP "$hark"
attach "$SMALL tick-10ms { exit(0); }" "$pid"
is "one that is stopped lives" "$status" 125
kill -CONT "$hark"
kill -INT "$hark"
wait "$hark"
is "the first one does not mind" "$?" 0
is "and has counted" "$(check session background background.err >/dev/null &&
	echo right)" right
is "nothing is left of either" "$(differs "$before" "$(same "$pid")")" ""
attach "$SMALL tick-10ms { exit(0); }" "$pid"
is "then another may come" "$status" 0
status=1
finish && status=0
cp guest.out said
unharmed "the program is unharmed"

# -- Killed at any time --

# next: another one comes, counts and leaves nothing. What is wrong goes to $odd.
next() {
	attach "$COUNTED" "$pid"
	n=$(check session shown errors)
	if [ "$status" != 0 ]; then
		odd="status $status: $err"
	elif ! [[ $n =~ ^[0-9]+$ ]] || [ "$n" = 0 ]; then
		odd="counted: $n"
	else
		odd=$(differs "$before" "$(same "$pid")")
	fi
	odd+=$(find "/proc/$pid/fd" -lname '*memfd:hark*')
}

# kills NAME SCRIPT HOW...: HOW is where it is killed, KILLS times, and more often
# if none of them has left anything: $round is higher then, and HOW aims better.
kills() {
	local name=$1 script=$2 i round seen=0

	shift 2
	odd=
	begin ./left end
	before=$(same "$pid")
	for ((i = 0; i < KILLS || (seen == 0 && i < 10 * KILLS); i++)); do
		round=$((1 + i / KILLS))
		come "$script"
		"$@"
		killed
		is_mapped && seen=$((seen + 1))
		next
		[ -z "$odd" ] || break
	done
	is "$name: each next one finds nothing, counts and leaves nothing" \
		"$odd" ""
	note "$name: $seen of $i left something"
	ok "$name: some left something" [ "$seen" -gt 0 ]
	status=1
	finish && status=0
	cp guest.out said
	cp guest.err errors
	unharmed "$name: unharmed"
}
anywhere() { sleep "$((round - 1))" && pause 800; }
is_mapped() { grep -q memfd:hark-probe "/proc/$pid/maps"; }
going_in() {
	await is_mapped
	pause 12
}
going_out() {
	await probed
	pause 50
	kill -INT "$hark"
	pause $((40 / round))
}
kills "anywhere" "$SMALL" anywhere
kills "many probes, going in" "$LARGE" going_in
kills "many probes, going out" "$LARGE" going_out

# Not at random: wherever it asks for its own number, as it does for the record of
# what is to be taken out, when the program has the first mapping but nothing else:
# at every third time that it does, with HARK_EFFORT at every time.
EVERY=$((($(times 1) + 2) / $(times 1)))
cat >killer.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t getpid(void)
{
	static long calls;
	pid_t pid = (pid_t)syscall(SYS_getpid);

	if (++calls == atol(getenv("KILL_AT")))
		kill(pid, SIGKILL);
	return pid;
}
END
gcc -shared -fPIC killer.c -o killer.so || exit 1
begin ./left end
before=$(same "$pid")
odd='' n_killed=0
for ((k = 1; k <= 40; k += EVERY)); do
	LD_PRELOAD=$T/killer.so KILL_AT=$k "$HARK" probe -x quiet \
		-n "$SMALL tick-10ms { exit(0); }" -p "$pid" >/dev/null 2>&1
	[ $? = 137 ] || break
	n_killed=$((n_killed + 1))
	next
	[ -z "$odd" ] || break
done 2>/dev/null
is "killed at the record: each next one finds nothing" "$odd" ""
note "killed at the record: $n_killed times, the last time at call $((k - EVERY))"
ok "killed at the record: it was, and often" \
	[ $((k - EVERY)) -ge 20 -a "$n_killed" -ge $((20 / EVERY)) ]
finish

# Several in a row, and nobody comes between.
begin ./left end 4
before=$(same "$pid")
odd=
for ((i = 0; i < 5; i++)); do
	come "$LARGE"
	going_in
	killed
done
next
is "five were killed, one after the other" "$odd" ""
# A program that it was started with.
status=1
finish && status=0
cp guest.out said
unharmed "five: unharmed"
rm -f end
: >guest.out
"$HARK" probe -x quiet -o background -n "$SMALL" -- ./left end >guest.out \
	2>background.err </dev/null &
hark=$!
wait_for ready guest.out || note "not ready: $(cat background.err)"
pid=$(awk '/ready/ { print $2 }' guest.out)
killed
attach "$SMALL tick-20ms { exit(0); }" "$pid"
is "started with hark, which was killed: the next one comes" "$status" 0
is "started with hark: no mapping is left" \
	"$(grep memfd:hark "/proc/$pid/maps")" ""
is "started with hark: code is that of the files" \
	"$(same "$pid" | grep code: | sort -u | xargs)" "code: as in the file"
: >end
gone "$pid"
cp guest.out said
ok "started with hark: unharmed" grep -qx ok said

# -- Lies --

odd='' refused=0
for ((i = 1; i <= 3 * KILLS; i++)); do
	begin ./left end forged $((i + ${SEED:-1} * 1000))
	attach "$SMALL tick-10ms { exit(0); }" "$pid"
	[ "$status" = 125 ] && refused=$((refused + 1))
	[ "$status" = 125 ] || [ "$status" = 0 ] ||
		odd+="seed $i: status $status: $err;"
	[ "$(wc -l <errors)" -le 2 ] || odd+="seed $i: $err;"
	finish || odd+="seed $i: the program has failed;"
done
is "whatever a program claims, nothing falls over" "$odd" ""
note "$refused of $((i - 1)) were refused"
ok "lies are refused" [ "$refused" -gt 0 ]

# -- A child of fork has what its parent has --

rm -f fork
begin ./left end
# shellcheck disable=SC2034  # by its name
parent=$pid
come "$SMALL"
await probed || note "no probes came: $(cat background.err)"
: >fork
wait_for child guest.out || note "no child"
child=$(awk '$1 == "child" { print $2; exit }' guest.out)
attach "$SMALL tick-10ms { exit(0); }" "$child"
is "its hark lives: refused" "$status" 125
killed
for who in child parent; do
	attach "$COUNTED" "${!who}"
	is "$who: the next one comes" "$status" 0
	ok "$who: and counts" [ "$(check session shown errors)" -gt 0 ]
	is "$who: nothing is left" "$(same "${!who}" | grep 'code:\|memfd' |
		sort -u | xargs)" "code: as in the file"
done
status=1
finish && status=0
rm -f fork
cp guest.out said
unharmed "parent: unharmed"
is "child: unharmed" "$(grep 'child [rw]' said)" "child right, 0"

# And so has it when hark ends.
for how in '-x quiet' --follow; do
	begin ./left end
	rm -f background
	# shellcheck disable=SC2086  # one word or two
	"$HARK" probe -o background $how \
		-n "$SMALL" -p "$pid" >/dev/null 2>background.err </dev/null &
	hark=$!
	await probed || note "no probes came: $(cat background.err)"
	: >fork
	wait_for child guest.out || note "no child"
	child=$(awk '$1 == "child" { print $2; exit }' guest.out)
	sleep 0.05
	kill -INT "$hark"
	wait "$hark"
	is "$how: hark ends" "$?" 0
	is "$how: accounts" "$(check accounts background.err)" right
	is "$how: nothing is left in the child" "$(same "$child" |
		grep 'code:\|memfd' | sort -u | xargs)" "code: as in the file"
	status=1
	finish && status=0
	rm -f fork
	cp guest.out said
	unharmed "$how: parent: unharmed"
	is "$how: child: unharmed" "$(grep 'child [rw]' said)" "child right, 0"
done
