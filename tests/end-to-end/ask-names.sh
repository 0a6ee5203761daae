#!/usr/bin/env bash
# One name in the program and in a library: which variable an expression means.
. "$(dirname "$0")/lib.sh"
plan 4

cat >lib.c <<'END'
int both = 20, external = 21;
static volatile int hidden = 22;
__attribute__((noinline)) int in_library(void)
{
	return both + external + hidden;
}
END
cat >prog.c <<'END'
int in_library(void);
static volatile int both = 10, hidden = 12;
int main(void)
{
	both++;
	hidden++;
	return in_library() == 0;
}
END
gcc -g -O1 -shared -fPIC -o liblib.so lib.c &&
	gcc -g -O1 -o prog prog.c ./liblib.so || exit 1
"$HARK" record -q -o a.hark -- ./prog
value() { "$HARK" ask a.hark value "$@" | sed 's/.* = //'; }

is "at the end, in the C library: the program's static variable" \
	"$(value both) $(value hidden)" "11 13"
is "... and a library's, where the program has none" "$(value external)" 21
at=$("$HARK" ask a.hark calls in_library | awk '{ print $1 }')
is "in the library: its own" \
	"$(value both --at "$at") $(value hidden --at "$at")" "20 22"
at=$("$HARK" ask a.hark calls main | awk '{ print $1 }')
is "in the program: its own, before they are changed" \
	"$(value both --at "$at") $(value hidden --at "$at")" "10 12"
