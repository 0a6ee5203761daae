#!/usr/bin/env bash
# hark probe comes to threads that have blocked the very signals that it needs:
# they are told what they believe, while it is there and afterwards; and a
# signal that came meanwhile is neither lost nor let through.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 33

build masks

mkfifo orders
./masks <orders >said &
guest=$!
exec 7>orders
wait_for ready said || exit 1

# reply WORD THREAD: the guest's answer.
reply() {
	local had
	had=$(wc -l <said)
	echo "$1 $2" >&7
	await more "$had" || note "no answer to $1"
	tail -n 1 said | sed 's/.*: //'
}
more() { [ "$(wc -l <said)" -gt "$1" ]; }

come() {
	rm -f shown
	"$HARK" probe -q -o shown -n 'BEGIN { printf("here\n"); }
pid$target:a.out:hot:entry { @n[tid] = count(); }
END { printa("%@d\n", @n); }' -p $guest 2>errors </dev/null &
	hark=$!
	wait_for here shown || note "hark did not come: $(head -n 3 errors)"
}
go() {
	kill -INT $hark
	wait $hark
	is "$1: hark leaves" $? 0
}

# SIGILL 4, SIGTRAP 5, SIGUSR1 10, SIGSEGV 11
BLOCKED=618
TRAP=10

# -- Nobody does anything meanwhile --

come
go "unseen"
for t in 0 1; do
	is "unseen: thread $t has blocked what it had" "$(reply kernel $t)" $BLOCKED
done
is "unseen: thread 2 has blocked nothing" "$(reply kernel 2)" 0

# -- They look; thread 0 hits, too --

come
reply hit 0 >/dev/null
for t in 0 1; do
	is "seen: thread $t believes to have blocked it" "$(reply look $t)" ${BLOCKED}00000000
done
is "seen: thread 2 believes to have blocked nothing" "$(reply look 2)" 0
go "seen"
is "seen: hits are counted" "$(grep -x 1000 shown)" 1000
for t in 0 1; do
	is "seen: thread $t has blocked what it had" "$(reply kernel $t)" $BLOCKED
done

# -- A signal comes meanwhile --

# is_pending WHAT THREAD: a SIGTRAP waits for the thread, which blocks it.
is_pending() { is "$1 $2" "$(reply look $2)" ${BLOCKED}000000$TRAP; }

come
reply hit 0 >/dev/null
for t in 0 1; do
	reply send $t >/dev/null
	is_pending "sent: it is pending in thread" $t
done
go "sent"
for t in 0 1; do
	is_pending "sent: it is still pending in thread" $t
	is "sent: thread $t gets it, once" "$(reply open $t)" $((t + 1))
	is "sent: nothing is left of it" "$(reply look $t)" 0
done

# -- The same, as tgkill() and as kill() send it --

come_to_closed() {
	come
	for t in 0 1 2; do
		reply close $t >/dev/null
	done
}
come_to_closed
for t in 0 1; do
	reply raise $t >/dev/null
	is_pending "tgkill: it is pending in thread" $t
done
go "tgkill"
for t in 0 1; do
	is_pending "tgkill: it is still pending in thread" $t
	is "tgkill: thread $t gets it, once" "$(reply open $t)" 8
done

come_to_closed
reply every 0 >/dev/null
go "kill"
for t in 0 1; do
	is_pending "kill: it is pending for thread" $t
done
is "kill: thread 1 gets it, once" "$(reply open 1)" 9
is "kill: nothing is left of it" "$(reply look 0)" ${BLOCKED}00000000

exec 7>&-
wait $guest

# -- What is ignored is so, for who asks --

cat >ignored.c <<'EOC'
#include <signal.h>
#include <stdio.h>
int main(void)
{
	struct sigaction a;
	sigaction(SIGHUP, NULL, &a);
	puts(a.sa_handler == SIG_IGN ? "ok" : "not ignored");
}
EOC
gcc -O2 ignored.c -o ignored || exit 1
is "ignored before hark came" "$(trap '' HUP && "$HARK" probe -q -o shown \
	-n 'pid$target:a.out:main:entry { @ = count(); }' -- ./ignored)" ok
