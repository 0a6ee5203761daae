#!/usr/bin/env bash
# timeout: 900
# Transparency: each self-checking guest runs natively, then translated; what
# it writes and how it ends must be the same.  GUEST=PATTERN runs some of them.
. "$(dirname "$0")/lib.sh"

cd "$ROOT/tests/guests" || exit 1
names=()
for f in insn_*.c sig_*.c thread_*.c proc_*.c code_*.c code_*.cc; do
	# shellcheck disable=SC2053  # a pattern is meant
	[[ ${f%.c*} == ${GUEST:-*} ]] && names+=("$f")
done
cd "$T" || exit 1
plan $((${#names[@]} + 1))
ok "there are guests" test "${#names[@]}" -gt 0

# both GUEST: runs it natively and translated, with an empty standard input and
# a session of its own, and prints how each ended.  (A shell alone cannot tell a
# signal from a status above 128.)
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
print(end("native", 30, sys.argv[2:]))
print(end("run", 60, [sys.argv[1], "run", "-q", "--"] + sys.argv[2:]))' \
		"$HARK" "$1"
}

# compare NAME PROGRAM
compare() {
	local ends

	mapfile -t ends < <(both "$2")
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

for f in "${names[@]}"; do
	case $f in
	*.cc)
		g++ -std=gnu++17 -O2 -pthread "$ROOT/tests/guests/$f" -o a.out
		compare "${f%.cc}" "$T/a.out"
		;;
	*) compare "${f%.c}" "$GUESTS/${f%.c}" ;;
	esac
done
