#!/usr/bin/env bash
# hark ask with an expression that the shell has cut at '>'.
. "$(dirname "$0")/lib.sh"
plan 5

cat >prog.c <<'END'
struct node { int id; struct node *next; } node = {7, &node}, *p = &node;
int main(void) { return p->id - 7; }
END
gcc -g -o prog prog.c
"$HARK" record -q -o a.hark -- ./prog
is "quoted" "$("$HARK" ask a.hark value 'p->id')" "p->id = 7"
for question in value writes last-write; do
	# shellcheck disable=SC2210 # this is the mistake
	"$HARK" ask a.hark $question p->id 2>said
	like "$question: the file that the shell made is named" "$(cat said)" \
		"^hark: ask: 'p-' ends in '-': if 'p->id' was meant, .*'>id'.*in quotes"
done
like "without a file" "$("$HARK" ask a.hark value p- 2>&1 | cat)" \
	"^hark: ask: 'p-' ends in '-'; .* quotes"
