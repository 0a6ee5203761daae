#!/usr/bin/env bash
# The first look that the readme promises.
. "$(dirname "$0")/lib.sh"
plan 7

try "$ROOT/tools/demo"
is "the demo runs to its end" "$status" 0
like "it looks at the machine" "$out" $'\n\\$ hark doctor\n.*\nhark works here\\.\n'
hello=$("$GUESTS/hello")
is "the program says the same with hark and without" \
	"$(grep -c '^hello from main$' <<<"$out") $(grep -c '^hello from' <<<"$out")" \
	"5 $((5 * $(wc -l <<<"$hello")))"
like "hark says what it saw" "$err" '^hark: [0-9]+ thread'
like "all that was recorded is verified" "$out" \
	$'\nverified: 4 segments, [0-9]+ instructions, 0 mismatches\n'
like "the file is explained" "$out" $'\nkind +recording\ncommand +build/guests/hello\n'
unlike "a pipe gets no colour" "$out" $'\e'
