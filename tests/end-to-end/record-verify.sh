#!/usr/bin/env bash
# timeout: 1800
# Each self-checking guest runs natively, then recorded: what it writes and how
# it ends must be the same, and the recording must replay as it was recorded.
# GUEST=PATTERN takes some of them; KEY_EVERY=N makes more key frames.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/guests.bash"

# recorded NAME PROGRAM
recorded() {
	local verified

	rm -f a.hark
	alike "$@" record -q -o a.hark \
		${KEY_EVERY:+"--key-every=$KEY_EVERY"} || return
	verified=$(timeout 120 "$HARK" verify a.hark 2>&1)
	if [[ $? = 0 && $verified =~ ^'verified: '[1-9].*' 0 mismatches'$ ]]; then
		pass "$1"
	else
		fail "$1" "$verified"
	fi
}

each_guest recorded rec_
