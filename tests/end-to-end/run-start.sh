#!/usr/bin/env bash
# also: asan
# hark run: a program starts translated, with nothing attached, and ends as it
# does natively; hark is a good parent of it.
. "$(dirname "$0")/lib.sh"

cp "$HARK" hark && chmod 755 hark "$T"
if [ "$(id -u)" = 0 ]; then
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
else
	as_nobody() { "$@"; }
fi

# twin NAME COMMAND...: natively and through hark; output, errors and status.
twin() {
	local name=$1 a b

	shift
	"$@" >native.out 2>native.err </dev/null
	a=$?
	"$HARK" run -q -- "$@" >hark.out 2>hark.err </dev/null
	b=$?
	if [ $a != $b ]; then
		fail "$name" "status $b, natively $a: $(tail -n 1 hark.err)"
	elif ! cmp -s native.out hark.out || ! cmp -s native.err hark.err; then
		fail "$name" "$(diff native.out hark.out; diff native.err hark.err)"
	else
		pass "$name"
	fi
}

cat >kind.c <<'C'
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
__thread int tls = 5;
int main(int argc, char **argv)
{
	char exe[400] = "", line[200];
	DIR *d = opendir("/proc/self/fd");
	FILE *f = fopen("/proc/self/status", "r");
	sigset_t mask;
	int n = 0, blocked = 0;

	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
		return 9;
	while (readdir(d)) n++;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i < 65; i++)
		blocked += sigismember(&mask, i) == 1;
	while (fgets(line, sizeof line, f))
		if (strncmp(line, "TracerPid", 9) == 0 ||
		    strncmp(line, "Threads", 7) == 0)
			fputs(line, stdout);
	printf("%s %d fds %d tls %d exe %s secure %lu blocked %d\n",
	       argv[argc - 1], argc, n, tls++, strrchr(exe, '/'),
	       getauxval(AT_SECURE), blocked);
	return 7;
}
C
build() { "$@" 2>build.err || { cat build.err >&2; return 1; }; }
build gcc -O1 kind.c -o pie && build gcc -O1 -no-pie kind.c -o nopie &&
	build gcc -O1 -static kind.c -o static &&
	build gcc -O1 -static-pie kind.c -o staticpie &&
	build musl-gcc -O1 kind.c -o musl &&
	build musl-gcc -O1 -static kind.c -o muslstatic || exit 1
printf '#!%s a\n' "$PWD/pie" >script
printf '#!/bin/sh\necho "$0" "$@"; exit 4\n' >shell
chmod +x script shell
printf 'text\n' >text
cp /usr/bin/id privileged && chmod 755 privileged

plan 36

for kind in pie nopie static staticpie musl muslstatic script shell; do
	twin "$kind runs as it does natively" "./$kind" x "y z"
done
twin "a name is searched in PATH" true
twin "closed descriptors stay closed" sh -c 'exec ./pie <&-'

# -- How it ends --

for sig in SEGV KILL TERM ABRT; do
	ulimit -c 0
	{ "$HARK" run -q -- sh -c "kill -$sig \$\$"; } 2>/dev/null
	is "killed by SIG$sig: so is hark" $? $((128 + $(kill -l $sig)))
done
try hark run ./missing
is "not found" "$status:$err" "127:hark: ./missing: No such file or directory"
try hark run ./text
is "not executable" "$status:$err" "126:hark: ./text: Permission denied"
{ printf '\177ELF\001\001\001' && head -c 60 /dev/zero; } >foreign && chmod +x foreign
try hark run ./foreign
like "another processor" "$status:$err" '^126:hark: ./foreign is not started: .*x86-64'

# -- What is refused, in one line --

# refused NAME PATTERN COMMAND...: status 125 and one line.
refused() {
	local name=$1 pattern=$2

	shift 2
	try "$@"
	like "$name" "$status:$(wc -l <"$T/.err"):$out$err" "^125:1:hark: $pattern"
}

refused "-p with a program" "run: -p and a program" "$HARK" run -p $$ true
refused "-o without --native" "run: -o goes with --native" \
	"$HARK" run -o file -- true
refused "--count with --native" "run: --count and --native" \
	"$HARK" run --native --count true
refused "-f with --no-follow" "run: -f and --no-follow" \
	"$HARK" run -f --no-follow true
refused "no program" "run: which program" "$HARK" run
if [ "$(id -u)" = 0 ]; then
	chown root privileged && chmod 4755 privileged
	refused "a set-uid program" './privileged is not started: .*set-uid' \
		as_nobody ./hark run ./privileged
else
	skip "a set-uid program" "not root"
fi
is "-f is accepted" "$(hark run -f -- echo up 2>&1)" up
is "as nobody" "$(as_nobody ./hark run ./pie 2>&1 | tail -n 1)" \
	"$(as_nobody ./pie | tail -n 1)"

# -- A good parent --

: >out
"$HARK" run -q -- sh -c 'trap "echo got; exit 7" TERM; echo up
	while :; do sleep 0.02; done' >out &
pid=$!
ok "the program is up" wait_for up out
kill -TERM $pid
wait $pid
is "a signal to hark reaches it" "$?:$(tail -n 1 out)" 7:got
: >out
"$HARK" run -q -- "$GUESTS/queue" >out &
pid=$!
ok "the program is ready" wait_for ready out
/bin/kill -q 42 -s RTMIN $pid
wait $pid
is "a queued one with its value" "$(tail -n 1 out)" "code -1 value 42"

"$HARK" run -q -- sh -c 'echo $$ >up; until [ -e go ]; do sleep 0.02; done
	/bin/echo lived >lived' &
pid=$!
wait_for . up
is "nothing is attached" "$(awk '/TracerPid/ {print $2}' "/proc/$(cat up)/status")" 0
kill -9 $pid
{ wait $pid; } 2>/dev/null
touch go
ok "a program survives hark's death" wait_for lived lived
gone "$(cat up)"

# -- Beside --

try sh -c 'echo $$; exec "$0" run -q -D -- sh -c "echo \$\$; exit 5"' "$HARK"
is "-D: its own status" "$status" 5
is "-D: the process is the shell's" "$(sort -u <<<"$out" | wc -l)" 1
try hark run -q -D -- sh -c 'read -r c </proc/$$/task/$$/children; echo "[$c]"'
is "-D: it has no foreign child" "$out" "[]"
hark run --stats -D -- sh -c 'sleep 0.1; exit 0' 2>beside.err
ok "-D: hark tells at the end" wait_for translated beside.err

# -- A terminal: ^C as often as one likes, ^Z stops both --

cp "$ROOT/tests/end-to-end/terminal.py" terminal.py
cp "$ROOT/tests/end-to-end/terminal_program.py" program.py
try timeout -s KILL 100 /usr/bin/python3 terminal.py "$HARK" run -- \
	/usr/bin/python3 program.py
is "a terminal's ^C and ^Z" "$out" well
