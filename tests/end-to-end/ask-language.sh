#!/usr/bin/env bash
# timeout: 600
# also: asan
# hark ask: the expressions of its questions, held against what programs say
# of the same expressions.
. "$(dirname "$0")/lib.sh"
SRC=$ROOT/tests/end-to-end

plan 35

# record NAME: NAME.hark, and what the program said in NAME.out.
record() {
	rm -f "$1.hark"
	{ "$HARK" record -q -o "$1.hark" -- "./$1" >"$1.out"; } 2>/dev/null
	true
}

# value WHAT [OPTION...]: as it is at the end of $file.hark.
file=a
value() { "$HARK" ask "$file.hark" "${@:2}" value -- "$1" 2>&1; }

# frame_of NAME FUNCTION: the number of its frame at the end.
frame_of() {
	"$HARK" ask "$1.hark" stack --json | python3 -c 'import json, sys
for f in json.load(sys.stdin)["frames"]:
    if f["function"].split("(")[0].split("::")[-1] == sys.argv[1]:
        print(f["frame"])
        break' "$2"
}

# wrong NAME NUMBER: what hark says otherwise than the program did. Each program of a
# language is asked for each third expression, and those of NUMBER 0, 1 and 2 for all
# together; with HARK_EFFORT for more of them or all.
wrong() {
	local file=$1 frame n=0 what
	frame=$(frame_of "$1" crash)
	while read -r line; do
		what=${line%% = *}
		n=$((n + 1))
		(((n + $2) % 3 < $(times 1))) || continue
		[ "$(value "$what" --frame "$frame")" = "$line" ] ||
			echo "$line: $(value "$what" --frame "$frame")"
	done <"$1.out"
	[ $n -gt 20 ] || echo "only $n expressions"
}

# -- C --

number=0
for how in 'gcc -g -O0' 'gcc -gdwarf-4 -O0' 'clang -g -O0'; do
	# shellcheck disable=SC2086  # a command and its options
	$how -w -o a "$SRC/ask_language.c" || exit 1
	record a
	is "expressions of C: $how" "$(wrong a $number)" ""
	number=$((number + 1))
done

frame=$(frame_of a crash)
is "an integer divided by zero" "$(value 'counter / (local - 6)' \
	--frame "$frame")" \
	"hark: 'counter / (local - 6)' divides by zero"
is "json: type and number" "$(value 'counter * 2L' --json |
	python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["type"], v["size"], v["value"], v["number"], v["known"])')" \
	'long 8 -34 -34 True'
is "a part of an assignment" "$(value 'counter = 3')" \
	"hark: 'counter = 3': a recording cannot be changed, as it would be at '= 3'"
like "an enumerator has its name" "$(value GREEN)" '^GREEN = GREEN$'
is "its number" "$(value '(int)GREEN')" "(int)GREEN = 5"

# What each spelling meant before there was arithmetic, it means still.
at=$(value '&shops' | sed 's/.*= \(0x[0-9a-f]*\).*/\1/')
is "a number is an address" "$(value "$at:4")" "$at:4 = 0x3"
is "a sum of numbers, too" "$(value "$at + 4:1")" "$at + 4:1 = 0xfa"
is "bytes after an array's begin" "$(value 'shops+4:1')" "shops+4:1 = 0xfa"
like "what it is in an expression" "$(value 'shops + 1 == &shops[1]')" '= 1$'
like "the bytes of a value that is nowhere" "$(value 'counter + 1:4' |
	cat)" "is not in memory"

# -- C++ --

file=r number=0
for how in 'g++ -g -O0' 'g++ -gdwarf-4 -fdebug-types-section -O0' \
	'clang++ -g -O0'; do
	# shellcheck disable=SC2086  # a command and its options
	$how -w -o r "$SRC/ask_language.cc" || exit 1
	record r
	is "expressions of C++: $how" "$(wrong r $number)" ""
	number=$((number + 1))
	frame=$(frame_of r crash)
	item='{x = 3, y = 1.5, kind = SMALL, grid = {4, 5, 6}}'
	is "a reference is what it refers to" "$(value i --frame "$frame")" \
		"i = $item"
	is "with a star, too" "$(value '*i' --frame "$frame")" "*i = $item"
	like "as a member, with its address" "$(value h --frame "$frame")" \
		"^h = \{item = @0x[0-9a-f]+: \{x = 3, y = 1.5, kind = SMALL, grid = \{4, 5, 6\}\}, n = @0x[0-9a-f]+: 17, moved = @0x[0-9a-f]+: \{x = 7, .*\}, pointer = @0x[0-9a-f]+: 0x[0-9a-f]+, state = closed\}\$"
	like "as a parameter" "$("$HARK" ask r.hark calls Counter::crash)" \
		'crash\(this = 0x[0-9a-f]+, i = @0x[0-9a-f]+: \{x = 3, .*\}, r = @0x[0-9a-f]+: \{x = 4, .*\}, n = @0x[0-9a-f]+: 17, h = .*, row = @0x[0-9a-f]+: \{4, 5, 6\}\) does not return'
done

# -- Near misses --

near() { value "$1" --frame "$frame" | sed 's/^hark: //'; }
is "a local" "$(near alais)" "there is no 'alais'; near it: 'alias'"
is "a field of this" "$(near coutn)" "there is no 'coutn'; near it: 'count'"
is "a function of a class" "$(near Counter::crush)" \
	"there is no 'Counter::crush'; near it: 'Counter::crash'"
is "one whose class is not said" "$(near crush)" \
	"there is no 'crush'; near it: 'Counter::crash'"
is "a constant" "$(near SMAL)" "there is no 'SMAL'; near it: 'SMALL'"
is "a field" "$(near i.kinds)" \
	"there is no field 'kinds' in 'const struct Item'; near it: 'kind'; it has x, y, kind, grid"
is "nothing is near" "$(near walrus)" "there is no 'walrus'"
