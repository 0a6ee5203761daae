#!/usr/bin/env bash
# What cannot or must not be entered is left alone, with a line that says why.
. "$(dirname "$0")/lib.sh"

plan 33
if [ "$(id -u)" != 0 ]; then
	for i in $(seq 33); do
		skip "refusal $i" "setting the scene needs root"
	done
	exit
fi
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
chmod 755 "$T" && cp "$HARK" hark && cp "$GUESTS/refuses" . && chmod 755 hark refuses

# -- Programs --

cat >who.c <<'C'
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("euid %d egid %d\n", (int)geteuid(), (int)getegid()); return 0; }
C
gcc who.c -o who && cp who suid && chmod 4755 suid && cp who sgid &&
	chmod 2755 sgid && cp who caps && setcap cap_net_raw+ep caps &&
	cp who secret && chmod 0711 secret
printf '#!%s\n' "$T/suid" >script && chmod 755 script
is "the scene: natively a set-uid program has its privilege" \
	"$(as_nobody ./suid)" "euid 0 egid 65534"
for kind in suid sgid caps script; do
	try as_nobody ./hark run --native -- ./$kind
	is "$kind: refused before it starts" "$status:$out" 125:
	like "$kind: in one line" "$err" \
		'^hark: \./[a-z]+ is not started: it is set-uid, set-gid or has file capabilities[^
]*$'
done
try as_nobody ./hark run --native -- ./secret
is "unreadable: refused" "$status:$out" 125:
like "unreadable: in one line" "$err" '^hark: [^
]*may be executed but not read[^
]*$'
for kind in suid sgid caps secret script; do
	is "root: $kind runs, privilege and all" \
		"$(./hark run --native -q -- ./$kind)" "$(./$kind)"
done

# -- A privileged program met by a followed child --

try as_nobody ./hark run --native -f -- sh -c './suid; echo after'
is "a followed child executes it with its privilege" "$out" "euid 0 egid 65534
after"
like "... unobserved, as one line says" "$err" \
	'^hark: process [0-9]+ runs unobserved from here: it executes a program that is set-uid'
try as_nobody ./hark run --native -q -f -- sh -c './script; exec ./sgid'
is "... through a script and by exec, too" "$out" "euid 0 egid 65534
euid 65534 egid 0"

long=.
for _ in 1 2 3; do long+=/$(printf 'd%.0s' $(seq 120)); done
mkdir -p "$long" && chmod -R 755 ./ddd* && cp suid "$long/suid" && chmod 4755 "$long/suid"
is "... and under a long name" \
	"$(as_nobody ./hark run --native -q -f -- sh -c "$long/suid")" "$(as_nobody ./suid)"

# -- Processes --

# guest HOW: starts one; its input ends when the script closes descriptor 7.
guest() {
	rm -f in && mkfifo in && : >guest.out
	setpriv --reuid=65534 --regid=65534 --clear-groups ./refuses "$1" \
		<in >guest.out &
	pid=$!
	exec 7>in
	wait_for ready guest.out
	[ "$1" != stopped ] || await grep -q 'State:.*stopped' "/proc/$pid/status"
}
# refused NAME USER PATTERN: hark says so, and the guest ends well.
refused() {
	try $2 ./hark run --native -p $pid
	if [ "$status" = 125 ] && [[ $err =~ ^hark:\ [^$'\n']*$3[^$'\n']*$ ]]; then
		pass "$1: refused"
	else
		fail "$1: refused" "status $status: $err"
	fi
	kill -CONT $pid
	exec 7>&-
	wait $pid
	is "$1: it goes on" "$? $(tail -n 1 guest.out)" "0 fine"
}

guest dumpable
refused "it has forbidden tracing" as_nobody 'forbidden tracing'
guest seccomp
refused "it has a sandbox" as_nobody 'seccomp sandbox'
guest stopped
refused "it is stopped" "" 'is stopped; let it go on first'
guest nofile
refused "it has no descriptor left" "" 'Too many open files'

sleep 600 &
pid=$!
try as_nobody ./hark run --native -p $pid
like "another user's process" "$err" '^hark: .*belongs to root; run hark as root'
./hark run --native -f -q -p $pid &
tracer=$!
await grep -q '^TracerPid:.*[1-9]' "/proc/$pid/status"
try ./hark run --native -p $pid
like "a traced process" "$err" '^hark: .*another debugger or tracer is attached'
kill -INT $tracer
wait $tracer
kill $pid
try ./hark run --native -p 999999999
like "no such process" "$err" '^hark: there is no process 999999999'

# A thread that gets its system calls as signals (kernel 6.4 tells).
: >guest.out
"$GUESTS/dispatch" >guest.out &
pid=$!
there() { grep -q ready guest.out || ended $pid; }
await there
try ./hark run --native -p $pid
kill -USR1 $pid 2>/dev/null
wait $pid
code=$?
if [ $code = 3 ]; then
	skip "syscall user dispatch: refused" "not in this kernel"
	skip "syscall user dispatch: it goes on" "not in this kernel"
else
	like "syscall user dispatch: refused" "$err" '^hark: .*syscall user dispatch'
	is "syscall user dispatch: it goes on" "$code" 0
fi
