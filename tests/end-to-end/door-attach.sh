#!/usr/bin/env bash
# timeout: 300
# hark run --native -p: in and out of running programs that must not notice.
. "$(dirname "$0")/lib.sh"

# cycles N: so many visits, one after the other; fails as soon as one does.
cycles() {
	local i

	for ((i = 0; i < $1; i++)); do
		"$HARK" run --native -q -p "$pid" || return 1
	done
}

# visit_for SECONDS: visit after visit, two at least; fails as soon as one does.
visit_for() {
	local end=$((SECONDS + $1)) n=0

	while ((SECONDS < end || n < 2)); do
		cycles 1 || return 1
		n=$((n + 1))
	done
	note "$n visits"
}

snapshot() {
	cat "/proc/$pid/maps"
	ls -l "/proc/$pid/fd" | awk '{print $9, $10, $11}'
	grep -E '^(Sig[PBIC]|Shd|Tracer|Threads|Seccomp)' "/proc/$pid/status"
}

plan 21

begin "$GUESTS/blocked" end
"$GUESTS/blocked" 0.2 >native.out
snapshot >before
VISITS=$(times 40)
ok "$VISITS visits to 18 busy and blocked threads succeed" cycles "$VISITS"
snapshot >after
ok "maps, descriptors and signal state are as before" diff before after
kill -0 $pid && kill $pid
wait $pid 2>/dev/null
is "none of its calls was interrupted or ended early" "$(cat guest.err)" ""

begin "$GUESTS/blocked" end
visit_for "$(times 1)" >/dev/null
finish
is "its checksum is the native one" "$? $(tail -n 1 guest.out)" \
	"0 $(tail -n 1 native.out)"

begin "$GUESTS/interrupts" end
ok "visits during a storm of interrupting signals succeed" visit_for "$(times 2)"
finish
is "every signal interrupted what it should have" "$? $(tail -n 1 guest.out)" \
	"0 rounds some complaints 0"

begin "$GUESTS/rseq_count" end
ok "visits to restartable sequences succeed" visit_for "$(times 1)"
finish
code=$?
if [ $code = 77 ]; then
	skip "no increment is lost" "no rseq"
else
	is "no increment is lost" "$code $(tail -n 1 guest.out)" "0 lost 0"
fi

begin "$GUESTS/churn" end
ok "visits while threads come and go succeed" visit_for "$(times 1)"
finish
is "every thread did its work" "$? $(tail -n 1 guest.out)" "0 equal, 0 failed"

# An exec in the middle of a visit: everything but the pid is new.
begin "$GUESTS/exec_again" end
ok "visits to a process that keeps executing succeed" visit_for "$(times 1)"
finish
is "... and it goes on" "$? $(tail -n 1 guest.out)" "0 generations many"

begin "$GUESTS/exec_crowd" end
ok "visits to threads of which one executes succeed" visit_for "$(times 1)"
finish
is "... and it goes on" "$? $(tail -n 1 guest.out)" "0 generations many"

# What is reported.
begin "$GUESTS/blocked" end
try hark run --native --stats --json -o visit.hark -p $pid
like "--stats counts every thread" "$err" '"processes":1,"threads":18'
try hark info --json visit.hark
like "the file holds every thread" "$out" '"threads":18.*"complete":true,"lost":0'
finish

# A program that ignores SIGTRAP still does afterwards.
begin python3 -c 'import os, signal, time
signal.signal(signal.SIGTRAP, signal.SIG_IGN)
print("ready", flush=True)
while not os.path.exists("end"):
    time.sleep(0.02)'
grep SigIgn "/proc/$pid/status" >before
cycles "$(times 4)"
grep SigIgn "/proc/$pid/status" >after
ok "an ignored SIGTRAP stays ignored" diff before after
finish
is "... and the program ends well" "$?" 0

# With -f the process is followed until it ends or hark is told to stop.
followed() { grep -q '^TracerPid:.*[1-9]' "/proc/$1/status"; }
begin "$GUESTS/blocked" end
"$HARK" run --native -q -f -p $pid &
hark_pid=$!
await followed $pid
kill -INT $hark_pid
wait $hark_pid
is "-f -p ends on SIGINT" "$?" 0
is "... detached" "$(awk '/TracerPid/ {print $2}' "/proc/$pid/status")" 0
finish
is "... and nothing was noticed" "$? $(tail -n 1 guest.out)" \
	"0 $(tail -n 1 native.out)"
