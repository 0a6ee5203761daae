#!/usr/bin/env bash
# timeout: 240
# hark profile: what it says of a program is right.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"

plan 36

build_prog

# -- Shares --

profile ./prog shares
unharmed "a program is what it is"
like "the last line tells of it" "$(account)" \
	'^hark: profile: N samples of N thread \(N Hz\)(, N lost \(N no room, N in hark, N faults\))?; p\.hark$'
is "three quarters are three quarters" \
	"$(look share heavy 0.75 share light 0.25 between main 0.98 1)" \
	"yes yes yes"
is "as often as asked for" "$(look samples 850 1150)" yes
is "the file is whole" "$(look complete status processes threads)" \
	"True 0 None 1 1"
EXTRA=(-F 4999 -q)
profile ./prog shares
is "quiet" "$err" ""
is "more often" "$(look samples 4000 6500)" yes
EXTRA=()

# -- Depth --

profile ./prog depth 5000
unharmed "deep"
is "all frames are seen" "$(look deep dive)" 5001
is "nearly always" "$(look outermost libc.so.6 0.9 1 between burn 0.85 1)" \
	"yes yes"
profile ./prog depth 200000
unharmed "very deep"
is "all frames are seen there, too" "$(look deep dive)" 200001
is "and the time, though not each tick" "$(look weight 300 900)" yes
ok "the file is small" [ "$(stat -c %s p.hark)" -lt 4000000 ]

# -- Threads, processes --

profile ./prog threads
unharmed "threads that come later"
is "all are there" "$(look threads between late_thread 0.7 1)" "9 yes"
profile ./prog fork
unharmed "a child"
is "is not sampled" "$(look processes between as_child 0 0 between burn 0.9 1)" \
	"1 yes yes"
EXTRA=(-f)
profile ./prog fork
unharmed "a child that is followed"
is "is sampled" "$(look processes between as_child 0.5 0.9)" "2 yes"
profile ./prog forkexec
unharmed "what it executes"
is "is sampled, too" \
	"$(look processes between as_child 0.3 0.6 between as_next 0.3 0.6)" \
	"2 yes yes"
EXTRA=()
profile ./prog exec
is "what the program executes itself" \
	"$status $(look processes between as_child 0.35 0.65 between as_next 0.35 0.65)" \
	"0 1 yes yes"

# -- Libraries --

cat >lib.c <<'EOC'
volatile unsigned long sink;
void library_work(void) { for (int i = 0; i < 100000; i++) sink += i; }
EOC
gcc -O2 -g -shared -fPIC lib.c -o lib.so || exit 1
profile ./prog libraries ./lib.so
unharmed "a library that comes and goes"
is "is known by name" "$(look between library_work 0.85 1)" yes
EXTRA=(-f)
profile sh -c './prog libraries ./lib.so; true'
EXTRA=()
unharmed "a library that a child loads"
is "is known by name, and its callers are" \
	"$(look between library_work 0.5 1 between main 0.5 1)" "yes yes"

# -- Other programs --

build_prog -static
profile ./prog shares
unharmed "static"
is "static: right" "$(look share heavy 0.75 between main 0.98 1)" \
	"yes yes"
build_prog -s
profile ./prog depth 1000
unharmed "stripped"
is "stripped: nothing is lost of the stack" \
	"$(look outermost libc.so.6 0.9 1)" yes
if command -v musl-gcc >/dev/null; then
	musl-gcc -O2 -g -pthread -D_GNU_SOURCE -DNO_CONTEXTS \
		"$SRC/profile_prog.c" -o prog || exit 1
	profile ./prog shares
	unharmed "musl"
	is "musl: right" "$(look share heavy 0.75 between main 0.98 1)" \
		"yes yes"
else
	skip "musl" "there is no musl-gcc"
	skip "musl: right" "there is no musl-gcc"
fi
cat >throw.cc <<'EOC'
#include <cstdio>
#include <stdexcept>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void thrower(int n)
{
	for (int i = 0; i < 200; i++)
		sink += i;
	if (n == 0)
		throw std::runtime_error("end");
	thrower(n - 1);
	sink++;
}
static double used()
{
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
int main()
{
	long caught = 0, thrown = 0;
	for (double end = used() + 0.7; used() < end;)
		try {
			thrown++;
			thrower(30);
		} catch (const std::runtime_error &) {
			caught++;
		}
	puts(caught == thrown ? "ok" : "wrong");
}
EOC
g++ -O2 -g throw.cc -o throw || exit 1
EXTRA=(-F 9973)
profile ./throw
unharmed "exceptions"
is "exceptions: whole stacks" "$(look between main 0.97 1 between _start 0.97 1)" \
	"yes yes"
profile ./prog status
is "the program's status" "$status" 42
