# tests/end-to-end/stopped.bash - processes that are stopped in front of their
# execve.  Sourced behind lib.sh.

# crowd N COMMAND: the text of a bash script with N children; child I executes
# the COMMAND, which may have $i in it, when go.I is written to.
crowd() {
	cat <<S
for ((i = 1; i <= $1; i++)); do
	mkfifo go.\$i
	(echo \$BASHPID >new.\$i; mv new.\$i pid.\$i
	read -r <go.\$i; exec $2) &
done
echo ready
wait
S
}

in_state() { grep -q "^State:[[:space:]]*$2" "/proc/$1/status"; }
waits_for_hark() { grep -q '^202 ' "/proc/$1/syscall"; }

# waits_for_word I: child I is at its fifo; nothing that it executed before
# needs hark any more.
waits_for_word() {
	[ -e "pid.$1" ] && grep -q '^257 ' "/proc/$(cat "pid.$1")/syscall"
}

# crowd_waits N: all of them are.
crowd_waits() {
	local i

	wait_for ready out
	for ((i = 1; i <= $1; i++)); do
		await waits_for_word "$i"
	done
}

# stop_at_execve HARK I: child I asks hark, which is stopped, and is stopped
# before hark goes on. $child: its number.
stop_at_execve() {
	child=$(cat "pid.$2")
	kill -STOP "$1" && await in_state "$1" T
	: >"go.$2"
	await waits_for_hark "$child" && kill -STOP "$child" &&
		await in_state "$child" T
	kill -CONT "$1"
}
