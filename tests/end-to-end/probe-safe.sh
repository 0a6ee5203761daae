#!/usr/bin/env bash
# timeout: 900
# hark probe does no harm: programs that live dangerously find nothing wrong,
# with probes on what they are about, on every function, on every instruction.
# CASE=PATTERN runs some of them.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

# GUEST MODE STATUS FUNCTION...; a mode of - is none. `!` before the guest: not
# on every instruction, for a trap would not fit on its stack.
CASES=(
	"signals timer 0 steady in_handler"
	"signals storm 0 steady in_handler"
	"signals leave 0 touch"
	"signals retry 0 touch"
	"signals skip 0 touch"
	"signals nested 0 steady in_handler"
	"signals once 138 steady in_handler"
	"traps own 0 trapped own_int3"
	"traps blocked 0 trapped"
	"traps threads 0 trapped"
	"traps handler 0 trapped"
	"traps masks 0 trapped"
	"traps ignored 0 trapped"
	"traps raw 0 trapped own_int3"
	"traps die 133 trapped"
	"stacks alternate 0 jumped trapped"
	"!stacks small 0 jumped"
	"stacks contexts 0 jumped trapped"
	"!stacks tiny 0 jumped"
	"jumps over 0 deep"
	"throw - 0 inner middle outer"
	"births thousand 0 hot"
	"births crowd 0 hot"
	"births raw 0 hot"
	"births base 0 hot"
)

chosen=()
for case in "${CASES[@]}"; do
	# shellcheck disable=SC2053  # a pattern is meant
	[[ ${case#!} == ${CASE:-*} ]] && chosen+=("$case")
done
n=0
for case in "${chosen[@]}"; do
	n=$((n + 5))
	[[ $case == !* ]] || n=$((n + 2))
done
[ -n "${CASE:-}" ] || n=$((n + 20))
plan $n

build signals
build traps
build stacks -Wl,-z,now
build jumps
build births -fno-stack-protector
build family
build strings -fno-builtin -fno-tree-loop-distribute-patterns
g++ -O2 -fno-ipa-cp -g "$SRC/probe_throw.cc" -o throw

# clause DESCRIPTION...: one that counts all of them.
clause() {
	local IFS=,

	echo "$*"
	echo '{ @[probefunc, probename] = count(); }'
}

# hits NAME: what `shown` has of the functions that the guest speaks of, at
# offset 0 or at their entry, is what it says.
hits() {
	awk 'NR == FNR { if ($1 == "hit") of[$2] = 1; next }
		NF == 3 && ($2 == "0" || $2 == "entry") && of[$1] {
			print $1, $3 }' said shown >at_entry
	is "$1" "$(check counts at_entry said)" right
}

for case in "${chosen[@]}"; do
	read -r guest mode want functions <<<"${case#!}"
	[ "$mode" != - ] || mode=
	name="$guest${mode:+ $mode}"
	entries=() all=()
	for f in $functions; do entries+=("pid\$target:a.out:$f:entry"); done

	probe "$(clause "${entries[@]}")" ./$guest $mode
	unharmed "$name" "$want"
	hits "$name: every call is counted"
	is "$name: and accounted for" "$(check accounts errors)" right

	probe "$(clause 'pid$target:a.out::entry' 'pid$target:a.out::return')" \
		./$guest $mode
	unharmed "$name, all entries and returns" "$want"
	hits "$name, all entries and returns: counted"

	[[ $case != !* ]] || continue
	every ./$guest >list 2>list.err
	mapfile -t all < <(sed 's/ .*//; s/^/pid$target:/' list)
	probe "$(clause "${all[@]}")" ./$guest $mode
	unharmed "$name, all ${#all[@]} instructions" "$want"
	hits "$name, all instructions: counted"
done
[ -z "${CASE:-}" ] || exit 0

# -- Threads that share their fs base already --

rm -f go
./births ready >said 2>&1 </dev/null &
pid=$!
for _ in {1..100}; do
	[ "$(ls /proc/$pid/task | wc -l)" = 3 ] && break
	sleep 0.05
done
OPTIONS=(-w)
attach "BEGIN { system(\"touch go\"); }
$(clause 'pid$target:a.out:hot:entry')" $pid
OPTIONS=()
wait $pid
is "threads that share their fs base already" "$?" 0
hits "threads that share their fs base already: counted"
is "threads that share their fs base already: accounted for" \
	"$(check accounts errors)" right

# -- Returns that never come --

probe 'pid$target:a.out:deep:return { @[probefunc] = count(); }' ./jumps over
unharmed "longjmp over returns"
counted "only returns that happen are counted" returned
probe 'pid$target:a.out:inner:return, pid$target:a.out:middle:return,
pid$target:a.out:outer:return { @[probefunc] = count(); }' ./throw
unharmed "exceptions through returns"
counted "only those that return are counted" returned

# A handler that leaves by siglongjmp may keep one instruction each time from
# being executed, whose probe has fired.
probe 'pid$target:a.out:busy:entry { @ = count(); }' ./jumps away
unharmed "siglongjmp out of whatever was interrupted"
read -r _ slack _ want <<<"$(grep ^about said)"
got=$(awk 'NF { print $NF }' shown)
ok "busy: $want, $slack in doubt; $got counted" \
	[ $((got - want)) -ge 0 -a $((got - want)) -le "$slack" ]

# -- An instruction that faults --

# Left by siglongjmp, or skipped: it was tried once for each ordinal. Mended and
# done again: once or twice, but never not at all.
for mode in leave skip retry; do
	OPTIONS=(-x aggsize=16m)
	probe 'pid$target:a.out:touch:4 { @[uregs[R_RDI]] = count(); }' \
		./signals $mode
	OPTIONS=()
	unharmed "$mode: the load itself"
	if [ $mode = retry ]; then
		is "$mode: no ordinal is missing" \
			"$(awk 'NF == 2 && $2 >= 1 && $2 <= 2' shown | wc -l)" 5000
	else
		is "$mode: each ordinal once" "$(check each shown 5000)" right
	fi
done

# -- Family --

# Children have no probes; those that borrow the memory of their parent may be
# counted with it. It executes itself in the end, is followed there, and makes
# $LAST more calls.
LAST=1000
probe 'pid$target:a.out:hot:entry, pid$target:a.out:trapped:entry
{ @[probefunc] = count(); }' ./family
unharmed "fork, vfork, posix_spawn, popen, exec" 42
want=$(awk -v n=$LAST '$1 == "hit" { hit[$2] = $3 + n }
	$1 == "shared" { more[$2] = $3 }
	END { for (f in hit) print f, hit[f], hit[f] + more[f] }' said)
right=0
while read -r f least most; do
	got=$(awk -v f="$f" '$1 == f { print $2 }' shown)
	[ "${got:-0}" = "$least" ] || [ "${got:-0}" = "$most" ] ||
		note "$f: $got, neither $least nor $most"
	[ "${got:-0}" = "$least" ] || [ "${got:-0}" = "$most" ] &&
		right=$((right + 1))
done <<<"$want"
is "what it called, also when it was another" "$right" 2

# -- The function that libc has chosen --

probe 'pid$target:libc:memcpy:entry /arg2 == 777/
{ @["memcpy"] = count(); }' ./strings 500 2
unharmed "memcpy"
counted "memcpy by its own name"
probe 'pid$target:libc::entry, pid$target:libc::return { @ = count(); }' \
	./strings 50 2
unharmed "all functions of libc at once"
