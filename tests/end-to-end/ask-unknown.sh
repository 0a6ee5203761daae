#!/usr/bin/env bash
# timeout: 300
# also: asan
# Bytes that a recording does not know: they make ?? of the numbers that they
# are part of, and of nothing else, in hark ask and in gdb.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
plan 33

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
