#!/usr/bin/env bash
# timeout: 240
# hark profile where the kernel gives it no events: by timers of the threads.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"

plan 22

export HARK_CLOCK=timer
build_prog

profile ./prog shares
unharmed "a program is what it is"
like "what clock it was is said" "$err" 'profile: by timers of the threads'
is "three quarters are three quarters" \
	"$(look share heavy 0.75 between main 0.98 1)" "yes yes"
is "fewer samples, which stand for as much" "$(look samples 60 1150 weight 700 1300)" \
	"yes yes"
profile ./prog depth 5000
unharmed "deep"
is "all frames are seen" "$(look deep dive)" 5001
profile ./prog threads
unharmed "threads that come later"
is "all are there" "$(look threads between late_thread 0.7 1)" "9 yes"
EXTRA=(-f)
profile ./prog forkexec
unharmed "what a child executes"
is "is sampled" "$(look processes between as_next 0.2 0.7)" "2 yes"
EXTRA=()
profile ./prog exec
is "what the program executes itself" \
	"$status $(look between as_child 0.3 0.7 between as_next 0.3 0.7)" "0 yes yes"
for kind in trap blocked storm contexts altstack leaps; do
	profile ./prog $kind
	unharmed "$kind"
done

# -- There and back --

mkfifo orders
rm -f guest.out
./prog server <orders >guest.out 2>&1 &
pid=$!
exec 7>orders
wait_for ready guest.out || note "it does not begin"
used() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
burnt() { [ "$(used)" -gt $((marked + $1)) ]; }
timers() { grep -c ^ID /proc/$pid/timers; }
none() { [ "$(timers)" = 0 ]; }
idle() { [ "$(timers)" -le 1 ]; } # the first thread sleeps
armed() { [ "$(timers)" -gt 0 ]; }
same() { /usr/bin/python3 "$SRC/probe_same.py" "$pid"; }
same >before
for how in INT KILL INT; do
	"$HARK" profile -q -o a.hark --force -p "$pid" 2>errors &
	hark=$!
	await armed || note "hark does not come: $(cat errors)"
	marked=$(used)
	await burnt 60
	kill -$how $hark
	wait $hark 2>/dev/null
	if [ $how = KILL ]; then
		ok "hark is killed: timers that tick end by themselves" \
			await idle
	fi
done
ok "hark leaves: no timer is left" none
is "all is as it was" "$(same | diff before -)" ""
is "and threads were sampled" "$(FILE=a.hark look between burn_on 0.9 1)" yes
exec 7>&-
wait $pid
is "the program ends well" "$? $(tail -n 1 guest.out)" "0 ok"
