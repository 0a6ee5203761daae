#!/usr/bin/env bash
# timeout: 300
# also: asan
# What a forked process has from its parent is known, and nothing else is taken
# for it.
. "$(dirname "$0")/lib.sh"
plan 28

SRC=$ROOT/tests/end-to-end
gcc -g -O0 -std=gnu17 -pthread -w "$SRC/ask_fork.c" -o family || exit 1
"$HARK" record -q -o family.hark -- ./family 2>/dev/null
# of PROCESS WHAT [OPTION...]: its value.
of() {
	local process=$1 what=$2

	shift 2
	timeout 60 "$HARK" ask family.hark --process "$process" value "$what" \
		"$@" 2>/dev/null | sed 's/^[^=]* = //'
}
is "there are three" "$("$HARK" info --json family.hark |
	grep -o '"processes":[0-9]*')" '"processes":3'

# Both died in abort, three frames below their own functions.
for p in 2 3; do
	is "$p: what the parent wrote" "$(of $p text)" '"from the parent"'
	is "$p: a file" "$(of $p kept)" '"kept in the file"'
	is "$p: on the heap" "$(of $p 'heap[0]')" 15
	is "$p: by another thread" "$(of $p '*by_thread')" 17
	like "$p: the stack goes up to main" \
		"$(timeout 60 "$HARK" ask family.hark --process $p stack)" \
		' child at .* parent at .* main at '
	like "$p: locals of the parent" \
		"$(timeout 60 "$HARK" ask family.hark --process $p stack)" \
		'local = 14'
	is "$p: what others may have written since is not known" \
		"$(of $p '*shared')" '??'
	is "$p: nor what is a new page" "$(of $p '*moved')" '??'
done
is "its own writing counts" "$(of 2 own)" 99
is "and so for the second generation, from before the fork" "$(of 3 own)" 13
is "at the start it is the parent's" "$(of 3 own --at start)" 12
like "who wrote it last is found in the parent" \
	"$(timeout 60 "$HARK" ask family.hark --process 3 last-write 'heap[0]')" \
	'^1:[0-9+]+ .*heap\[0\]: .* -> 15 .*parent at'
at=$(timeout 60 "$HARK" ask family.hark --process 3 last-write 'heap[0]' |
	cut -d' ' -f1)
like "that moment can be gone to" \
	"$(timeout 60 "$HARK" ask family.hark stack --at "$at")" 'parent at .* main at '
try hark ask family.hark --process 3 stack --at "$at"
like "and is of nobody else" "$err" 'that is a moment of process 1, and this is process 3'
like "or in the one between" \
	"$(timeout 60 "$HARK" ask family.hark --process 3 --at start last-write own)" \
	'^2\.1:[0-9+]+ .*own: .* -> 12 .*child at'
out=$(timeout 100 "$HARK" back family.hark --process 3 -- -nx -batch -ex bt \
	-ex 'p heap[0]' -ex 'p text' 2>&1 </dev/null)
like "gdb sees the whole stack" "$out" 'grandchild .* child .* parent .* main '
like "and values" "$out" '= 15.*"from the parent'

# -- What the parent unmaps right after the fork --

gcc -g -O1 -w -o unmap "$SRC/ask_fork_unmap.c" || exit 1
"$HARK" record -q -o unmap.hark -- ./unmap
is "the child has what its parent unmaps right after the fork" \
	"$("$HARK" ask unmap.hark --process 2 value '*kept@16')" \
	'*kept@16 = "the child has it"'
is "... which the parent no longer has" \
	"$("$HARK" ask unmap.hark value '*kept@4')" '*kept@4 = ""??""??""??""??""'
