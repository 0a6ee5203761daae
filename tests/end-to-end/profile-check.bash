# tests/end-to-end/profile-check.bash - samples that are checked in the program.
# Sourced behind profile.bash.
# shellcheck shell=bash disable=SC2034,SC2154  # EXTRA, status: profile.bash

EXTRA=(--check -F 9973)

# build_torture: profile_torture.cc as ./torture
build_torture() {
	g++ -std=c++17 -O2 -g -pthread "$SRC/profile_torture.cc" \
		"$SRC/unwind_work.cc" -o torture || exit 1
}

# counts: samples that were checked, and how many of them differ
counts() {
	sed -n 's/.*; \([0-9]*\) samples checked, \([0-9]*\) differ; .*/\1 \2/p' errors
}

# checked NAME LEAST PROG...: it ends as always, and at least so many samples
# were checked, of which none differs.
checked() {
	local name=$1 least=$2 n='' differ=''
	shift 2
	profile "$@"
	read -r n differ <<<"$(counts)"
	is "$name: it is what it is" "$status" 0
	if [ "${n:-0}" -ge "$least" ] && [ "$differ" = 0 ]; then
		pass "$name: no stack differs"
	else
		fail "$name: no stack differs" "${n:-0} checked, ${differ:-?} differ
$(head -n 4 errors)"
	fi
}
