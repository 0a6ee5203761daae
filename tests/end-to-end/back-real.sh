#!/usr/bin/env bash
# timeout: 900
# hark back on programs that nobody wrote for it: without debug information,
# with libraries, threads, and clients.  What gdb says is held against what the
# programs printed.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
plan 37

# strings: what x/s found, in order.
strings() { sed -nE 's/^0x[0-9a-f]+:	"(.*)"$/\1/p' <<<"$out" | paste -sd'|'; }

# -- sqlite3: a query over a generated table --
cat >query.sql <<'END'
create table t(id integer primary key, a int, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
	insert into t select x, (x * 7919) % 1009, 'name' || x from c;
select count(*), max(b) from t where a % 7 = 3;
select a, count(*) from t group by a order by 2 desc, 1 limit 3;
END
said=$("$HARK" record -q -o sqlite.hark -- /usr/bin/sqlite3 :memory: <query.sql)
row=$(tail -1 <<<"$said")
like "sqlite3 answers" "$row" '^[0-9]+\|[0-9]+$'

# Its columns are read by the program from a library, in order: backwards.
back sqlite.hark 'break sqlite3_column_text' 'reverse-continue' 'p $esi' \
	'bt 3' 'finish' 'x/s $rax' 'reverse-continue' 'reverse-continue' \
	'p $esi' 'finish' 'x/s $rax' 'when' 'reverse-stepi' 'when' \
	'x/i $pc' 'stepi' 'when'
like "a function of a library is stopped at" "$out" \
	'Breakpoint 1, 0x[0-9a-f]+ in sqlite3_column_text \(\) from .*libsqlite3'
is "its argument is the last column" "$(value 1)" 1
like "frames are found without debug information" "$out" \
	'#1 +0x[0-9a-f]+ in .*'$'\n''#2 +0x[0-9a-f]+ in '
is "values are those that were printed" "$(strings)" \
	"${row#*|}|${row%|*}"
is "and so are the columns" "$(value 2)" 0
like "a step back is at the return" "$out" '=> 0x[0-9a-f]+ <sqlite3_column_text.*>:	ret'
is "and the next leads to the same moment" \
	"$(positions | sed -n '1p;3p' | sort -u | wc -l)" 1

# From the first statement on; and the last rows once more, forwards.
back sqlite.hark 'tbreak sqlite3_prepare_v2' 'run' 'x/s $rsi' 'seek end' \
	'break sqlite3_column_text' 'reverse-continue' 'reverse-continue' \
	'reverse-continue' 'reverse-continue' 'finish' 'x/s $rax' 'continue' \
	'finish' 'x/s $rax' 'continue' 'finish' 'x/s $rax' 'continue' 'finish' \
	'x/s $rax'
like "run begins anew" "$out" 'Temporary breakpoint 1, .* sqlite3_prepare_v2'
is "values forwards" "$(strings | cut -d'|' -f2-)" \
	"$(tail -2 <<<"$said" | paste -sd'|')"

# The buffer that a value lay in was written by somebody.
back sqlite.hark 'break sqlite3_column_text' 'reverse-continue' 'finish' \
	'set $text = (char *)$rax' 'delete' 'watch *$text' 'reverse-continue' \
	'bt 3' 'info symbol $pc' 'x/s $text' 'p *$text'
like "a watchpoint finds the write" "$out" \
	'Hardware watchpoint 2: \*\$text.*Old value = .*New value = '
like "in the library" "$out" 'in section \.text of .*libsqlite3'
unlike "before it the value was another" "$(value 1)" "'${row:$((${#row} - 1))}'"

# -- python3: two threads --
said=$("$HARK" record -q -o python.hark -- /usr/bin/python3 "$SRC/back_cell.py")
cell=$(sed -n 's/^cell //p' <<<"$said")
mapfile -t wrote < <(sed -n 's/^wrote //p' <<<"$said")
is "python3 wrote" "${#wrote[@]}" 40
word="*(unsigned long *)$cell"
back python.hark "p $word" "watch $word" 'reverse-continue' \
	'python print("by", gdb.selected_thread().ptid[1])' "p $word" \
	'reverse-continue' 'python print("by", gdb.selected_thread().ptid[1])' \
	"p $word" 'info threads' 'thread apply all bt 1' 'bt -3' \
	'reverse-continue' 'python print("by", gdb.selected_thread().ptid[1])' \
	"p $word" 'continue' "p $word" "last-write $word"
for n in 0 1 2; do
	is "value $n before the end" "$(value $((n + 1)))" "${wrote[$n]#* }"
	is "and the thread that wrote it" \
		"$(sed -n 's/^by //p' <<<"$out" | sed -n $((n + 1))p)" \
		"${wrote[$n]% *}"
done
is "the value before all that" "$(value 4)" "${wrote[3]#* }"
like "all threads are listed" "$out" "Thread [0-9]+\.${wrote[1]% *} \"python3\" \(at [0-9]+:"
is "each has a stack" "$(grep -c '^#0 ' <<<"$out")" 3
# Two functions of the C library that have no names: start_thread, clone3.
like "a thread's stack goes to its beginning" "$out" \
	'in \?\? \(\) from [^ ]*libc\.so\.6'$'\n''#[0-9]+ [^ ]* in \?\? \(\) from [^ ]*libc\.so\.6'$'\n''[^#B]'
is "forwards the value is there again" "$(value 5)" "${wrote[2]#* }"
like "last-write says the same" "$out" "[0-9]+:[0-9]+.* wrote 8 bytes at $cell: $(
	printf '%#x -> %#x' "${wrote[3]#* }" "${wrote[2]#* }")"
back python.hark 'break PyLong_AsUnsignedLongMask' 'reverse-continue' \
	'p $_thread' 'stepi' 'stepi' 'reverse-finish' 'x/i $pc' 'p $_thread' \
	'stepi' 'stepi' 'stepi' 'info symbol $pc'
like "a function of the program is stopped at" "$out" \
	'Breakpoint 1, 0x[0-9a-f]+ in PyLong_AsUnsignedLongMask'
like "reverse-finish leads to its call" "$out" '=> 0x[0-9a-f]+.*:	call '
is "in the same thread" "$(value 2)" "$(value 1)"
like "which leads to the function" "$out" 'PyLong_AsUnsignedLongMask .*in section'

# -- redis-server: commands over a socket --
cat >redis.conf <<END
port 0
unixsocket $T/redis.sock
save ""
appendonly no
daemonize no
dir $T
END
"$HARK" record -q -o redis.hark -- /usr/bin/redis-server redis.conf \
	>redis.log 2>&1 &
server=$!
cli() { redis-cli -s redis.sock "$@" 2>/dev/null; }
for ((i = 0; i < 600; i++)); do
	[ "$(cli ping)" = PONG ] && break
	sleep 0.1
done
cli set counter 40 >/dev/null
cli set greeting "good morning" >/dev/null
said=$(for n in 1 2 3; do cli incr counter; done | paste -sd' ')
cli shutdown nosave
wait "$server"
is "redis-server ended well" "$?" 0
is "and answered" "$said" "41 42 43"
back redis.hark 'break createStringObjectFromLongLongForValue' \
	'reverse-continue' 'p $rdi' 'bt 2' 'reverse-continue' 'p $rdi' \
	'reverse-continue' 'p $rdi' 'finish' 'p *(long *)($rax + 8)' \
	'set $object = $rax' 'continue' 'p $rdi' \
	'last-write *(long *)($object + 8)'
is "its answers, backwards" "$(value 1) $(value 2) $(value 3)" "43 42 41"
like "frames have names" "$out" '#1 +0x[0-9a-f]+ in incrDecrCommand'
is "the object has the value" "$(value 4)" 41
is "forwards again" "$(value 5)" 42
like "who wrote it" "$out" 'in [^ ]+ \+ [0-9]+ wrote 8 bytes'
