#!/usr/bin/env bash
# timeout: 600
# long: asan
# hark back: what gdb can do besides going back and forth.  Answers are held
# against what the programs said themselves.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
plan 94

# line TEXT: the line of the program that has it.
line() { grep -n "$1" "$SRC/back_recursion.c" | head -1 | cut -d: -f1; }
# word NAME: what the program said of it.
word() { sed -nE "s/.*\\b$1 ([^ ]+).*/\\1/p" <<<"$said"; }

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

# -- A thread that waits for ever lives --
gcc -g -O0 -std=gnu17 -pthread "$SRC/back_idle.c" -o idle
"$HARK" record -q -o idle.hark -- ./idle
back idle.hark 'tbreak after' 'reverse-continue' 'info threads'
is "who waits until the end is there" "$(grep -cE '^[ *] [12] +Thread' <<<"$out")" 2

# -- Recursion and loops --
gcc -g -O0 -std=gnu17 "$SRC/back_recursion.c" -o recursion
said=$("$HARK" record -q -o recursion.hark -- ./recursion)
P=back_recursion.c
QUIET='handle SIGUSR2 nostop noprint pass'
back recursion.hark "$QUIET" "tbreak $P:$(line 'the call')" 'run' 'next' \
	'p sum' 'reverse-next' 'frame' \
	"tbreak $P:$(line 'the recursion') if n == 2" 'continue' 'next' \
	'p below' 'reverse-next' 'p n' 'reverse-next' 'p n' \
	'reverse-finish' 'p n' 'reverse-step' 'reverse-step' 'p n'
is "next goes over a recursion" "$(value 1)" "$(word sum)"
like "reverse-next, too" "$out" '#0  main \(\) at .*the call'
is "next within one" "$(value 2)" 1
is "reverse-next stays in its frame" "$(value 3)" 2
is "and once more" "$(value 4)" 2
is "reverse-finish leads to the caller's" "$(value 5)" 3
is "reverse-step leads out of it, or stays" "$(value 6)" 3
back recursion.hark "$QUIET" "tbreak $P:$(line 'the body')" 'run' 'next' \
	'until' 'until' 'frame' 'p sum' 'tbreak loop' 'reverse-continue' \
	"advance $(line 'behind the loop')" 'p sum' 'tbreak loop' \
	'reverse-continue' "until $(line 'behind the loop')" 'p sum' \
	'reverse-next' 'reverse-next' 'p i'
like "until leaves a loop" "$out" '#0  loop .*behind the loop'
is "with its sum" "$(value 1)" "$(word total)"
is "advance goes to a line" "$(value 2)" "$(word total)"
is "until does" "$(value 3)" "$(word total)"

# -- Conditions are evaluated by the server --
back recursion.hark "$QUIET" "break $P:$(line 'the body') if i == 40" 'run' \
	'p sum' 'monitor conditions' 'info breakpoints'
is "a condition holds" "$(value 1)" 780
like "it was evaluated by the server" "$out" 'evaluated 41, held 1'
like "gdb saw one stop" "$out" 'target evals\).*already hit 1 time'
back recursion.hark "$QUIET" 'set breakpoint condition-evaluation host' \
	"break $P:$(line 'the body') if i == 40" 'run' 'p sum' \
	'monitor conditions'
is "gdb can do it, too" "$(value 1)" 780
like "but then the server does not" "$out" 'evaluated 0, held 0'

# -- Signals and system calls --
back recursion.hark 'catch signal SIGUSR2' 'run' \
	'p $_siginfo._sifields._rt.si_sigval.sival_int' \
	'p $_siginfo._sifields._rt.si_pid' 'p $_siginfo.si_signo' 'delete' \
	"tbreak $P:$(line 'the handler')" 'continue' 'p sig' \
	'p info->_sifields._rt.si_sigval.sival_int' 'bt'
like "catch signal stops" "$out" 'Catchpoint 1 \(signal SIGUSR2\)'
is "with what was sent" "$(value 1)" 42
is "and by whom" "$(value 2)" "$(word pid)"
is "siginfo has the number" "$(value 3)" 12
is "so has the handler" "$((1000 * $(value 4) + $(value 5)))" "$(word caught)"
like "frames go through a handler" "$out" '<signal handler called>.*main \(\)'
back recursion.hark 'catch syscall getppid' 'reverse-continue' 'p $rax' \
	'p caught' 'reverse-continue' 'delete' 'catch syscall' \
	'reverse-continue' 'p $rax > 0'
like "catch syscall stops, backwards" "$out" \
	'Catchpoint 1 \(call to syscall .?getppid'
is "at the call" "$(value 1)" 110
is "values are of then" "$(value 2)" "$(word caught)"
like "any call" "$out" 'Catchpoint 2 \('
back recursion.hark 'catch syscall getppid' "$QUIET" 'run' 'p $rax'
is "forwards" "$(value 1)" 110

# -- Memory --
hay=$(word haystack)
back recursion.hark "find haystack, +sizeof haystack, \"needle in it\"" \
	"find /b haystack, +sizeof haystack, 'n', 'e', 'e', 'd'" \
	'find haystack, +sizeof haystack, (char)1' 'x/s haystack + 1234' \
	'dump binary value numbers.bin numbers' \
	'dump binary memory hay.bin haystack haystack+sizeof(haystack)' \
	'info auxv' 'info proc mappings' 'p &haystack'
like "an address is the printed one" "$out" "\(\*\)\[4096\]\) $hay"
is "find finds text, and bytes" \
	"$(grep -c '<haystack+1236>' <<<"$out")" 2
like "and nothing else" "$out" 'Pattern not found'
like "x/s" "$out" '<haystack\+1234>:	"a needle in it"'
is "dump of a value" "$(od -An -tu4 -j196 -N4 numbers.bin | tr -d ' ')" \
	"$(word last)"
is "dump of memory" "$(tail -c +1235 hay.bin | head -c 14)" 'a needle in it'
like "info auxv has what the program had" "$out" \
	'AT_PAGESZ.*4096.*AT_RANDOM.*AT_EXECFN'
read -r start end _ < <(grep -E 'rw-p +/.*recursion' <<<"$out")
ok "the program is mapped where it was" test $((start <= hay && hay < end)) = 1

# -- C++ --
g++ -g -O0 -std=gnu++17 "$SRC/back_classes.cc" -o classes
"$HARK" record -q -o classes.hark -- ./classes >/dev/null
back classes.hark 'catch throw' 'catch catch' 'run' 'bt 3' 'continue' 'bt 2' \
	'reverse-continue' 'bt 2' 'reverse-continue' 'when' 'continue' \
	'delete' 'tbreak zoo::Cow::legs' 'run' 'p name' 'p *this' \
	'p dynamic_cast<const zoo::Cow *>(this) == this'
is "catch throw: forwards, backwards, and again" \
	"$(grep -c '^Catchpoint 1 (exception thrown)' <<<"$out")" 3
like "in the method that throws" "$out" '#1 .* zoo::Cow::legs \(this=0x'
is "catch catch" "$(grep -c '^Catchpoint 2 (exception caught)' <<<"$out")" 1
like "in the function that catches" "$out" '#1 .* main \(\)'
like "tbreak in a method" "$out" 'Temporary breakpoint 3, zoo::Cow::legs'
is "with its object" "$(value 1)" '"cow"'

# -- Libraries that come and go --
gcc -g -O0 -std=gnu17 -shared -fPIC -DPLUGIN "$SRC/back_plugin.c" -o first.so
gcc -g -O0 -std=gnu17 -shared -fPIC -DPLUGIN=5 "$SRC/back_plugin.c" -o second.so
gcc -g -O0 -std=gnu17 "$SRC/back_plugin.c" -o plugin -ldl
said=$("$HARK" record -q -o plugin.hark -- ./plugin ./first.so ./second.so)
is "libraries were loaded" "$said" $'answer 5\nanswer 9'
back plugin.hark 'info sharedlibrary' 'echo begin\n' \
	'set breakpoint pending on' 'break plugin_work' 'run' 'bt 1' \
	'info sharedlibrary' 'finish' 'continue' 'bt 1' 'p plugin_state' \
	'info symbol plugin_work' 'finish' 'continue' 'reverse-continue' \
	'info symbol $pc' 'reverse-continue' 'info symbol $pc' 'p plugin_state'
unlike "what is gone is not listed" "${out%%begin*}" 'target:.*(first|second)\.so'
is "each is stopped in, forwards and backwards" \
	"$(grep -c '^Breakpoint 1, plugin_work (n=4)' <<<"$out")" 4
is "returned values are those that were printed" \
	"$(sed -nE 's/^Value returned is \$[0-9]+ = /answer /p' <<<"$out")" "$said"
like "the first one is seen in it" "$out" 'Yes +target:.*first\.so'
is "backwards: the second, then the first" \
	"$(sed -nE 's/^plugin_work .* of target:.*\/(.*)/\1/p' <<<"$out" | tail -2 | paste -sd' ')" \
	'second.so first.so'

# The same file by other names, or a copy of it.
mkdir more
ln first.so more/linked.so
cp second.so more/copied.so
ln plugin more/program
said=$("$HARK" record -q -o same.hark -- sh -c './plugin ./first.so ./second.so
	more/program more/linked.so more/copied.so')
is "files have other names" "$(sort -u <<<"$said")" $'answer 5\nanswer 9'
AT=(--process "$("$HARK" info same.hark |
	sed -nE 's/^([0-9]+) \([0-9]+\) +more\/program.*/\1/p')")
back same.hark 'tbreak use' 'run' 'set breakpoint pending on' \
	'break plugin_work' 'continue' 'info symbol $pc' 'continue' \
	'info symbol $pc' 'info proc'
AT=()
like "a program by its other name" "$out" "exe = '.*more/program'"
is "libraries by theirs" \
	"$(sed -nE 's/^plugin_work .* of target:.*\/(.*)/\1/p' <<<"$out" | paste -sd' ')" \
	'linked.so copied.so'

# -- Names that are no text --
odd=$'odd\xff\x1b dir'
mkdir "$odd"
cp plugin "$odd/"$'pl\xffug\x02in'
gcc -g -O0 -std=gnu17 -shared -fPIC -DPLUGIN=6 "$SRC/back_plugin.c" -o "$odd/third.so"
said=$("$HARK" record -q -o odd.hark -- "$odd/"$'pl\xffug\x02in' "$odd/third.so")
is "a program in an odd place" "$said" 'answer 10'
back odd.hark 'tbreak use' 'reverse-continue' 'set breakpoint pending on' \
	'break plugin_work' 'continue' 'bt 1' 'p plugin_state' 'info threads' \
	'monitor processes' 'when'
like "its title is fit for a terminal" "$out" '^hark: odd.xff.x1b dir/pl.xffug.x02in '
like "its library is found" "$out" 'Breakpoint 2, plugin_work \(n=4\)'
is "and its data" "$(value 1)" 6
like "its threads are listed" "$out" '"pl\\xffug\\x02in" \(at 1:'
like "and positions are told" "$out" $'\n''1:[0-9]+'

# -- Sources from the recording --
mkdir -p "$T/my work/src" "$T/my work/build"
cp "$SRC/back_recursion.c" "$T/my work/src/walk.c"
printf 'int helper(int n);\nint helper(int n)\n{\n\treturn n; /* helps */\n}\n' \
	>"$T/my work/build/helper.c"
(cd "$T/my work/build" && gcc -g -O0 -std=gnu17 ../src/walk.c helper.c -o ../walk)
"$HARK" record -q --bundle-debug -o sources.hark -- "$T/my work/walk" >/dev/null
"$HARK" record -q -o without.hark -- "$T/my work/walk" >/dev/null
info=$("$HARK" info --json sources.hark)
like "hark info counts sources" "$info" '"sources": ?[1-9][0-9]*'
like "and their bytes" "$info" '"source_bytes": ?[1-9][0-9]{3}'
like "for a person, too" "$("$HARK" info sources.hark)" 'sources +[0-9]+, [0-9]+ bytes'
like "without the option there are none" "$("$HARK" info --json without.hark)" \
	'"sources": ?0'
try hark verify sources.hark
like "it can be verified" "$out" ' 0 mismatches'
mv "$T/my work" "$T/elsewhere"
back without.hark 'list depth'
like "without them there is nothing to list" "$out" 'No such file or directory'
back sources.hark "break walk.c:$(line 'the recursion')" 'reverse-continue' \
	'list helper.c:4,4' 'info source' 'frame'
like "a line of a file is stopped at" "$out" 'Breakpoint 1, depth \(n='
like "and shown" "$out" 'below = depth\(n - 1\); /\* the recursion \*/'
like "list shows another file" "$out" 'return n; /\* helps \*/'
is "nothing is left behind" "$(ls "$XDG_RUNTIME_DIR")" ""
out=$(timeout 100 python3 "$SRC/back_tui.py" "$HARK" sources.hark 'the call')
like "TUI mode shows them" "$out" '^shown'
is "and leaves nothing behind" "$(ls "$XDG_RUNTIME_DIR")" ""

# -- A ring: what was before is gone, and the rest is whole --
gcc -g -O0 -std=gnu17 -pthread "$SRC/back_ring.c" -o ring
# Without random addresses: half of an address is the same for two mappings by
# chance, else, and the ring may have dropped what would tell them apart.
fixed=()
setarch -R true 2>/dev/null && fixed=(setarch -R) # containers may refuse it
said=$("${fixed[@]}" "$HARK" record -q --ring 6M --key-every 30000 -o ring.hark \
	-- ./ring)
is "the program said all" "$(wc -l <<<"$said")" 4
# rounds I: those of a thread that the ring has.
rounds() {
	"$HARK" ask ring.hark writes "progress[$1]" 2>/dev/null |
		sed -nE 's/.*-> ([0-9]+) .*/\1/p'
}
for i in 0 1 2 3; do
	rounds $i >rounds
	first=$(head -1 rounds)
	is "thread $((i + 1)): every round up to the last" "$(cat rounds)" \
		"$(seq "${first:-1}" 120)"
done
ok "the beginning was dropped" test "$(head -1 rounds)" -gt 5
want=$(sed -E 's/.* //' <<<"$said" | paste -sd, | sed 's/,/, /g')
try hark ask ring.hark value sums
is "sums are those that were said" "$out$err" "sums = {$want}"
# It begins with the first thread that it has something of.
over=$(grep -n 'the round is over' "$SRC/back_ring.c" | cut -d: -f1)
back ring.hark 'info threads' 'reverse-continue' 'when' 'reverse-stepi' 'when' \
	'stepi' 'reverse-stepi' 'when' 'p round' "break $over" 'continue' \
	'p round' 'seek 50%' 'reverse-continue' 'p round'
is "a session ends well" "$status" 0
like "there is a beginning" "$out" 'No more reverse-execution history'
is "and nothing before it" "$(positions | sed -n '1,3p' | sort -u | wc -l)" 1
ok "from there on it goes forwards" test "$(value 2)" -ge "$(value 1)"
ok "and back" test "$(value 3)" -gt 1
pid=$("$HARK" info ring.hark | sed -nE 's/^1 \(([0-9]+)\) .*/\1/p')
like "threads have their ids" "$out" "Thread $pid\.$pid "

# -- What is rare is found by the index, and nothing is left out --
gcc -g -O0 -std=gnu17 "$SRC/back_rare.c" -o rare
"$HARK" record -q --key-every 15000 -o rare.hark -- ./rare >/dev/null
want=$(for i in {1..60}; do
	for k in 7 11 13; do ((i % k == 0)) && echo $i; done
done)
# rounds_by COMMAND: where one stops, all the way.
rounds_by() {
	local way=$1 steps=()

	shift
	while ((${#steps[@]} < 2 * $(wc -l <<<"$want"))); do
		steps+=("$way" 'p round_now')
	done
	back rare.hark 'handle SIGUSR1 stop print' "$@" \
		'catch syscall getppid' 'break rare' "${steps[@]}" "$way"
	sed -nE 's/^\$[0-9]+ = ([0-9]+)$/\1/p' <<<"$out"
}
for how in 'without an index' 'with one'; do
	is "$how: forwards" "$(rounds_by continue 'seek start')" "$want"
	is "$how: backwards" "$(rounds_by reverse-continue)" "$(tac <<<"$want")"
	ok "$how: now there is one" test -s rare.hark.index
done
