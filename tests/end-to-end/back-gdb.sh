#!/usr/bin/env bash
# timeout: 900
# long: asan
# hark back and hark gdbserver: real gdb sessions in recordings, forwards and
# backwards.  What gdb says is held against what the programs said themselves.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
plan 131

LINE=$(grep -n 'the crash' "$SRC/back_prog.c" | cut -d: -f1)
CULPRIT=$(grep -n 'the culprit' "$SRC/back_prog.c" | cut -d: -f1)
AVX=$(grep -n 'here ymm7 is known' "$SRC/back_prog.c" | cut -d: -f1)

BOTH=$(grep -n 'both are here' "$SRC/back_threads.c" | cut -d: -f1)

# build NAME SOURCE FLAGS...
build() {
	local name=$1 source=$2

	shift 2
	case $source in
	*.cc) g++ -g -O0 -std=gnu++17 "$SRC/$source" -o "$name" "$@" ;;
	*) gcc -g -O0 -std=gnu17 -pthread "$SRC/$source" -o "$name" "$@" ;;
	esac
}

# The program's own signals are not stopped at unless that is asked for.
session() {
	local file=$1

	shift
	back "$file" 'handle SIGILL SIGUSR1 nostop noprint pass' "$@"
}

# section PATTERN: the lines of $out behind the line that has it.
section() { sed -n "/$1/,\$p" <<<"$out"; }

# -- One thread, by each way of linking --
# all_commands NAME FLAGS...
all_commands() {
	local how=$1 f=$1.hark said

	shift
	build "$how" back_prog.c "$@" || return
	said=$("$HARK" record -q -o "$f" -- "./$how" 2>&1)
	like "$how: the program crashes" "$said" 'total 5050 own 41 signals 10'

	session "$f" 'bt' 'info registers rip' 'when' 'p $_siginfo.si_signo' \
		'p i' 'p list->next->name' 'p $_siginfo.si_code'
	is "$how: a session ends well" "$status" 0
	like "$how: it begins at the crash" "$out" "weigh \(i=0x[0-9a-f]+\) at .*back_prog.c:$LINE"
	like "$how: with all frames" "$out" '#1 .* in main \(argc=1'
	like "$how: the signal is told" "$out" '\$1 = 11'
	like "$how: with its cause" "$out" '\$4 = 128'
	like "$how: a broken pointer" "$out" '\$2 = \(const struct item \*\) 0x[0-9a-f]+'
	like "$how: and what broke it" "$out" 'far too long'

	session "$f" 'watch -l list->next->next' 'reverse-continue' \
		'reverse-continue' 'bt 3'
	like "$how: a watchpoint finds the culprit, backwards" "$out" \
		"name_item .* at .*back_prog.c:$CULPRIT"
	session "$f" 'last-write list->next->next'
	like "$how: last-write finds it at once" "$out" \
		'[0-9]+:[0-9]+(\+[0-9]+)? (in|at) [^ ]+.* wrote [0-9]+ bytes'

	session "$f" 'tbreak use_avx' 'reverse-continue' 'reverse-next' \
		'reverse-next' 'reverse-next' 'reverse-next' 'reverse-next' \
		'p total' 'p signals'
	like "$how: reverse-continue to a breakpoint" "$out" \
		'Temporary breakpoint 1, use_avx|use_avx \(\)'
	like "$how: reverse-next goes over calls" "$out" 'raise\(SIGUSR1\)'
	like "$how: values are those of then" "$out" '\$1 = 5050'

	session "$f" 'break add if b == 42' 'run' 'p total' 'p a' 'finish' \
		'reverse-step' 'p sum' 'delete' 'reverse-finish' 'when'
	like "$how: a condition holds in the server" "$out" 'Breakpoint 1, add \(a=861, b=42\)'
	like "$how: run began at the start" "$out" '\$1 = 861'
	like "$how: finish tells the value" "$out" 'Value returned is \$3 = 903'
	like "$how: reverse-step goes into it again" "$out" '\$4 = 903'
	like "$how: reverse-finish goes before the call" "$out" 'total = add\(total, i\)'

	session "$f" 'break add' 'run' 'next' 'next' 'step' 'reverse-stepi' 'when' \
		'stepi' 'when' 'stepi' 'reverse-stepi' 'when'
	is "$how: a step back and forth leads to the same moment" \
		"$(grep -cE '^[0-9]+:[0-9]+(\+[0-9]+)?$' <<<"$out")" 3
	is "$how: ... indeed" \
		"$(grep -E '^[0-9]+:[0-9]+(\+[0-9]+)?$' <<<"$out" | tail -2 | uniq | wc -l)" 1

	session "$f" 'break back_prog.c:'"$AVX" 'run' 'p $ymm7.v8_int32' 'p own'
	like "$how: vector registers" "$out" '\{19088743 <repeats 8 times>\}|\{19088743, 19088743'
	like "$how: thread-local variables" "$out" '\$2 = 40'

	session "$f" 'when' 'checkpoint' 'seek 50%' 'when' 'info checkpoints' \
		'restart 1' 'when' 'seek start' 'when' 'seek end' 'when' \
		'delete checkpoint 1' 'info checkpoints' 'seek 99:1' \
		'monitor when' 'monitor help' 'restart 7'
	like "$how: checkpoints are listed" "$out" '1 at [0-9]+:[0-9]+(\+[0-9]+)? in weigh'
	like "$how: and deleted" "$out" 'No checkpoints'
	like "$how: a position that is none is told" "$out" 'hark: '
	like "$how: monitor help" "$out" 'last-write ADDRESS'
	like "$how: a checkpoint that is none is told" "$out" 'There is no checkpoint 7'
	whens=$(grep -E '^[0-9]+:[0-9]+(\+[0-9]+)?$' <<<"$out")
	is "$how: restart and seek lead to the same moments" \
		"$(sed -n '1p;3p;5p;6p' <<<"$whens" | uniq -c | sed 's/ *\([0-9]*\).*/\1/')" 4
	is "$how: and to others" "$(sed -n '1p;2p;4p' <<<"$whens" | sort -u | wc -l)" 3

	session "$f" 'set var total = 1' 'set $rax = 1' 'print (int)add(1, 2)' \
		'record' 'jump main'
	like "$how: writes are refused" "$out" 'hark: this is a recording: what happened in it cannot be changed'
	like "$how: registers, too" "$out" 'Writing to registers is not allowed'
	like "$how: calls are refused" "$out" 'hark: this is a recording: functions of the program cannot be called'
	like "$how: so are jumps" "$out" 'hark: this is a recording: it goes the way'
	like "$how: gdb's record is refused" "$out" 'hark: this is a recording already'
	[ "$how" != pie ] || more_commands "$f" "$said"
}

# more_commands FILE SAID
more_commands() {
	local f=$1 said=$2 pid

	pid=$(sed -n 's/.* pid //p' <<<"$said" | head -1)
	session "$f" 'info sharedlibrary' 'info proc' 'info proc mappings' \
		'info threads' 'info auxv' 'info signals SIGUSR1' 'p list' \
		'list weigh' 'x/2i $pc'
	like "libraries are listed" "$out" '0x[0-9a-f]+ .*Yes.*libc\.so\.6'
	like "the process is the recorded one" "$out" "process $pid"
	like "its command is" "$out" "cmdline = './pie'"
	like "its mappings are" "$out" '0x[0-9a-f]+ +0x[0-9a-f]+ .*libc\.so\.6'
	like "and its stack" "$out" '\[stack\]'
	like "threads have their ids and positions" "$out" "Thread $pid\.$pid.*1:[0-9]+"
	like "the auxiliary vector is known" "$out" 'AT_ENTRY'
	like "addresses are those of then" "$out" \
		"\\$. = \(struct item \*\) $(sed -n 's/^list \(0x[0-9a-f]*\).*/\1/p' <<<"$said")"

	session "$f" 'catch syscall write' 'reverse-continue' 'bt 1' 'p $rax'
	like "system calls are stopped at" "$out" 'Catchpoint 1 \(call to syscall '"'?write"
	session "$f" 'run' 'p $_siginfo.si_signo' 'continue'
	like "the signal that ends it is stopped at" "$out" \
		'received signal SIGSEGV.*\$1 = 11'
	session "$f" 'handle SIGILL stop print' 'run' 'p $_siginfo.si_signo'
	like "and so is one that it handles" "$out" 'received signal SIGILL.*\$1 = 4'
	session "$f" 'handle SIGSEGV nostop noprint' 'run'
	like "unless they are to be passed" "$out" 'No more reverse-execution history'
	unlike "... indeed" "$out" 'received signal'

	session "$f" 'break *add' 'run' 'generate-core-file made.core'
	like "a core file is written" "$out" 'Saved corefile made.core'
	try timeout 150 gdb -nx -batch -ex bt -ex 'p total' -ex 'p a' ./pie made.core
	like "another gdb reads it" "$out" '#0 +add \(|add \(a=.*b=.*\) at'

	session "$f" 'tbreak main' 'run' 'info sharedlibrary' 'start' 'starti' \
		'monitor when' 'run x'
	like "tbreak and run begin anew" "$out" 'Temporary breakpoint 1, main \(argc=1'
	like "start does" "$out" 'Temporary breakpoint 2, main \(argc=1'
	like "starti leads to the first instruction" "$out" \
		'in \?\? \(\) from target:[^ ]*/ld-linux-x86-64\.so\.2'$'\n''1:0'
	like "other arguments are refused" "$out" 'hark: the program has the arguments'

	# Twice in one go: the same answers.
	session "$f" 'break add if b == 7' 'run' 'when'
	first=$out
	session "$f" 'break add if b == 7' 'run' 'when'
	is "a session can be repeated to the letter" "$out" "$first"

	mv pie pie.moved
	session "$f" 'bt' 'info sharedlibrary'
	like "no program is needed, only the recording" "$out" 'weigh \(i=0x'
	like "nor libraries" "$out" 'Yes.*libc\.so\.6'
	mv pie.moved pie
}

all_commands pie -pie -fPIE
all_commands static -static

# -- Two threads --
build threads back_threads.c
said=$("$HARK" record -q -o threads.hark -- ./threads)
is "two threads did their work" "$said" "shared 100 last ${said#*last }"
last=$(sed 's/.*last \([0-9]\).*/\1/' <<<"$said")
session threads.hark 'break report' 'reverse-continue' 'p shared' 'p last_writer' \
	'watch shared' 'reverse-continue' 'p shared' 'info threads' \
	'bt 1' 'reverse-continue' 'p shared'
like "the last value is the printed one" "$out" '\$1 = 100'
like "and so is who wrote it" "$out" "\\\$2 = $last"
like "backwards the value before is found" "$out" '\$3 = 99'
like "and the one before that" "$out" '\$4 = 98'
like "in the function that writes" "$out" '#0 .*work \(arg='
session threads.hark "break back_threads.c:$BOTH" 'run' 'continue' 'info threads' \
	'thread 1' 'bt' 'thread 2' 'bt' 'next' 'next' 'p own'
like "both threads are listed" "$out" '[ *] 2 +Thread [0-9]+\.[0-9]+ "threads" \(at 2:'
like "thread-local variables of another thread" "$out" '\$1 = 2[0-4][0-9]'
like "each with its stack" "$out" '#0 .*work \('
session threads.hark 'watch shared if shared == 60' 'run' 'p shared' \
	'reverse-continue' 'continue' 'p shared'
like "a condition of a watchpoint" "$out" '\$1 = 60'

# -- C++ --
build classes back_classes.cc
said=$("$HARK" record -q -o classes.hark -- ./classes)
is "the C++ program ran" "$said" "caught no legs
first 6 size 1"
session classes.hark 'break zoo::Cow::legs' 'reverse-continue' 'p name' \
	'p *this' 'reverse-finish' 'p sum' 'info symbol $pc' 'bt'
like "a method is stopped at, backwards" "$out" 'zoo::Cow::legs \(this=0x'
like "a string is read" "$out" '\$1 = "mad"|_M_p = 0x[0-9a-f]+ "mad"'
like "and the caller's sum" "$out" 'count \(all='

# -- Several processes --
"$HARK" record -q -o family.hark -- sh -c './threads; ./threads; true' >/dev/null
try hark back family.hark --process 99999 -- -batch
is "a process that is not there is told" "$status" 125
like "with those that are" "$err" 'pid [0-9]+: '
AT=(--process 2)
session family.hark 'info threads' 'info proc'
like "another process is chosen" "$out" "cmdline = './threads'"
AT=()

session family.hark 'python pid = re.findall(r"pid (\d+): ./threads", monitor("processes"))[1]' \
	'detach' 'python gdb.execute("attach " + pid)' 'info proc' \
	'tbreak report' 'reverse-continue'
like "attach goes to another process" "$out" \
	'Temporary breakpoint 1, report \(\)'

# -- The command line --
AT=(--at start)
session pie.hark 'when' 'info registers rip'
like "--at start" "$out" '1:0'
AT=(--at nowhere)
session pie.hark 'when'
is "a position that is none is refused" "$status" 125
AT=()
try env HARK_GDB=/nonexistent/gdb "$HARK" back pie.hark
is "without gdb there is a clear line" "$status" 127
like "that says what to do" "$err" '^hark: /nonexistent/gdb was not found'
try hark back missing.hark
is "without a file, too" "$status" 125
try hark back pie.hark -- -batch -nx -ex 'python gdb.execute("quit 5")'
is "the status is gdb's" "$status" 5
is "nothing is left behind" "$(ls "$XDG_RUNTIME_DIR")" ""

# -- The server alone --
"$HARK" gdbserver pie.hark >where 2>where.err &
server=$!
await test -s where
where=$(cat where)
is "its socket is for nobody else" "$(stat -c %a "$(dirname "$where")")" 700
out=$(timeout 150 gdb -nx -batch -ex "target extended-remote $where" -ex bt \
	-ex 'monitor when' -ex 'reverse-stepi' -ex 'monitor when' 2>&1)
like "any gdb can come" "$out" 'weigh \(i=0x'
wait "$server"
is "it ends when gdb leaves" "$?" 0
ok "and takes its socket along" test ! -e "$where"

"$HARK" gdbserver pie.hark --listen 127.0.0.1:0 --keep >port 2>port.err &
server=$!
await test -s port
for n in 1 2; do
	out=$(timeout 150 gdb -nx -batch -ex "target remote $(cat port)" \
		-ex bt 2>&1)
	like "by TCP, for the ${n}. time" "$out" 'weigh \(i=0x'
done
kill "$server"
wait "$server" 2>/dev/null

# Debian's lldb 14 crashes now and then when it continues, by itself.
for ((n = 0; n < 6; n++)); do
	rm -f other
	"$HARK" gdbserver pie.hark --listen 127.0.0.1:0 --at start >other \
		2>other.err &
	server=$!
	await test -s other
	out=$(timeout 150 lldb -b -o 'file ./pie' -o "gdb-remote $(cat other)" \
		-o 'process plugin packet monitor unknown mark' \
		-o 'b add' -o c -o bt -o finish -o n -o 'p total' 2>&1)
	wait "$server" 2>/dev/null
	[[ $out == *"PLEASE submit a bug report"* ]] || break
done
like "lldb goes forward, too" "$out" 'frame #0: .*add\(a=0, b=1\)'
like "and sees values" "$out" '\(int\) \$[0-9] = 1'
try hark gdbserver pie.hark --listen nonsense
is "nonsense is not listened at" "$status" 125

# -- A person at the terminal --
gcc -g -O1 -std=gnu17 "$SRC/back_long.c" -o long
"$HARK" record -q -o long.hark -- ./long >/dev/null
out=$(timeout 400 python3 "$SRC/back_terminal.py" "$HARK" long.hark)
like "Ctrl-C ends a search at once" "$out" 'run late at once SIGINT'
like "and one with a condition" "$out" 'condition late at once SIGINT'
like "and a question" "$out" 'ask late at once interrupted'
is "after it everything goes on" "$(grep -c '^when yes' <<<"$out")" 2
like "and ends well" "$out" 'status 0'

# -- A server that is ended while it replays --
# One segment: there is nothing that others could do for it.
"$HARK" record -q --key-every 1000000000000 -o one.hark -- ./long >/dev/null
# works: for a while now.
worked() {
	local replayer

	read -r replayer _ <"/proc/$server/task/$server/children"
	cut -d' ' -f14 "/proc/$replayer/stat"
}
works() { [ "$(worked)" -ge $((before + 20)) ]; }
ENDS=$(times 2) ends=''
for ((i = 0; i < ENDS; i++)); do
	rm where # of the one before
	"$HARK" gdbserver one.hark >where 2>where.err &
	server=$!
	await test -s where
	where=$(cat where)
	{
		echo "target extended-remote $where"
		for n in {1..200}; do
			echo "monitor seek $((n * 37 % 97 + 1))%"
		done
	} >seeks
	before=$(worked)
	gdb -nx -batch -x seeks >/dev/null 2>&1 &
	client=$!
	await works
	kill "$server"
	wait "$server" 2>/dev/null
	ends+=" $?"
	kill -KILL "$client" 2>/dev/null
	wait "$client" 2>/dev/null
done
is "it ends as it was told to" "$ends" "$(printf ' 143%.0s' $(seq "$ENDS"))"
is "and takes its socket along" "$(ls "$XDG_RUNTIME_DIR")" ""
