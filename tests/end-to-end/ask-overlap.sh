#!/usr/bin/env bash
# timeout: 200
# One thread counts and meets nobody; another looked once, in the middle. What
# the counter is in the end is what the first one has stored.
. "$(dirname "$0")/lib.sh"
plan 8

cat >prog.c <<'END'
#include <pthread.h>

enum { ROUNDS = 40000000 };

volatile long ready, counter, seen;

static void *look(void *arg)
{
	ready = 1;
	while (counter < 1000)
		;
	seen = counter;
	for (;;) /* one key frame after the other */
		;
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, look, NULL);
	while (ready == 0)
		;
	for (int i = 0; i < ROUNDS; i++)
		counter++;
	*(volatile int *)8 = 1;
	return 0;
}
END
gcc -g -O1 -pthread prog.c -o prog || exit 1

{ "$HARK" record -q --key-every=100000 -o a.hark ./prog; } 2>/dev/null
is "it ends by its fault" $? 139
try hark ask a.hark value seen
like "somebody looked" "$out" '^seen = [1-9][0-9]{3,}$'
seen=${out#seen = }
unlike "before the end" "$out" '= 40000000$'
try hark ask a.hark value counter
is "and the counter went on" "$out" "counter = 40000000"

# When the other one looked, its own view is right: the first has gone on since.
try hark ask a.hark last-write seen
try hark ask a.hark value counter --at "${out%% *}"
is "at the look, it is what was seen" "$out" "counter = $seen"

# No key frame is between the look and the end: the thread that looked waits. And
# a short input, which nobody but a third thread has looked at.
cat >wait.c <<'END'
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 300000 };

volatile long ready, counter, seen, kept;
volatile long input __attribute__((aligned(64)));

static void *look(void *arg)
{
	ready = 1;
	while (counter < 1000)
		;
	seen = counter;
	for (;;)
		pause();
	return arg;
}

static void *take(void *arg)
{
	kept = input;
	return arg;
}

int main(void)
{
	long value = 4711;
	pthread_t t;
	int fd[2];

	input = -1;
	if (pipe(fd) < 0 || write(fd[1], &value, sizeof value) < 0 ||
	    read(fd[0], (void *)&input, sizeof input) < 0)
		return 1;
	pthread_create(&t, NULL, take, NULL);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, look, NULL);
	while (ready == 0)
		;
	for (int i = 0; seen == 0 || i < ROUNDS; i++)
		counter++;
	counter = 77;
	*(volatile int *)8 = 1;
	return 0;
}
END
gcc -g -O1 -pthread wait.c -o wait || exit 1
{ "$HARK" record -q -o w.hark ./wait; } 2>/dev/null
try hark ask w.hark value counter
is "it is what was stored last, though another one saw something else" "$out" \
	"counter = 77"
try hark ask w.hark value input
is "what came from outside is newer than what was stored" "$out" "input = 4711"
try hark ask w.hark value seen
seen=${out#seen = }
try hark ask w.hark last-write seen
try hark ask w.hark value counter --at "${out%% *}"
is "at the look, it is what was seen, or a little more" \
	"$((${out#counter = } >= seen))" 1
