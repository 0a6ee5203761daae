#!/usr/bin/env bash
# hark run --stats and --count: what was translated and executed, over all
# programs, whatever became of them.
. "$(dirname "$0")/lib.sh"

# Known to the instruction.
cat >exact.S <<'S'
	.globl _start
_start:
	mov $1000, %ecx
1:	push %rcx
	call f
	pop %rcx
	dec %ecx
	jnz 1b
	mov $60, %eax
	xor %edi, %edi
	syscall
f:	mov (%rsp), %rax
	ret
S
gcc -nostdlib -static exact.S -o exact || exit 1

# field KEY...: of the object in $err.
field() {
	python3 -c '
import json, sys
at = json.load(sys.stdin)
for key in sys.argv[1:]:
    at = at[key]
print(at)' "$@" <<<"$err"
}

# holds NAME EXPRESSION: about s, the object in $err.
holds() {
	if python3 -c '
import json, sys
s = json.load(sys.stdin)
sys.exit(0 if eval("(" + sys.argv[1] + ")") else 1)' "$2" <<<"$err"; then
		pass "$1"
	else
		fail "$1" "$2
$err"
	fi
}

plan 31

# -- For programs --

try hark run --stats --json -- ./exact
is "the program's status" "$status" 0
holds "the keys are these" 'list(s) == ["kind", "milliseconds", "programs",
	"programs_native", "processes", "threads", "signals", "superblocks",
	"instructions", "program_bytes", "cache_bytes", "translate_ns",
	"ns_per_instruction", "discarded", "flushes", "exits", "executed"]'
holds "the reasons are these" 'list(s["exits"]) == ["link", "indirect",
	"syscall", "signal", "fault", "step", "check"]'
is "it is one kind" "$(field kind)" translated
is "nothing is counted that was not asked for" "$(field executed)" None
holds "one program, process, thread" \
	's["programs"] == s["processes"] == s["threads"] == 1'
holds "a handful of superblocks" '3 <= s["superblocks"] <= 8'
holds "each instruction is translated once or twice" \
	'11 <= s["instructions"] <= 22'
holds "bytes of the program and of the cache" \
	'20 <= s["program_bytes"] <= 80 and 50 <= s["cache_bytes"] <= 4000'
holds "time" '0 < s["translate_ns"] < s["milliseconds"] * 1e6'
holds "time an instruction" 'abs(s["ns_per_instruction"] -
	s["translate_ns"] / s["instructions"]) < 1'

try hark run --count --json -- ./exact
holds "every instruction is counted" \
	's["executed"]["instructions"] == 7004'
holds "every load and store" \
	's["executed"]["loads"] == 3000 and s["executed"]["stores"] == 2000'
holds "every call, return and branch" \
	's["executed"]["calls"] == s["executed"]["returns"] ==
	s["executed"]["branches"] == 1000'
try hark run --count --json -- sh -c './exact; kill -9 $$'
err=$(grep '^{' <<<"$err") # the shell has a word to say, too
holds "also of a program that is killed" \
	's["executed"]["instructions"] > 20000'
try hark run --count --json -- sh -c ':'
holds "system calls" '10 < s["executed"]["system_calls"] < 1000'

# -- Over all programs --

try hark run --count --json -- sh -c './exact; ./exact'
two=$(field executed instructions)
holds "three programs" 's["programs"] == 3 and s["processes"] >= 3'
try hark run --count --json -- sh -c './exact; ./exact; ./exact'
three=$(field executed instructions)
ok "one more execution is so many more instructions" \
	test $((three - two)) -gt 7000 -a $((three - two)) -lt 100000
try hark run --no-follow --stats --json -- sh -c './exact; ./exact'
holds "without following it is one" 's["programs"] == 1'
try hark run --stats --json -- sh -c 'trap : USR1; (kill -USR1 $$) & wait; wait; exit 3'
is "the status is the program's" "$status" 3
try hark run --stats --json -- bash -c 'trap : USR1; kill -USR1 $$; exit 0'
holds "signals are counted" 's["signals"] >= 1'
try hark run --stats --json -- /usr/bin/python3 -c '
import threading
t = [threading.Thread(target=lambda: 0) for _ in range(5)]
[(x.start(), x.join()) for x in t]'
holds "threads are counted" 's["threads"] == 6 and s["processes"] == 1'

# -- Killed --

try hark run --stats --json -- sh -c './exact; kill -9 $$'
is "hark is killed as the program was" "$status" 137
err=${err%%$'\n'*} # and not what the shell says of it
holds "... and tells what it translated" 's["superblocks"] > 500'

# -- For people --

try hark run --stats -- ./exact
is "standard output is the program's" "$out" ""
like "programs, processes, threads" "$err" \
	'^hark: run +1 program, 1 process, 1 thread, 0 signals; [0-9.]+ ms'
like "superblocks and instructions" "$err" \
	'hark: translated +[0-9]+ superblocks, [0-9]+ instructions; [0-9]+ bytes into [0-9]+'
like "time" "$err" 'hark: translating +[0-9.]+ ms, [0-9]+ ns an instruction'
like "exits" "$err" 'hark: exits +link [0-9]+, indirect [0-9]+, syscall [0-9]+'
try hark run --count -- ./exact
like "what was executed" "$err" \
	'hark: executed +.*700[34] instructions, 3000 loads, 2000 stores, 1000 calls, 1000 returns, 1000 branches, [01] system calls'
try hark run -q --stats -- ./exact
is "-q says nothing" "$err" ""
