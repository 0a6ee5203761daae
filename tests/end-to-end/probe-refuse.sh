#!/usr/bin/env bash
# hark probe says why not, in one line, with status 125, and nothing is started
# or changed.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 27

build exact
build traps

# refused NAME PATTERN [STATUS]: it was, in such words; the program did not run.
refused() {
	local lines

	lines=$(grep -c . errors)
	if [ "$status" = "${3:-125}" ] && [ ! -s said ] && [[ $err =~ $2 ]] &&
		[[ ! $err =~ unknown\ option || $2 =~ option ]] &&
		[ "$lines" -le 3 ]; then
		pass "$1"
	else
		fail "$1" "status $status, not ${3:-125}; $lines lines: $err
wanted: $2
$(head -n 3 said)"
	fi
}
# not_at NAME DESCRIPTION PATTERN [PROG]
not_at() {
	probe "pid\$target:$2 { @ = count(); }" "${4:-./exact}" plain 1 1
	refused "$1" "$3"
}
# not_into NAME PID PATTERN
not_into() {
	: >said
	attach 'pid$target:libc:malloc:entry { @ = count(); }' "$2"
	refused "$1" "$3"
}

# -- Places --

not_at "between two instructions" a.out:jump:2 'jump:2: .*instruction'
not_at "beyond the end" a.out:jump:ffff 'beyond the end'
not_at "no such function" a.out:jmup:entry "'jmup'.*jump"
not_at "no such module" nosuch:jump:entry "no module matches 'nosuch'"
not_at "a trap of the program's own" a.out:own_int3:5 'own_int3.*' ./traps
not_at "the vdso" 'linux-vdso.so.1:*clock_gettime:entry' 'vdso|no module'
not_at "the vdso by another name" '[vdso]:*:entry' 'vdso|no module'
not_at "hark's own code" 'hark:*:entry' 'no module|hark'

# -- Scripts --

for bad in '{ @ = cuont(); }' '{ @ = count(; }' '{ x = "a" + 1; }' \
	'/arg0 { @ = count(); }' '{ this->x = nosuch; }' '{ @[1] = count(); @ = sum(1); }'; do
	probe "pid\$target:a.out:jump:entry $bad" ./exact jump 1 1
	refused "script: $bad" 'script.d:[0-9]+:[0-9]+: \[[A-Z_0-9]+\]'
done
probe '' ./exact jump 1 1
refused "an empty script" 'script|probe|clause'
OPTIONS=(-x nosuch=1)
probe 'BEGIN { exit(0); }' ./exact jump 1 1
refused "an unknown option" 'option.*nosuch|nosuch.*option'
OPTIONS=(-x bufsize=99999g)
probe 'BEGIN { exit(0); }' ./exact jump 1 1
refused "far too large a buffer" 'bufsize'
OPTIONS=()
echo old >shown
try hark probe -q -o shown -n 'BEGIN { printf("new"); exit(0); }' -- ./exact jump 1 1
is "a file that is there already is added to" "$status:$(xargs <shown)" "0:old new"
try hark probe -o x -n 'BEGIN { exit(0); }' -- ./nosuch
is "a program that is not there" "$status" 127
: >plain
try hark probe -o x -n 'BEGIN { exit(0); }' -- ./plain
is "a program that cannot be executed" "$status" 126

# -- Processes --

not_into "no such process" 4194300 '4194300'
: >said
bash -c 'exec "$0" probe -n "pid\$target:libc:malloc:entry { @ = count(); }" -p $$' \
	"$HARK" >said 2>errors </dev/null
status=$?
err=$(cat errors)
refused "hark itself" 'itself|own'
if grep -q '^Kthread:\s*1' /proc/2/status 2>/dev/null ||
	[ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	not_into "a thread of the kernel" 2 'kernel|not permitted|program'
else
	skip "a thread of the kernel" "there is none to be seen here"
fi
sleep 100 &
theirs=$!
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null
then
	chmod 755 "$T"
	: >said
	printf 'pid$target:libc:*nanosleep:entry { @ = count(); }\n' >script.d
	cp "$HARK" "$T/hark-copy" 2>/dev/null
	setpriv --reuid=65534 --regid=65534 --clear-groups "$T/hark-copy" probe \
		-s script.d -p $theirs >said 2>errors </dev/null
	status=$?
	err=$(cat errors)
	refused "somebody else's process" 'belongs to root'
	is "which goes on" "$(kill -0 $theirs && echo yes)" yes
	cp exact privileged && chmod 4755 privileged
	printf 'pid$target:a.out:plain:entry { @ = count(); }\n' >script.d
	setpriv --reuid=65534 --regid=65534 --clear-groups "$T/hark-copy" probe \
		-s script.d -- "$T/privileged" plain 1 1 \
		>said 2>errors </dev/null
	status=$?
	err=$(cat errors)
	refused "a set-uid program" 'is not started: .*set-uid'
else
	skip "somebody else's process" "only root can play two people"
	skip "which goes on" "only root can play two people"
	skip "a set-uid program" "only root can play two people"
fi
kill $theirs
# A program of 32 bits: an instruction or two need no library of theirs.
cat >small.S <<'END'
	.globl _start
_start:	mov	$1, %eax
	xor	%ebx, %ebx
	int	$0x80
END
if gcc -m32 -nostdlib -static small.S -o small 2>/dev/null && ./small; then
	probe 'pid$target:a.out:_start:entry { @ = count(); }' ./small
	refused "a program of 32 bits" 'x86-64|32' 126
else
	skip "a program of 32 bits" "the compiler or the kernel cannot"
fi
