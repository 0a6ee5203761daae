#!/usr/bin/env bash
# hark run --native -f: children and what they execute, as root and as nobody.
. "$(dirname "$0")/lib.sh"

cp "$HARK" hark && chmod 755 hark "$T"
cp "$GUESTS"/{family,exec_from_thread,hello,born_threads,no_tsc,own_group} . && chmod 755 ./*
if [ "$(id -u)" = 0 ]; then
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
else
	as_nobody() { "$@"; }
fi

# same USER NAME COMMAND...: output and status are as natively.
same() {
	local who=$1 name=$2 native code

	shift 2
	native=$($who "$@" 2>&1 </dev/null; echo "status $?")
	code=$($who ./hark run --native -q -f -- "$@" 2>&1 </dev/null
		echo "status $?")
	is "$name" "$code" "$native"
}

# counts NAME WANT COMMAND...: so many processes' worth of programs passed.
counts() {
	local name=$1 want=$2

	shift 2
	try ./hark run --native --stats --json -f -o run.hark --force -- "$@"
	like "$name" "$err" "$want"
}

plan 26
for who in "" as_nobody; do
	whose=${who:+ as nobody}
	same "$who" "every kind of child$whose" ./family
	same "$who" "threads are born while others use descriptors$whose" \
		./born_threads
	same "$who" "a program that may not execute rdtsc$whose" ./no_tsc
	same "$who" "signals to the own process group come once$whose" ./own_group
	same "$who" "a failing exec, then one from a thread$whose" \
		./exec_from_thread /bin/echo one two
	same "$who" "a pipeline$whose" \
		sh -c 'for i in 1 2 3; do echo $i | tr 123 abc | sort -r; done; exit 5'
	same "$who" "python's subprocess$whose" /usr/bin/python3 -c '
import subprocess
print(subprocess.run(["sh", "-c", "echo hi; exit 3"], capture_output=True))'
	same "$who" "signals and traps$whose" \
		sh -c 'trap "echo got" USR1; kill -USR1 $$; echo end'
	same "$who" "a child killed by a signal$whose" \
		sh -c '(kill -SEGV $$); sh -c "kill -9 \$\$"; echo $?'
	same "$who" "a script that runs scripts$whose" \
		sh -c 'f=$(mktemp) && printf "#!/bin/sh\necho in \$1\n" >"$f" &&
			chmod +x "$f" && "$f" 7; rm "$f"'
done

counts "one program is one" '"processes":1,"threads":1,' /bin/true
counts "sh, its child and what that executes are three of two" \
	'"processes":2,"threads":3' sh -c '/bin/true; exit 0'
counts "a thread born later does not pass" '"processes":1,"threads":1,' \
	/usr/bin/python3 -c '
import threading
t = [threading.Thread(target=lambda: 0) for _ in range(3)]
[(x.start(), x.join()) for x in t]'
try hark info --json run.hark
like "the file says how it ended" "$out" '"exit_status":0,.*"complete":true'

./hark run --native -q -f -- sh -c 'echo up >up
	until [ -e go ]; do sleep 0.02; done; echo lived >lived' &
pid=$!
wait_for up up
kill -9 $pid
{ wait $pid; } 2>/dev/null
touch go
ok "a followed program survives hark's death" wait_for lived lived
try ./hark run --native -f -D -- sh -c 'exit 3'
is "-f and -D go together" "$status" 3
