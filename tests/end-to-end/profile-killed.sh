#!/usr/bin/env bash
# timeout: 400
# hark profile -f: children that are killed leave no traces; there is room for
# any number of them, one after the other.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
plan 12

gcc -O2 -g -pthread -D_GNU_SOURCE "$SRC/profile_killed.c" -o killed || exit 1
EXTRA=(-f -F 1997)

# all_seen N: all samples have found room, and nearly all children are there
# (some of them may have had no tick, on a machine that is late with them).
all_seen() {
	"$HARK" show --json --min 0 p.hark | /usr/bin/python3 -c '
import json, sys
p = json.load(sys.stdin)
room = [n for n in p["notes"] if "no room" in n]
children = {t["pid"] for t in p["threads"]}
assert not room, room
assert len(children) >= 0.9 * int(sys.argv[1]), len(children)
f = {x["name"]: x["total"] for x in p["functions"]}
assert f["in_child"] >= 0.5 * p["weight"], f
print("yes")' "$1" 2>&1 | tail -n 1
}
# There is room for 1,024 of them at a time.
for how in "kill 1300" "crash 1300" "threads 700"; do
	# shellcheck disable=SC2086  # two words
	PATIENCE=300 profile ./killed $how
	unharmed "$how: it is what it is"
	is "$how: all are seen" "$(all_seen "${how#* }")" yes
	unlike "$how: none is lost for want of room" "$err" '\([1-9][0-9]* no room'
	unlike "$how: what was mapped there is known" "$("$HARK" show p.hark)" \
		'no module was there'
done
