#!/usr/bin/env bash
# hark run: a core file shows the program, not the engine: registers, stacks
# and signal of the thread that crashed, and the stacks of all others.
. "$(dirname "$0")/lib.sh"

pattern=$(cat /proc/sys/kernel/core_pattern)
case $pattern in
core | core.%p) ;;
*)
	plan 1
	skip "core files" "they go elsewhere: $pattern"
	exit 0
	;;
esac

if ! ulimit -c unlimited 2>/dev/null; then
	plan 1
	skip "core files" "there may be none"
	exit 0
fi

cat >crash.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long spins;
static void *spinner(void *arg)
{
	for (;;)
		spins++;
	return arg;
}
static void *sleeper(void *arg)
{
	for (;;)
		sleep(100);
	return arg;
}
__attribute__((noinline)) static int deep(int n, volatile int *p)
{
	if (n == 0)
		asm volatile("mov $0x1111, %%r12d\n\tmov $0x3333, %%r10d\n\t"
			     "mov $0x4444, %%r11d\n\tmovl $1, (%0)"
			     :
			     : "r"(p)
			     : "r10", "r11", "r12", "memory");
	return deep(n - 1, p) + n;
}
int main(int argc, char **argv)
{
	pthread_t t;
	(void)argv;
	pthread_create(&t, NULL, spinner, NULL);
	pthread_create(&t, NULL, sleeper, NULL);
	while (spins < 1000)
		usleep(1000);
	if (argc > 1)
		abort();
	return deep(3, (int *)16);
}
C
gcc -g -O1 -pthread crash.c -o crash || exit 1

# crash ARGS...: $status, and what gdb sees in $out
crash() {
	rm -f core*
	"$HARK" run ./crash "$@" >/dev/null 2>&1
	status=$?
	# shellcheck disable=SC2016 # it is gdb's variable
	out=$(gdb -batch -nx -ex 'info registers r10 r11 r12' -ex 'p $_siginfo' \
		-ex 'thread apply all bt' ./crash core* 2>/dev/null)
}

plan 9
crash
is "the status is SIGSEGV's" "$status" 139
like "r10 is the program's" "$out" 'r10 +0x3333'
like "r11 is the program's" "$out" 'r11 +0x4444'
like "r12 is the program's" "$out" 'r12 +0x1111'
like "so is the address" "$out" 'si_addr = 0x10'
like "the stack is whole" "$out" 'deep \(n=n@entry=3.*'
like "a thread that ran is in its function" "$out" '#0 .* spinner '
like "a thread that slept is in its function" "$out" '#[0-9]+ .* sleeper '
crash by-abort
like "abort() is on the stack" "$out" '#[0-9]+ +0x[0-9a-f]+ in abort \(\) from'
