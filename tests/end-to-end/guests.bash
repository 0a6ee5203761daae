# tests/end-to-end/guests.bash - transparency: each self-checking guest runs
# natively, then behind hark; what it writes and how it ends must be the same.
# Sourced behind lib.sh.
#
#	translated() { alike "$@" run -q && pass "$1"; }
#	each_guest translated

GUEST_KINDS=(insn_ sig_ thread_ proc_ code_)

# alike NAME GUEST HARK-COMMAND...: it is; otherwise the test has failed. For
# each_guest one process runs all of them (guests_run.py).
alike() {
	local native run well IFS=$'\t'

	if [ -n "${GUESTS_RUN_PID:-}" ]; then
		echo "$2$IFS$HARK$IFS${*:3}" >&"${GUESTS_RUN[1]}"
		read -r native run well <&"${GUESTS_RUN[0]}"
	else
		read -r native run well < <(echo "$2$IFS$HARK$IFS${*:3}" |
			python3 "$ROOT/tests/end-to-end/guests_run.py")
	fi
	[ "$native" != alike ] || return 0
	if [ "$well" != well ]; then
		fail "$1" "natively, $native: $(head -n 5 out.native)"
	else
		fail "$1" "native $native, hark $3 $run
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
# every guest, also of more kinds; and one that there are any. The guests have the
# environment and the directory of the moment when each_guest was called.
each_guest() {
	local sources f program runner

	mapfile -t sources < <(guests "${@:2}" "${GUEST_KINDS[@]}")
	plan $((${#sources[@]} + 1))
	coproc GUESTS_RUN { exec python3 "$ROOT/tests/end-to-end/guests_run.py"; }
	runner=$GUESTS_RUN_PID
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
	eval "exec ${GUESTS_RUN[1]}>&-" # which ends it
	wait "$runner"
}
