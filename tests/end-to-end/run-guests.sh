#!/usr/bin/env bash
# timeout: 900
# Transparency: each self-checking guest runs natively, then translated; what
# it writes and how it ends must be the same.  GUEST=PATTERN runs some of them.
. "$(dirname "$0")/lib.sh"
guest_sources=() # guests fills it
guests insn_ sig_ thread_ proc_ code_

# compare NAME PROGRAM
compare() {
	local ends

	mapfile -t ends < <(both "$2" run -q)
	if ! tail -n 1 out.native | grep -Eq '^(ok|ok \(not on this .*\))$'; then
		fail "$1" "natively, ${ends[0]}: $(head -n 5 out.native)"
	elif [ "${ends[0]}" = "${ends[1]}" ] && cmp -s out.native out.run &&
		cmp -s err.native err.run; then
		pass "$1"
	else
		fail "$1" "native ${ends[0]}, translated ${ends[1]}
$(diff out.native out.run | head -n 10)
$(diff err.native err.run | head -n 5)"
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
