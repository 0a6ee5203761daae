#!/usr/bin/env bash
# timeout: 400
# profile-N: clauses that run wherever a thread is when it has used up another
# period of CPU time. Each time is counted once, and nobody is disturbed.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

plan 86

gcc -O2 -g -pthread -D_GNU_SOURCE "$SRC/profile_prog.c" -o prog || exit 1

# share NAME LOW HIGH: of all counts in `shown`, keyed by function (and more
# keys before it), those of NAME are between so many percent.
share() {
	awk -v want="$1" -v low="$2" -v high="$3" '
		NF > 1 && $NF ~ /^[0-9]+$/ {
			all += $NF
			if ($(NF - 1) ~ "`" want "$") own += $NF
		}
		END {
			p = all ? 100 * own / all : 0
			if (p >= low && p <= high) print "yes"
			else printf "%.1f %% of %d\n", p, all
		}' shown
}
number() { awk -v name="$1" '$1 == name { print $2 }' shown; }

# Enough of it for what is asked of the shares.
PROG_PERCENT=$(times 50)
export PROG_PERCENT

# -- What it is for --

OPTIONS=(-x quiet)
probe 'profile-997 { @[ufunc(arg1)] = count(); }' ./prog shares
unharmed "where the time goes: unharmed"
is "where the time goes: three quarters are" "$(share heavy 65 85)" yes
is "where the time goes: accounted for" "$(check accounts errors)" right
is "where the time goes: a function is one row" \
	"$(awk 'NF { print $1 }' shown | sort | uniq -d)" ""
probe 'profile-997 { @f[ufunc(arg1)] = count(); @m[umod(arg1), tid] = count();
	@n = count(); }
	END { trunc(@f, 1); printa("f %A %@d\n", @f); printa("n %@d\n", @n);
	printa("m %A %d %@d\n", @m); }' ./prog shares
is "where the time goes: trunc() keeps functions" \
	"$(awk '$1 == "f" { n++; f = $3 } $1 == "n" { print n, (f > 0.6 * $2), ($2 > 300) }' shown)" \
	"1 1 1"
is "where the time goes: a module is one row" \
	"$(awk '$1 == "m" { print $2 }' shown | sort | uniq -d)" ""
PROG_PERCENT=100 probe 'profile-97 { @[ustack()] = count(); }' ./prog shares
unharmed "by stacks: unharmed"
is "by stacks: whose they are" \
	"$(awk '/`/ { sub(/.*`/, ""); sub(/\+.*/, ""); line = line " " $0 }
		/^ *[0-9]+$/ { all += $1; if (line ~ /^ heavy shares main/) own += $1
			line = "" }
		END { print (all > 20 && own > 0.5 * all) ? "yes" : own " of " all }' \
		shown)" yes
probe 'profile-997 { @[arg0, uregs[R_PC] == arg1, probeprov, probefunc,
	probename, pid == $target] = count(); }' ./prog shares
is "what it says of itself" \
	"$(awk 'NF { n++; $NF = ""; print } END { print n }' shown | xargs)" \
	"0 1 profile profile-997 1 1"
probe 'profile-97 { printf("%d\n", arg1 != 0); exit(7); }' ./prog shares
is "it may end the script" "$status $(sort -u shown)" "7 1"

# -- How often --

# The kernel's timer goes while the thread has a processor, also while interrupts
# or a hypervisor use that; vtimestamp, the thread's CPU time, does not. So it is
# never more often than by the time of day between the first and the last one,
# and not much less often than by CPU time, however busy the machine is.
probe 'profile-997 { @n = count(); @v = max(vtimestamp); @from = min(timestamp);
	@to = max(timestamp); }
	END { printa("n %@d\n", @n); printa("v %@d\n", @v);
		printa("from %@d\n", @from); printa("to %@d\n", @to); }' ./prog shares
unharmed "how often: unharmed"
n=$(number n) v=$(number v) passed=$(($(number to) - $(number from)))
ok "how often: not more often than asked for ($n in $passed ns)" \
	[ $(((n - 1) * 1000000000 / 997)) -le $((passed + 10000000)) ]
ok "how often: not much less often ($n in $v ns)" \
	[ $((n * 2000000000 / 997)) -ge "$v" ]
is "how often: each is counted" "$(check account errors recorded)" "$n"

# One thread, one clock: what the others have of it is known exactly.
probe 'profile-997 { @a = count(); } profile-997hz { @b = count(); }
	profile-97 { @c = count(); } profile-1s { @d = count(); }
	profile-997, profile-97 { @e = count(); }
	END { printa("a %@d\n", @a); printa("b %@d\n", @b); printa("c %@d\n", @c);
		printa("d %@d\n", @d); printa("e %@d\n", @e); }' ./prog shares
unharmed "several rates: unharmed"
a=$(number a) c=$(number c)
ok "several rates: there are some" [ "$a" -gt 300 ]
is "several rates: the same by another name" "$(number b)" "$a"
is "several rates: a slower one" "$c" $((a * 1003009 / 10309278))
is "several rates: a clause of two" "$(number e)" $((a + c))
OPTIONS=()

# -- Threads and processes --

probe 'profile-997 { @[tid] = count(); }' ./prog threads
unharmed "threads: unharmed"
is "threads: all are there" "$(awk 'NF' shown | wc -l)" 9
probe 'profile-997 { @[ustack(3)] = count(); }' ./prog exec
is "what the program executes: goes on, and well" "$status" 0
like "what the program executes: before" "$(cat shown)" as_child
like "what the program executes: and afterwards" "$(cat shown)" as_next
probe 'profile-997 { @[pid == $target] = count(); }' ./prog fork
unharmed "children without -f: unharmed"
is "children without -f: are not interrupted" "$(awk '{ print $1 }' shown | xargs)" 1
OPTIONS=(-f)
probe 'profile-997 { @[pid == $target] = count(); }' ./prog fork
unharmed "children with -f: unharmed"
is "children with -f: are" "$(awk '{ print $1 }' shown | sort | xargs)" "0 1"
probe 'profile-997 { @[ustack(3)] = count(); }' ./prog forkexec
unharmed "what a child executes: unharmed"
like "what a child executes: is" "$(cat shown)" as_next
OPTIONS=()

# -- Libraries that come later --

cat >lib.c <<'EOC'
volatile unsigned long sink;
void library_work(void) { for (int i = 0; i < 100000; i++) sink += i; }
EOC
gcc -O2 -g -shared -fPIC lib.c -o lib.so || exit 1
probe 'profile-997 { @[ustack()] = count(); }' ./prog libraries ./lib.so
unharmed "a library that comes and goes: unharmed"
like "a library that comes and goes: and its stack" "$(xargs <shown)" \
	'lib.so`library_work[^ ]* prog`[a-z+0-9]* '

OPTIONS=(-f)
probe 'profile-997 { @[ustack()] = count(); }' \
	sh -c './prog libraries ./lib.so; true'
unharmed "a library that a child loads: unharmed"
like "a library that a child loads: and its stack" "$(xargs <shown)" \
	'lib.so`library_work[^ ]* prog`[a-z+0-9]* '
OPTIONS=()

# -- Nobody is disturbed, as often as can be --

while read -r kind what; do
	probe 'profile-9973 { @[ustack()] = count(); self->n++; @n = max(self->n); }' \
		./prog "$kind"
	unharmed "$what"
	is "$what: accounted for" "$(check accounts errors)" right
done <"$SRC/profile_kinds.txt"
for guest in insn_alignment_check insn_tsc_refused sig_sent_fault; do
	"$GUESTS/$guest" >native.out 2>/dev/null
	want=$?
	probe 'profile-9973 { @[ustack(), timestamp % 7] = count(); }' \
		"$GUESTS/$guest"
	is "$guest" "$status $(cmp said native.out)" "$want "
done

# Together with probes of instructions, in the thread's own hands.
probe 'profile-9973 { @[ustack(4)] = count(); } pid$target:a.out:leap:entry,
	pid$target:libc:*setjmp*:entry { @b[probefunc] = count(); }' ./prog leaps
unharmed "beside other probes"

# -- Clauses that fail, take long, or change something --

probe 'profile-997 { trace(copyin(8, 4)); } ERROR { @e[arg4, arg5] = count(); }' \
	./prog shares
unharmed "memory that is not there: unharmed"
n=$(check account errors faulted)
is "memory that is not there: is told, each time" "$(awk 'NF == 3' shown | xargs)" \
	"1 8 $n"
ok "memory that is not there: often ($n)" [ "$n" -gt 300 ]
slow=$(for i in $(seq 60); do
	echo "profile-20000 { @a[$i, ustack(256)] = count(); }"
done)
probe "$slow" ./prog depth 1000
unharmed "clauses that take too long: the program gets on"
like "clauses that take too long: that is said" "$err" \
	'[0-9]* ticks were let pass, for clauses of profile-N took too long'
OPTIONS=(-w)
probe 'profile-97 /!done/ { done = 1; raise(15); }' ./prog shares
is "a signal that it raises" "$status" 143
OPTIONS=()

# -- What there is --

try hark probe -l -n 'profile-97, tick-1ms, pid$target:a.out:main:entry' \
	-- ./prog shares
is "it is listed" "$status $(awk '$2 == "profile" { $1 = $1; print }' <<<"$out" |
	xargs)" "0 2 profile profile-97 every 10309278 ns 3 profile tick-1ms every 1000000 ns"
try hark probe -l --json -n 'profile-97' -- ./prog shares
like "it is listed, for machines" "$out" \
	'"provider":"profile","module":"","function":"","name":"profile-97","period_ns":10309278'

# -- There and back: by events, by timers --

mkfifo orders
same() { /usr/bin/python3 "$SRC/probe_same.py" "$pid"; }
used() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
burnt() { [ "$(used)" -gt $((marked + $1)) ]; }
there() { grep -qs hark-probe "/proc/$pid/maps"; }
for clock in event timer; do
	export HARK_CLOCK=$clock
	rm -f guest.out
	./prog server <orders >guest.out 2>&1 &
	pid=$!
	exec 7>orders
	wait_for ready guest.out || note "it does not begin"
	same >before
	for how in INT KILL INT; do
		rm -f shown
		"$HARK" probe -o shown -n 'profile-97 { @[tid] = count(); }' \
			-p "$pid" 2>errors &
		hark=$!
		await there || note "hark does not come: $(cat errors)"
		marked=$(used)
		await burnt 60
		kill -$how $hark
		wait $hark 2>/dev/null
	done
	is "$clock: all is as it was" "$(same | diff before -)" ""
	is "$clock: both threads were interrupted" "$(awk 'NF == 2' shown | wc -l)" 2
	exec 7>&-
	wait $pid
	is "$clock: the program ends well" "$? $(tail -n 1 guest.out)" "0 ok"
done
PROG_PERCENT=100 probe 'profile-97 { @[ufunc(arg1)] = count(); }' ./prog shares
unharmed "timers: unharmed"
is "timers: right" "$(share heavy 50 100), $(check accounts errors)" "yes, right"
like "timers: that is said" "$err" 'profile-N is by timers of the threads'
for kind in trap blocked storm altstack threads; do
	probe 'profile-9973 { @[ustack()] = count(); }' ./prog $kind
	unharmed "timers: $kind"
done
