#!/usr/bin/env bash
# timeout: 600
# hark probe: every execution is counted, and counted once: by form, by thread,
# by ordinal, in programs of all makes, and while others probe, too.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

MAKES=("pie" "no-pie -no-pie" "static -static" "static-pie -static-pie"
	"unoptimised -O0" "landing-pads -fcf-protection=full"
	"bound-now -Wl,-z,now -Wl,-z,relro" "stripped -s")
plan $((4 + 2 * 2 * 2 + 3 * 2 + 4 + 6 * 3 + 2 * ${#MAKES[@]} + 2 * 2 + 4))

build exact

# -- Forms: that the tests below are about what they seem to be --

is "jump takes a jump" "$(form a.out:jump:entry ./exact)" J5
is "window takes a window" "$(form a.out:window:entry ./exact)" JW
is "trap takes a trap" "$(form a.out:trap:entry ./exact)" T
unlike "the returns jump" \
	"$(form a.out:jump:return ./exact) $(form a.out:window:return ./exact)" T

# -- Ten million hits --

for threads in 2 8; do
	for f in jump window; do
		n=$((10000000 / threads))
		probe "pid\$target:a.out:$f:entry { @[probefunc] = count(); }" \
			./exact $f $threads $n
		unharmed "$f, $threads threads, 10 million calls: unharmed"
		counted "$f, $threads threads, 10 million calls: counted"
	done
done
for f in jump window trap; do
	n=2500000
	[ $f != trap ] || n=50000
	probe "pid\$target:a.out:$f:entry { @[probefunc, probename] = count(); }
pid\$target:a.out:$f:return { @[probefunc, probename] = count(); }" \
		./exact $f 2 $n
	unharmed "$f, entry and return: unharmed"
	printf '%s\n' "$f entry $((2 * n))" "$f return $((2 * n))" >truth
	is "$f, entry and return: counted" "$(check pairs shown truth)" right
done

# Both are counted in one clause, and in two.
probe 'pid$target:a.out:jump:entry, pid$target:a.out:jump:return
{ @ = count(); }' ./exact jump 2 100000
is "one clause of two probes" "$(check total shown 400000)" right
probe 'pid$target:a.out:jump:entry { @[probefunc] = count(); }
pid$target:a.out:jump:entry { @n = count(); }' ./exact jump 2 100000
is "two clauses of one probe" "$(awk 'NF { print $NF }' shown | sort -u)" 200000
is "which is one execution" "$(check account errors executed)" 200000
probe 'pid$target:a.out:jump:entry { @[tid] = count(); }' ./exact jump 8 100000
is "by thread" "$(check tids shown said), $(check accounts errors)" \
	"right, right"

# -- One by one --

# each FUNCTION NAME KEY MUL ADD THREADS CALLS: no ordinal is missing, none is
# there twice.
each() {
	local n=$(($6 * $7))

	OPTIONS=(-x aggsize=64m)
	probe "pid\$target:a.out:$1:$2 { @[$3] = count(); }" ./exact "$1" "$6" "$7"
	OPTIONS=()
	unharmed "$1:$2, $6 threads: unharmed"
	is "$1:$2, $6 threads: $n ordinals, each once" \
		"$(check each shown $n "$4" "$5")" right
	is "$1:$2, $6 threads: accounts" \
		"$(check accounts errors "executed=$n" "recorded=$n")" right
}
each jump entry arg0 1 0 8 12500
each jump return arg1 2 1 8 12500
each window entry arg0 1 0 2 50000
each window return arg1 2 1 2 50000
each trap entry arg0 1 0 2 100000
each trap entry arg0 1 0 8 12500

# -- Programs of all makes --

for make in "${MAKES[@]}"; do
	set -- $make
	name=$1
	shift
	build exact "$@"
	if [ "$name" = stripped ]; then
		# Without names: the addresses are those of a twin with names.
		build exact && cp exact twin
		build exact "$@"
		address=$(nm twin | awk '$3 == "plain" { sub(/^0+/, "", $1)
			print $1 }')
		probe "pid\$target:a.out:sub_$address:entry
{ @[probefunc] = count(); }" ./exact plain 2 100000
		unharmed "$name: unharmed"
		sed -i "s/hit plain/hit sub_$address/" said
		counted "$name: counted"
		continue
	fi
	probe "pid\$target:a.out:plain:entry { @[probefunc] = count(); }" \
		./exact plain 2 100000
	unharmed "$name: unharmed"
	counted "$name: counted"
done
build exact

# Another libc, if it is there.
for flags in "" "-static"; do
	name="musl${flags:+, static}"
	if type musl-gcc >/dev/null 2>&1; then
		musl-gcc -O2 -g -pthread $flags -I"$ROOT/tests/guests" \
			-idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu \
			"$SRC/probe_exact.c" -o musl ||
			note "musl-gcc cannot build it"
		probe 'pid$target:a.out:trap:entry { @[probefunc] = count(); }' \
			./musl trap 2 20000
		unharmed "$name: unharmed"
		counted "$name: counted"
	else
		skip "$name: unharmed" "there is no musl-gcc"
		skip "$name: counted" "there is no musl-gcc"
	fi
done

# -- While others probe the same function --

# One prober from beginning to end; meanwhile others come and go, with the same
# function, and the instruction behind. Whether hark lets them in or says that
# somebody is there already, the first one's counts are complete.
printf '%s\n' 'pid$target:a.out:jump:entry { @[probefunc] = count(); }' >first.d
rm -f shown said end
timeout -s KILL 200 "$HARK" probe -o shown -s first.d -- ./exact jump 2 end \
	>said 2>errors </dev/null &
first=$!
in=0 refused=0 odd=
if wait_for ready said; then
	target=$(awk '/ready/ { print $2 }' said)
	for i in $(seq 40); do
		at=entry
		[ $((i % 2)) = 0 ] || at=5
		rm -f second
		timeout -s KILL 60 "$HARK" probe -o second -p "$target" \
			-n "pid\$target:a.out:jump:$at { @ = count(); }
tick-10ms { exit(0); }" >/dev/null 2>second.err </dev/null
		case $? in
		0) in=$((in + 1)) ;;
		125) refused=$((refused + 1)) ;;
		*) odd="$(cat second.err)" ;;
		esac
	done
	note "of 40 others $in came in, $refused were refused"
fi
: >end
wait $first
status=$?
unharmed "others come and go: unharmed"
is "others come and go: they end well" "${odd:-well}" well
counted "others come and go: the first one misses nothing"
ok "others come and go: they did" [ $((in + refused)) = 40 ]
