#!/usr/bin/env bash
# timeout: 1800
# Each self-checking guest runs natively, then recorded: what it writes and how
# it ends must be the same, and the recording must replay as it was recorded.
# GUEST=PATTERN takes some of them; KEY_EVERY=N makes more key frames.
. "$(dirname "$0")/lib.sh"
guest_sources=() # guests fills it
guests rec_ insn_ sig_ thread_ proc_ code_

# compare NAME PROGRAM
compare() {
	local ends verified

	rm -f a.hark
	mapfile -t ends < <(both "$2" record -q -o a.hark \
		${KEY_EVERY:+"--key-every=$KEY_EVERY"})
	if ! tail -n 1 out.native | grep -Eq '^(ok|ok \(not on this .*\))$'; then
		fail "$1" "natively, ${ends[0]}: $(head -n 5 out.native)"
		return
	fi
	if [ "${ends[0]}" != "${ends[1]}" ] || ! cmp -s out.native out.run ||
		! cmp -s err.native err.run; then
		fail "$1" "native ${ends[0]}, recorded ${ends[1]}
$(diff out.native out.run | head -n 10)
$(diff err.native err.run | head -n 5)"
		return
	fi
	verified=$(timeout 120 "$HARK" verify a.hark 2>&1)
	if [[ $? = 0 && $verified =~ ^'verified: '[1-9].*' 0 mismatches'$ ]]; then
		pass "$1"
	else
		fail "$1" "$verified"
	fi
}

for f in "${guest_sources[@]}"; do
	case $f in
	*.cc)
		g++ -std=gnu++17 -O2 -pthread "$ROOT/tests/guests/$f" -o a.out
		compare "${f%.cc}" "$T/a.out"
		;;
	*) compare "${f%.c}" "$GUESTS/${f%.c}" ;;
	esac
done
