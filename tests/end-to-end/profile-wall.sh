#!/usr/bin/env bash
# timeout: 300
# hark profile --wall: threads are sampled whether they run or wait.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/waits.bash"

plan 33

EXTRA=(--wall)

# -- Shares --

for flags in -O2 -O0; do
	build_waits $flags
	profile ./waits all
	well "$flags: a program is what it is"
	as_told "$flags: each wait, and what runs, is as long as it was" 0.85 1.1 ""
	is "$flags: the callers of it are known" "$(look between all 0.4 1)" yes
done
like "the last line tells of it" "$(account)" \
	'^hark: profile: N samples and N ms of waiting of N threads \(N Hz\)(, N lost \(N no room, N in hark, N faults\))?; p\.hark$'

# A thread is in one place at a time.
build_waits -O2
profile ./waits deep
is "at the end of 3000 calls" \
	"$(look deep in_deep lasts in_deep 250000000 0.95 1.9)" "3000 yes"
ticks() {
	"$HARK" show --json p.hark | /usr/bin/python3 -c '
import json, sys
p = json.load(sys.stdin)
share = p["weight"] * p["period_ns"] / p["duration_ns"]
print("yes" if share <= 1.02 else share)'
}
is "no more samples than there is time, of one thread" "$(ticks)" yes
EXTRA=(--wall -F 4999)
profile ./waits all
as_told "more often" 0.85 1.1 ""
EXTRA=(--wall)

# -- Threads, processes --

profile ./waits handler
is "in a handler" "$(look between in_handler 0.3 1)" yes
profile ./waits crowd
well "threads that come and go"
profile ./waits storm
well "a storm"
EXTRA=(--wall -f)
profile ./waits fork
as_told "children, and what they execute" 0.85 1.1 ""
EXTRA=(--wall)
profile ./waits fork
is "or not" "$status $(look processes between in_child 0 0)" "0 1 yes"

# -- A program that runs already, and hark killed beside it --

serve
visit --wall
is "attached: hark ends well" $status 0
is "attached: all that wait are seen, all the time" \
	"$(FILE=a.hark look threads between in_forever 0.7 0.8 \
		between in_input 0.2 0.3)" "4 yes yes"
"$HARK" profile --wall -o k.hark -p "$pid" >said 2>errors </dev/null &
hark=$!
written() { [ "$(FILE=k.hark look between in_forever 0.5 1 2>/dev/null)" = yes ]; }
ok "what is in the file is there while it is written" await written
{
	kill -KILL $hark
	wait $hark
} 2>/dev/null
is "killed: the file is whole as far as it goes" \
	"$(FILE=k.hark look complete between in_forever 0.5 1)" "False yes"
end_server "killed"

# -- The program keeps its number, hark works beside it --

(exec "$HARK" profile -D -q --wall -o d.hark -- ./waits deep) >said 2>errors
is "-D: the program's status" "$? $(cat said)" "0 ok"
whole() { [ "$(FILE=d.hark look complete 2>/dev/null)" = True ]; }
ok "-D: the file is whole, soon" await whole
is "-D: and right" "$(FILE=d.hark look deep in_deep)" 3000

# -- In a container: numbers are those that are seen from outside --

cat >crew.c <<'EOC'
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noinline)) void in_work(void)
{
	struct timespec t, e;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &e);
	do {
		for (int i = 0; i < 10000; i++)
			sink++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((t.tv_sec - e.tv_sec) * 1000000000 + t.tv_nsec - e.tv_nsec < 5000000);
}
__attribute__((noinline)) void in_rest(void) { usleep(20000); sink++; }
static void *serve(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (access("end", F_OK) < 0) {
		in_work();
		in_rest();
	}
	return NULL;
}
static void work_long(void)
{
	for (int i = 0; i < 20; i++)
		in_work();
}
/* Writes the numbers of both processes, seen from outside, to "born". */
static int birth(int can_exec)
{
	FILE *born = fopen("born", "w");
	int child, status;

	if (!born || unshare(CLONE_NEWPID) < 0)
		return 2;
	child = fork();
	work_long();
	if (child == 0) {
		if (can_exec)
			execl("/bin/true", "true", NULL);
		_exit(getpid() == 1 ? 0 : 3);
	}
	fprintf(born, "%d %d crew\n%d %d crew\n", getpid(), getpid(), child, child);
	fclose(born);
	wait(&status);
	return status != 0;
}
int main(int argc, char **argv)
{
	pthread_t one, two;

	if (argc > 1)
		return birth(strcmp(argv[1], "exec") == 0);
	pthread_create(&one, NULL, serve, "one");
	pthread_create(&two, NULL, serve, "two");
	puts("ready");
	fflush(stdout);
	serve("zero");
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	return 0;
}
EOC
gcc -O2 -g -pthread -D_GNU_SOURCE crew.c -o crew || exit 1
# numbers FILE: thread, name, and whether it has worked and rested.
numbers() {
	"$HARK" show --json "$1" | /usr/bin/python3 -c '
import json, sys
for t in sorted(json.load(sys.stdin)["threads"], key=lambda t: t["tid"]):
    print(t["pid"], t["tid"], t["name"])'
}
if [ "$(id -u)" = 0 ] && unshare -p -f true 2>/dev/null; then
	begin unshare -p -f ./crew
	crew=$(pgrep -P "$pid")
	"$HARK" profile --wall -o c.hark -p "$crew" >said 2>errors </dev/null &
	hark=$!
	busy() { [ "$(FILE=c.hark look between in_work 0.02 0.9 between in_rest 0.1 0.95 2>/dev/null)" = "yes yes" ]; }
	ok "in a container: work and rest" await busy
	for t in /proc/"$crew"/task/*; do
		echo "$crew ${t##*/} $(cat "$t/comm")"
	done | sort -n -k 2 >want
	kill -INT $hark
	wait $hark
	finish
	is "in a container: threads have one number each" "$(numbers c.hark)" \
		"$(cat want)"
	EXTRA=(-f)
	profile ./crew fork
	is "a container that it makes: the child has its name, and its number" \
		"$status:$(numbers p.hark)" "0:$(sort -n born)"
	profile ./crew exec
	like "what is executed there is not sampled: that is said" \
		"$status:$err" '^0:hark: 1 program was executed without being sampled'
	like "in the file, too" "$("$HARK" show p.hark)" \
		'note: 1 program was executed without'
	EXTRA=(--wall)
else
	for i in 1 2 3 4 5; do
		skip "in a container $i" "there can be none here"
	done
fi

# -- Without privileges --

if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 other
	cp "$HARK" other/hark
	cp waits other/waits
	chown -R 65534 other
	chmod 711 "$T"
	(cd other && setpriv --reuid=65534 --regid=65534 --clear-groups \
		./hark profile --wall -o n.hark -- ./waits all) >said 2>errors
	status=$?
	FILE=other/n.hark as_told "as nobody: right" 0.85 1.1 in_burn
else
	as_told "as nobody: right" 0.85 1.1 in_burn
fi

# -- Nothing is disturbed --

undisturbed "997 Hz" 997
undisturbed "9973 Hz" 9973

# -- What cannot be --

try env HARK_CLOCK=timer "$HARK" profile --wall -o x.hark -- ./waits all
like "no records: that is said" "$status $err" \
	'^125 hark: waits cannot be seen: the kernel gives hark no records of them: '
ok "and no file is made" [ ! -e x.hark ]
