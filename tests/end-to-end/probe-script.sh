#!/usr/bin/env bash
# also: asan
# hark probe: what is wrong with a command line, a script or a process is said
# in one line, with status 125, and nothing was started.
. "$(dirname "$0")/lib.sh"

plan 60

cat >prog.c <<'END'
#include <stdio.h>
struct item { long value; struct item *next; };
__attribute__((noinline)) long hot(struct item *it)
{
	__asm__ volatile("");
	return it->value;
}
int main(void)
{
	struct item it = {42, NULL};

	puts("the program ran");
	return hot(&it) != 42;
}
END
gcc -g -O2 prog.c -o prog

# refuses NAME PATTERN ARGUMENT...: status 125, one line that says why, and the
# program did not run.
refuses() {
	local name=$1 pattern=$2

	shift 2
	try hark probe "$@"
	if [ "$status:$out" = 125: ] && [ "$(wc -l <<<"$err")" = 1 ] &&
		[[ $err =~ ^hark:\ .*$pattern ]]; then
		pass "$name"
	else
		fail "$name" "status $status, out: $out, err: $err"
	fi
}

# -- The command line --

refuses "no script" 'which probes\?' -- ./prog
refuses "no program" 'which program\?' -n 'hot:entry'
refuses "an empty command" 'which program\?' -n 'hot:entry' -c ' '
refuses "-p and -c" 'exclude each other' -n 'hot:entry' -p 1 -c ./prog
refuses "-D and -p" '-D is for a program' -n 'hot:entry' -D -p 1
refuses "-D and -l" '-D and -l exclude' -n 'hot:entry' -D -l ./prog
refuses "an option that is none" "unknown option '-Z'" -Z -n 'hot:entry' ./prog
refuses "an unknown option of scripts" \
	"unknown option 'bufsiz'; there are bufsize, .*destructive" \
	-x bufsiz=1m -n 'hot:entry' ./prog
refuses "a size that is none" 'option bufsize=4x: it is a number' \
	-x bufsize=4x -n 'hot:entry' ./prog
refuses "a rate that is none" 'option switchrate=slow: it is a rate' \
	-x switchrate=slow -n 'hot:entry' ./prog
refuses "a policy that is none" 'it is switch, fill or ring' \
	-x bufpolicy=drop -n 'hot:entry' ./prog
refuses "an option without its value" 'option strsize needs a value' \
	-x strsize -n 'hot:entry' ./prog

# -- Scripts --

refuses "a function that does not exist" '-n:1:13: \[FUNC_UNDEF\]' \
	-n 'hot:entry { x(1); }' ./prog
refuses "an aggregating function that does not" '-n:1:[0-9]+: \[AGG_FUNC\]' \
	-n 'pid$target:a.out:hot:entry { @n = cuont(); }' ./prog
refuses "text that is no script" '-n:1:[0-9]+: \[SYNTAX\]' \
	-n 'hot:entry { trace(; }' ./prog
refuses "an empty script" '-n:1:1: \[EMPTY\]' -n '' ./prog
refuses "an argument that was not given" '\[MACRO\]' \
	-n 'hot:entry /arg0 == $1/ {}' ./prog
refuses "destruction without leave" '\[DESTRUCTIVE\]' \
	-n 'hot:entry { stop(); }' ./prog
refuses "too many parts" '\[PROBE\]' -n 'a:b:c:d:e { trace(1); }' ./prog
refuses "a member that is not there" "\[MEMBER\] .*'nxet'" \
	-n 'a.out:hot:entry { trace(args[0]->nxet); }' ./prog
try hark probe -n 'hot:entry { x(1); y(2); }' ./prog
is "all mistakes are said" "$(grep -c FUNC_UNDEF <<<"$err")" 2

printf 'a.out:hot:entry\n{\n\tnosuch();\n}\n' >bad.d
refuses "a file is named" 'bad\.d:3:2: \[FUNC_UNDEF\]' -s bad.d ./prog
refuses "of several texts, the right one" 'bad\.d:3:2: ' -n 'hot:entry' \
	-s bad.d ./prog
refuses "a file that is not there" 'nosuch\.d: No such file' -s nosuch.d ./prog
refuses "a directory" 'Is a directory' -s . ./prog
head -c 1100000 /dev/zero | tr '\0' ' ' >large.d
refuses "a file that is too large" 'large\.d: a script has at most' -s large.d \
	./prog
printf '#pragma D option nosuch=1\nBEGIN {}\n' >pragma.d
refuses "an unknown option in a script" \
	"pragma\.d:1:1: \[PRAGMA\] unknown option 'nosuch'" -s pragma.d ./prog
head -c 4096 /dev/urandom >noise.d
try hark probe -s noise.d ./prog
is "noise is no script" "$status:$out" 125:
try bash -c '"$HARK" probe -s - ./prog <bad.d'
like "a script may come from standard input" "$err" 'standard input:3:2: '
refuses "a rate that is none" \
	"1:1: \[PERIOD\] 'profile-7parsecs' is no rate: write profile-N" \
	-n 'profile-7parsecs { @ = count(); }' ./prog
refuses "a rate that is too high" "1:1: \[PERIOD\] 'profile-10us' is too often" \
	-n 'profile-10us { @ = count(); }' ./prog

# -- Probes --

refuses "an unknown function names a near one" \
	"no function matches 'hto'; there is hot" \
	-n 'pid$target:a.out:hto:entry { @n = count(); }' ./prog
refuses "one of several that is unknown" "no function matches 'nosuchname'" \
	-n 'hot:entry { @n = count(); } a.out:nosuchname:entry { @m = count(); }' \
	./prog
refuses "an unknown module" "no module matches 'libnosuch'" \
	-n 'pid$target:libnosuch:hot:entry { @n = count(); }' ./prog
refuses "an unknown provider" "unknown provider 'syscall'" \
	-n 'syscall::read:entry { @n = count(); }' ./prog
refuses "another process" 'process 1 is not the one' \
	-n 'pid1:a.out:hot:entry { @n = count(); }' ./prog
refuses "an offset beyond the end" 'beyond the end' \
	-n 'a.out:hot:ffff { @n = count(); }' ./prog
refuses "an offset that is no instruction" 'no instruction starts there' \
	-n 'a.out:main:1 { @n = count(); }' ./prog
refuses "an unknown probe of the programmer's" "no probe of the program's own" \
	-n 'usdt$target:::nosuch { @n = count(); }' ./prog

# -- Programs --

try hark probe -n 'hot:entry { @n = count(); }' -- ./nosuch
is "a program that is not there" "$status" 127
touch plain
try hark probe -n 'hot:entry { @n = count(); }' -- ./plain
is "a program that cannot be executed" "$status" 126
refuses "a process that is not there" 'process 999999999' \
	-n 'hot:entry { @n = count(); }' -p 999999999
refuses "a process id that is none" "'x' is no process id" -n 'hot:entry' -p x

sleep 60 &
pid=$!
await grep -q '^230 ' /proc/$pid/syscall
before=$(cat /proc/$pid/maps)
refuses "a running process without the function" \
	"no function matches 'nosuchname'" \
	-n 'nosuchname:entry { @n = count(); }' -p $pid
refuses "a running process and a bad script" 'FUNC_UNDEF' \
	-n 'hot:entry { x(); }' -p $pid
is "it is as before" "$(cat /proc/$pid/maps)" "$before"
"$HARK" run --native -f -q -p $pid &
tracer=$!
await grep -q "^TracerPid:[[:space:]]*$tracer$" /proc/$pid/status
refuses "a process that another traces" "another debugger or tracer" \
	-n 'nanosleep:entry { @n = count(); }' -p $pid
kill -INT $tracer
wait $tracer
kill $pid
if [ "$(id -u)" = 0 ]; then
	cp "$HARK" hark
	chmod 755 . hark
	sleep 60 &
	pid=$!
	try setpriv --reuid 65534 --regid 65534 --clear-groups ./hark probe \
		-n 'nanosleep:entry { @n = count(); }' -p $pid
	is "a process of somebody else's" "$status:$(wc -l <<<"$err")" 125:1
	like "says why" "$err" '^hark: .*belongs to root'
	kill $pid
else
	skip "a process of somebody else's" "needs root"
	skip "says why" "needs root"
fi

# -- Output files --

try hark probe -o out -n 'a.out:nosuch:entry { @n = count(); }' ./prog
is "no file is left of a failure" "$status:$([ -e out ] || echo 1)" \
	125:1
echo old >out
try hark probe -o out -n 'a.out:nosuch:entry { @n = count(); }' ./prog
is "one that was there stays" "$(cat out)" old
ln -s prog link
refuses "a symbolic link is not written through" 'link: ' -o link \
	-n 'a.out:hot:entry { @n = count(); }' ./prog
refuses "a directory cannot be written to" 'Is a directory' -o . \
	-n 'a.out:hot:entry { @n = count(); }' ./prog

# -- Lists of scripts --

try hark probe -l -n 'a.out:hot:entry /arg0/ { @n = count(); }' -- ./prog
like "a script can be listed" "$out" ' hot +entry .*1 probes: '
printf '#!/usr/bin/env hark\nBEGIN { x = 1; }\na.out:hot:entry { x = 2; }\n' >ok.d
try hark probe -l -s ok.d -- ./prog
is "a file, too, whose first line is for the shell" "$status" 0
try hark probe -l -n 'a.out:hot:entry' -n 'hot:entry { trace(1); }' ./prog
like "a probe that is named twice is one" "$out" '1 probes: '
try hark probe -l -n 'a.out:hot:entry' -c './prog with words'
is "-c takes a command line" "$status" 0
try hark probe -l -n 'a.out:$1:entry' -c ./prog hot
like "and then operands are arguments" "$out" ' hot +entry '
try hark probe -l -n "$PWD/prog:hot:entry /arg0 != 0/ {}" ./prog
like "a module may be a path" "$out" ' hot +entry '

# -- Help --

ok "the man page has the language" \
	grep -q 'SH AGGREGATIONS' <(hark help --man probe)
