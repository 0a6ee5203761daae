#!/usr/bin/env bash
# timeout: 1200
# Real programs, sampled from inside ten thousand times a second of CPU time:
# each sample must be what a walk gives, and that what libunwind gives, with
# libgcc as arbiter (unwind_preload.c).  Programs whose tables make libunwind slow
# have it asked every so many times.
. "$(dirname "$0")/../end-to-end/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 12

build_image preload.so rel -fPIC -shared -fvisibility=hidden \
	-Wl,--exclude-libs,ALL -I"$ROOT/tests/unit" "$ROOT/tests/unit/unwind_self.c" \
	"$ROOT/tests/end-to-end/unwind_preload.c" -lgcc_s -lunwind || exit 1

gcc -E -P -D_GNU_SOURCE -I"$ROOT/src" "$ROOT/src/unwind/map.c" -o many.i || exit 1
cat >work.py <<'EOC'
import json, re
def dive(n):
    return 0 if n == 0 else 1 + dive(n - 1)
text = json.dumps([{"a": [i] * 20, "b": str(i)} for i in range(3000)])
json.loads(text)
for i in range(800):
    dive(300)
print(len(re.sub("([0-9]+),", lambda m: m.group(1), text[:200000])))
EOC
cat >work.pl <<'EOC'
my %h; sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
for (1 .. 300000) { $h{$_ % 1000} .= sprintf("%d", $_) =~ /(\d+)5/ ? 1 : 0 }
fib(20);
print length join("", sort { $a cmp $b } values %h);
EOC
cat >work.sql <<'EOC'
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000)
insert into t select x, hex(x * 7919) from c;
create index i on t(b);
select count(*) from t where b like '%37%';
EOC

# word NAME: what the program's last line has behind it
word() { awk -v word="$1" '{ for (i = 1; i < NF; i++) if ($i == word) print $(i + 1) }' out; }

# same NAME EVERY PROGRAM...
same() {
	local name=$1 every=$2

	shift 2
	rm -f out
	try timeout -s KILL 280 env UNWIND_ORACLE="$every" UNWIND_OUT="$T/out" \
		LD_PRELOAD="$T/preload.so" "$@"
	[ -s out ] || : >out
	note "$name: $(cat out)"
	is "$name: it runs" "$status" 0
	is "$name: samples are walks, and libunwind's" "$(word wrong) $(word differ)" "0 0"
	[ -z "$(word alone)" ] || [ "$(word alone)" = 0 ] || note "$err"
	ok "$name: it was asked, and is not alone" \
		[ "$(word asked)" -ge 100 -a $(($(word alone) * 100)) -le "$(word asked)" ]
}
same python3 1 /usr/bin/python3 work.py
same perl 1 perl work.pl
same sqlite3 1 sqlite3 :memory: ".read work.sql"
same cc1 16 "$(gcc -print-prog-name=cc1)" -quiet -O2 many.i -o /dev/null
