#!/usr/bin/env bash
# timeout: 300
# also: asan
# Bytes that a recording does not know: they make ?? of the numbers that they
# are part of, and of nothing else, in hark ask and in gdb.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
plan 43

ask() { timeout 100 "$HARK" ask "$@" 2>&1; }

# -- A structure that is written in part --
cat >part.c <<'EOF'
#include <stdlib.h>
struct bits { unsigned a : 5; unsigned b : 20; unsigned long c : 39; };
union mix { long l; char c[8]; double d; int i[2]; };
struct part {
	int id, pad;
	long sum;
	double d;
	float f[3];
	char *text;
	char name[12];
	struct bits bits;
	union mix u;
	int *list[2];
	long double ld;
	float v __attribute__((vector_size(16)));
	int last;
} *p;
char *words;
char marks[12] = "what? why??";

__attribute__((noipa)) static void work(void)
{
	p->id = 7;
	*(int *)&p->sum = 0x1c0;
	*(int *)&p->d = 5;
	p->f[1] = 1.5f;
	p->text = words;
	p->name[0] = 'a';
	p->name[1] = 'b';
	p->name[4] = 'c';
	*(char *)&p->bits = 3;
	p->u.c[0] = 1;
	*(int *)&p->list[0] = 0x40;
	p->list[1] = &p->id;
	*(short *)&p->ld = 4;
	((float *)&p->v)[1] = 2.5f;
	p->last = 0x3f3f3f3f;
	words[0] = 'x';
	words[1] = 'y';
}

int main(void)
{
	p = malloc(sizeof *p + 100);
	words = malloc(40);
	work();
	return 0;
}
EOF
gcc -g -O0 -w -o part part.c
"$HARK" record -q -o part.hark -- ./part
try hark ask part.hark value '*p'
# asked NAME VALUE: a member of *p, in hark ask.
asked() { like "ask: $1" "$out" "[{ ]$1 = $2[,}]"; }
asked id 7
asked sum '\?\?'
asked d '\?\?'
asked f '\{\?\?, 1\.5, \?\?\}'
asked text '0x[0-9a-f]+ "xy"\.\.\.'
asked name '"ab"\?\?""\?\?"c"(\?\?""){6}\?\?""'
asked bits '\{a = 3, b = \?\?, c = \?\?\}'
asked u '\{l = \?\?, c = "\\001"[?"]*, d = \?\?, i = \{\?\?, \?\?\}\}'
asked list '\{\?\?, 0x[0-9a-f]+\}'
asked ld '\?\?'
asked v '\{\?\?, 2\.5, \?\?, \?\?\}'
asked last 1061109567
is "ask: a bit-field alone" "$(ask part.hark value '(*p).bits.b')" \
	'(*p).bits.b = ??'
is "ask: JSON says it, too" \
	"$(ask part.hark value '(*p).sum' --json | python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["value"], v["bytes"], v["known"], "number" in v)')" \
	'?? c0010000???????? False False'

back part.hark 'tbreak work' 'run' 'finish' 'p *p' 'p p->list' 'p p->sum' \
	'p words' 'info locals' 'p marks' 'p *p@1' \
	"find &p->pad, +8, '?'"
whole=$(value 1)
# printed NAME VALUE: the same, in gdb.
printed() { like "gdb: $1" "$whole" "[{ ]$1 = $2[,}]"; }
printed id 7
printed pad '\?\?'
printed sum '\?\?'
printed d '\?\?'
printed f '\{\?\?, 1\.5, \?\?\}'
printed text '0x[0-9a-f]+ "xy"(<error: [^>]*>)?'
printed name '"ab", \?\? <repeats 2 times>, "c", \?\? <repeats 7 times>'
printed bits '\{a = 3, b = \?\?, c = \?\?\}'
printed u '\{l = \?\?, c = "\\001", \?\? <repeats 7 times>, d = \?\?, i = \{\?\?, \?\?\}\}'
printed list '\{\?\?, 0x[0-9a-f]+\}'
printed ld '\?\?'
printed v '\{\?\?, 2\.5, \?\?, \?\?\}'
printed last 1061109567
like "gdb: an array alone" "$(value 2)" '^\{\?\?, 0x[0-9a-f]+\}$'
like "gdb: a number alone" "$out" 'Cannot access memory at address'
is "gdb: what is a question mark is one" \
	"$(sed -nE 's/^\$[0-9]+ = ("what.*)/\1/p' <<<"$out")" '"what? why??"'
is "gdb: several structures" "$(sed -nE 's/^\$[0-9]+ = \{(\{id.*)\}$/\1/p' <<<"$out")" \
	"$whole"
like "gdb: no mark is found" "$out" 'Pattern not found'
unlike "gdb: no mark is a number" "$(grep '=' <<<"$out" | grep -v marks)" \
	'3f3f3f3f0|455743088|653816|0\.74705'

# -- Vectors, complex numbers and bit-fields --
cat >kinds.c <<'EOF'
#include <complex.h>
#include <stdlib.h>
typedef float four __attribute__((vector_size(16)));
typedef float eight __attribute__((vector_size(32)));
struct holder { four v; };
volatile struct fields { unsigned a : 3; int s : 7; unsigned long big : 40; } x;

__attribute__((noipa)) four vector(four v, float k) { return v * k; }
__attribute__((noipa)) struct holder held(struct holder h) { return h; }
__attribute__((noipa)) float _Complex small(float _Complex c) { return c * 2; }
__attribute__((noipa)) double _Complex wide(double _Complex c, double k) { return c * k; }
__attribute__((noipa)) long double _Complex widest(long double _Complex c) { return c + 1; }
__attribute__((noipa)) __int128 whole(__int128 n) { return n * 2; }
#ifdef __AVX__
__attribute__((noipa)) eight large(eight v, float k) { return v * k; }
#endif

int main(void)
{
	vector((four){1.5f, 3, 4.5f, 6}, 2);
	held((struct holder){{1, 2, 3, 4}});
	small(1 + 2 * I);
	wide(3 - 4 * I, 2);
	widest(5 + 6 * I);
	whole(((__int128)5 << 64) + 7);
#ifdef __AVX__
	large((eight){1, 2, 3, 4, 5, 6, 7, 8}, 2);
#endif
	x.big = 5;
	*(volatile unsigned char *)&x = 0xaa;
	x.s = 4;
	return 0;
}
EOF
gcc -g -O1 -w -o kinds kinds.c
"$HARK" record -q -o kinds.hark -- ./kinds
# call NAME TEXT: what the call of a function is said to be.
call() {
	is "calls: $1" "$(ask "${2:-kinds}.hark" calls "$1" |
		sed -E 's/^[0-9:+]+ +(.*)  \(from .*/\1/')" "$3"
}
call vector kinds 'vector(v = {1.5, 3, 4.5, 6}, k = 2) = {3, 6, 9, 12}'
call held kinds 'held(h = {v = {1, 2, 3, 4}}) = {v = {1, 2, 3, 4}}'
call small kinds 'small(c = 1 + 2i) = 2 + 4i'
call wide kinds 'wide(c = 3 + -4i, k = 2) = 6 + -8i'
call widest kinds 'widest(c = 5 + 6i) = 6 + 6i'
call whole kinds 'whole(n = 0x50000000000000007) = 0xa000000000000000e'
if grep -qw avx /proc/cpuinfo; then
	gcc -g -O1 -w -mavx -o kinds-avx kinds.c
	"$HARK" record -q -o kinds-avx.hark -- ./kinds-avx
	call large kinds-avx "large(v = {1, 2, 3, 4, 5, 6, 7, 8}, k = 2) = {\
2, 4, 6, 8, 10, 12, 14, 16}"
else
	skip "calls: large" "no AVX"
fi
is "a bit-field alone, with --all" "$(ask kinds.hark value x.s --all)" 'x.s = 4'
is "a store to a part of a bit-field says nothing of the whole" \
	"$(ask kinds.hark writes x.s | sed -E 's/^[0-9:+]+ +(.*)  \(.*/\1/' |
		grep '?')" 'x.s: ?? -> ??'
is "a store to all of it does" "$(ask kinds.hark last-write x.s |
	sed -E 's/^[0-9:+]+ +(.*)  \(.*/\1/')" 'x.s: 21 -> 4'
