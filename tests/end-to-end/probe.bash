# tests/end-to-end/probe.bash - programs with probes in them.  Sourced behind
# lib.sh.
#
# probe_standin.py can stand for hark, to try these scripts out.

SRC=$ROOT/tests/end-to-end

# build NAME [FLAG...]: the guest probe_NAME.c, as ./NAME.
build() {
	local name=$1 sources=("$SRC/probe_$1".[cS])

	shift
	[ -e "${sources[0]}" ] || sources=("${sources[1]}")
	[ -e "${sources[1]-}" ] || unset 'sources[1]'
	gcc -O2 -fno-ipa-cp -g -pthread -I"$ROOT/tests/guests" "${sources[@]}" \
		-o "$name" "$@" || exit 1
}

# probe SCRIPT PROG [ARG...]: with the script; sets $status, $out and $err, which
# are also in the files `said` and `errors`; what hark shows is in `shown`.
# OPTIONS: more options of hark probe.
OPTIONS=()
probe() {
	printf '%s\n' "$1" >script.d
	rm -f shown
	{
		timeout -s KILL "${PATIENCE:-100}" "$HARK" probe -o shown \
			"${OPTIONS[@]}" -s script.d -- "${@:2}" \
			>said 2>errors </dev/null
	} 2>/dev/null # the shell's own words of a signal
	status=$?
	out=$(cat said)
	err=$(cat errors)
	[ -e shown ] || : >shown
}

# attach SCRIPT PID: likewise, into a running process; the same files, but for
# `said`.
attach() {
	printf '%s\n' "$1" >script.d
	rm -f shown
	timeout -s KILL "${PATIENCE:-100}" "$HARK" probe -o shown \
		"${OPTIONS[@]}" -s script.d -p "$2" >/dev/null 2>errors </dev/null
	status=$?
	err=$(cat errors)
	[ -e shown ] || : >shown
}

check() { /usr/bin/python3 "$SRC/probe_check.py" "$@" 2>&1; }

# unharmed NAME [STATUS]: the guest found nothing wrong, and ended so.
unharmed() {
	if [ "$status" = "${2:-0}" ] && grep -qx ok said; then
		pass "$1"
	else
		fail "$1" "status $status, not ${2:-0}
$(tail -n 5 said)
$(head -n 5 errors)"
	fi
}

# counted NAME [WORD]: every function as often as the guest says; and every hit
# is accounted for.
counted() {
	is "$1" "$(check counts shown said "${2:-hit}"), $(check accounts errors)" \
		"right, right"
}

# form DESCRIPTION PROG: the forms of its probes, each once.
form() {
	hark probe -l --json -n "$1" -- "${@:2}" |
		sed -n 's/.*"form":"\([^"]*\)".*/\1/p' | sort -u | xargs
}

# every PROG [FUNCTION...]: descriptions of all instructions of its own that can
# be probed, or of those of some functions, each on a line.
every() {
	/usr/bin/python3 "$SRC/probe_every.py" "$HARK" "$@"
}
