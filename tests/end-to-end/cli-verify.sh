#!/usr/bin/env bash
# hark verify: what it prints, and how it ends.
. "$(dirname "$0")/lib.sh"
plan 30

hark record -q -o good.hark -- "$GUESTS/hello" >/dev/null
try hark verify good.hark
is "a good recording is verified" "$status" 0
like "and how much it was is told" "$out" \
	'^verified: [1-9][0-9]* segments, [1-9][0-9]* instructions, 0 mismatches$'
is "nothing else is said" "$err" ""
first=$out
try hark verify -j 1 good.hark
is "one process finds the same" "$out" "$first"
try hark verify --jobs=7 good.hark
is "seven do" "$out" "$first"

try hark verify --json good.hark
is "JSON has the same facts" \
	"$(jq -r '"\(.segments) \(.instructions) \(.mismatches)"' <<<"$out")" \
	"$(awk '{print $2, $4, 0}' <<<"$first")"
is "and that it is complete" "$(jq .complete <<<"$out")" true

try hark verify --count good.hark
like "instructions are counted" "$out" \
	'^verified: [1-9][0-9]* segments, [1-9][0-9]* instructions, 0 mismatches$'
counted=$out
is "the count is kept" "$(wc -l <good.hark.count)" 1
is "JSON has it now" "$(jq .instructions < <(hark verify --json good.hark))" \
	"$(awk '{print $4}' <<<"$counted")"
try hark verify good.hark
is "and so has every verify from now on" "$out" "$counted"

# -- Without a name: the latest --
hark record -q -- "$GUESTS/hello" >/dev/null
try hark verify --count
is "without a file the latest recording is verified" "$status" 0
ok "its count is beside it" test -f "$HARK_DIR/hello-1.hark.count"
try hark verify hello-1.hark
is "one of the shelf is found by its name" "$status" 0

# -- Files that are none, cut off, damaged --
try hark verify missing.hark
is "a missing file is told" "$status" 125
like "by its name" "$err" '^hark: .*missing.hark'
echo hello >text
try hark verify text
is "a file of another kind is told" "$status" 125
for jobs in 0 -1 x 1000; do
	try hark verify -j "$jobs" good.hark
	is "-j $jobs is refused" "$status" 125
done

size=$(stat -c %s good.hark)
head -c $((size - 8)) good.hark >cut.hark
try hark verify cut.hark
is "a recording that was cut off is verified" "$status" 0
like "and that is told" "$err" '^hark: incomplete: '
try hark verify -q cut.hark
is "unless quiet is asked for" "$err" ""
head -c 4096 good.hark >begun.hark
try hark verify begun.hark
is "one that was cut off before anything was recorded is no success" \
	"$status:$out" 125:
like "for nothing was verified" "$err" \
	'^hark: nothing could be verified: [^
]*cut off[^
]*$'
try hark verify --json begun.hark
is "JSON says so, too" "$status:$(jq -c '[.segments, .complete]' <<<"$out")" \
	'125:[0,false]'

cp good.hark flipped.hark
python3 - <<'END'
f = open("flipped.hark", "r+b")
f.seek(0, 2)
at = f.tell() // 2
f.seek(at)
byte = f.read(1)[0]
f.seek(at)
f.write(bytes([byte ^ 16]))
END
try hark verify flipped.hark
is "a flipped bit is seen" "$status" 125
like "and where it is" "$err" 'damaged at byte [0-9]+'

not_ok "no more than one file is taken" hark verify good.hark good.hark
