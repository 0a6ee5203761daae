#!/usr/bin/env bash
# timeout: 300
# hark profile --off-cpu: how long threads wait, and where.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/profile.bash"
. "$ROOT/tests/end-to-end/waits.bash"

plan 44

EXTRA=(--off-cpu)

# -- How long, and where --

for flags in -O2 "-O0" "-O1 -fno-omit-frame-pointer" "-O2 -static"; do
	# shellcheck disable=SC2086
	build_waits $flags
	profile ./waits all
	well "$flags: a program is what it is"
	as_told "$flags: each wait is as long as it was" 0.85 1.01 in_burn
	is "$flags: what runs is no wait" "$(look between in_burn 0 0.01)" yes
	is "$flags: the callers of it are known" "$(look between all 0.7 1)" yes
done
like "the last line tells of it" "$(account)" \
	'^hark: profile: N waits of N threads, N\.N s in all \(N\.N s too short to be seen\); p\.hark$'

# -- In a handler, in the depth --

build_waits -O2
profile ./waits handler
is "in a handler" \
	"$(look between in_handler 0.9 1 between in_interrupted 0.9 1)" "yes yes"
profile ./waits deep
is "at the end of 3000 calls" "$(look deep in_deep between in_deep 0.9 1)" \
	"3000 yes"

# -- Many threads, many waits --

profile ./waits crowd
well "threads that come and go"
is "are all known" "$(look lost)" 0
profile ./waits storm
well "a storm"
# Whatever could not be seen is said to be so.
is "counts nothing for certain that it is not" \
	"$(look between '[short waits]' 0.01 1 between '[no processor]' 0 0)" \
	"yes yes"
ok "and the file is small" [ "$(stat -c %s p.hark)" -lt 200000 ]

# -- Processes --

profile ./waits fork
is "children are not sampled" "$status $(look processes between in_child 0 0)" \
	"0 1 yes"
EXTRA=(--off-cpu -f)
profile ./waits fork
is "those that are followed are" "$status $(look processes)" "0 3"
as_told "with what they execute" 0.85 1.01 in_burn
EXTRA=(--off-cpu)

# -- The unit --

build_waits -O2
profile ./waits all
like "text" "$(hark show p.hark)" \
	'[0-9] s of waiting in all; .* ms waited +self +total .* [0-9]{3,}\.[0-9] '
is "json" "$(hark show --json p.hark | grep -o '"unit": *"[a-z]*"' | tr -d ' ')" \
	'"unit":"ns"'
like "a page" "$(hark show --flame -o page.html p.hark && cat page.html)" \
	'"unit": *"ns"'
like "folded" "$(hark show --format folded p.hark)" 'in_sleep.* [0-9]{9,}'
like "perf script" "$(hark show --format perf p.hark)" ': [0-9]+ off-cpu:'
like "a page says what is counted" "$(cat page.html)" 'waited in all'
like "speedscope" "$(hark show --format speedscope p.hark)" '"nanoseconds"'
like "info" "$(hark info p.hark)" off-cpu

# -- A program that runs already --

serve
visit --off-cpu
is "attached: hark ends well" $status 0
is "attached: threads that never wake are seen" \
	"$(FILE=a.hark look threads between in_forever 0.7 0.8 \
		between in_input 0.2 0.3)" "4 yes yes"
visit --off-cpu
is "again: the same" "$(FILE=a.hark look threads between in_forever 0.7 0.8)" \
	"4 yes"
end_server "attached"

# -- Nothing is disturbed --

undisturbed "997 Hz" 997
undisturbed "9973 Hz" 9973

# -- What cannot be --

try env HARK_CLOCK=timer "$HARK" profile --off-cpu -o x.hark -- ./waits all
like "no records: that is said" "$status $err" \
	'^125 hark: waits cannot be seen: the kernel gives hark no records of them: '
ok "and no file is made" [ ! -e x.hark ]
try "$HARK" profile --off-cpu --wall -o x.hark -- ./waits all
is "one of them" "$status $err" \
	"125 hark: profile: --wall and --off-cpu exclude each other; see 'hark help profile'"
