#!/usr/bin/env bash
# timeout: 280
# hark profile --check: stacks that are taken by what has changed are those that
# a plain walk gives, in programs that make it hard. tests/long/profile-exact.sh
# does the same with compilers and others, a million times.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/profile-check.bash"

plan 23

build_prog
build_torture
gcc -O2 -g -shared -fPIC -xc - -o lib.so <<'EOC' || exit 1
volatile unsigned long sink;
void library_work(void) { for (int i = 0; i < 100000; i++) sink += i; }
EOC

checked "exceptions, longjmp, alloca, signals, coroutines" 100 ./torture 0.7
checked "stacks in turn" 100 ./prog contexts
checked "handlers on an alternate stack" 100 ./prog altstack
checked "longjmp" 100 ./prog leaps
checked "libraries that come and go" 100 ./prog libraries ./lib.so
checked "threads" 100 ./prog threads
checked "deep" 100 ./prog depth 20000
checked "no rules" 100 ./prog nowhere
EXTRA+=(-f)
checked "children" 100 ./prog storm
checked "children that execute" 100 ./prog forkexec
EXTRA=(--check)

# -- What is said of it --

profile ./prog shares
like "the last line" "$(account)" \
	'; N samples checked, N differ; p\.hark$'
like "hark info" "$("$HARK" info p.hark)" \
	'checked +[0-9]+ samples, 0 differ from a plain walk'
is "and as JSON" "$("$HARK" info --json p.hark | /usr/bin/python3 -c '
import json, sys
page = json.load(sys.stdin)
print(page["checked"] >= page["samples"] > 0, page["differ"])')" "True 0"
