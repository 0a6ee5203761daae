#!/usr/bin/env bash
# timeout: 600
# hark back: what gdb can do besides going back and forth.  Answers are held
# against what the programs said themselves.
. "$(dirname "$0")/lib.sh"
plan 6

SRC=$ROOT/tests/end-to-end

# Sockets that are made here, and no others.
mkdir -m 700 "$T/run"
export XDG_RUNTIME_DIR=$T/run

# back FILE COMMAND...: a session in batch mode; $out has all that was said.
back() {
	local file=$1 words=() c

	shift
	for c; do words+=(-ex "$c"); done
	out=$(timeout 100 "$HARK" back "$file" -- -nx -batch "${words[@]}" \
		2>&1 </dev/null)
}

# -- What threads are called --
gcc -g -O0 -std=gnu17 -pthread "$SRC/back_named.c" -o named
"$HARK" record -q -o named.hark -- ./named >/dev/null
# names N: those of the N-th list of threads, in the order of their numbers.
names() {
	sed -nE '/^list '"$1"'/,/^end/s/^[ *] [0-9]+ +Thread .* "(.*)" \(at .*/\1/p' \
		<<<"$out" | paste -sd,
}
back named.hark 'break moment' 'run' 'echo list 1\n' 'info threads' \
	'echo end\n' 'continue' 'echo list 2\n' 'info threads' 'echo end\n' \
	'continue' 'echo list 3\n' 'info threads' 'echo end\n' 'continue' \
	'echo list 4\n' 'info threads' 'echo end\n' 'reverse-continue' \
	'reverse-continue' 'echo list 5\n' 'info threads' 'echo end\n'
is "a thread is called as its program" "$(names 1)" named
is "another thread names it" "$(names 2)" 'named,given <&>'
is "it names itself" "$(names 3)" 'named,own name'
is "names are those of the moment" "$(names 4)" 'last of all,own name'
is "backwards, too" "$(names 5)" 'named,given <&>'
printf '#!/bin/sh\nexit 0\n' >script
chmod +x script
"$HARK" record -q -o script.hark -- ./script
back script.hark 'info threads'
like "a script has its own name" "$out" '"script" \(at 1:'
