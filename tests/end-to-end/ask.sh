#!/usr/bin/env bash
# timeout: 900
# same addresses
# hark ask: questions to recordings, held against what the programs said of
# themselves.
. "$(dirname "$0")/lib.sh"
SRC=$ROOT/tests/end-to-end

plan 111

ask() { timeout 300 "$HARK" ask "$@"; }

# record NAME COMMAND...: NAME.hark, and what the program said in NAME.out.
record() {
	local name=$1
	shift
	rm -f "$name.hark"
	"$HARK" record -q -o "$name.hark" -- "$@" >"$name.out"
}

# wrong NAME: prints what hark ask says otherwise than the program did. It says the
# same things at each mark; each of them is asked for at one of these, one after the
# other in turn, or at as many as HARK_EFFORT says.
wrong() {
	ask "$1.hark" calls mark --json >marks.json || return 1
	python3 - "$HARK" "$1" <<'EOF'
import json, os, subprocess, sys

hark, name = sys.argv[1:]
effort = int(os.environ.get("HARK_EFFORT") or 1)
marks = [json.loads(line)["position"] for line in open("marks.json")]
said, n, asked = {}, 0, 0
for line in open(name + ".out"):
    frame, _, rest = line.rstrip("\n").partition(" ")
    if frame == "mark":
        n += 1
    else:
        said.setdefault((frame, rest.partition(" = ")[0]), []).append((n, rest))
for i, ((frame, what), moments) in enumerate(said.items()):
    for k, (at, rest) in enumerate(moments):
        if (k - i) % len(moments) >= effort:
            continue
        r = subprocess.run(
            [hark, "ask", name + ".hark", "value", what, "--at", marks[at],
             "--frame", frame], capture_output=True, text=True, timeout=300)
        asked += 1
        if r.stdout != rest + "\n":
            print(f"at {marks[at]}: {rest}: {r.stdout}{r.stderr}")
all_said = sum(map(len, said.values()))
if n != len(marks) or all_said < 10 or asked < len(said):
    print(f"{n} marks, {len(marks)} calls, {all_said} values, {asked} questions")
EOF
}

# -- Values, however the program was compiled --

# build NAME FLAGS...: and the answers must be right.
values() {
	local name=$1
	shift
	"$@" -w -o "v-$name" || return 1
	record "v-$name" "./v-$name"
	is "values: $name" "$(wrong "v-$name")" ""
}
C=$SRC/ask_values.c CC=$SRC/ask_values.cc
values gcc-O0 gcc -g -O0 "$C"
values gcc-O2 gcc -g -O2 "$C"
values gcc-static gcc -g -O1 -static "$C"
values gcc-no-pie gcc -g -O2 -no-pie "$C"
values gcc-dwarf4 gcc -gdwarf-4 -O2 "$C"
values gcc-dwarf2 gcc -gdwarf-2 -gstrict-dwarf -O0 "$C"
values gcc-types gcc -g -fdebug-types-section -O0 "$C"
values gcc-types4 gcc -gdwarf-4 -fdebug-types-section -O0 "$C"
values gcc-split gcc -g -gsplit-dwarf -O0 "$C"
values gcc-split4 gcc -gdwarf-4 -gsplit-dwarf -O0 "$C"
values gcc-packed gcc -g -gz -O0 "$C"
values clang-O0 clang -g -O0 "$C"
values clang-O2 clang -g -O2 "$C"
values clang-dwarf4 clang -gdwarf-4 -O1 "$C"
values c++-O0 g++ -g -O0 "$CC"
values c++-O2 g++ -g -O2 "$CC"
values c++-static g++ -g -O0 -static "$CC"
values c++-types g++ -gdwarf-4 -fdebug-types-section -O0 "$CC"
values clang++ clang++ -g -O0 "$CC"

# -- The program is not needed, nor its debug file, if it was bundled --

mv v-gcc-O0 elsewhere
is "without the program" "$(wrong v-gcc-O0)" ""
mv elsewhere v-gcc-O0
cp v-gcc-O0 whole
objcopy --only-keep-debug whole whole.debug
strip --strip-all --add-gnu-debuglink=whole.debug whole 2>/dev/null ||
	{ strip whole && objcopy --add-gnu-debuglink=whole.debug whole; }
record whole ./whole
pos=$(ask v-gcc-O0.hark calls mark --json | head -n 1 |
	python3 -c 'import json,sys; print(json.load(sys.stdin)["position"])')
is "debug information beside the program" \
	"$(ask whole.hark value total --at "$pos")" \
	"$(ask v-gcc-O0.hark value total --at "$pos")"
rm -f bundled.hark
"$HARK" record -q --bundle-debug -o bundled.hark -- ./whole >/dev/null
mv whole.debug away.debug
like "without it: only names" "$(ask whole.hark value total 2>&1)" \
	"there is no 'total'"
like "bundled: it is in the recording" "$(ask bundled.hark value total)" \
	'^total = 6$'
mv away.debug whole.debug

# -- Every write, and no other --

cat >writes.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { int left; short right[2]; };
static volatile int counter;
struct pair pair;
char buffer[100];
static unsigned state = 1;

int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		state = state * 1103515245 + 12345;
		counter = (int)(state >> 3);
		printf("%d\n", counter);
	}
	pair.left = 7;
	pair.right[1] = -9;
	memset(buffer, 'x', argc * 20);
	memcpy(buffer + 3, "hello", 5);
	return argc - 2;
}
EOF
gcc -g -O0 -o writes writes.c
gcc -g -O2 -static -o writes-static writes.c
for w in writes writes-static; do
	record $w ./$w 20000
	ask $w.hark writes counter >$w.list
	sed -n 's/^.* -> \(-\?[0-9]*\)  (main at writes.c:[0-9]*)$/\1/p' \
		$w.list >$w.values
	ok "20,000 writes: all of them ($w)" cmp $w.out $w.values
done
sed -n '2,$s/^.* counter: \(-\?[0-9]*\) -> .*$/\1/p' writes.list >before
is "each found what the one before left" \
	"$(cmp before <(head -n -1 writes.out) && echo same)" same
is "--limit" "$(ask writes.hark writes counter --limit 5)" \
	"$(head -n 5 writes.list)"
from=$(sed -n '1000{s/ .*//;p}' writes.list)
to=$(sed -n '1010{s/ .*//;p}' writes.list)
is "--from and --to" \
	"$(ask writes.hark writes counter --from "$from" --to "$to" |
		head -n 10)" "$(sed -n 1000,1009p writes.list)"
is "last-write" "$(ask writes.hark last-write counter)" \
	"$(tail -n 1 writes.list)"
is "last-write before a moment" \
	"$(ask writes.hark last-write counter --at "$to")" \
	"$(sed -n 1009p writes.list)"
is "the value just before" \
	"$(ask writes.hark value counter --at "$to")" \
	"counter = $(sed -n 1009p writes.out)"
like "a field by its name" "$(ask writes.hark writes pair)" \
	'pair\.left: .* -> 7  \(main at writes\.c:18\)'
like "an element of a field" "$(ask writes.hark writes pair)" \
	'pair\.right\[1\]: .* -> -9  \(main at'
like "the field alone" "$(ask writes.hark writes 'pair.right[1]')" \
	'^[0-9:+]+ +pair\.right\[1\]: .* -> -9'
like "by its address" "$(ask writes.hark last-write '&pair.left')" \
	'pair\.left: .* -> 7  '
like "bytes" "$(ask writes.hark last-write buffer+3:1)" \
	'buffer\+3:1: 0x78 -> 0x68  \('
like "where a function is" "$(ask writes.hark value '&main')" \
	'^&main = 0x[0-9a-f]+ <main>$'
# The thread's own words are reached with small numbers, through fs.
for at in 0 0x10 0xfffffffffffffff8; do
	is "nothing is at $at" "$(ask writes.hark value "$at")" \
		"$at = ?? ?? ?? ?? ?? ?? ?? ??"
done
like "the whole buffer" "$(ask writes.hark value buffer)" \
	'^buffer = "xxxhellox{32}"'
n=$(ask writes.hark reads counter | wc -l)
is "reads" "$n" 20000

# -- Calls --

cat >calls.c <<'EOF'
#include <stdio.h>
#include <setjmp.h>
struct small { int a; float b; };
struct big { long v[5]; };
enum mood { GLAD = 1, SAD };
static jmp_buf env;
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) double mix(char c, const char *s, double d, struct small x, struct big y, enum mood m, float f, long a, long b, long e) { return d + x.a + (double)y.v[4] + f + c + s[0] + m + a + b + e; }
__attribute__((noinline)) struct big give(int n) { struct big b = {{n, n, n, n, n * 2}}; return b; }
__attribute__((noinline)) struct small give_small(int n) { struct small s = {n, n / 2.0f}; return s; }
__attribute__((noinline)) long double wide(long double x) { return x * 2; }
__attribute__((noinline)) void leave(int n) { longjmp(env, n); }
__attribute__((noinline)) _Bool is_odd(unsigned char c) { return c & 1; }
int main(void)
{
	struct small s = {3, 1.5f};
	struct big b = {{1, 2, 3, 4, 5}};

	printf("%d\n", fib(5));
	printf("%g\n", mix('c', "text", 2.25, s, b, SAD, 0.5f, 7, 8, 9));
	printf("%ld\n", give(4).v[4]);
	printf("%d\n", give_small(5).a);
	printf("%Lg\n", wide(1.5L));
	if (setjmp(env) == 0) {
		leave(3);
		puts("it came back");
	}
	return is_odd(2);
}
EOF
for o in 0 2; do
	gcc -g -O$o -fno-ipa-cp -fno-ipa-sra -fno-ipa-icf \
		-fno-optimize-sibling-calls -o calls calls.c -w
	record calls ./calls
	is "O$o: every call of a recursive function" \
		"$(ask calls.hark calls fib | sed 's/^[^ ]* *//; s/  (.*//' | head -n 4)" \
		"fib(n = 5) = 5
fib(n = 4) = 3
fib(n = 3) = 2
fib(n = 2) = 1"
	mix=$(ask calls.hark calls mix)
	like "O$o: arguments of many kinds" "$mix" \
		"mix\\(c = 99 'c', s = 0x[0-9a-f]+ .*\"text\", d = 2.25, x = \\{a = 3, b = 1.5\\}, y = \\{v = \\{1, 2, 3, 4, 5\\}\\}, m = SAD, f = 0.5, a = 7, b = 8, e = 9\\) = 251.75  "
	like "O$o: a result in memory" "$(ask calls.hark calls give)" \
		'give\(n = 4\) = \{v = \{4, 4, 4, 4, 8\}\}'
	like "O$o: one in a register" "$(ask calls.hark calls give_small)" \
		'give_small\(n = 5\) = \{a = 5, b = 2.5\}'
	like "O$o: a long double" "$(ask calls.hark calls wide)" \
		'wide\(x = 1.5\) = 3  '
	like "O$o: one that never returns" "$(ask calls.hark calls leave)" \
		'leave\(n = 3\) does not return'
	like "O$o: a bool" "$(ask calls.hark calls is_odd)" '= false  \(from main'
done
is "fib is called" "$(ask calls.hark calls fib | wc -l)" 15
from=$(ask calls.hark calls fib | sed -n '4{s/ .*//;p}')
is "calls from one of them on" \
	"$(ask calls.hark calls fib --from "$from" | head -n 1)" \
	"$(ask calls.hark calls fib | sed -n 4p)"
gcc -O1 -o calls-bare calls.c -w
record calls-bare ./calls-bare
like "without debug information: registers" \
	"$(ask calls-bare.hark calls fib | head -n 1)" \
	'fib\(rdi = 0x5, rsi = 0x[0-9a-f]+, .*\) = 0x5  '

# -- Lines --

at=$(grep -n 'counter = ' writes.c | cut -d: -f1)
for w in writes writes-static; do
	ask $w.hark calls "writes.c:$at" >$w.visits
	is "every time that a line was executed ($w)" "$(wc -l <$w.visits)" 20000
	like "and where ($w)" "$(sed -n 777p $w.visits)" \
		"^1:[0-9+]+ +main at writes.c:$at\$"
done
# Each visit, then the write that is done there, before the next visit.
is "the line comes before what it writes" "$(sed 's/ .*//' writes.visits |
	paste -d '\n' - <(sed 's/ .*//' writes.list) | sed 's/^1://' | awk -F+ '
	$1 < count || ($1 == count && $2 + 0 < step) { print NR ": " $0 }
	{ count = $1 + 0; step = $2 + 0 }' | head -n 3)" ""
from=$(sed -n '1000{s/ .*//;p}' writes.visits)
is "from one of them on" \
	"$(ask writes.hark calls "writes.c:$at" --from "$from" --limit 3)" \
	"$(sed -n 1000,1002p writes.visits)"
is "the whole path, and JSON" \
	"$(ask writes.hark calls "$PWD/writes.c:$at" --limit 1 --json |
		python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["position"], v["thread"], v["function"], v["line"])')" \
	"$(sed -n '1s/ .*//p' writes.visits) 1 main $at"
try ask writes.hark calls writes.c:1
like "a line without code" "$status|$err" \
	'^125\|hark: there is no code at writes.c:1; the next is at line [0-9]+$'
try ask writes.hark calls wrote.c:1
is "a file that is not there" "$status|$err" \
	"125|hark: there is no code at wrote.c:1"
try ask writes.hark calls writes.c:0
like "no line" "$status|$err" '^125\|hark: '

# -- Registers and stacks --

cat >stack.c <<'EOF'
#include <stdio.h>
static inline __attribute__((always_inline)) int inner(int *p, int n)
{
	volatile int deep = n + 1;

	*p = deep;
	return deep;
}
__attribute__((noinline)) static int middle(int n, const char *who)
{
	volatile int mine = n * 2;

	return inner((int *)0, mine) + who[0];
}
int main(int argc, char **argv)
{
	volatile long count = 12345678901;

	return middle(argc + 20, "me") + (int)count;
}
EOF
for o in 0 2; do
	gcc -g -O$o -o stack stack.c
	record stack ./stack 2>/dev/null
	s=$(ask stack.hark stack)
	like "O$o: the inlined function is on the stack" "$s" \
		'^#0 +0x[0-9a-f]+ inner at .*stack\.c:6 \(inlined\)'
	like "O$o: with its locals" "$s" 'deep = 43'
	like "O$o: and its caller" "$s" '#1 +0x[0-9a-f]+ middle at '
	like "O$o: with locals" "$s" 'mine = 42'
	like "O$o: and main" "$s" '#2 +0x[0-9a-f]+ main at .*stack\.c:19'
	like "O$o: down to the start" "$s" '_start'
done
is "a line of an inlined function: the crash" \
	"$(ask stack.hark calls stack.c:6 | wc -l)" 1
like "regs" "$(ask stack.hark regs)" 'rip +0x[0-9a-f]{16}  middle'
is "the same by name" "$(ask stack.hark value '$rip' | sed 's/.* = //')" \
	"$(ask stack.hark regs --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["registers"]["rip"])')"
is "json: values of all accesses" "$(for how in writes reads; do
	ask writes.hark "$how" counter --limit 1 --json
done | python3 -c 'import json, sys
print(*("value" in json.loads(line) for line in sys.stdin))')" 'True True'
is "json: keys of a value" "$(ask writes.hark value pair.left --json |
	python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["what"], v["type"], v["size"], v["value"], v["number"], v["known"])')" \
	"pair.left int 4 7 7 True"

# What an instruction reads that writes it as well is what it found.
cat >both.c <<'EOF'
int counter;
int main(void)
{
	for (int i = 0; i < 3; i++)
		__asm__ volatile("incl %0" : "+m"(counter));
	return 0;
}
EOF
gcc -g -O1 -o both both.c
record both ./both
is "a read-modify-write reads what was there" \
	"$(ask both.hark reads counter | sed 's/.*counter: \([0-9?]*\) .*/\1/' |
		xargs)" "0 1 2"
is "in JSON, too" "$(ask both.hark reads counter --json | python3 -c '
import json, sys
print(*(json.loads(l)["value"] for l in sys.stdin))')" "0 1 2"

# -- Threads --

cat >threads.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;
__thread int own;
__attribute__((noinline)) void mark(int n) { __asm__ volatile("" ::"r"(n)); }
static void *run(void *p)
{
	own = (int)(long)p * 100;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
	}
	mark(own);
	return NULL;
}
int main(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", shared);
	return 0;
}
EOF
gcc -g -O1 -pthread -o threads threads.c
record threads ./threads
is "writes of three threads, in the one order there was" \
	"$(ask threads.hark writes shared | sed 's/.* -> \([0-9]*\)  .*/\1/' |
		cmp - <(seq 300) && echo same)" same
is "its value" "$(ask threads.hark value shared)" "shared = $(cat threads.out)"
at=$(grep -n 'shared++' threads.c | cut -d: -f1)
is "a line of three threads" "$(ask threads.hark calls "threads.c:$at" |
	cut -d: -f1 | sort | uniq -c | xargs)" "100 2 100 3 100 4"
is "every thread calls mark" "$(ask threads.hark calls mark | wc -l)" 3
ask threads.hark calls mark --json >marks.json
is "each has its own thread-local variable" "$(python3 - "$HARK" <<'EOF'
import json, subprocess, sys
for line in open("marks.json"):
    m = json.loads(line)
    r = subprocess.run([sys.argv[1], "ask", "threads.hark", "value", "own",
                        "--at", m["position"]], capture_output=True, text=True)
    want = m["arguments"][0]["value"]
    if r.stdout != f"own = {want}\n":
        print(m, r.stdout, r.stderr)
EOF
)" ""

# A variable that nothing protects: every write, and each finds what the one
# before has left.
cat >racy.c <<'EOF'
#include <pthread.h>
volatile long n;
static void *run(void *p)
{
	for (int i = 0; i < 1000; i++)
		n++;
	return p;
}
int main(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
EOF
gcc -g -O1 -pthread -o racy racy.c
record racy ./racy
is "writes without a lock" "$(ask racy.hark writes n |
	awk 'NR > 1 && $3 != last { print } { last = $5 } END { print NR }')" 4000

# Threads that take turns: what is asked of all of them is told in that order.
cat >turns.c <<'EOF'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
__attribute__((noinline)) int act(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 2; /* here */
}
__attribute__((noinline)) int deep(int n)
{
	return n == 0 ? act(turn) : deep(n - 1) + 1;
}
static void *run(void *p)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 3 != (int)(long)p)
			pthread_cond_wait(&changed, &lock);
		deep(turn % 4);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}
int main(void)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], 0, run, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
EOF
gcc -g -O1 -fno-optimize-sibling-calls -pthread -o turns turns.c
record turns ./turns
is "calls of threads that take turns" \
	"$(ask turns.hark calls act | sed 's/^[^ ]* *//; s/  (.*//')" \
	"$(for i in $(seq 0 59); do echo "act(n = $i) = $((2 * i))"; done)"
is "the first of them" "$(ask turns.hark calls act --limit 7)" \
	"$(ask turns.hark calls act | head -n 7)"
at=$(grep -n 'here' turns.c | cut -d: -f1)
is "a line of threads that take turns" \
	"$(ask turns.hark calls "turns.c:$at" | cut -d: -f1 | tr -d '\n')" \
	"$(for _ in $(seq 20); do printf 234; done)"
is "calls within calls, each with its result" \
	"$(ask turns.hark calls deep | sed 's/^[^ ]* *//; s/  (.*//' | head -n 7)" \
	"deep(n = 0) = 0
deep(n = 1) = 3
deep(n = 0) = 2
deep(n = 2) = 6
deep(n = 1) = 5
deep(n = 0) = 4
deep(n = 3) = 9"
is "all of them" "$(ask turns.hark calls deep | grep -c '= [0-9]*  (from')" 150

# -- What is near is not looked for in the whole recording --

hark record -q --key-every=20 -o many.hark -- "$GUESTS/back_shared" >/dev/null
ok "there are many segments" [ "$(hark info many.hark | awk '/^key frames/ { print $3 }')" -gt 100 ]
try ask many.hark regs
like "registers" "$status:$out" '^0:rax '
ok "... need no index" [ ! -e many.hark.index ]
try ask many.hark value n
is "a global" "$status:$out" "0:n = 120"
frames=$(ask many.hark stack | grep -c '^#')
try ask many.hark regs --frame $((frames - 1))
like "registers of the last frame" "$status:$out" '^0:.*rip .*_start'
try ask many.hark regs --frame $frames
is "there is none behind it" "$status:$err" \
	"125:hark: there are $frames frames, from 0"

# -- Mistakes --

try ask writes.hark value countr
like "near names" "$status|$err" \
	"^125\\|hark: there is no 'countr'; near it: 'counter'"
try ask writes.hark value pair.lft
is "no such field" "$status|$err" \
	"125|hark: there is no field 'lft' in 'struct pair'; near it: 'left'; it has left, right"
try ask writes.hark value counter --at 9:1
like "no such moment" "$status|$err" '^125\|hark: '
try ask writes.hark wonder
is "no such question" "$status|$err" \
	"125|hark: ask: 'wonder' is no question; see 'hark help ask'"
try ask nothing.hark value x
like "no such file" "$status|$err" '^125\|hark: nothing.hark'
try ask writes.hark last-write main
is "nobody wrote it" "$status" 1
