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
	"births nowhere 0 hot"
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
[ -n "${CASE:-}" ] || n=$((n + 20 + 31))
plan $n

build signals
build traps
build stacks -Wl,-z,now
build jumps
build births -fno-stack-protector
build family
build modules
build strings -fno-builtin -fno-tree-loop-distribute-patterns
g++ -O2 -fno-ipa-cp -g "$SRC/probe_throw.cc" -o throw
gcc -O2 -g -shared -fPIC "$SRC/probe_plugin.c" -o plugin.so
cp plugin.so plugin2.so
echo 'int main(void) { return 0; }' |
	gcc -x c - -x none -Wl,--no-as-needed "$PWD/plugin.so" -o linked

# clause DESCRIPTION...: one that counts all of them.
clause() {
	local IFS=,

	echo "$*"
	echo '{ @[probefunc, probename] = count(); }'
}

# quick DESCRIPTION...: the same for trampolines that count by themselves.
quick() {
	local IFS=,

	echo "$*"
	echo '{ @[probefunc] = count(); }'
}

# hits NAME: what `shown` has of the functions that the guest speaks of, at
# offset 0 or at their entry, is what it says.
hits() {
	awk 'NR == FNR { if ($1 == "hit") of[$2] = 1; next }
		NF == 3 && ($2 == "0" || $2 == "entry") && of[$1] {
			print $1, $3 }
		NF == 2 && of[$1]' said shown >at_entry
	is "$1" "$(check counts at_entry said)" right
}

# Of the rounds of those guests that make most of them.
PROBE_PERCENT=$(times 25)
export PROBE_PERCENT
for case in "${chosen[@]}"; do
	read -r guest mode want functions <<<"${case#!}"
	[ "$mode" != - ] || mode=
	name="$guest${mode:+ $mode}"
	entries=() all=()
	for f in $functions; do entries+=("pid\$target:a.out:$f:entry"); done

	probe "$(quick "${entries[@]}")" ./$guest $mode
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
unset PROBE_PERCENT
[ -z "${CASE:-}" ] || exit 0

# -- Threads that share their fs base already --

rm -f go
./births ready >said 2>&1 </dev/null &
pid=$!
all_there() { [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" = 3 ]; }
await all_there || note "there are not three threads"
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

# -- Libraries that come and go --

mkfifo told
trap '' PIPE # the guest may have died: that is told below
# listen MODE: the guest that is told what to do, as $pid.
listen() {
	rm -f said
	./modules "$1" <told >said &
	pid=$!
	exec 9>told
	wait_for ready said
}
# tell LETTER...: it does that, one after the other.
tell() {
	local letter seen

	for letter in "$@"; do
		seen=$(grep -c ^done said)
		printf %s "$letter" >&9
		await does_more "$seen"
	done
}
does_more() { [ "$(grep -c ^done said)" -gt "$1" ] || ended $pid; }
probed() {
	grep -q '^[^ ]* r-xs.*memfd:hark-probe' "/proc/$pid/maps" &&
		grep -q '^TracerPid:.0$' "/proc/$pid/status"
}
# come SCRIPT: hark probes it, as $hark, with $OPTIONS.
come() {
	printf '%s\n' "$1" >script.d
	rm -f shown
	"$HARK" probe -o shown "${OPTIONS[@]}" -s script.d -p "$pid" \
		>/dev/null 2>errors </dev/null &
	hark=$!
	await probed
}
go() {
	kill -INT $hark
	wait $hark
}
end() {
	exec 9>&-
	wait $pid
	status=$?
}

# functions MODULE: descriptions of all that the guest counts, of a library that
# is called so.
functions() {
	local f

	for f in plugin_work plugin_trapped plugin_begin; do
		echo "pid\$target:$1:$f:entry"
	done
	echo 'pid$target:a.out:use:entry'
}
mapfile -t by_name < <(functions plugin.so)
mapfile -t by_pattern < <(functions 'plugin*')

for module in plugin.so 'plugin*' '*'; do
	mapfile -t list < <(functions "$module")
	probe "$(clause "${list[@]}")" ./modules again 100
	unharmed "$module comes to other places"
	hits "$module comes to other places: counted"
	is "$module comes to other places: accounted for" \
		"$(check accounts errors)" right
done
probe "$(clause "${by_pattern[@]}")" ./modules copies 50
unharmed "two copies of a library"
hits "two copies of a library: counted"
is "two copies of a library: accounted for" "$(check accounts errors)" right

for module in plugin.so 'plugin*'; do
	mapfile -t list < <(functions "$module" | grep -v plugin_begin)
	probe "$(clause "${list[@]}")" ./modules threads 200
	unharmed "four threads load and unload $module"
	hits "four threads load and unload $module: counted"
done

probe "$(clause 'pid$target:plugin*::entry' 'pid$target:plugin*::return' \
	'pid$target:a.out::entry' 'pid$target:a.out::return')" \
	./modules again 100
unharmed "a library and its callers, all entries and returns"
hits "a library and its callers, all entries and returns: counted"
mapfile -t all < <(every ./linked plugin.so 'plugin_*' |
	sed 's/ .*//; s/^/pid$target:/')
probe "$(clause "${all[@]}" 'pid$target:a.out:use:entry')" ./modules again 50
unharmed "all ${#all[@]} instructions of a library"
hits "all instructions of a library: counted"

# It was there before hark came; what is in its place then is not hark's.
listen ask
tell l
come "$(clause "${by_name[@]}" 'usdt$target:plugin.so::meet')"
tell c u p l c
go
tell u l c
end
unharmed "a library that was there goes and comes"
is "its calls are counted, wherever it was" \
	"$(awk 'NF { print $1, $NF }' shown | sort | xargs)" \
	"plugin_begin 1 plugin_trapped 40 plugin_work 40 plugin_work 40 use 2"

# hark is killed; the library goes, and other memory comes to its place.
listen ask
tell l
come "$(clause "${by_name[@]}" 'usdt$target:plugin.so::meet')"
tell c
kill -KILL $hark
wait $hark 2>/dev/null
tell c u p
attach 'tick-10ms { exit(0); }' $pid
is "what a killed hark has left of a library that is gone" "$status" 0
tell l c
end
unharmed "other memory in its place is not harmed"

# A child of fork has what its parent unloads.
for follow in '' -f; do
	OPTIONS=(${follow:+"$follow"})
	listen ask
	tell l
	come "$(clause "${by_pattern[@]}")"
	tell c f u k l c
	go
	OPTIONS=()
	tell k c
	end
	unharmed "a child has a library that its parent unloads${follow:+, $follow}"
	n=${follow:+1}
	n=$((n + 2))
	is "calls are counted${follow:+, also of the child}" \
		"$(awk 'NF { print $1, $NF }' shown | sort | xargs)" \
		"plugin_begin 1 plugin_trapped $((20 * n)) plugin_work $((20 * n)) use $n"
done

# hark comes and goes while the library does.
listen race
wrong=0
VISITS=$(times 10)
for ((i = 1; i <= VISITS; i++)); do
	attach "$(clause "${by_pattern[@]}") tick-$(((39 * i + VISITS) / VISITS))ms { exit(0); }" $pid
	[ $status = 0 ] && [ "$(check accounts errors)" = right ] ||
		wrong=$((wrong + 1))
done
is "hark comes and goes while a library does" $wrong 0
is "and leaves nothing" "$(grep -c memfd:hark "/proc/$pid/maps")" 0
end
unharmed "which is not harmed"

# -- The function that libc has chosen --

probe 'pid$target:libc:memcpy:entry /arg2 == 777/
{ @["memcpy"] = count(); }' ./strings 500 2
unharmed "memcpy"
counted "memcpy by its own name"
probe 'pid$target:libc::entry, pid$target:libc::return { @ = count(); }' \
	./strings 50 2
unharmed "all functions of libc at once"
