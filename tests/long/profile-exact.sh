#!/usr/bin/env bash
# timeout: 3600
# hark profile --check, ten thousand times a second of CPU time: compilers,
# interpreters, a database, and programs that make it hard, until SAMPLES stacks
# (a million) were each held against a plain walk. None may differ.
. "$(dirname "$0")/../end-to-end/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/profile-check.bash"

SAMPLES=${SAMPLES:-1000000}
PATIENCE=900 # seconds, of one program
build_prog
build_torture
gcc -O2 -g -shared -fPIC -xc - -o lib.so <<'EOC' || exit 1
volatile unsigned long sink;
void library_work(void) { for (int i = 0; i < 100000; i++) sink += i; }
EOC

cat >many.cc <<'EOC'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main()
{
	std::regex r("a(b|c)*d");
	std::map<std::string, std::vector<int>> m;
	std::function<int(int)> f = [&](int n) { return n ? f(n - 1) : 0; };
	m["x"] = {3, 1, 2};
	std::sort(m["x"].begin(), m["x"].end());
	std::cout << std::regex_match("abcd", r) << m.size() << f(3);
}
EOC
g++ -E -P many.cc -o many.ii || exit 1
gcc -E -P -D_GNU_SOURCE -I"$ROOT/src" "$ROOT/src/unwind/map.c" -o many.i || exit 1
cat >work.py <<'EOC'
import json, re
def dive(n):
    return 0 if n == 0 else 1 + dive(n - 1)
text = json.dumps([{"a": [i] * 20, "b": str(i)} for i in range(30000)])
for _ in range(3):
    json.loads(text)
for i in range(4000):
    dive(900)
print(len(re.sub("([0-9]+),", lambda m: m.group(1), text[:2000000])))
EOC
cat >work.pl <<'EOC'
my %h; sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
for (1 .. 600000) { $h{$_ % 1000} .= sprintf("%d", $_) =~ /(\d+)5/ ? 1 : 0 }
fib(25);
print length join("", sort { $a cmp $b } values %h);
EOC
cat >work.sql <<'EOC'
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 300000)
insert into t select x, hex(x * 7919) from c;
create index i on t(b);
select count(*), sum(length(b)) from t where b like '%39%' group by a % 7;
select count(*) from t x join t y on x.b = y.b order by 1;
EOC

# Each line: a name, and what is run.
cat >programs <<EOP
cc1 $(gcc -print-prog-name=cc1) -quiet -O2 many.i -o /dev/null
cc1plus $(gcc -print-prog-name=cc1plus) -quiet -O2 many.ii -o /dev/null
clang clang -O2 -c many.cc -o clang.o
python3 /usr/bin/python3 work.py
perl perl work.pl
sqlite3 sqlite3 -init work.sql :memory: .exit
torture ./torture 6
coroutines ./prog contexts
altstack ./prog altstack
longjmp ./prog leaps
libraries ./prog libraries ./lib.so
storm ./prog storm
deep ./prog depth 3000
EOP

mapfile -t programs <programs
plan $((${#programs[@]} + 1))
n_all=0
declare -A seen wrong

# once NAME PROG...
once() {
	local name=$1 n differ

	shift
	EXTRA=(--check -F 9973)
	[ "$name" != storm ] || EXTRA+=(-f)
	profile "$@"
	read -r n differ <<<"$(counts)"
	n_all=$((n_all + ${n:-0}))
	seen[$name]=$((${seen[$name]:-0} + ${n:-0}))
	[ "$status" = 0 ] && [ "$differ" = 0 ] && return
	wrong[$name]+="status $status, ${n:-0} checked, ${differ:-?} differ
$(cat errors)
"
}

for ((round = 1, before = -1; n_all < SAMPLES && n_all > before; round++)); do
	before=$n_all
	for line in "${programs[@]}"; do
		read -ra words <<<"$line"
		! command -v "${words[1]}" >/dev/null || once "${words[@]}"
	done
	note "round $round: $n_all checked"
done
for line in "${programs[@]}"; do
	name=${line%% *}
	if [ -z "${seen[$name]:-}" ]; then
		skip "$name" "it is not installed"
	elif [ -n "${wrong[$name]:-}" ]; then
		fail "$name" "${wrong[$name]}"
	else
		pass "$name: ${seen[$name]} checked, none differs"
	fi
done
ok "$n_all were checked in all" [ "$n_all" -ge "$SAMPLES" ]
