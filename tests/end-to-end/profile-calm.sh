#!/usr/bin/env bash
# timeout: 280
# Deep stacks of which the kernel notes what is written: no stack is wrong, and
# the program notices nothing, whoever writes, and whatever it forbids itself.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/profile-check.bash"

WAYS=(changes writers files traces thread children executes unmapped prctl seccomp)
plan $((2 * ${#WAYS[@]} + 4))

gcc -O2 -g -pthread -D_GNU_SOURCE -fomit-frame-pointer \
	"$SRC/profile_calm.c" -o calm || exit 1

EXTRA=(--check -F 1997)
if ./calm can; then
	SAYS=ok
else # Linux 6.7
	echo "# this kernel cannot note what is written"
	WAYS=("${WAYS[@]/*/traces}")
	SAYS='nobody notes what is written'
fi

# well NAME: it says what it should, and no stack differs.
well() {
	local n='' differ=''
	read -r n differ <<<"$(counts)"
	is "$1: it notices nothing" "$out" "$SAYS"
	if [ "${n:-0}" -ge 50 ] && [ "$differ" = 0 ]; then
		pass "$1: no stack differs"
	else
		fail "$1: no stack differs" "status $status, ${n:-0} checked, ${differ:-?} differ
$(head -n 4 errors)"
	fi
}

for way in "${WAYS[@]}"; do
	profile ./calm "$way"
	well "$way"
done

# With -f children are sampled, too, by comparing.
EXTRA+=(-f)
profile ./calm "${WAYS[5]}"
well "children that are sampled"

# -- hark leaves, or is killed --

# left NAME SIGNAL: it goes on, and nobody notes its writes any more.
left() {
	local pid='' was=no is=no
	"$HARK" profile -q -F 997 --force -o p.hark -- ./calm changes \
		>said 2>errors </dev/null &
	hark=$!
	for ((i = 0; i < 600; i++)); do
		pid=${pid:-$(pgrep -P "$hark" -x calm)}
		[ -n "$pid" ] && noted "$pid" && was=yes && break
		kill -0 "$hark" 2>/dev/null || break
		sleep 0.05
	done
	kill "-$2" "$hark"
	wait "$hark" 2>/dev/null
	for ((i = 0; i < 200; i++)); do
		is=no
		noted "$pid" || break
		is=yes
		sleep 0.05
	done
	kill -KILL "$pid" 2>/dev/null
	if [ "$SAYS" = ok ]; then
		is "$1" "$was, then $is" "yes, then no"
	else
		is "$1" "$was, then $is" "no, then no"
	fi
}

noted() {
	[ "$(awk '/\[stack\]/ {s = 1} s && /^VmFlags/ {print / uw/; exit}' \
		"/proc/$1/smaps" 2>/dev/null)" = 1 ]
}

left "hark is killed" KILL
left "hark leaves" INT
