#!/usr/bin/env bash
# timeout: 180
# long: asan
# Processes in unusual shapes are entered, or left alone in one line; either way
# they go on.
. "$(dirname "$0")/lib.sh"

# guest HOW: `refuses` in that shape; its input ends when 7 is closed.
guest() {
	rm -f in && mkfifo in && : >guest.out
	"$GUESTS/refuses" "$1" <in >guest.out &
	pid=$!
	exec 7>in
	wait_for ready guest.out
	[ "$1" != leader ] || await ended "$pid" # its first thread
}

# visited NAME STATUS PATTERN: one visit ends so, says this, harms nothing.
visited() {
	try timeout -s KILL 60 "$HARK" run --native --stats -p $pid
	like "$1" "$status:$err" "^$2:hark: [^
]*$3[^
]*\$"
	exec 7>&-
	wait $pid
	is "... and it goes on" "$? $(tail -n 1 guest.out)" "0 fine"
}

plan 31

guest leader
visited "the first thread has ended, another lives" 0 '1 thread of 1 process passed'
guest moved
visited "the vdso was moved" 0 '1 thread of 1 process passed'
guest novdso
visited "something else is where the vdso was" 125 'no vdso to enter by'
guest compat
visited "a thread runs 32-bit code" 125 'runs 32-bit code'
guest thread
visited "a single thread has a sandbox" 125 'seccomp sandbox'
try hark run --native -p $$
is "hark's own parent may be visited" "$status:$err" 0:

# -- Numbers that are no process --

begin "$GUESTS/blocked" end
tids=("/proc/$pid/task/"*)
tid=${tids[-1]##*/}
try hark run --native -p "$tid"
is "a thread's number is refused" "$status:$err" \
	"125:hark: $tid is a thread of process $pid; attach to that (-p $pid)"
kernel=$(awk '$2 == 0 && $1 != 1 {print $1; exit}' <(ps -eo pid,ppid))
if [ -n "$kernel" ] && [ ! -e "/proc/$kernel/exe" ]; then
	try hark run --native -p "$kernel"
	like "a kernel thread is refused" "$status:$err" '^125:.*belongs to the kernel'
else
	skip "a kernel thread is refused" "none to be seen here"
fi
if [[ $HARK == *asan* ]]; then
	skip "without /proc: a process" "the sanitizer needs /proc itself"
	skip "without /proc: a program" "the sanitizer needs /proc itself"
elif unshare -m mount -t tmpfs none /proc 2>/dev/null; then
	no_proc() { unshare -m sh -c 'mount -t tmpfs none /proc; exec "$@"' sh "$@"; }
	try no_proc "$HARK" run --native -p 1
	like "without /proc: a process" "$status:$err" '^125:hark: /proc is not mounted'
	try no_proc "$HARK" run --native -- true
	like "without /proc: a program" "$status:$err" '^125:.*in /proc \(is it mounted'
else
	skip "without /proc: a process" "no mount namespace"
	skip "without /proc: a program" "no mount namespace"
fi

# -- Two at a time --

PAIRS=$(times 10)
two() {
	local i a b

	for ((i = 0; i < PAIRS; i++)); do
		"$HARK" run --native -q -p $pid 2>a.err &
		a=$!
		"$HARK" run --native -q -p $pid 2>b.err
		b=$?
		wait $a
		a=$?
		cat a.err b.err >&2
		[[ $a$b =~ ^(0|125)(0|125)$ ]] || return 1
	done
	! grep -v 'another debugger or tracer' a.err b.err
}
ok "two harks at once: one enters, or both are refused" two

# -- What a killed hark leaves is swept away by the next --

KILLS=$(times 15)
for ((i = 0; i < KILLS; i++)); do
	"$HARK" run --native -q -p $pid 2>/dev/null &
	hark=$!
	sleep "0.00$((RANDOM % 10))"
	kill -9 $hark
	{ wait $hark; } 2>/dev/null
done 2>/dev/null
# What a thread that is on its way home still needs stays until it is there; if
# it gets no CPU, that may be later than the next visit.
enters() {
	try hark run --native -p $pid
	[ "$status" = 0 ] || ! [[ $err =~ 'on its way home' ]]
}
swept() {
	enters && ! cat "/proc/$pid/maps" <(ls -l "/proc/$pid/fd") | grep -q memfd
}
await enters
is "after $KILLS killed harks the next one enters" "$status:$err" 0:
ok "... and leaves nothing, when all threads are home" await swept
kill $pid
{ wait $pid; } 2>/dev/null

# -- Stopped and continued meanwhile --

begin "$GUESTS/blocked" end restartable
left=0 visits=0
end=$((SECONDS + $(times 2)))
while ((SECONDS < end)); do
	"$HARK" run --native -q -p $pid 2>/dev/null &
	hark=$!
	"$GUESTS/stopper" $pid $((RANDOM % 25000))
	wait $hark
	visits=$((visits + 1))
	grep -q 'State:.*stopped' "/proc/$pid/status" && left=$((left + 1)) &&
		kill -CONT $pid
done
note "$visits visits"
is "SIGCONT is the last word" "$left" 0
kill -STOP $pid
await grep -q 'State:.*stopped' "/proc/$pid/status" # when it runs next
try hark run --native -p $pid
like "a stopped process is refused" "$err" 'is stopped; let it go on first'
kill -CONT $pid
is "... and its calls were not interrupted" "$(cat guest.err)" ""
kill $pid
{ wait $pid; } 2>/dev/null

# A visit that fails halfway does not break a restartable sequence.
begin "$GUESTS/rseq_count" end
prlimit --pid $pid --nofile=3:3
visits=0
end=$((SECONDS + $(times 1)))
while ((SECONDS < end || visits < 5)); do
	try "$HARK" run --native -p $pid
	visits=$((visits + 1))
done
like "no descriptor is left" "$err" 'Too many open files'
finish
code=$?
if [ $code = 77 ]; then
	skip "... and no increment is lost" "no rseq"
else
	is "... and no increment is lost" "$code $(tail -n 1 guest.out)" "0 lost 0"
fi

# -- Registers and queued signals --

visit_for() {
	local end=$((SECONDS + $1)) n=0

	while ((SECONDS < end || n < 5)); do
		"$HARK" run --native -q -p $pid || return 1
		n=$((n + 1))
	done
	note "$n visits"
}
begin "$GUESTS/registers" end
ok "visits to threads that keep something in every register" visit_for "$(times 1)"
finish
is "... and nothing changes" "$? $(tail -n 1 guest.out)" "0 complaints 0"
begin "$GUESTS/queue" end
ok "visits while queued signals come" visit_for "$(times 1)"
finish
is "... and all come, in order" "$? $(tail -n 1 guest.out)" \
	"0 signals many complaints 0"

# -- Followed --

try timeout -s KILL 60 "$HARK" run --native -f -- "$GUESTS/fork_among_threads" 2
is "a fork while another thread passes" "$status:$out:$err" \
	"0:forks many, 0 bad:"
cat >sandbox.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};
	int status;
	pid_t pid;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	pid = fork();
	if (pid == 0)
		_exit(7);
	waitpid(pid, &status, 0);
	printf("%x\n", status);
	return 0;
}
C
gcc sandbox.c -o sandbox
try hark run --native -f -- ./sandbox
is "a child of a sandbox is let go" "$status:$out" 0:700
like "... as hark says" "$err" 'unobserved from here: .*seccomp sandbox'
# A filter that hark lives under itself, as in a container, is no obstacle.
cat >contain.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	execvp(argv[1], argv + 1);
	return argc;
}
C
gcc contain.c -o contain
try ./contain sh -c 'sleep 600 & "$0" run --native -p $! && "$0" run --native -- echo in
	kill $!' "$HARK"
is "in a container hark works" "$status:$out:$err" 0:in:
