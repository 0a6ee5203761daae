#!/usr/bin/env bash
# timeout: 300
# hark profile --wall: threads are sampled whether they run or wait.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/waits.bash"

plan 28

EXTRA=(--wall)

# -- Shares --

for flags in -O2 -O0; do
	build_waits $flags
	profile ./waits all
	well "$flags: a program is what it is"
	as_told "$flags: each wait, and what runs, is as long as it was" 0.85 1.1 ""
	is "$flags: the callers of it are known" "$(look between all 0.4 1)" yes
done
like "the last line tells of it" "$(account)" \
	'^hark: profile: N samples and N ms of waiting of N threads \(N Hz\)(, N lost \(N no room, N in hark, N faults\))?; p\.hark$'

# A thread is in one place at a time.
build_waits -O2
profile ./waits deep
is "at the end of 3000 calls" \
	"$(look deep in_deep lasts in_deep 250000000 0.95 1.9)" "3000 yes"
ticks() {
	"$HARK" show --json p.hark | /usr/bin/python3 -c '
import json, sys
p = json.load(sys.stdin)
share = p["weight"] * p["period_ns"] / p["duration_ns"]
print("yes" if share <= 1.02 else share)'
}
is "no more samples than there is time, of one thread" "$(ticks)" yes
EXTRA=(--wall -F 4999)
profile ./waits all
as_told "more often" 0.85 1.1 ""
EXTRA=(--wall)

# -- Threads, processes --

profile ./waits handler
is "in a handler" "$(look between in_handler 0.3 1)" yes
profile ./waits crowd
well "threads that come and go"
profile ./waits storm
well "a storm"
EXTRA=(--wall -f)
profile ./waits fork
as_told "children, and what they execute" 0.85 1.1 ""
EXTRA=(--wall)
profile ./waits fork
is "or not" "$status $(look processes between in_child 0 0)" "0 1 yes"

# -- A program that runs already, and hark killed beside it --

serve
visit --wall
is "attached: hark ends well" $status 0
is "attached: all that wait are seen, all the time" \
	"$(FILE=a.hark look threads between in_forever 0.7 0.8 \
		between in_input 0.2 0.3)" "4 yes yes"
"$HARK" profile --wall -o k.hark -p "$pid" >said 2>errors </dev/null &
hark=$!
written() { [ "$(FILE=k.hark look between in_forever 0.5 1 2>/dev/null)" = yes ]; }
ok "what is in the file is there while it is written" await written
{
	kill -KILL $hark
	wait $hark
} 2>/dev/null
is "killed: the file is whole as far as it goes" \
	"$(FILE=k.hark look complete between in_forever 0.5 1)" "False yes"
end_server "killed"

# -- The program keeps its number, hark works beside it --

(exec "$HARK" profile -D -q --wall -o d.hark -- ./waits deep) >said 2>errors
is "-D: the program's status" "$? $(cat said)" "0 ok"
whole() { [ "$(FILE=d.hark look complete 2>/dev/null)" = True ]; }
ok "-D: the file is whole, soon" await whole
is "-D: and right" "$(FILE=d.hark look deep in_deep)" 3000

# -- Without privileges --

if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 other
	cp "$HARK" other/hark
	cp waits other/waits
	chown -R 65534 other
	chmod 711 "$T"
	(cd other && setpriv --reuid=65534 --regid=65534 --clear-groups \
		./hark profile --wall -o n.hark -- ./waits all) >said 2>errors
	status=$?
	FILE=other/n.hark as_told "as nobody: right" 0.85 1.1 in_burn
else
	as_told "as nobody: right" 0.85 1.1 in_burn
fi

# -- Nothing is disturbed --

undisturbed "997 Hz" 997
undisturbed "9973 Hz" 9973

# -- What cannot be --

try env HARK_CLOCK=timer "$HARK" profile --wall -o x.hark -- ./waits all
like "no records: that is said" "$status $err" \
	'^125 hark: waits cannot be seen: the kernel gives hark no records of them: '
ok "and no file is made" [ ! -e x.hark ]
