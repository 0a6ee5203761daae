#!/usr/bin/env bash
# timeout: 400
# hark ask writes: a million of them, held against what the program says itself.
. "$(dirname "$0")/lib.sh"

plan 8

# Key frames come in the middle: what was there before is known behind them, too.
hark record -q --key-every=77777 -o million.hark -- "$GUESTS/back_million" >truth
is "the program tells a million values" "$(wc -l <truth)" 1000000
# The replay holds no list: it is given 96 MB (collecting a million took 164).
HARK_MAX_MEMORY=96M timeout 300 "$HARK" ask million.hark writes million.value >list
awk '$2 == "million.value:" && $4 == "->" && $6 ~ /^\(/ && /\)$/ {
	print $3 >"before"; print $5 >"after" }' list
ok "exactly these were written" cmp truth after
is "and nothing else" "$(wc -l <list)" 1000000
# What was there before is what the one before has written; the first found what
# nobody had told.
is "each found what the one before left" "$(paste -d ' ' before <(echo; head -n -1 truth) |
	awk 'NR > 1 && $1 != $2' | head -n 3)" ""
is "moments ascend" "$(sed 's/ .*//; s/^1://' list | awk -F+ '
	$1 < count || ($1 == count && $2 + 0 <= step) { print NR ": " $0 }
	{ count = $1 + 0; step = $2 + 0 }' | head -n 3)" ""

# -- A few of them --
# In a second of CPU time, of which all take many: what is not shown is not
# looked for.
HARK_MAX_TIME=1 hark ask million.hark writes million.value --limit 3 >few
ok "the first three are the first three of all" cmp few <(head -n 3 list)
from=$(sed -n '500001s/ .*//p' list)
HARK_MAX_TIME=1 hark ask million.hark writes million.value --from "$from" --limit 3 >few
ok "... and the same from a moment in the middle on" cmp few <(sed -n 500001,500003p list)
HARK_MAX_TIME=1 hark ask million.hark calls printf --limit 3 >few
is "... and three of a million calls" \
	"$(grep -cE '^1:[0-9+]+ +printf\(.*\) = (0x)?[0-9a-f]+  \(from ' few) of $(wc -l <few)" "3 of 3"
