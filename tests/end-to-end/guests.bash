# tests/end-to-end/guests.bash - transparency: each self-checking guest runs
# natively, then behind hark; what it writes and how it ends must be the same.
# Sourced behind lib.sh.
#
#	translated() { alike "$@" run -q && pass "$1"; }
#	each_guest translated

GUEST_KINDS=(insn_ sig_ thread_ proc_ code_)

# both GUEST HARK-COMMAND...: runs it natively and behind hark, with an empty
# standard input and a session of its own, and prints how each ended.  (A shell
# alone cannot tell a signal from a status above 128.)
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
guest, hark = sys.argv[1], sys.argv[2:]
print(end("native", 120, [guest]))
print(end("run", 300, hark + ["--", guest]))' "$1" "$HARK" "${@:2}"
}

# alike NAME GUEST HARK-COMMAND...: it is; otherwise the test has failed.
alike() {
	local ends

	mapfile -t ends < <(both "${@:2}")
	if ! tail -n 1 out.native | grep -Eq '^(ok|ok \(not on this .*\))$'; then
		fail "$1" "natively, ${ends[0]}: $(head -n 5 out.native)"
	elif [ "${ends[0]}" = "${ends[1]}" ] && cmp -s out.native out.run &&
		cmp -s err.native err.run; then
		return 0
	else
		fail "$1" "native ${ends[0]}, hark $3 ${ends[1]}
$(diff out.native out.run | head -n 10)
$(diff err.native err.run | head -n 5)"
	fi
	return 1
}

# guests KIND...: the sources of those that GUEST, a pattern, takes.
guests() {
	local kind f

	for kind; do
		for f in "$ROOT/tests/guests/$kind"*.c{,c}; do
			f=${f##*/}
			# shellcheck disable=SC2053  # a pattern is meant
			[ -e "$ROOT/tests/guests/$f" ] &&
				[[ ${f%.c*} == ${GUEST:-*} ]] && echo "$f"
		done
	done
}

# each_guest COMMAND [KIND...]: plans and runs `COMMAND NAME GUEST`, one test, for
# every guest, also of more kinds; and one that there are any.
each_guest() {
	local sources f program

	mapfile -t sources < <(guests "${@:2}" "${GUEST_KINDS[@]}")
	plan $((${#sources[@]} + 1))
	ok "there are guests" test "${#sources[@]}" -gt 0
	for f in "${sources[@]}"; do
		program=$GUESTS/${f%.c}
		if [[ $f == *.cc ]]; then
			program=$T/a.out
			g++ -std=gnu++17 -O2 -pthread "$ROOT/tests/guests/$f" \
				-o "$program"
		fi
		"$1" "${f%.c*}" "$program"
	done
}
