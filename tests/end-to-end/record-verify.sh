#!/usr/bin/env bash
# timeout: 1800
# Each self-checking guest runs natively, then recorded: what it writes and how
# it ends must be the same, and the recording must replay as it was recorded.
# GUEST=PATTERN takes some of them; KEY_EVERY=N makes more key frames.
. "$(dirname "$0")/lib.sh"

cd "$ROOT/tests/guests" || exit 1
names=()
for f in rec_*.c insn_*.c sig_*.c thread_*.c proc_*.c code_*.c code_*.cc; do
	# shellcheck disable=SC2053  # a pattern is meant
	[ -e "$f" ] && [[ ${f%.c*} == ${GUEST:-*} ]] && names+=("$f")
done
cd "$T" || exit 1
plan $((${#names[@]} + 1))
ok "there are guests" test "${#names[@]}" -gt 0

# both GUEST: runs it natively and recorded, with an empty standard input and a
# session of its own, and prints how each ended.
both() {
	python3 -c 'import os, subprocess, sys
def end(name, seconds, command):
    with open("out." + name, "wb") as out, open("err." + name, "wb") as err:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=err, start_new_session=True)
        try:
            n = p.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 9)
            p.wait()
            return "time is up"
        return f"signal {-n}" if n < 0 else f"status {n}"
print(end("native", 30, sys.argv[3:]))
print(end("run", 90, [sys.argv[1], "record", "-q", "-o", "a.hark"] +
          sys.argv[2].split() + ["--"] + sys.argv[3:]))' \
		"$HARK" "${KEY_EVERY:+--key-every=$KEY_EVERY}" "$1"
}

# compare NAME PROGRAM
compare() {
	local ends verified

	rm -f a.hark
	mapfile -t ends < <(both "$2")
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
	if [[ $? = 0 && $verified =~ ' 0 mismatches'$ &&
		! $verified =~ ^'verified: 0 segments' ]]; then
		pass "$1"
	else
		fail "$1" "$verified"
	fi
}

for f in "${names[@]}"; do
	case $f in
	*.cc)
		g++ -std=gnu++17 -O2 -pthread "$ROOT/tests/guests/$f" -o a.out
		compare "${f%.cc}" "$T/a.out"
		;;
	*) compare "${f%.c}" "$GUESTS/${f%.c}" ;;
	esac
done
