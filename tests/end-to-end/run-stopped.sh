#!/usr/bin/env bash
# hark run: processes that are stopped while they execute another
# program do not keep others from doing the same, and go on when they may.
. "$(dirname "$0")/lib.sh"

MANY=40 # more than there are words for requests (wire/run.h)

cat >crowd <<'S'
# crowd N: N children, each of which executes echo when its fifo is written to;
# prints how many have said their number.
echo $$ >shell
for ((i = 1; i <= $1; i++)); do
	mkfifo go.$i
	(echo $BASHPID >new.$i; mv new.$i pid.$i
	read -r <go.$i; exec /bin/echo $i) &
done
echo ready
wait
S

in_state() { grep -q "^State:[[:space:]]*$2" "/proc/$1/status"; }
waits_for_hark() { grep -q '^202 ' "/proc/$1/syscall"; }
is_traced() { grep -q "^TracerPid:[[:space:]]*$2$" "/proc/$1/status"; }

# ask_and_stop I: child I asks hark, which is stopped, and is stopped then.
ask_and_stop() {
	await test -e "pid.$1" || return 1
	child=$(cat "pid.$1")
	: >"go.$1"
	await waits_for_hark "$child" && kill -STOP "$child" &&
		await in_state "$child" T
}

# stopped N WHAT HARK...: N children are stopped as they execute; hark comes to
# each of them, and to one that is not stopped; then all go on.
stopped() {
	local n=$1 what=$2 i good=0 hark

	shift 2
	rm -f go.* pid.* shell
	: >out
	"$@" bash crowd $((n + 1)) >out 2>err &
	hark=$!
	wait_for ready out
	for ((i = 1; i <= n; i++)); do
		kill -STOP $hark && await in_state $hark T
		ask_and_stop "$i"
		kill -CONT $hark
		await is_traced "$child" "$hark" || break
		good=$i
	done
	is "$what: hark comes to each that is stopped" "$good" "$n"
	await test -e "pid.$((n + 1))"
	: >"go.$((n + 1))"
	ok "$what: another one executes meanwhile" wait_for "^$((n + 1))$" out
	is "$what: those have not" "$(grep -c '^[0-9]' out)" 1
	for ((i = 1; i <= n; i++)); do
		kill -CONT "$(cat pid.$i)" 2>/dev/null
		((i <= good)) || kill "$(cat pid.$i)" 2>/dev/null
	done
	wait $hark
	is "$what: all go on" "$?:$(grep '^[0-9]' out | sort -n | tr '\n' ' ')" \
		"0:$(seq -s ' ' $((n + 1))) "
}

plan 8
stopped 3 "run" "$HARK" run -q --
stopped $MANY "more than there is room for" "$HARK" run -q --
