#!/usr/bin/env bash
# timeout: 300
# hark probe on real programs: each answer is held against a truth that was
# found in another way: a second account beside it, strace, the program's own
# counters, its log.
. "$(dirname "$0")/lib.sh"
plan 27

SRC=$ROOT/tests/end-to-end

# probe SCRIPT COMMAND...: answers are in `shown`; the program's own words in
# `said`; sets $status.
probe() {
	rm -f shown
	timeout -s KILL 100 "$HARK" probe -q -o shown -n "$1" -- "${@:2}" \
		>said 2>errors </dev/null
	status=$?
	answered
}
# Whatever went wrong: the tests that follow find a file, and say what it was.
answered() {
	[ -e shown ] || : >shown
	[ ! -s errors ] || note "$(head -n 3 errors)"
}

# attach SCRIPT PID: the same of a running process, in the background; sets
# $tracer.
attach() {
	rm -f shown
	timeout -s KILL 100 "$HARK" probe -q -o shown -n "$1" -p "$2" \
		>/dev/null 2>errors </dev/null &
	tracer=$!
}

# pictures: what quantize() drew, as `LOW COUNT`, without the empty rows.
pictures() {
	awk '/\|/ && $NF ~ /^[0-9]+$/ && $NF > 0 { print $1, $NF }' shown
}

# or_none: what it reads; nothing is no truth.
or_none() { grep . || echo none; }

# Whatever happens, nothing of it is left.  (timeout passes the signal on.)
server='' tracer='' pid='' session=''
leave() {
	local status=$? one

	for one in $session $tracer $server $pid; do
		! ended "$one" && kill "$one"
	done
	(exit $status)
	tests_end
}
trap leave EXIT
trap '' PIPE

# -- sqlite3: sizes of memory, latency of fdatasync --

gcc -O2 -shared -fPIC -D_GNU_SOURCE "$SRC/probe_truth.c" -o truth.so || exit 1
cat >work.sql <<'END'
pragma journal_mode=delete;
pragma synchronous=full;
create table t(a integer primary key, b text);
insert into t(b) values ('one');
insert into t(b) values ('two');
insert into t(b) with recursive n(i) as (
	select 1 union all select i + 1 from n where i < 500)
	select printf('%.*c', i, 'x') from n;
create index i on t(b);
delete from t where a % 7 = 0;
select count(*), sum(length(b)) from t;
END
sqlite() { # COMMAND...: that, with sqlite3 behind it
	rm -f t.db t.db-journal
	"$@" sqlite3 -init /dev/null -batch t.db '.read work.sql'
}
sqlite env >plain.out
# sqlite_probe SCRIPT: with the second account, in `truth`.
sqlite_probe() {
	rm -f truth
	LD_PRELOAD=$T/truth.so TRUTH=$T/truth TRUTH_OF=sqlite3 \
		sqlite probe "$1"
	[ -e truth ] || : >truth
}

sqlite_probe '
pid$target:libc:malloc:entry { @sizes = quantize(arg0); @n = count();
	@bytes = sum(arg0); }
END { printa("malloc %@d ", @n); printa("%@d\n", @bytes); printa(@sizes); }'
is "sqlite3 works as without probes" "$status $(cat said)" "0 $(cat plain.out)"
ok "it asks for memory" [ "$(awk '/^malloc/ { print $2 }' truth)" -gt 500 ]
is "every malloc is counted, and every byte" \
	"$(grep '^malloc' shown)" "$(grep '^malloc' truth | or_none)"
is "sizes are as the second account has them" \
	"$(pictures)" "$(awk '/^bin/ { print $2, $3 }' truth | or_none)"

sqlite_probe '
pid$target:libc:fsync:entry, pid$target:libc:fdatasync:entry
	{ self->t = timestamp; }
pid$target:libc:fsync:return, pid$target:libc:fdatasync:return /self->t/
	{ printf("%s %d %d\n", probefunc, (int)arg1, timestamp - self->t);
	  self->t = 0; }'
is "sqlite3 works as before" "$status $(cat said)" "0 $(cat plain.out)"
sqlite strace -f -c -o calls -e trace=fsync,fdatasync >/dev/null
is "strace has seen as many calls, by name" \
	"$(awk '$1 ~ /sync$/ { n[$1]++ } END { for (f in n) print f, n[f] }' shown)" \
	"$(awk '$NF ~ /sync$/ { print $NF, $4 }' calls | or_none)"
is "all of them succeeded" "$(awk '{ print $2 }' shown | sort -u)" 0
# The truth contains the probed call each time;
# in most cases it is not much longer, in some the machine was busy between.
ok "latencies are those that the second account has" /usr/bin/python3 -c '
ours = [int(line.split()[2]) for line in open("shown")]
truth = [int(line.split()[1]) for line in open("truth")
         if line.startswith("sync")]
assert len(ours) == len(truth) > 10, (len(ours), len(truth))
over = [t - o for o, t in zip(ours, truth)]
assert min(ours) > 0, ours
assert min(over) > -0.01 * max(truth), over
assert sorted(over)[len(over) // 2] < 100000, over'

# -- A program of two threads: waiting for mutexes --

gcc -O2 -pthread "$SRC/probe_waits.c" -o waits || exit 1
probe '
pid$target:libc:pthread_mutex_lock:entry { self->t = timestamp;
	self->m = arg0; }
pid$target:libc:pthread_mutex_lock:return /self->t/ {
	@n[self->m] = count(); @ns[self->m] = sum(timestamp - self->t);
	self->t = 0; }
END { printa("locks %d %@d\n", @n); printa("ns %d %@d\n", @ns); }' ./waits
is "the program ends well" "$status $(wc -l <said)" "0 2"
ok "every lock of each mutex is counted; waits are as long as it says" \
	/usr/bin/python3 -c '
ours = {}
for line in open("shown"):
    if line.strip():
        what, mutex, n = line.split()
        ours[what, mutex] = int(n)
own = [line.split() for line in open("said")]
assert len(own) == 2
for mutex, locks, ns in own:
    assert ours["locks", mutex] == int(locks), (ours, own)
    assert 0 < ours["ns", mutex] <= int(ns) * 1.01, (ours, own)
slow = own[0]
# most of it is sleep of the other thread, so little can lie between
assert int(slow[2]) > 20_000_000, own
assert ours["ns", slow[0]] >= int(slow[2]) / 2, (ours, own)'

# -- redis-server: statements --

cat >redis.conf <<END
port 0
unixsocket $T/redis.sock
save ""
appendonly no
daemonize no
dir $T
END
rm -f shown
timeout -s KILL 100 "$HARK" probe -q -o shown -n '
pid$target:a.out:call:entry { @all = count(); }
pid$target:a.out:setCommand:entry, pid$target:a.out:getCommand:entry,
pid$target:a.out:incrCommand:entry, pid$target:a.out:lpushCommand:entry
	{ @n[probefunc] = count(); self->t = timestamp; }
pid$target:a.out:setCommand:return /self->t/
	{ @ns = sum(timestamp - self->t); self->t = 0; }
END { printa("call %@d\n", @all); printa("%s %@d\n", @n);
	printa("ns %@d\n", @ns); }' -- /usr/bin/redis-server redis.conf \
	>redis.log 2>errors </dev/null &
server=$!
cli() { timeout 20 redis-cli -s redis.sock "$@"; }
pong() { [ "$(cli ping 2>/dev/null)" = PONG ]; }
up() { pong || ended $server; }
await up
for ((i = 0; i < 300; i++)); do
	echo "set key:$((i % 7)) value$i"
	[ $((i % 3)) != 0 ] || echo "get key:$((i % 5))"
	[ $((i % 4)) != 0 ] || echo incr counter
	[ $((i % 10)) != 0 ] || echo "lpush list a b c"
done >commands
echo 'eval "for i = 1, 50 do redis.call([[set]], [[lua]], i) end" 0' >>commands
cli <commands >replies 2>&1
cli info commandstats 2>/dev/null | tr -d '\r' >stats
cli shutdown nosave 2>/dev/null
wait $server
is "redis-server ends well" "$?" 0
answered
is "it has answered everything" "$(grep -c . replies)/$(grep -ci err replies)" \
	"505/0"
stat() { sed -n "s/^cmdstat_$1:calls=\([0-9]*\),.*/\1/p" stats | or_none; }
# INFO itself and SHUTDOWN come after what INFO has counted.
is "every statement is counted as redis itself counts" \
	"$(awk '/^call / { print $2 }' shown)" \
	"$(awk -F'[=,]' '/^cmdstat/ { n += $2 } END { print n + 2 }' stats)"
for name in set get incr lpush; do
	is "and by its kind: $name" \
		"$(awk -v f=${name}Command '$1 == f { print $2 }' shown)" \
		"$(stat $name)"
done
# redis times more than the function, and cuts off fractions of 1 us.
ok "and takes no longer than redis says" /usr/bin/python3 -c '
import re
ns = [int(line.split()[1]) for line in open("shown") if line.startswith("ns ")]
calls, us = map(int, re.search(r"cmdstat_set:calls=(\d+),usec=(\d+),",
                               open("stats").read()).groups())
assert len(ns) == 1 and 0 < ns[0] <= (us + calls) * 1010, (ns, us, calls)'

# -- python3, while it runs --

cat >busy.py <<'END'
import os, time
calls = 0
def work(n):
    global calls
    total = 0
    for i in range(n):
        total += int("%o" % i, 8)  # PyLong_FromString, once
        calls += 1
    return total
print("ready", flush=True)
while not os.path.exists("go"):
    float("1.5")  # PyOS_string_to_double: to see whether someone looks
    time.sleep(0.005)
good = work(20000) == sum(range(20000))
print("worked", calls, good, flush=True)
while not os.path.exists("end"):
    time.sleep(0.005)
print("again", work(1000) == sum(range(1000)), flush=True)
END
begin /usr/bin/python3 -S -E busy.py
attach '
pid$target:a.out:PyOS_string_to_double:entry /!seen/
	{ seen = 1; printf("seen\n"); }
pid$target:a.out:PyLong_FromString:entry { @ = count(); @by[arg2] = count(); }
END { printa("calls %@d\n", @); printa("base %d %@d\n", @by); }' "$pid"
looks() { grep -qs seen shown || ended $tracer; }
await looks
: >go
wait_for worked guest.out
kill -INT $tracer 2>/dev/null
gone $tracer
answered
is "hark looks, and leaves when it is told to" \
	"$(grep -c seen shown):$(ended $tracer && echo gone)" 1:gone
is "calls are those that python3 counted itself" \
	"$(grep '^calls' shown) $(grep '^base' shown)" \
	"$(awk '/^worked/ { print "calls", $2, "base 8", $2 }' guest.out)"
ok "python3 lives on" kill -0 "$pid"
ok "nobody traces it" grep -q '^TracerPid:.0$' "/proc/$pid/status"
finish
is "and is unharmed" "$?:$(tail -n 2 guest.out | xargs)" \
	"0:worked 20000 True again True"

# -- PostgreSQL: its own probes --

bin=$(dirname "$(readlink -f "$(command -v pg_ctl || echo /)")")
postgres_tests=("PostgreSQL's statements are those of its log, in their order"
	"each was a transaction" "its answers are right" "PostgreSQL ends well")
postgres() {
	local who=() backend

	# it does not want to be root
	chmod 711 . && mkdir pg && chmod 777 pg
	[ "$(id -u)" != 0 ] || who=(setpriv --reuid=65534 --regid=65534
		--clear-groups env HOME="$T/pg")
	(cd pg && "${who[@]}" "$bin/initdb" -D "$T/pg/data" -A trust -U me -N \
		>../initdb.log 2>&1) || note "$(tail -n 3 initdb.log)"
	(cd pg && exec "${who[@]}" "$bin/postgres" -D "$T/pg/data" -k "$T/pg" \
		-c listen_addresses= -c log_statement=all -c fsync=off \
		-c 'log_line_prefix=%p ' -c autovacuum=off) 2>postgres.log &
	server=$!
	sql() { timeout 60 "$bin/psql" -XqAt -h "$T/pg" -U me postgres "$@"; }
	up() { sql -c 'select 1' >/dev/null 2>&1 || ended $server; }
	await up

	# One session, which lasts as long as the pipe is open.
	mkfifo pipe
	sql <pipe >replies 2>&1 &
	session=$!
	exec 7>pipe
	echo "select 'backend', pg_backend_pid();" >&7
	backend_known() { grep -q '^backend' replies || ended $session; }
	await backend_known
	backend=$(sed -n 's/^backend|//p' replies)
	attach '
usdt$target:postgresql::query-start { printf("%s\n", copyinstr(arg0)); }
usdt$target:postgresql::transaction-commit { @ = count(); }
END { printa("commits %@d\n", @); }' "$backend"
	looks() {
		echo "select 'does someone look';" >&7
		grep -qs 'someone look' shown || ended $tracer
	}
	await looks
	{
		echo "create table t(a int, b text);"
		echo "insert into t select i, 'x' || i from generate_series(1, 100) i;"
		echo "update t set b = b || 'y' where a % 3 = 0;"
		for i in 1 2 3 4 5 6 7 8 9; do
			echo "select b from t where a = $i;"
		done
		echo "select count(*), sum(length(b)) from t;"
	} >&7
	exec 7>&-
	wait $session
	gone $tracer || note "hark did not end with the process"
	answered
	sed -n "s/^$backend LOG:  statement: //p" postgres.log |
		grep -v 'someone look\|pg_backend_pid' >logged
	grep -v '^commits\|someone look' shown | grep . >seen
	is "${postgres_tests[0]}" "$(cat seen)" "$(cat logged)"
	# What ran when hark came may be seen in its second half alone.
	ok "${postgres_tests[1]}" /usr/bin/python3 -c '
lines = [line for line in open("shown") if line.strip()]
commits = [int(line.split()[1]) for line in lines
           if line.startswith("commits")]
assert len(commits) == 1 and len(lines) > 13, lines
assert 0 <= commits[0] - (len(lines) - 1) <= 1, (commits, len(lines))'
	is "${postgres_tests[2]}" "$(tail -n 2 replies | xargs)" "x9y 100|325"
	kill -INT $server
	wait $server
	is "${postgres_tests[3]}" "$?" 0
}
if [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ]; then
	postgres
else
	for name in "${postgres_tests[@]}"; do
		skip "$name" "no PostgreSQL here"
	done
fi
