#!/usr/bin/env bash
# also: asan
# What is hark's own affair - its file, its signals, its waiting - stays hark's:
# the program does not notice.
. "$(dirname "$0")/lib.sh"

plan 28

# -- Files --

{
	"$HARK" run --native -f -o - -- sh -c 'exec >/dev/null
		until [ -e go ]; do sleep 0.01; done; /bin/true; echo on >on; exit 3'
	echo $? >status
} 2>err | { head -c 1 >/dev/null; exec <&-; touch go; wait_for . status; }
is "nobody reads hark's file: the program goes on" "$(cat on status)" "on
3"
is "... as hark says once" "$(cat err)" \
	"hark: standard output: Broken pipe; no more is written"
try sh -c 'ulimit -S -f 64; exec "$0" run --native -f -o big.hark -- sh -c "
	i=0; while [ \$i -lt 250 ]; do /bin/true; i=\$((i + 1)); done; exit 3"' "$HARK"
is "hark's file may not grow: the program goes on" "$status" 3
is "... as hark says once" "$err" \
	"hark: big.hark: File too large; no more is written"
try hark info --json big.hark
like "... and what is there is readable" "$out" '"threads":[0-9]{3},.*"complete":false'
is "no file may be written at all: refused" "$( (ulimit -f 0
	"$HARK" run --native -o f.hark -- true; echo "status $?") 2>&1 | cat)" \
	"hark: f.hark: File too large
status 125"
ok "... and none is left" test ! -e f.hark
(ulimit -f 0; "$HARK" run --native -- ./missing 2>full.err)
is "hark's own words may not grow a file: no harm" "$?" 127
try hark run --native -o f.hark -- ./missing
ok "a program that does not start leaves no file" test ! -e f.hark
try hark run --native -o f.hark -p 999999999
ok "nor does a process that is not there" test ! -e f.hark
echo mine >f.hark
try hark run --native -o f.hark -- true
like "what exists is not replaced" "$err:$(cat f.hark)" '--force replaces it\):mine'
mkfifo fifo
for what in fifo /dev/full .; do
	try hark run --native --force -o $what -- echo ran
	like "--force does not replace $what, and says so" "$status:$out:$err" \
		"^125::hark: $what: (File exists|Is a directory)$"
done
echo text >victim && ln -s victim link
try hark run --native --force -o link -- true
is "--force replaces a link, not what it points to" \
	"$status $(cat victim) $(readlink link)" "0 text "
hark run --native -o whole.hark -- true
{ head -c 200 whole.hark; head -c 200 /dev/zero; } >damaged.hark
try hark info damaged.hark
like "a damaged file is not called cut off" "$out:$err" \
	'no: it is damaged.*damaged at byte'
for what in / /dev/zero /dev/null; do
	try timeout 60 "$HARK" info $what
	is "hark info $what" "$status:${err%%:*}" 125:hark
done

# -- Signals --

: >out
"$HARK" run --native -q -- "$GUESTS/queue" >out &
pid=$!
ok "the program is ready" wait_for ready out
/bin/kill -q 42 -s RTMIN $pid
wait $pid
is "a queued signal to hark reaches it with its value" "$(tail -n 1 out)" \
	"code -1 value 42"

# At a terminal ^C is the program's, as often as one likes; ^Z stops both (a
# shell must be in between: nobody could continue an orphan).
cp "$ROOT/tests/end-to-end/terminal.py" terminal.py
cp "$ROOT/tests/end-to-end/terminal_program.py" program.py
for mode in "" -f; do
	rm -f stop
	try timeout -s KILL 100 /usr/bin/python3 terminal.py "$HARK" run --native $mode -- \
		/usr/bin/python3 program.py
	is "a terminal's ^C and ^Z${mode:+ with -f}" "$out" well
done

# As nobody every system call stops; twenty processes that make nothing else
# must not keep hark from its own signals.
cat >busy.c <<'C'
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 20 && fork() != 0; i++)
		;
	alarm(100);
	write(1, "up\n", 3);
	for (;;)
		getppid();
}
C
gcc busy.c -o busy 2>/dev/null
cp "$HARK" hark-copy && chmod 755 . busy hark-copy
: >out
if [ "$(id -u)" = 0 ]; then
	setsid setpriv --reuid=65534 --regid=65534 --clear-groups \
		./hark-copy run --native -q -f -- ./busy >out &
else
	setsid "$HARK" run --native -q -f -- ./busy >out &
fi
pid=$!
ok "twenty busy processes are up" wait_for up out
first=$(pgrep -o -P $pid)
kill -TERM $pid
await test ! -e "/proc/$first" # the program: hark has seen its end
kill -TERM $pid
{ wait $pid; } 2>/dev/null
is "hark hears a signal among busy processes" $? 143
kill -KILL -- -$pid

# A daemon outlives the program: hark stays with it, and one SIGINT is enough.
"$HARK" run --native -q -f -- sh -c '(sleep 600 & echo $! >daemon) & wait; exit 7' &
pid=$!
wait_for . daemon
childless() { [ "$(pgrep -c -P $pid)" = 0 ]; }
await childless
ok "hark stays with a daemon" kill -0 $pid
kill -INT $pid
wait $pid
is "... until it is told to stop; the status is the program's" $? 7
is "... and the daemon lives on, by itself" \
	"$(awk '/TracerPid/ {print $2}' "/proc/$(cat daemon)/status")" 0
kill "$(cat daemon)"
