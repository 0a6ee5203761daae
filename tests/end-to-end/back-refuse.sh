#!/usr/bin/env bash
# timeout: 300
# also: asan
# What would change a recording is refused by hark back with a line that says
# why, and changes nothing: not the position, nor registers, memory, stack or
# breakpoints.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
plan 45

cat >prog.cc <<'EOF'
#include <cstdio>
#include <cstring>
#include <vector>

int x = 3;
char text[20] = "hello";
std::vector<int> v;
struct counter {
	int n = 1;
	__attribute__((noipa)) int next();
} counts;

int counter::next()
{
	return ++n;
}

__attribute__((noipa)) int twice(int n)
{
	x += n;
	return n * 2;
}

__attribute__((noipa)) int work(int n)
{
	int r = twice(n);

	v.push_back(r + counts.next());
	return r + 1;
}

int main()
{
	int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += work(i);
	printf("%d %zu\n", sum, strlen(text));
	return 0;
}
EOF
g++ -g -O0 prog.cc -o prog
"$HARK" record -q -o prog.hark -- ./prog >/dev/null

STATE=('when' 'info registers' 'x/40xb &x' 'p x' 'bt' 'info breakpoints'
	'info threads')
# state FROM TO: what was said of it between these; a line of hark's may come
# later than what it is about.
state() {
	sed -n "/^$1\$/,/^$2\$/p" <<<"$out" |
		sed '1d;$d;/^hark: this is/d;s/^\$[0-9]* = /value /'
}
# refused NAME LINE COMMAND...: hark's line is said, and all is as it was; then
# reverse execution goes on.
refused() {
	local name=$1 line=$2 before after

	shift 2
	back prog.hark 'handle SIGINT nostop noprint' 'break twice if n == 2' \
		'watch x' 'run' 'continue' 'continue' 'continue' 'continue' \
		'delete 2' 'echo BEFORE\n' \
		"${STATE[@]}" 'echo REFUSE\n' "$@" 'echo AFTER\n' \
		"${STATE[@]}" 'echo ON\n' 'reverse-step' 'reverse-continue' \
		'tbreak work' 'run' 'p n'
	like "$name: says why" "$out" "hark: this is a recording: $line"
	before=$(state BEFORE REFUSE)
	after=$(state AFTER ON)
	is "$name: changes nothing" "$after" "$before"
	like "$name: it goes on, back and forth" "${out##*ON}" \
		'Breakpoint 1, twice \(n=2\).*Temporary breakpoint 3, work.*= 0'
}
CALLS='functions of the program cannot be called'
CHANGES='what happened in it cannot be changed'
refused "a call" "$CALLS" 'p twice(1)'
refused "call" "$CALLS" 'call twice(1)'
refused "a method" "$CALLS" 'p counts.next()'
refused "a function of the library" "$CALLS" 'p strlen(text)'
refused "a call that gdb may make" "(functions|what)" \
	'set may-call-functions on' 'p twice(1)'
refused "set var" "$CHANGES" 'set var x = 1'
refused "set" "$CHANGES" 'set x = 1'
refused "a register" "$CHANGES" 'set $rax = 5'
refused "print with an assignment" "$CHANGES" 'p x = 5' 'p x++' 'p $rip = 0'
refused "jump" 'it goes the way that it went' 'jump main'
refused "return" 'a function returns what it returned' 'return 3'
refused "signal" 'signals come when they came' 'signal SIGINT' \
	'queue-signal SIGINT'
refused "kill" 'nothing runs that could be killed' 'kill'
refused "compile" 'code cannot be added' 'compile code x = 1'

back prog.hark 'tbreak twice' 'run' 'finish' 'p $_strlen(text)' 'set $mine = 7' \
	'p $mine' 'p/x 255' 'p -elements 2 -- text' 'p nothing_such' 'detach'
is "finish, gdb's own functions and variables, formats, options" \
	"$(grep -E '^(Value returned is )?\$[0-9]+ =' <<<"$out" | xargs)" \
	'Value returned is $1 = 0 $2 = 5 $3 = 7 $4 = 0xff $5 = he...'
like "an unknown name is gdb's to say" "$out" 'No symbol "nothing_such" in current'
like "detach says how to go on" "$out" 'hark: no process .*attach PID'
