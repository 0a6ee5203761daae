#!/usr/bin/env bash
# timeout: 300
# hark probe and hark profile: processes that are stopped while they execute
# another program stay so, do not keep others from doing the same, and have
# probes when they go on.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/probe.bash"

MANY=40 # more than there are words for requests (wire/run.h)

build next
cat >crowd <<'S'
# crowd N: N children, each of which executes ./next when its fifo is written
# to, and then leaves a file.
for ((i = 1; i <= $1; i++)); do
	mkfifo go.$i
	(echo $BASHPID >new.$i; mv new.$i pid.$i
	read -r <go.$i; exec ./next 10 >done.$i) &
done
echo ready
wait
S

in_state() { grep -q "^State:[[:space:]]*$2" "/proc/$1/status"; }
waits_for_hark() { grep -q '^202 ' "/proc/$1/syscall"; }
waits_for_word() { # at its fifo: nothing that it has executed needs hark
	[ -e "pid.$1" ] && grep -q '^257 ' "/proc/$(cat "pid.$1")/syscall"
}
is_stopped_in_bash() {
	in_state "$1" T && [ "$(cat "/proc/$1/comm")" = bash ]
}
has_run() { grep -qx ok "done.$1" 2>/dev/null; }
n_run() { cat done.* 2>/dev/null | grep -cx ok; }

# ask_and_stop I: child I asks hark, which is stopped, and is stopped then.
ask_and_stop() {
	child=$(cat "pid.$1")
	: >"go.$1"
	await waits_for_hark "$child" && kill -STOP "$child" &&
		await in_state "$child" T
}

# stopped N WHAT HARK...: N children are stopped as they execute; hark passes
# over each of them, and goes with one that is not stopped; then all go on.
stopped() {
	local n=$1 what=$2 i hark

	shift 2
	rm -f go.* pid.* done.* shown
	: >out
	"$@" bash crowd $((n + 1)) >out 2>errors </dev/null &
	hark=$!
	wait_for ready out
	for ((i = 1; i <= n + 1; i++)); do
		await waits_for_word "$i"
	done
	for ((i = 1; i <= n; i++)); do
		kill -STOP $hark && await in_state $hark T
		ask_and_stop "$i"
		kill -CONT $hark
	done
	: >"go.$((n + 1))"
	ok "$what: another one executes meanwhile" await has_run $((n + 1))
	is "$what: those have not" "$(n_run)" 1
	for ((i = 1; i <= n; i++)); do
		is_stopped_in_bash "$(cat pid.$i)" || break
	done
	is "$what: they are stopped in front of it" $((i - 1)) "$n"
	for ((i = 1; i <= n; i++)); do
		kill -CONT "$(cat pid.$i)"
	done
	wait $hark
	is "$what: all go on" "$?:$(n_run)" "0:$((n + 1))"
}

plan 15
printf '%s\n' 'pid$target:a.out:hot:entry { @ = count(); }' >script.d
stopped 3 "probe" "$HARK" probe -o shown -f -s script.d --
is "probe: each has its probes" "$(check total shown 40)" right
stopped $MANY "more than there is room for" \
	"$HARK" probe -o shown -f -s script.d --
is "more than there is room for: each has its probes" \
	"$(check total shown $((10 * MANY + 10)))" right
stopped 3 "profile" "$HARK" profile -q -f -o p.hark --
like "profile: none was missed" "-$(cat errors)-" '^--$'
