#!/usr/bin/env bash
# Whoever travels in a recording has it replayed by a process that can do
# nothing else; and what becomes of that process is no harm to the program.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 11

build_image look rel "$ROOT/tests/end-to-end/travel_sandbox.c" || exit 1
gcc -std=gnu17 -O2 -w -D_GNU_SOURCE -I"$ROOT/src" -o craft \
	"$ROOT/tests/end-to-end/record_craft.c" \
	"$ROOT/tests/unit/record_encode.c" "$ROOT/build/rel/libhosted.a" \
	-lcheck -Wl,-Bstatic -lz -llzma -lzstd -lxxhash -liberty \
	-Wl,-Bdynamic -pthread -ldl || exit 1
hark record -q -o prog.hark -- "$GUESTS/hello" >/dev/null

is "it has no files, no new rights, and few system calls" \
	"$(./look prog.hark look 5</dev/null 9>/dev/null)" \
	"NoNewPrivs: 1; Seccomp: 2; 0 other files; 0 pages of code that can be written, some that were"
like "one that is killed is told, and another one can be had" \
	"$(./look prog.hark kill)" \
	'^-1 the replay was killed by signal 9 .*; 0; -1$'
is "it takes no signals of others" "$(./look prog.hark interrupt)" "it went on"
is "a thread that opens it may end" "$(./look prog.hark threads)" \
	"another thread went on"
is "the program's signals are its own" "$(./look prog.hark signals)" \
	"0 handlers, 0 blocked, the same stack"
is "a forked copy of the program does not end it" \
	"$(./look prog.hark fork)" "it went on"

# replayer_of PID: its child, once it is in the sandbox.
replayer_of() {
	local child=

	for ((i = 0; i < 600; i++)); do
		! ended "$1" || break
		read -r child _ <"/proc/$1/task/$1/children"
		! grep -qs 'Seccomp:.*2' "/proc/$child/status" || break
		sleep 0.1
	done
	echo "$child"
}

# hark itself.
"$HARK" gdbserver --listen unix:"$PWD/sock" prog.hark >server.log 2>&1 &
server=$!
replayer=$(replayer_of $server)
like "hark gdbserver has it, too" \
	"$(grep Seccomp: "/proc/$replayer/status")" '2$'
kill -KILL $server
wait $server 2>/dev/null
for ((i = 0; i < 600; i++)); do
	[ -d "/proc/$replayer" ] || break
	sleep 0.1
done
ok "it ends when hark is killed" test ! -d "/proc/$replayer"

# Memory that a recording makes it take: 2 GiB, and as much for the marks.
./craft fill.hark fill || exit 1
try env HARK_MAX_MEMORY=300M ./look fill.hark seek
is "a replay that takes too much memory is ended" "$out" \
	"-1 the replay took more than 300 MiB of memory, and was ended: HARK_MAX_MEMORY=BYTES allows more"
try env HARK_MAX_MEMORY=300M "$HARK" ask fill.hark regs
is "hark ask says so" "$status $err" \
	"125 hark: the replay took more than 300 MiB of memory, and was ended: HARK_MAX_MEMORY=BYTES allows more"
try env HARK_MAX_MEMORY=300M "$HARK" core fill.hark -o fill.core
is "hark core, too" "$status" 125
