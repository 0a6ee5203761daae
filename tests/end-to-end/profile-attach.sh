#!/usr/bin/env bash
# timeout: 240
# hark profile comes to a process that runs, and leaves it as it was; and what
# it says when it cannot.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"

plan 33

build_prog
mkfifo orders

# same: all that hark could leave something in.
same() { /usr/bin/python3 "$SRC/probe_same.py" "$pid"; }
# burnt N: the process has used N ticks of CPU time more than at the last mark.
used() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
mark() { marked=$(used); }
burnt() { [ "$(used)" -gt $((marked + $1)) ]; }
sampling() { [ -n "$(grep -s hark-probe "/proc/$pid/maps")" ]; }

start() { # [PROG]
	rm -f guest.out
	./"${1:-prog}" server <orders >guest.out 2>&1 &
	pid=$!
	exec 7>orders
	wait_for ready guest.out || note "it does not begin"
}
end() {
	exec 7>&-
	wait $pid
	is "$1: the program ends well" "$? $(tail -n 1 guest.out)" "0 ok"
}

# come [OPTION...]: hark in the background, which is there when this returns.
come() {
	"$HARK" profile -o a.hark --force "$@" -p "$pid" >said 2>errors </dev/null &
	hark=$!
	await sampling || note "hark does not come: $(cat errors)"
}
go() {
	kill "$1" $hark
	wait $hark
}

# -- There and back --

start
same >before
mark
come
await burnt 60 || note "it does not burn"
go -INT
is "SIGINT: hark ends well" $? 0
same >after
is "SIGINT: all is as it was" "$(diff before after)" ""
ok "SIGINT: the program goes on" kill -0 "$pid"
is "threads that were there are sampled" \
	"$(FILE=a.hark look threads between burn_on 0.9 1 complete)" "2 yes True"
like "and that is said" "$(account)" '^hark: profile: N samples of N threads'
come
go -TERM
is "SIGTERM: hark ends well" $? 0
same >after
is "SIGTERM: all is as it was" "$(diff before after)" ""

# Again and again, as often as can be: a tick that is on its way when hark
# leaves has nobody to go to.
again_and_again() {
	for ((i = 0; i < 15; i++)); do
		come -q -F 20000
		mark
		await burnt 5
		go -INT || note "hark: $?"
		kill -0 $pid || break
	done
	is "$1: $i times" $i 15
}
again_and_again "a tick finds nobody"
same >after
is "all is as it was" "$(diff before after)" ""

# -- Two at a time, one after one that was killed --

come
try "$HARK" profile -o b.hark -p "$pid"
is "a second hark is refused" "$status" 125
like "and told why" "$err" '^hark: .*process '"$pid"
ok "and leaves no file" [ ! -e b.hark ]
kill -KILL $hark
wait $hark 2>/dev/null
mark
await burnt 20
ok "killed: the program goes on" kill -0 "$pid"
come
mark
await burnt 20
go -INT
is "killed: the next one comes in" $? 0
same >after
is "killed: all is as it was before both" "$(diff before after)" ""
end "all of it"

# A tick that was due when the thread fell asleep comes when it is woken.
gcc -O2 -g -pthread "$SRC/profile_pipes.c" -o pipes || exit 1
start pipes
same >before
again_and_again "a tick finds a thread that waits"
same >after
is "threads that wait: all is as it was" "$(diff before after)" ""
end "threads that wait"

# -- A program that has blocked everything before hark comes --

build_prog -DBLOCKS
start
same >before
mark
come
await burnt 60
go -INT
same >after
is "blocked: all is as it was" "$(diff before after)" ""
is "blocked: sampled all the same" "$(FILE=a.hark look between burn_on 0.9 1)" yes
end blocked

# -- Threads in every kind of call --

"$GUESTS/blocked" enough >guest.out 2>&1 &
pid=$!
wait_for ready guest.out || note "it does not begin"
for ((i = 0; i < 6; i++)); do
	come -q
	go -INT
done
: >enough
wait $pid
like "no call is disturbed by coming and going" "$(tail -n 1 guest.out)" \
	'complaints 0$'

# -- The program keeps its number, hark works beside it --

(exec "$HARK" profile -D -q -o d.hark -- ./prog fork) >said 2>errors
is "-D: the program's status" "$? $(cat said)" "0 ok"
whole() { [ "$(FILE=d.hark look complete 2>/dev/null)" = True ]; }
ok "-D: the file is whole, soon" await whole

# -- Without privileges --

if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 other
	cp "$HARK" other/hark
	cp prog other/prog
	build_prog
	cp prog other/prog
	chown -R 65534 other
	chmod 711 "$T"
	is "as nobody: it runs" "$(cd other && setpriv --reuid=65534 \
		--regid=65534 --clear-groups ./hark profile -q -o n.hark \
		-- ./prog shares 2>&1)" ok
	is "as nobody: right" \
		"$(FILE=other/n.hark look share heavy 0.75)" yes
else
	skip "as nobody: it runs" "hark is nobody special here"
	skip "as nobody: right" "hark is nobody special here"
fi

# -- In a container, where the program has the number of another process here --

sleep 1000 &
other=$!
rm -f guest.out
cat >inside.sh <<'EOC'
echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid || exit 1
./contained server
exit $?
EOC
cp prog contained
if [ "$(id -u)" = 0 ] &&
	unshare -p -f --mount-proc sh -c 'echo 99 >/proc/sys/kernel/ns_last_pid' \
		2>/dev/null; then
	unshare -p -f --mount-proc sh inside.sh $other <orders >guest.out 2>&1 &
	outer=$!
	exec 7>orders
	wait_for "ready $other" guest.out || note "it has no such number"
	pid=$(pgrep -x contained -s 0 || pgrep -x contained)
	mark
	come
	await burnt 40 || note "it does not burn"
	go -INT
	exec 7>&-
	wait $outer
	is "in a container: names are its own" \
		"$(FILE=a.hark look processes between burn_on 0.9 1)" "1 yes"
else
	skip "in a container: names are its own" "there can be none here"
fi
kill $other

# -- What cannot be --

try "$HARK" profile -o x.hark -- ./no-such-program
is "no such program" "$status $err" \
	"127 hark: ./no-such-program: No such file or directory"
ok "and no file" [ ! -e x.hark ]
: >plain
try "$HARK" profile -o x.hark -- ./plain
is "no program" "$status" 126
try "$HARK" profile -F 0 -- ./prog
is "no frequency" "$status $err" \
	"125 hark: profile: -F takes a number from 1 to 20000; see 'hark help profile'"
try "$HARK" profile
is "nothing to profile" "$status $err" \
	"125 hark: profile: which program?; see 'hark help profile'"
