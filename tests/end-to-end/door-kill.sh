#!/usr/bin/env bash
# timeout: 600
# SIGKILL at hundreds of random moments: of hark, then of the target; the other is
# unharmed and files are readable.
. "$(dirname "$0")/lib.sh"

# A random sleep of up to so many milliseconds.
doze() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }

# kill_hark N: kills so many harks while they enter and leave $pid.
kill_hark() {
	local i hark

	for ((i = 0; i < $1; i++)); do
		"$HARK" run --native -q -p "$pid" 2>/dev/null &
		hark=$!
		doze 12
		kill -9 $hark
		{ wait $hark; } 2>/dev/null
		kill -0 "$pid" 2>/dev/null || return 1
	done
}

plan 11
MANY=$(times 30) SOME=$(times 20)

begin "$GUESTS/blocked" end restartable
ok "hark killed $MANY times entering busy and blocked threads" kill_hark "$MANY"
sleep 0.3 # a call that is shorter would be told by then
is "... and no call was interrupted" "$(cat guest.err)" ""
kill $pid
{ wait $pid; } 2>/dev/null
begin "$GUESTS/interrupts" end
ok "hark killed $SOME times entering a storm of signals" kill_hark "$SOME"
kill $pid
{ wait $pid; } 2>/dev/null
is "... and none was lost" "$(grep -v rounds guest.err)" ""
# On its way home a thread opens its mask, and a handler runs first: what it
# returns to must still be there, whoever came meanwhile.
begin "$GUESTS/queue" end
ok "hark killed $MANY times entering a process full of queued signals" \
	kill_hark "$MANY"
kill $pid
{ wait $pid; } 2>/dev/null
is "... and all came, in order" "$(cat guest.err)" ""

# Killed while it starts: the program runs whole, or not at all.
wrong=0
for ((i = 0; i < SOME; i++)); do
	rm -f made alive && mkfifo alive
	"$HARK" run --native -q -- sh -c 'echo a >made; echo b >>made' 3>alive &
	hark=$!
	exec 4<alive
	doze 4
	kill -9 $hark
	{ wait $hark; } 2>/dev/null
	read -r -t 60 _ <&4 # until all who have it open have ended
	exec 4<&-
	[ ! -e made ] || [ "$(cat made)" = "a
b" ] || wrong=$((wrong + 1))
done 2>/dev/null
is "hark killed $SOME times while it starts a program" "$wrong" 0

# The target is killed: hark says so or reports the signal; it never hangs, and
# its file is readable.
hung=0 unreadable=0
for ((i = 0; i < SOME; i++)); do
	"$GUESTS/blocked" 60 >/dev/null 2>&1 &
	pid=$!
	doze 8
	timeout -s KILL 60 "$HARK" run --native -q -o f.hark --force -p $pid 2>/dev/null &
	hark=$!
	doze 12
	kill -9 $pid
	wait $hark
	[ $? != 137 ] || hung=$((hung + 1))
	{ wait $pid; } 2>/dev/null
	[ ! -s f.hark ] || "$HARK" info f.hark >/dev/null 2>info.err ||
		unreadable=$((unreadable + 1))
done 2>/dev/null
is "the target killed $SOME times: hark never hangs" "$hung" 0
is "... and its file can be read" "$unreadable" 0
# The program is killed as soon as it can be found, or a little later.
unreadable=0 wrong=0
for ((i = 0; i < SOME; i++)); do
	"$HARK" run --native -q -o f.hark --force -- sleep 61 2>/dev/null &
	hark=$!
	until program=$(pgrep -P $hark) || ended $hark; do sleep 0.001; done
	doze 4
	kill -9 "$program"
	wait $hark
	case $? in
	125 | 137) ;;
	*) wrong=$((wrong + 1)) ;;
	esac
	[ ! -s f.hark ] || "$HARK" info f.hark >/dev/null 2>info.err ||
		unreadable=$((unreadable + 1))
done 2>/dev/null
is "a program killed $SOME times: hark ends as it did" "$wrong" 0
is "... and files can be read" "$unreadable" 0
