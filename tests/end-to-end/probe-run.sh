#!/usr/bin/env bash
# also: asan
# hark probe: what scripts put out, held against what the program says of itself;
# how hark ends; and the twelve one-liners of hark-probe(1).
. "$(dirname "$0")/lib.sh"

plan 73

gcc -g -O2 -pthread "$ROOT/tests/end-to-end/probe_run_prog.c" -o prog || exit 1

# The shell would say that it was killed; timeout(1) would die of it, too.
probe() { try bash -c 'timeout -s KILL 60 "$HARK" probe "$@"; exit $?' - "$@" 2>/dev/null; }
# background ARGUMENT...: likewise, beside; into said and errors.
background() {
	rm -f said # nobody takes an older one's words for its own
	"$HARK" probe "$@" >said 2>errors &
	probing=$!
}
# comes TEXT FILE
comes() { wait_for "$1" "$2" || note "no $1 in $2: $(head -n 5 "$2")"; }
# A clause that says so as soon as the program has been there.
TICK='a.out:work:entry { seen = 1; } tick-20ms /seen/ { printf("tick\n"); }'
# long: the guest that works until it is told not to.
long() {
	rm -f long.out
	./prog long >long.out &
	pid=$!
	comes ready long.out
}
words() { xargs <<<"$1"; }

# -- Counts --

probe -q -n 'pid$target:a.out:work:entry { @n = count(); }' -- ./prog calls 100000
is "entries are counted" "$status:$(words "$out")" "0:100000 100000"
probe -q -n 'a.out:work:return { @n = count(); }' -- ./prog threads 25000
is "returns of four threads, too" "$(words "$out")" "100000 100000"
probe -q -n 'a.out:work:entry { @s = sum(arg0); @a = avg(arg0); @i = min(arg0); @x = max(arg0); }' \
	-- ./prog calls 101
is "sum, average, least and largest" "$(words "$out")" "101 5050 50 0 100"
probe -q -n 'a.out:work:return { @s = sum(arg1); @d = stddev(arg1); }' -- ./prog calls 101
is "what is returned" "$(words "$out")" "101 10100 58"
probe -q -n 'a.out:work:entry { @[tid] = count(); }' -- ./prog threads 500
is "a row for each thread" "$(grep -cE '^ +[0-9]+ +500$' <<<"$out")" 4
probe -q -n 'a.out:work:entry /arg0 % 10 == 3/ { @ = count(); }' -- ./prog calls 1000
is "a predicate" "$(words "$out")" "1000 100"
like "what it turned away is recorded" "$(
	"$HARK" probe -n 'a.out:work:entry /arg0 < 0/ { @ = count(); }' \
		-- ./prog calls 1000 2>&1 >/dev/null)" \
	'1000 executed = 1000 recorded \+ 0 dropped \+ 0 recursed \+ 0 faulted'

# -- What is put out --

probe -q -n 'a.out:work:entry { printf("%d %s %s %c %x %05d|%-5d|\n", arg0, probefunc, probename, 65, 255, 42, 7); }' \
	-- ./prog calls 2
is "printf" "$(sed -n 1,2p <<<"$out" | sort | head -n 1)" \
	"0 work entry A ff 00042|7    |"
probe -q -o order -n 'a.out:work:entry { printf("%d\n", arg0); }' \
	-- ./prog calls 5000
is "records keep their order" "$(md5sum <order)" \
	"$(seq 0 4999 | md5sum)"
probe -n 'a.out:work:entry { trace(arg0); }' -- ./prog calls 1
like "a line says where it comes from" "$out" \
	'TID +ID +FUNCTION:NAME.* +[0-9]+ +[0-9]+ +work:entry +0'
probe -n 'a.out:work:entry' -- ./prog calls 3
is "a probe alone is a line for each hit" "$(grep -c 'work:entry' <<<"$out")" 3
probe -q -n 'a.out:work:entry { @c[arg0 % 3] = count(); } END { printa("%d has %@d\n", @c); }' \
	-- ./prog calls 100
is "printa takes a format" "$(grep has <<<"$out" | sort | xargs)" \
	"0 has 34 1 has 33 2 has 33"
is "and shows it once" "$(grep -c . <<<"$out")" 4
probe -q -n 'a.out:work:entry { @c[arg0] = sum(arg0); } END { trunc(@c, 2); }' \
	-- ./prog calls 100
is "trunc keeps the largest" "$(words "$out")" "100 98 98 99 99"
probe -q -n 'a.out:work:entry { @c[arg0] = sum(arg0); } END { trunc(@c, -2); }' \
	-- ./prog calls 100
is "or the smallest" "$(words "$out")" "100 0 0 1 1"
probe -q -n 'a.out:work:entry { @c = count(); } END { normalize(@c, 10); printa("%@d ", @c); denormalize(@c); printa("%@d ", @c); clear(@c); printa("%@d", @c); }' \
	-- ./prog calls 100
is "normalize, denormalize, clear" "$(words "$out")" "100 10 100 0"
probe -q -n 'a.out:work:entry { @ = quantize(arg0); }' -- ./prog calls 4
like "quantize is a picture" "$out" ' 2 \|@@@@@@@@@@@@@@@@@@@@ +2 '
probe -q -n 'BEGIN { printf("begin "); } END { printf("end "); }' -- ./prog calls 1
is "BEGIN is before, END behind" "$(words "$out" | tr -d '1 ')" "beginend"
probe -q -n 'a.out:work:entry { this->x = arg0 * 2; } a.out:work:entry /this->x == 8/ { printf("%d\n", this->x); }' \
	-- ./prog calls 10
is "this-> is shared by the clauses of a hit" "$(sort -n <<<"$out" | xargs)" \
	"8 10"
probe -q -n 'a.out:work:entry { a[arg0 % 2, "k"]++; } END { printf("%d %d\n", a[0, "k"], a[1, "k"]); }' \
	-- ./prog calls 11
is "arrays" "$(grep ' ' <<<"$out")" "6 5"
probe -q -n 'a.out:look:entry { printf("%s\n", copyinstr(arg0)); } ERROR { printf("fault %d at %x\n", arg4, arg5); }' \
	-- ./prog pointers
is "a bad pointer is ERROR's" "$status:$(sort <<<"$out" | xargs)" \
	"0:fault 1 at 8 more text"
like "and is said, even quietly" "$err" '1 faulted'
probe -q -n 'a.out:work:entry { printf("%s %s\n", execname, probemod); }' -- ./prog calls 1
is "names of the program" "$(grep ' ' <<<"$out")" "prog prog"
probe -q -n 'a.out:work:entry { printf("%s %d\n", $$1, $2); exit(0); }' -c './prog calls 1' word 7
is "arguments of the script" "$(grep ' ' <<<"$out")" "word 7"

# -- Files --

probe -q -o out -n 'a.out:work:entry { @ = count(); }' -- ./prog calls 10
is "-o has the script's words, the program has its own" \
	"$out:$(words "$(cat out)")" "10:10"
is "nobody else can read it" "$(stat -c %a out)" 600
probe -q -o out -n 'a.out:work:entry { @ = count(); }' -- ./prog calls 20
is "it is appended to" "$(words "$(cat out)")" "10 20"
probe -q --force -o out -n 'a.out:work:entry { @ = count(); }' -- ./prog calls 30
is "--force replaces it" "$(words "$(cat out)")" "30"
cat >count.d <<'END'
#!/usr/bin/env hark
#pragma D option quiet
a.out:work:entry
{
	@ = count();
}
END
probe -s count.d -n 'END { printf("two\n"); }' -- ./prog calls 7
is "scripts of a file and of the command line" "$(words "$out")" "7 two 7"
try bash -c '"$HARK" probe -s - ./prog calls 8 <count.d'
is "and of standard input" "$(words "$out")" "8 8"
probe -q -w -n 'BEGIN { system("echo it is %d", 42); freopen("other"); printf("there\n"); freopen(""); printf("here\n"); }' \
	-- ./prog calls 1
is "system() and freopen()" "$(grep -v '^1$' <<<"$out" | xargs):$(cat other)" \
	"it is 42 here:there"

# -- How it ends --

probe -q -n 'a.out:work:entry { @ = count(); }' -- ./prog calls 1 7
is "the program's own status" "$status" 7
probe -q -n 'a.out:work:entry { @ = count(); }' ./prog crash
is "the program's own signal" "$status" 137
is "and what was counted until then" "$(words "$out")" 100000
probe -q -n 'BEGIN { exit(5); }' -- ./prog calls 3
is "exit() in BEGIN" "$status" 5
probe -q -n 'a.out:work:entry { printf("%d\n", arg0); exit(6); }' -- ./prog calls 100000
is "exit() is the last that is shown" "$status:$(grep -vx 100000 <<<"$out")" 6:0
long
probe -q -p $pid -n 'BEGIN { began = timestamp; } tick-50ms { n++; last = timestamp; }
	tick-50ms /n == 10/ { exit(0); }
	END { printf("%d %d\n", n, last - began); }'
is "ticks come, and not too early" \
	"$status $(awk '{ print $1, ($2 > 440000000) }' <<<"$out")" "0 10 1"
probe -q -p $pid -n 'a.out:work:entry { @n = count(); seen = 1; } tick-300ms /seen/ { exit(3); }'
is "exit() leaves a running program" "$status" 3
ok "something was counted" [ "$(words "$out")" -gt 0 ]
ok "it goes on" kill -0 $pid
not_ok "nothing is left in it" grep -q memfd:hark "/proc/$pid/maps"
background -q -p $pid -n "$TICK"' a.out:work:entry { @ = count(); } END { printf("end\n"); }'
comes tick said
kill -INT $probing
wait $probing
is "SIGINT ends it, with END" "$?:$(grep -c end said)" 0:1
like "and what was counted" "$(tail -n 1 said)" '^ +[1-9][0-9]*$'
background -q -p $pid -n 'tick-20ms { printf("tick\n"); }'
comes tick said
kill -TERM $probing
wait $probing
is "so does SIGTERM" $? 0
background -q -p $pid -n 'tick-20ms { printf("tick\n"); } a.out:work:entry { @ = count(); }'
comes tick said
kill -TERM $pid
wait $pid
is "the program ends as it does alone" $? 9
wait $probing
is "and hark with it" $? 0
background -q -n 'tick-20ms { printf("tick\n"); } END { printf("end\n"); }' -- ./prog long
comes tick said
kill -TERM $probing
wait $probing
is "a program that hark has started gets its signals" $? 9
background -q -n 'tick-20ms { printf("tick\n"); } END { printf("end\n"); }' -- ./prog long
comes tick said
kill -INT $probing
comes end said
child=$(xargs </proc/$probing/task/$probing/children)
ok "but SIGINT takes the probes out" kill -0 $child
kill -TERM $child
wait $probing
is "and hark waits for it" $? 9
# The program's own line, 300000, may come first.
try bash -c '"$HARK" probe -q -n "a.out:work:entry { printf(\"%d\n\", arg0); }" ./prog calls 300000 | grep -m 1 -vx 300000'
is "nobody reads: that is all" "$(words "$out")" 0

# -- Destruction --

probe -q -w -n 'a.out:work:entry /arg0 == 5/ { raise(9); }' -- ./prog calls 10
is "raise()" "$status" 137
background -q -w -n 'a.out:work:entry /arg0 == 5/ { printf("stopped\n"); stop(); }' -- ./prog calls 10
comes stopped said
child=$(xargs </proc/$probing/task/$probing/children)
await grep -q '^State:.*T' /proc/$child/status
like "stop()" "$(grep State /proc/$child/status)" 'T \(stopped'
kill -CONT $child
wait $probing
is "and on again" "$?:$(tail -n 1 said)" 0:10

# -- Accounts --

probe -v -n 'a.out:work:entry, a.out:leaf:entry { @ = count(); }' -- ./prog calls 10
is "-v has a line for each probe" "$(grep -c ' executed = ' <<<"$err")" 3
probe -q -n 'a.out:work:entry { @ = count(); }' -- ./prog calls 10
is "-q has none if nothing was lost" "$err" ""
probe -q -x bufsize=16k -x bufpolicy=fill -n 'a.out:work:entry { trace(arg0); }' \
	-- ./prog calls 100000
like "a loss is told of" "$err" '100000 executed = [0-9]+ recorded \+ [1-9][0-9]* dropped'
probe --json -n 'a.out:work:entry { @ = count(); }' -- ./prog calls 10
like "accounts as JSON" "$err" '^\{"executed":10,"recorded":10,.*"function":"work"'

# -- The twelve one-liners --

probe -q -n 'pid$target:libc:malloc:entry { @ = quantize(arg0); }' -- ./prog malloc
like "1: sizes of malloc" "$out" ' 4096 \|@+ +300 '
long
background -q -n 'pid$target:a.out:wor*:entry { @[probefunc] = count(); } '"$TICK" -p $pid
comes tick said
kill -INT $probing
wait $probing
like "2: calls by function" "$(tail -n 1 said)" '^ +work +[1-9][0-9]*$'
kill $pid
wait $pid
probe -q -n 'pid$target::fsync:entry { self->t = timestamp; } pid$target::fsync:return /self->t/ { @["ns"] = quantize(timestamp - self->t); self->t = 0; @n = count(); }' \
	-- ./prog sync
is "3: as often as fsync was called" "$(tail -n 1 <<<"$out" | xargs)" 20
probe -q -n 'pid$target:libc:open*:return /(int)arg1 < 0/ { printf("%s errno %d\n", self->p, errno); } pid$target:libc:open*:entry { self->p = copyinstr(arg0); }' \
	-- ./prog open
like "4: files that could not be opened" "$out" 'no/such/file errno 2'
probe -q -n 'pid$target:libc:free:entry { @[ustack(8)] = count(); } END { trunc(@, 1); }' \
	-- ./prog malloc
like "5: who frees most often" "$out" 'free.*prog`release\+0x.*prog`do_malloc\+0x.* 300'
probe -F -n 'pid$target:a.out:handle:entry { self->in = 1; } pid$target:a.out::entry, pid$target:a.out::return /self->in/ {} pid$target:a.out:handle:return { self->in = 0; }' \
	-- ./prog tree
is "6: what one function calls" \
	"$(sed -n '/->\|<-/s/^ *[0-9]* \(.*[a-z]\) *$/\1/p' <<<"$out" | tr ' \n' '._')" \
	"->.handle_..->.parse_....->.leaf_....<-.leaf_..<-.parse_..->.leaf_..<-.leaf_<-.handle_"
offset=$(objdump -d prog --disassemble=work --no-show-raw-insn |
	awk '/^ / { n++; sub(":", "", $1); if (n == 1) first = $1; if (n == 2) { printf "%x", strtonum("0x" $1) - strtonum("0x" first) } }' 2>/dev/null)
[ -n "$offset" ] || offset=0
probe -q -n "pid\$target:a.out:work:$offset { @[uregs[R_RDI] % 2] = lquantize(uregs[R_RDI], 0, 100, 10); }" \
	-- ./prog calls 100
like "7: registers at an instruction" "$out" ' 10 \|@+ +5 '
probe -q -n 'pid$target::pthread_mutex_lock:entry { self->t = timestamp; self->m = arg0; } pid$target::pthread_mutex_lock:return /self->t/ { @[self->m, ustack(4)] = sum(timestamp - self->t); self->t = 0; }' \
	-- ./prog mutex
mutex=$(($(grep '^0x' <<<"$out")))
like "8: mutexes that were waited for" "$out" " $mutex.*prog\`hold\\+0x"
ok "for as long as they were held" [ "$(tail -n 1 <<<"$out")" -gt 15000000 ]
probe -q -n 'pid$target::req_begin:entry { self->s = speculation(); } pid$target::req_begin:entry { speculate(self->s); printf("%d\n", arg0); } pid$target::req_end:return /arg1 != 0/ { commit(self->s); } pid$target::req_end:return /arg1 == 0/ { discard(self->s); }' \
	-- ./prog requests
is "9: requests that failed" "$(words "$out")" "1003 1006 1009"
probe -q -n 'usdt$target:server::query-start { printf("%Y %s\n", walltimestamp, copyinstr(arg0)); }' \
	-- ./prog queries
is "10: the programmer's own probes" "$(grep -c "^$(date +%Y) .* select 1$" <<<"$out")" 3
is "their semaphore is on" "$(grep -x '[0-9]*' <<<"$out")" 1
probe -q -x bufpolicy=ring -x bufsize=64k -n 'pid$target:a.out::entry { printf("%s\n", probefunc); }' -- ./prog crash
is "11: what was called last before a crash" "$(tail -n 1 <<<"$out")" leaf
is "the oldest is not there" "$(grep -c do_crash <<<"$out")" 0
probe -l -n 'pid$target:libc:mem*:entry' -- ./prog calls 1
like "12: how functions would be probed" "$out" ' memset|memcpy|mempcpy '

# -- Types of the program --

probe -q -n 'a.out:work:entry { @ = sum(args[0]); }' -- ./prog calls 101
is "arguments have types" "$(words "$out")" "101 5050"
