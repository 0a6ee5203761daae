#!/usr/bin/env bash
# timeout: 900
# hark probe -p, again and again, while the program is busy: each time it counts
# what there is to count, and leaves nothing behind. CYCLES=N for others.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

CYCLES=${CYCLES:-$(times 75)}
plan 20

build exact
same() { /usr/bin/python3 "$SRC/probe_same.py" "$1"; }

# cycle I: every kind of probe of script.d for some milliseconds; what it shows
# is in sessions/I.*, or $odd says what was wrong.
cycle() {
	timeout -s KILL 100 "$HARK" probe -o "sessions/$1.shown" -s script.d \
		-p "$pid" >/dev/null 2>"sessions/$1.errors" </dev/null ||
		odd="status $?: $(head -n 3 "sessions/$1.errors")"
}

# cycles FUNCTION THREADS N
cycles() {
	local name="$1, $2 threads, $3 times" before after i

	odd=
	rm -rf sessions
	mkdir sessions
	printf '%s\n' "pid\$target:a.out:$1:entry, pid\$target:a.out:$1:return
{ @ = count(); }
tick-5ms { exit(0); }" >script.d
	begin ./exact "$1" "$2" end
	before=$(same "$pid")
	for ((i = 0; i < $3; i++)); do
		cycle "$i"
		[ -z "$odd" ] || break
	done
	after=$(same "$pid")
	counted=$(check sessions sessions)
	like "$name: each one's accounts" "$odd$counted" "^$3 [0-9]+$"
	counted=${counted#* }
	is "$name: mappings, code and signals are as before" \
		"$(diff <(echo "$before") <(echo "$after") | head -n 10)" ""
	is "$name: code is that of the files" \
		"$(grep code: <<<"$after" | sort -u | xargs)" "code: as in the file"
	status=1
	finish && status=0
	cp guest.out said
	cp guest.err errors
	unharmed "$name: unharmed"
	ok "$name: $counted counted of $(awk '/^hit/ { print $3 }' said) calls" \
		[ "$counted" -gt 0 -a "$counted" -le \
		$((2 * $(awk '/^hit/ { print $3 }' said))) ]
}
cycles plain 1 "$CYCLES"
# Threads that never rest leave hark little of the machine.
cycles jump 2 $((CYCLES / 15 + 1))
cycles trap 2 $((CYCLES / 15 + 1))
cycles window 8 $((CYCLES / 30 + 1))
