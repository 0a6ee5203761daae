# tests/end-to-end/lib.sh - sourced by every script here; speaks TAP.
#
#	. "$(dirname "$0")/lib.sh"
#	plan 3
#	ok    "true says yes" true
#	is    "echo repeats" "$(echo a)" a
#	try   hark version
#	like  "the version is a number" "$out" '^hark [0-9]+\.[0-9]+'
#
# The script runs in a fresh directory, $T, which is removed at its end; $ROOT
# is the source tree and $HARK the tool under test.  A script must run exactly
# as many tests as it planned.  tools/check-all reads the first lines of it:
#
#	# alone			nothing else may run meanwhile (it takes times)
#	# timeout: SECONDS	more, or less, than the usual 120
#	# also: asan		run it with the sanitized tool, too
#	# same addresses	programs lie where they lay the last time
#	# debug files		it is about them: else /usr/lib/debug is empty,
#				as it is on most machines (tools/bare)
# shellcheck shell=bash
set -u
export LC_ALL=C TZ=UTC
unset NO_COLOR DEBUGINFOD_URLS HARK_FAIL COLUMNS
umask 022

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ -z "${HARK_BARE:-}" ] && ! head -n 4 "$0" | grep -qx '# debug files'; then
	export HARK_BARE=yes
	exec "$ROOT/tools/bare" bash "$0" "$@"
fi

# What a recording knows of memory is found by the low half of an address, and is
# not believed where two mappings have the same (docs/travel.md), which chance
# may bring about.
if [ -z "${HARK_SAME_ADDRESSES:-}" ] &&
	head -n 4 "$0" | grep -qx '# same addresses' &&
	setarch -R true 2>/dev/null; then
	export HARK_SAME_ADDRESSES=yes
	exec setarch -R bash "$0" "$@"
fi

HARK=${HARK:-$ROOT/build/hark}
case $HARK in
/*) ;;
*) HARK=$PWD/$HARK ;;
esac
GUESTS=$ROOT/build/guests
export ROOT HARK GUESTS

# A first line, #!, has no place for blanks; a socket's name is short.
T=${TMPDIR:-/tmp}
[[ $T != *[[:space:]]* && ${#T} -lt 60 ]] || T=/tmp
T=$(mktemp -d "$T/hark-test.XXXXXX") || exit 1
export HARK_DIR=$T/recordings HARK_CACHE=$T/cache HOME=${HOME:-$T}
cd "$T" || exit 1

tests_planned=0 tests_run=0 tests_failed=0

# A child that is told to end before it is the program that it shall become has
# this trap, too.
tests_end() {
	local status=$?

	[ "$BASHPID" = $$ ] || exit "$status"
	cd / && rm -rf "$T"
	if [ "$tests_run" != "$tests_planned" ]; then
		echo "# planned $tests_planned tests, ran $tests_run"
		exit 1
	fi
	[ "$status" = 0 ] || exit "$status"
	[ "$tests_failed" = 0 ] || exit 1
}
trap tests_end EXIT
trap 'exit 130' INT TERM

hark() { "$HARK" "$@"; }

# times N: N, or as many times more as HARK_EFFORT says. What a script repeats, it
# repeats `times N` times: as seldom as still finds most faults in `make check`,
# and as often as is worth waiting for in `make check-long`, which sets HARK_EFFORT
# to 10.
times() { echo $(($1 * ${HARK_EFFORT:-1})); }

plan() {
	tests_planned=$1
	echo "1..$1"
}

# note TEXT: every line of it as a TAP comment.
note() { printf '%s\n' "$1" | sed 's/^/# /'; }

pass() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1"
}

# fail NAME [REASON]
fail() {
	tests_run=$((tests_run + 1))
	tests_failed=$((tests_failed + 1))
	echo "not ok $tests_run - $1"
	[ $# -lt 2 ] || note "$2"
	return 0
}

# skip NAME REASON: for what this machine cannot show at all.
skip() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# ok NAME COMMAND...: the command succeeds.
ok() {
	local name=$1 said code

	shift
	said=$("$@" 2>&1)
	code=$?
	if [ $code = 0 ]; then
		pass "$name"
	else
		fail "$name" "status $code: $*
$said"
	fi
}

# not_ok NAME COMMAND...: the command fails, and not by a signal.
not_ok() {
	local name=$1 said code

	shift
	said=$("$@" 2>&1)
	code=$?
	if [ $code != 0 ] && [ $code -lt 128 ]; then
		pass "$name"
	else
		fail "$name" "status $code: $*
$said"
	fi
}

# is NAME GOT WANT
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:  $2
want: $3"
	fi
}

# like NAME TEXT PATTERN: the extended regular expression is found in it.
like() {
	if [[ $2 =~ $3 ]]; then
		pass "$1"
	else
		fail "$1" "text:    $2
pattern: $3"
	fi
}

# unlike NAME TEXT PATTERN: it is not found in it.
unlike() {
	if [[ $2 =~ $3 ]]; then
		fail "$1" "text:    $2
pattern: $3"
	else
		pass "$1"
	fi
}

# await COMMAND...: until it succeeds, however slow the machine is; fails if it
# does not within a minute.
await() {
	local end=$((SECONDS + 60))

	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.01
	done
}

# wait_for TEXT FILE: until it stands there.
wait_for() { await grep -qs "$1" "$2"; }

# gone PID: has it ended, or does it soon?  One that waits for its parent to ask
# how it ended has.
ended() { ! grep -qs '^State:[^Z]*$' "/proc/$1/status"; }
gone() { await ended "$1"; }

# begin COMMAND...: in the background, its output in guest.out; sets $pid, waits
# until it says that it is ready.  A guest that lives until a file is there is
# given the name `end`: finish lets it end, and waits for it.
# shellcheck disable=SC2034  # for the scripts
begin() {
	rm -f end
	: >guest.out
	"$@" >guest.out 2>guest.err &
	pid=$!
	wait_for ready guest.out || note "$*: is not ready"
}
finish() {
	: >end
	wait "$pid"
}

# try COMMAND...: runs it and sets $status, $out and $err (without the last
# line ends).  Its standard input is empty.
# shellcheck disable=SC2034  # for the scripts
try() {
	"$@" >"$T/.out" 2>"$T/.err" </dev/null
	status=$?
	out=$(cat "$T/.out")
	err=$(cat "$T/.err")
}
