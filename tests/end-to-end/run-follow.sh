#!/usr/bin/env bash
# timeout: 400
# also: asan
# hark run: whatever the program executes is translated, too; what cannot be
# goes on natively, with one line; nobody is ever left waiting.
. "$(dirname "$0")/lib.sh"

cp "$HARK" hark && chmod 755 hark "$T"
cp "$GUESTS"/{family,exec_from_thread,exec_again,own_group} . && chmod 755 ./*
if [ "$(id -u)" = 0 ]; then
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
else
	as_nobody() { "$@"; }
fi

build() { gcc -O1 -pthread -x c - -o "$1" 2>build.err || { cat build.err >&2; exit 1; }; }

# Children are killed while they ask; others ask at the same time.
build killed <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pid_t start(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)0);
		_exit(1);
	}
	return pid;
}
int main(void)
{
	int good = 0, status;
	for (int i = 0; i < 100; i++) {
		pid_t one = start(), other = start();
		usleep(rand() % 3000);
		kill(one, SIGKILL);
		waitpid(one, &status, 0);
		waitpid(other, &status, 0);
		good += status == 0;
	}
	printf("good %d\n", good);
}
C
# Four threads of each of thirty processes execute at once.
build at_once <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *go(void *arg)
{
	execl("/bin/echo", "echo", "x", (char *)0);
	return arg;
}
int main(void)
{
	int good = 0, status;
	for (int i = 0; i < 30; i++)
		if (fork() == 0) {
			pthread_t t;
			for (int k = 0; k < 8; k++)
				pthread_create(&t, NULL, go, NULL);
			pause();
		}
	while (wait(&status) > 0)
		good += status == 0;
	printf("good %d\n", good);
}
C
# A child that its parent traces: hark cannot.
build traced <<'C'
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int go[2], status = -1;
	pid_t pid;
	char c;
	if (pipe(go) != 0)
		return 9;
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &c, 1) == 1)
			execl("/bin/echo", "echo", "executed", (char *)0);
		_exit(1);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 || write(go[1], "", 1) != 1)
		return 8;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0,
		       status >> 16 == 0 ? (long)WSTOPSIG(status) : 0);
	printf("status %d\n", status);
}
C
# A kernel before 5.16: futex_waitv is not there.
build older <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 449, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog p = {4, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, 2, &p) != 0)
		return 9;
	execv(argv[1], argv + 1);
	return argc;
}
C
cat >chain <<'S'
#!/bin/sh
[ "$1" = 0 ] || exec "$0" $(($1 - 1))
echo end
S
chmod 755 ./*

# same USER NAME COMMAND...: output and status are as natively.
same() {
	local who=$1 name=$2 native code

	shift 2
	# timeout changes what is ignored: so both get it.
	native=$($who timeout -s KILL 150 "$@" 2>&1 </dev/null
		echo "status $?")
	code=$($who timeout -s KILL 150 ./hark run -- "$@" 2>&1 </dev/null
		echo "status $?")
	is "$name" "$code" "$native"
}

# counts NAME PROGRAMS NATIVE COMMAND...: so many were entered, so many not.
counts() {
	local name=$1 want="\"programs\":$2,\"programs_native\":$3,"

	shift 3
	try timeout -s KILL 150 ./hark run -q --stats --json -- "$@"
	like "$name" "$err" "$want"
}

plan 46
for who in "" as_nobody; do
	whose=${who:+ as nobody}
	same "$who" "every kind of child$whose" ./family
	same "$who" "signals to the own process group come once$whose" ./own_group
	same "$who" "a failing exec, then one from a thread$whose" \
		./exec_from_thread /bin/echo one two
	same "$who" "a pipeline$whose" \
		sh -c 'for i in 1 2 3; do echo $i | tr 123 abc | sort -r; done; exit 5'
	same "$who" "python's subprocess$whose" /usr/bin/python3 -c '
import subprocess
print(subprocess.run(["sh", "-c", "echo hi; exit 3"], capture_output=True))'
	same "$who" "a child killed by a signal$whose" \
		sh -c '(kill -SEGV $$); sh -c "kill -9 \$\$"; echo $?'
	same "$who" "a stopped child goes on$whose" bash -c '(kill -STOP $BASHPID
		/bin/echo on) &
		until [[ $(</proc/$!/stat) == *") T "* ]]; do sleep 0.01; done
		kill -CONT $!; wait; echo $?'
	same "$who" "the mask goes with exec$whose" env --block-signal=USR1,INT \
		grep SigBlk /proc/self/status
	same "$who" "ignored signals go with exec$whose" sh -c \
		'trap "" USR2 HUP; exec grep SigIgn /proc/self/status'
done

counts "one program is one" 1 0 /bin/true
counts "sh and what it executes" 3 0 sh -c '/bin/true; exec /bin/true'
counts "a failing exec is none" 2 0 ./exec_from_thread /bin/true
counts "a script counts once for each exec" 41 0 ./chain 40
counts "forked children share their program" 1 0 sh -c '(:); (:); :'
printf 'all: a b c\na b c:\n\t/bin/true\n' >Makefile
counts "make, which uses posix_spawn" 4 0 make -s -j2 all
counts "env and a shell" 3 0 env sh -c '/bin/true; exit 0'
try hark run -q --no-follow --stats --json -- sh -c '/bin/echo up'
like "--no-follow" "$out:$err" '^up:.*"programs":1,"programs_native":0,'

# -- What cannot be followed --

if [ "$(id -u)" = 0 ]; then
	cp /usr/bin/id privileged && chmod 4755 privileged
	try as_nobody ./hark run --stats --json -- sh -c \
		'./privileged -u; ./privileged -u; /bin/echo on'
	is "a set-uid program keeps its privilege" "$out" "0
0
on"
	like "... as a line says" "$err" \
		'^hark: process [0-9]+ goes on natively: .*set-uid.*"programs":2,"programs_native":2,'
	is "... unless with -q" "$(as_nobody ./hark run -q -- sh -c \
		'./privileged -u' 2>&1)" 0
else
	for what in "a set-uid program keeps its privilege" "... as a line says" \
		"... unless with -q"; do
		skip "$what" "not root"
	done
fi
try hark run ./traced
is "a child that asks to be traced goes on natively" "$out:$err" "executed
status 0:"
printf '.globl _start\n_start: mov $1,%%eax\n mov $7,%%ebx\n int $0x80\n' >small.S
if gcc -m32 -nostdlib -static small.S -o small 2>/dev/null && { ./small; [ $? = 7 ]; }; then
	try hark run -- sh -c './small; echo $?; exec ./small'
	like "a program for another processor" "$status:$out:$err" \
		'^7:7:hark: process [0-9]+ goes on natively: it is not an x86-64 program'
else
	skip "a program for another processor" "none can be run here"
fi
if unshare -Urpf true 2>/dev/null; then
	try timeout -s KILL 150 ./hark run --stats --json -- \
		unshare -Urpf sh -c '/bin/echo one; /bin/echo two'
	like "process ids of its own" "$out:$err" \
		'^one.two:.*"programs":4,"programs_native":0,'
else
	skip "process ids of its own" "no namespaces here"
fi

# -- Nobody is left waiting --

try timeout -s KILL 150 ./hark run ./killed
is "askers that are killed" "$out$err" "good 100"
try timeout -s KILL 150 ./hark run ./at_once
is "threads that execute at once" "$(sort <<<"$out" | uniq -c | tr -s ' ')$err" \
	" 1 good 30
 30 x"
try timeout -s KILL 150 ./older ./hark run --stats --json -- \
	sh -c 'for i in 1 2 3 4 5; do /bin/true; done; exit 0'
like "a kernel without futex_waitv" "$err" '"programs":6,'
try timeout -s KILL 150 ./hark run --stats --json -- bash -c '
	for i in {1..140}; do sleep 300 & done; /bin/true; /bin/true
	until [ $(ls /proc/$PPID/fd | wc -l) -gt 140 ]; do sleep 0.1; done
	/bin/true; kill $(jobs -p); wait 2>/dev/null; exit 0'
like "more programs than bells that can be waited for" "$err" \
	'"programs":1[4-9][0-9],"programs_native":0,'

# Signals that hark itself sends on the way in, and others that stop it.
try timeout -s KILL 150 env --block-signal ./hark run --stats --json -- env true
like "every signal is blocked" "$err" '"programs":2,"programs_native":0,'
for signals in "URG" "WINCH CHLD URG" "STOP CONT"; do
	: >storm
	./hark run -q --stats --json ./exec_again 1 >storm 2>storm.err &
	pid=$!
	wait_for ready storm
	child=$(pgrep -P $pid)
	while kill -0 "$child" 2>/dev/null; do
		for signal in $signals; do
			kill "-$signal" "$child" 2>/dev/null
		done
	done
	wait $pid
	is "$signals during exec" "$?:$(tail -n 1 storm)" "0:generations many"
done

lived=0
for i in 1 2 3 4 5; do
	./hark run -q ./exec_again 2 >"again.$i" &
	pid=$!
	wait_for ready "again.$i"
	sleep "0.$((RANDOM % 900 + 100))"
	kill -9 $pid
	{ wait $pid; } 2>/dev/null
done
for i in 1 2 3 4 5; do
	wait_for many "again.$i" && lived=$((lived + 1))
done
is "programs that execute in a loop survive hark's death" "$lived" 5

./hark run -q -- sh -c '(until [ -e go ]; do sleep 0.02; done
	/bin/echo later >later) & exit 6'
is "hark ends with the program" $? 6
touch go
ok "... and its children go on alone" wait_for later later

try timeout -s KILL 150 ./hark run --stats --json -- sh -c 'i=0
	while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done
	ls /proc/$PPID/fd | wc -l; ls /proc/$PPID/task | wc -l'
like "300 commands" "$err" '"programs":305,"programs_native":0,'
is "... leave nothing open in hark" \
	"$(awk 'NR == 1 {print $1 < 40 ? "few" : $1} NR == 2' <<<"$out" | tr '\n' ' ')" \
	"few 2 "
./hark run -q -- sh -c 'sleep 0.3; /bin/echo done >stopped' &
pid=$!
sleep 0.1
kill -STOP $pid
sleep 0.5
kill -CONT $pid
wait $pid
is "a hark that was stopped goes on answering" "$?:$(cat stopped)" 0:done
