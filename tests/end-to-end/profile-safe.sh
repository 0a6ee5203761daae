#!/usr/bin/env bash
# timeout: 240
# hark profile disturbs nobody: signals, stacks, waits, children; as often as
# can be.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/guests.bash"

plan 33

build_prog
EXTRA=(-F 9973 -q)

PROG_PERCENT=$(times 40)
export PROG_PERCENT
while read -r kind what; do
	profile ./prog "$kind"
	unharmed "$what"
done <"$SRC/profile_kinds.txt"
EXTRA=(-F 9973 -q -f)
for kind in storm forkexec; do
	profile ./prog $kind
	unharmed "$kind, followed"
done
unset PROG_PERCENT
EXTRA=(-F 9973)
profile ./prog nowhere
is "where nothing is known, little is said, and none is wrong" \
	"$(look between burn 0 0.1 samples 3000 6000)" "yes yes"

# -- Guests that hark has harmed --

for guest in insn_alignment_check insn_tsc_refused sig_exec sig_sent_fault \
	sig_blocked_fault sig_fork_masks sig_newborn sig_wait_all; do
	alike $guest "$GUESTS/$guest" profile -q -F 9973 -o g.hark --force &&
		pass $guest
done

# Between ticks: after one it could not return.
alike proc_seccomp_few "$GUESTS/proc_seccomp_few" profile -q -F 1 -o g.hark \
	--force && pass proc_seccomp_few

# -- Where hark cannot be seen, a tick does not outlive its program --

gcc -O2 -D_GNU_SOURCE "$SRC/profile_apart.c" -o apart || exit 1
if [ "$(id -u)" = 0 ] && unshare -p -f true 2>/dev/null; then
	EXTRA=(-F 20000 -q -f)
	profile ./apart
	unharmed "what is executed in a pid namespace"
else
	skip "what is executed in a pid namespace" "that takes root"
fi

# -- What hark itself got is the program's --

cat >ignored.c <<'EOC'
#include <signal.h>
#include <stdio.h>
int main(void)
{
	struct sigaction a;
	sigaction(SIGHUP, NULL, &a);
	puts(a.sa_handler == SIG_IGN ? "ok" : "not ignored");
}
EOC
gcc -O2 ignored.c -o ignored || exit 1
is "an ignored signal is, for who asks" \
	"$(trap '' HUP && "$HARK" profile -q -o i.hark -- ./ignored)" ok

# -- The program is killed, hark is killed --

"$HARK" profile -o k.hark -- ./prog server <<<"" >said 2>errors
is "a server that is told to end" "$? $(tail -n 1 said)" "0 ok"
mkfifo orders
rm -f said
"$HARK" profile -o killed.hark -- ./prog server <orders >said 2>errors &
hark=$!
exec 7>orders
wait_for ready said || note "it does not begin: $(cat errors)"
target=$(awk '/ready/ { print $2 }' said)
burnt() { [ "$(awk '{ print $14 }' "/proc/$target/stat")" -gt "$1" ]; }
await burnt 50 || note "it does not burn"
kill -KILL "$target"
wait $hark 2>/dev/null
is "killed: hark ends as the program did" $? 137
is "killed: the file is whole" "$(FILE=killed.hark look complete status)" \
	"True None 9"
exec 7>&-

rm -f said
"$HARK" profile -o cut.hark -- ./prog server <orders >said 2>errors &
hark=$!
exec 7>orders
wait_for ready said || note "it does not begin: $(cat errors)"
target=$(awk '/ready/ { print $2 }' said)
# Samples come to the file once a second.
sampled() { "$HARK" show --json cut.hark 2>&1 | grep -q '"name":"burn"'; }
await sampled || note "no samples: $(cat errors)"
kill -KILL $hark
wait $hark 2>/dev/null
had=$(awk '{ print $14 }' "/proc/$target/stat")
ok "hark is killed: the program lives" await burnt $((had + 20))
exec 7>&-
gone "$target"
ok "hark is killed: and ends well" grep -qx ok said
is "hark is killed: what was there is readable" \
	"$(FILE=cut.hark look complete between burn 0.8 1)" "False yes"
