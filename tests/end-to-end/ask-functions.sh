#!/usr/bin/env bash
# timeout: 300
# also: asan
# hark ask calls: functions of C++ by parts of their names, inlined functions,
# and clones.
. "$(dirname "$0")/lib.sh"

plan 24

calls() { "$HARK" ask "$file.hark" calls "$@" 2>said; }
# names WHAT: of the functions that are called so, with what they return.
names() { calls "$@" | sed 's/^[^ ]* *//; s/(.*) = / /; s/  (.*//'; }

cat >names.cc <<'END'
#include <cstdio>
#define OWN __attribute__((noinline, noipa))
template <class T> struct Queue {
	T v[4];
	int n = 0;
	OWN void push(T t) { v[n++] = t; }
	OWN T pop() { return v[--n]; }
};
namespace app {
struct Stack {
	int n;
	OWN int pop() { return n--; }
	OWN int operator+(int by) { return n + by; }
	OWN bool open(const char *path) { return path[0] == '/'; }
};
OWN int over(int a) { return a * 2; }
OWN int over(double a) { return (int)a * 3; }
template <class T> OWN T most(T a, T b) { return a > b ? a : b; }
namespace {
OWN int hidden(int a) { return a + 1; }
}
}
int main(int argc, char **argv)
{
	Queue<int> q;
	Queue<char> c;
	app::Stack s{5};
	int sum = 0;

	q.push(argc);
	q.push(2);
	c.push('x');
	sum += q.pop() + c.pop() + s.pop() + (s + 3) + s.open(argv[0]);
	sum += app::over(3) + app::over(2.0) + app::most(4, 3);
	sum += (int)app::most(2.5, 1.5) + app::hidden(argc);
	std::printf("%d\n", sum);
	FILE *f = std::fopen("/dev/null", "r");
	return f == nullptr;
}
END
file=names
g++ -g -O1 -o names names.cc || exit 1
hark record -q -o names.hark -- ./names >/dev/null
is "a method of a template: all of them" "$(names Queue::pop)" \
	"Queue<int>::pop 2
Queue<char>::pop 120 'x'"
is "one of them" "$(names 'Queue<int>::pop')" "Queue<int>::pop 2"
is "the name alone: of all classes" "$(names pop)" "Queue<int>::pop 2
Queue<char>::pop 120 'x'
app::Stack::pop 5"
is "without the namespace" "$(names Stack::pop)" "app::Stack::pop 5"
is "with it" "$(names app::Stack::pop)" "app::Stack::pop 5"
is "a whole name means all overloads" "$(names app::over)" "app::over 6
app::over 6"
is "with parameters: one of them" "$(calls 'over(double)' |
	grep -o '(a = [0-9.]*) = [0-9]*')" "(a = 2) = 6"
is "a template's function" "$(names most)" "app::most<int> 4
app::most<double> 2.5"
is "an operator" "$(names 'operator+')" "app::Stack::operator+ 7"
like "one of an unnamed namespace" "$(calls hidden)" \
	' app::\(anonymous namespace\)::hidden\(a = 1\) = 2  '
is "a whole name goes before a method's" "$(names fopen | sed 's/ 0x.*//')" \
	"fopen"
calls 'Queue<long>::pop' >/dev/null
is "another one" "$?|$(cat said)" \
	"125|hark: there is no 'Queue<long>::pop'"
is "json: which it is" "$(calls pop --json --limit 1 | python3 -c '
import json, sys
c = json.loads(sys.stdin.readline())
print(c["function"], c["inlined"], c["value"], c["caller"]["function"])')" \
	"Queue<int>::pop False 2 main"
is "--limit is of all together" "$(calls pop --limit 2 | wc -l)" 2

# -- Recursion, and two functions of a name that call each other --

cat >turns.cc <<'END'
struct Even { static int turn(int n); };
struct Odd { static int turn(int n); };
#define OWN __attribute__((noinline, noipa, optimize("no-optimize-sibling-calls")))
OWN int Even::turn(int n) { return n == 0 ? 1 : Odd::turn(n - 1) + 1; }
OWN int Odd::turn(int n) { return n == 0 ? 0 : Even::turn(n - 1) + 1; }
int main(void) { return Even::turn(4) - 5; }
END
file=turns
g++ -g -O1 -o turns turns.cc || exit 1
hark record -q -o turns.hark -- ./turns
is "each call has its own result" "$(names turn)" "Even::turn 5
Odd::turn 4
Even::turn 3
Odd::turn 2
Even::turn 1"

# -- Inlined functions --

cat >inlined.c <<'END'
#include <stdio.h>
#define IN static inline __attribute__((always_inline))
volatile int g;
IN int add(int a) { g += a; return g; }
IN int both(int a) { g ^= a; return add(a); }
__attribute__((noinline, noipa)) int outer(int x) { return add(x) * 2; }
static inline int often(int a) { g += 3 * a; return a; }
int (*volatile pointer)(int) = often;
int main(void)
{
	int s = 0;

	for (int i = 0; i < 4; i++)
		s += outer(i) + both(i);
	s += often(s) + pointer(5);
	printf("%d\n", s);
	return 0;
}
END
for how in 'gcc -O0' 'gcc -O1' 'clang -O0' 'gcc -gdwarf-4 -O1'; do
	file=inlined
	# shellcheck disable=SC2086  # a command and its options
	$how -g -w -o inlined inlined.c || exit 1
	rm -f inlined.hark
	hark record -q -o inlined.hark -- ./inlined >/dev/null
	is "$how: every time that an inlined copy begins" \
		"$(calls add | sed 's/^[^ ]* *//' | sort | uniq -c |
			sed 's/^ *//')" "4 add inlined  (in both at inlined.c:5)
4 add inlined  (in outer at inlined.c:6)"
	is "$how: in words" "$(cat said)" \
		"hark: 'add' is inlined at 2 places; it is not called there, so there are no arguments and no result: each time that its code begins is listed"
done
is "copies and calls of one function" "$(file=inlined calls often |
	sed 's/^[^ ]* *//; s/  (.*//')" "often inlined
often(a = 5) = 5"
