#!/usr/bin/env bash
# timeout: 300
# also: asan
# Recordings whose checksums are right and whose contents are not: hark verify
# says what is wrong. It is not killed, nor is any of its workers, and it ends.
# HARK_MUTATIONS=100000 makes that many of them.
. "$(dirname "$0")/lib.sh"
n=${HARK_MUTATIONS:-100}

plan 6

gcc -std=gnu17 -O2 -w -D_GNU_SOURCE -I"$ROOT/src" -o mutate \
	"$ROOT/tests/end-to-end/record_mutate.c" "$ROOT/build/rel/libhosted.a" \
	-Wl,-Bstatic -lz -llzma -lzstd -lxxhash -liberty -Wl,-Bdynamic \
	-pthread -ldl || exit 1

hark record -q --key-every=500 -o good.hark -- "$GUESTS/hello" >/dev/null
try hark verify good.hark
is "the recording is good to begin with" "$status" 0
segments=$(tr -dc '0-9 ' <<<"$out" | awk '{print $1}')

killed=0 noticed=0 odd=0 partial=0
for ((seed = 1; seed <= n; seed++)); do
	./mutate good.hark bad.hark $seed || exit 1
	try timeout -k 5 60 "$HARK" verify bad.hark
	case $status in
	0) ;;
	1) noticed=$((noticed + 1)) ;;
	125) noticed=$((noticed + 1)) ;;
	*) odd=$((odd + 1)) && note "seed $seed: status $status" ;;
	esac
	if [[ $err == *'killed by'* ]]; then
		killed=$((killed + 1))
		note "seed $seed: $(grep 'killed by' <<<"$err")"
	fi
	[[ $status != [01] || $out == "verified: $segments segments,"* ]] ||
		partial=$((partial + 1))
done
is "hark verify always ends by itself" "$odd" 0
is "no worker is killed" "$killed" 0
is "every segment is tried" "$partial" 0
ok "most of it is noticed" test "$noticed" -gt $((n * 8 / 10))

# A worker that is killed is reported, and the others go on. (One that had not
# begun is only replaced: so several are killed.) The search for leaks at exit
# starts a child as well, and waits for it forever if that is killed.
hark record -q -o long.hark -- "$GUESTS/rec_key_frames" >/dev/null
ASAN_OPTIONS=detect_leaks=0 "$HARK" verify -j 2 long.hark >out 2>err &
verify=$!
for ((i = 1; i < 40; i++)); do # a little later each time
	! grep -q 'killed by' err && ! ended $verify || break
	sleep "$(printf '0.%02d' $((2 * i)))"
	read -r worker _ <"/proc/$verify/task/$verify/children"
	[ -z "$worker" ] || kill -KILL "$worker"
done 2>/dev/null
wait $verify
like "a worker that is killed is reported" "$(cat err)" \
	'segment [0-9]+: its replay was killed by signal 9'
