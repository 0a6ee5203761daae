#!/usr/bin/env bash
# timeout: 400
# hark record -p, hark run -p: into running programs, and out again, that must
# not notice; what was recorded replays.
. "$(dirname "$0")/lib.sh"

GOOD='verified: [0-9]+ segments, [0-9]+ instructions, 0 mismatches'

# inside PROCESS HARK: hark is in it and has let go of it; or has ended.
inside() {
	grep -qs 'memfd:hark-run' "/proc/$1/maps" &&
		grep -qs '^TracerPid:[[:space:]]*0$' "/proc/$1/status" || ended "$2"
}

# recorded HARK: how that recording ended; into a.hark, which stays as it was if
# it failed.
recorded() {
	if wait "$1" && ! [ -s hark.err ]; then
		mv new.hark a.hark
		return
	fi
	cat hark.err
	return 1
}

# record COMMAND...: what $pid does while the command runs, or until it ends.
record() {
	local hark

	rm -f new.hark
	"$HARK" record -q -o new.hark -p $pid 2>hark.err &
	hark=$!
	begun() { [ -e new.hark ] || ended $hark; }
	await begun # it can be told to stop by then
	"$@"
	kill -INT $hark 2>/dev/null
	recorded $hark
}

# record_end: what $pid does until its end, which it is told of meanwhile.
record_end() {
	local hark

	rm -f new.hark
	"$HARK" record -q -o new.hark -p $pid 2>hark.err &
	hark=$!
	await inside $pid $hark
	sleep 0.3
	: >end
	recorded $hark
}

# cycles N SECONDS: so many recordings, one after the other.
cycles() {
	local i

	for ((i = 0; i < $1; i++)); do
		record sleep "$2" || return 1
	done
}

# record_for SECONDS: recordings of random length, for so long, and two at least,
# and then until it ends, which it is told of meanwhile; fails as soon as one
# does for another reason.
record_for() {
	local end=$((SECONDS + $1)) n=0

	while kill -0 $pid 2>/dev/null; do
		((SECONDS < end || n < 2)) || : >end
		if record sleep 0.0$((RANDOM % 9)); then
			n=$((n + 1))
		elif [ ! -e end ] ||
			! grep -q 'has ended\|no process\|ended meanwhile' hark.err; then
			: >end
			return 1
		fi
	done
	note "$n recordings"
}

verified() { "$HARK" verify a.hark 2>&1; }

# ends NAME WANT: $pid ends with that status and last line.
ends() {
	wait $pid
	is "$1" "$? $(tail -n 1 guest.out)$(head -n 1 guest.err)" "$2"
}

snapshot() {
	cat "/proc/$pid/maps"
	ls -l "/proc/$pid/fd" | awk '{print $9, $10, $11}'
	grep -E '^(Sig[PBIC]|Shd|Tracer|Threads|Seccomp)' "/proc/$pid/status"
}

plan 85

# -- In and out --

begin "$GUESTS/blocked" end
"$GUESTS/blocked" 0.2 >native.out
snapshot >before
# settle: until hark is inside, and a moment more.
settle() {
	await inside $pid "$hark"
	sleep 0.5
}
ok "18 busy and blocked threads are recorded" record settle
like "... and it replays" "$(verified)" "$GOOD"
like "... whole, all threads" "$("$HARK" info --json a.hark)" \
	'"threads":18.*"complete":true,"lost":0'
is "threads say how they began, and that recording was stopped" \
	"$(for t in 1 9 18; do "$ROOT/tools/record-dump" a.hark 1.$t; done |
		grep -cE 'START .*why=3 |END +info=4$')" 6
MORE=$(times 10)
ok "$MORE times more" cycles "$MORE" 0.01
snapshot >after
ok "maps, descriptors and signal state are as before" diff before after
kill $pid
wait $pid 2>/dev/null
is "none of its calls was interrupted or ended early" "$(cat guest.err)" ""

begin "$GUESTS/blocked" end
ok "recorded until it ends" record_end
like "... it replays" "$(verified)" "$GOOD"
ends "... and its checksum is the native one" "0 $(tail -n 1 native.out)"

# noticed GUEST WANT SECONDS: recorded again and again, for so long.
noticed() {
	begin "$GUESTS/$1" end
	ok "$1: again and again" record_for "$3"
	wait $pid
	is "... and it does not notice" "$? $(tail -n 1 guest.out)" "0 $2"
}
noticed exec_again "generations many" "$(times 1)"
noticed exec_crowd "generations many" "$(times 1)"

for guest in "interrupts:rounds some complaints 0" "churn:equal, 0 failed" \
	"attach_crowd:all as it should be" \
	"attach_signals:all as it should be"; do
	noticed "${guest%%:*}" "${guest#*:}" "$(times 1)"
	begin "$GUESTS/${guest%%:*}" end
	ok "... with its end" record_end
	like "... and it replays" "$(verified)" "$GOOD"
	wait $pid
	is "... as it should" "$? $(tail -n 1 guest.out)" "0 ${guest#*:}"
done

if "$GUESTS/rseq_count" 0 | grep -q "no rseq here"; then
	skip "restartable sequences" "no rseq"
	skip "no increment is lost" "no rseq"
else
	noticed rseq_count "lost 0" "$(times 1)"
fi

begin "$GUESTS/attach_crowd" end 200
ok "200 threads" record_for "$(times 1)"
like "... replay" "$(verified)" "$GOOD"
wait $pid
is "... and end well" "$? $(tail -n 1 guest.out)" "0 all as it should be"

# -- Other programs --

cat >threads.py <<'END'
import hashlib, os, threading, time
count = [0] * 4
def work(i):
    h = b''
    while count[i] == 0 or not os.path.exists('end'):
        h = hashlib.sha256(h + b'x' * 1000).digest()
        assert sum({str(k): k for k in range(50)}.values()) == 1225
        count[i] += 1
        if count[i] % 100 == 0:
            time.sleep(0.001)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
print('ready', flush=True)
for t in threads:
    t.join()
print('well' if all(count) else 'bad')
END
begin "$(python3 -c 'import sys; print(sys.executable)')" threads.py
ok "python with threads" record_for "$(times 1)"
like "... replays" "$(verified)" "$GOOD"
ends "... and ends well" "0 well"

cat >children.sh <<'END'
echo ready
until [ -e end ]; do
	[ "$(echo a | tr a b)" = b ] && [ "$(expr 3 + 4)" = 7 ] || exit 1
	(sleep 0.01) &
	echo round
done
wait
echo well
END
# rounds N: until there were so many more.
rounds() {
	local n=$(($(grep -c round guest.out) + $1))

	there() { [ "$(grep -c round guest.out)" -ge $n ]; }
	await there
}
begin bash children.sh
ok "a shell, and what it executes" record rounds 3
like "... processes" "$("$HARK" info a.hark)" 'processes +([3-9]|[0-9]{2})'
like "... replay" "$(verified)" "$GOOD"
ok "... again" record_for "$(times 1)"
ends "... and all of it ends well" "0 well"

cat >headless.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *rest(void *arg)
{
	while (access("end", F_OK) != 0)
		usleep(20000);
	puts("well");
	exit(0);
	return arg;
}
int main(void)
{
	pthread_t t;
	puts("ready");
	fflush(stdout);
	pthread_create(&t, NULL, rest, NULL);
	pthread_exit(NULL);
}
END
cc -pthread -o headless headless.c
begin ./headless
await ended $pid # its first thread
ok "a process whose first thread has ended" record sleep 0.1
like "... knows its program and its files" "$("$HARK" info a.hark)" \
	'command +./headless.*modules +[2-9]'
: >end
ends "... and ends well" "0 well"

# in C, by other compilers and linkers
# other NAME COMPILER...
other() {
	if ! command -v "$2" >/dev/null; then
		skip "$1" "no $2"
		skip "... ends well" "no $2"
		return
	fi
	"${@:2}" -O2 -pthread -o other "$ROOT/tests/guests/attach_crowd.c" || return
	begin ./other end 3
	ok "$1" record_for 1
	wait $pid
	is "... ends well" "$? $(tail -n 1 guest.out)" "0 all as it should be"
}
other "musl" musl-gcc
other "static" cc -static
other "static, position-independent" cc -static-pie

if command -v redis-server redis-benchmark >/dev/null; then
	redis-server --port 0 --unixsocket "$T/redis" --save '' >redis.log &
	pid=$!
	await test -S redis
	timeout 100 redis-benchmark -s "$T/redis" -q -n 20000 -t set,get,lpush \
		>bench.log 2>&1 &
	bench=$!
	ok "redis under load" cycles "$(times 2)" 0.2
	like "... replays" "$(verified)" "$GOOD"
	wait $bench
	is "... all requests are answered" "$?" 0
	redis-cli -s "$T/redis" shutdown nosave
	wait $pid
	is "... and it ends well" "$?" 0
else
	for i in 1 2 3 4; do skip "redis" "it is not installed"; done
fi

# -- Other places --

# elsewhere NAME COMMAND...: the command's child, or itself if it has none.
elsewhere() {
	local shell

	begin "${@:2}" ./other end 3
	shell=$pid
	pid=$(pgrep -P $shell || echo $shell)
	ok "$1" cycles 2 0.2
	pid=$shell
	finish
	is "... ends well" "$? $(tail -n 1 guest.out)" "0 all as it should be"
}
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T"
	elsewhere "in a pid namespace" unshare -p -f
	elsewhere "of another user" setpriv --reuid 65534 --clear-groups
else
	for i in 1 2 3 4; do skip "elsewhere" "not root"; done
fi

# -- hark is gone --

# killed WHEN: hark is killed at once, later, or while it stops.
killed() {
	local i hark

	for i in 1 2; do
		begin "$GUESTS/attach_crowd" end 5
		"$HARK" record -q --force -o k.hark -p $pid &
		hark=$!
		case $1 in
		entering) sleep 0.00$((RANDOM % 10)) ;;
		inside) await inside $pid $hark ;;
		leaving)
			await inside $pid $hark
			kill -INT $hark
			sleep 0.00$((RANDOM % 10))
			;;
		esac
		kill -KILL $hark 2>/dev/null
		wait $hark 2>/dev/null
		finish || return 1
	done
}
for when in entering inside leaving; do
	ok "hark is killed ($when): the program goes on" killed $when 2>/dev/null
done

begin "$GUESTS/attach_crowd" end 5
snapshot >before
"$HARK" record -q -o k2.hark -p $pid &
hark=$!
await inside $pid $hark
kill -KILL $hark
wait $hark 2>/dev/null
ok "what is left of a killed hark gives way to the next" cycles 2 0.1
like "... whose recording replays" "$(verified)" "$GOOD"
snapshot >after
ok "... and nothing is left of either" diff before after
finish
is "... and the program ends well" "$? $(tail -n 1 guest.out)" \
	"0 all as it should be"

# -- hark run -p --

begin "$GUESTS/attach_crowd" end 3
snapshot >before
"$HARK" run --stats -p $pid 2>stats &
hark=$!
await inside $pid $hark
sleep 0.3
like "meanwhile it runs under hark" "$("$HARK" record -p $pid 2>&1)" \
	'^hark: process [0-9]+ runs under hark already$'
kill -TERM $hark
wait $hark
is "hark run -p ends by SIGTERM" "$?" 0
like "... and has translated" "$(cat stats)" '[1-9][0-9]* superblocks'
snapshot >after
ok "... and left nothing behind" diff before after
finish
is "... and the program ends well" "$? $(tail -n 1 guest.out)" \
	"0 all as it should be"

# -- A program that hark has started --

rm -f end && : >guest.out
"$HARK" record --force -o a.hark "$GUESTS/attach_crowd" end 3 >guest.out 2>err &
hark=$!
wait_for ready guest.out
sleep 0.2
kill -INT $hark
ok "SIGINT to hark alone ends the recording" wait_for 'a.hark: [0-9]* bytes' err
like "... which replays" "$(verified)" "$GOOD"
: >end
wait $hark
is "... and the program goes on" "$? $(tail -n 1 guest.out)" \
	"0 all as it should be"

# -- What is refused, in one line --

# refused NAME PATTERN PID
refused() {
	try "$HARK" record -o r.hark -p "$3"
	like "$1" "$status:$(wc -l <"$T/.err"):$err" "^125:1:hark: $2"
}
refused "nobody" 'there is no process 999999999' 999999999
cat >sandbox.py <<'END'
import ctypes, os, struct, time
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
class Program(ctypes.Structure):
    _fields_ = [('n', ctypes.c_ushort), ('code', ctypes.c_void_p)]
libc.prctl(22, 2, ctypes.byref(Program(1, ctypes.addressof(code))), 0, 0)
print('ready', flush=True)
while not os.path.exists('end'):
    time.sleep(0.02)
print('well')
END
begin python3 sandbox.py
refused "a sandboxed process" "process [0-9]* has a seccomp sandbox" $pid
: >end
ends "... and it goes on" "0 well"
sleep 600 &
pid=$!
kill -STOP $pid
await grep -q 'State:.*stopped' /proc/$pid/status
refused "a stopped process" "process $pid is stopped" $pid
kill -CONT $pid
(ulimit -v 4000000 && exec sleep 600) &
limited=$!
await grep -qx sleep /proc/$limited/comm
refused "no room for it" ".*(ulimit -v)" $limited
ok "... and it goes on" kill -0 $limited
kill $pid $limited
wait $pid $limited 2>/dev/null || true
