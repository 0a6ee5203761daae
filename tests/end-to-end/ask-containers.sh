#!/usr/bin/env bash
# timeout: 600
# hark ask: containers and strings of C++, held against what programs say of
# theirs, and such that something has written over.
. "$(dirname "$0")/lib.sh"
SRC=$ROOT/tests/end-to-end

plan 38

# record NAME ARGUMENT...: NAME.hark, and what the program said in NAME.out.
record() {
	rm -f "$1.hark"
	{ "$HARK" record -q -o "$1.hark" -- "./$1" "${@:2}" >"$1.out"; } \
		2>/dev/null
	true
}

# wrong NAME AT LEAST NUMBER: what hark says otherwise than the program did. The first
# of the programs is asked for each third container, the next one for those after
# these, and so on; with HARK_EFFORT for more of them or all.
wrong() {
	local got n=0
	while IFS= read -r line; do
		n=$((n + 1))
		(((n + $3) % 3 < $(times 1))) || continue
		got=$("$HARK" ask "$1.hark" value "${line%% = *}" 2>&1)
		[ "$got" = "$line" ] || printf '%s\n%s\n' "$line" "$got"
	done <"$1.out"
	[ $n -ge "$2" ] || echo "only $n containers"
}

# -- What programs have --

n=0
for how in 'g++ -std=c++17 -O0' 'g++ -std=c++20 -O2' 'g++ -std=c++11 -O0' \
	'g++ -std=c++17 -gdwarf-4 -fdebug-types-section' \
	'clang++ -std=c++17 -O0' 'clang++ -std=c++17 -O2 -gdwarf-4'; do
	n=$((n + 1))
	# shellcheck disable=SC2086  # a command and its options
	$how -g -w -o c "$SRC/ask_containers.cc" || exit 1
	record c $n
	is "containers: $how" "$(wrong c 44 $n)" ""
done

# -- Where they are parts, and as they are --

cat >parts.cc <<'END'
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Shop {
	std::string name;
	std::vector<std::pair<int, std::string>> prices;
};
template <class T> struct pair { // not std's
	T first, second, third;
};
template <class T> struct vector {
	T *begin, *end;
};
pair<int> mine{1, 2, 3};
vector<int> own;
__attribute__((noinline)) std::string name_of(const Shop &s, std::string by)
{
	asm volatile("");
	return s.name + by;
}
__attribute__((noinline)) int count(std::vector<int> v, std::map<int, int> &m)
{
	asm volatile("");
	return v.size() + m.size();
}
int main()
{
	Shop shop{"corner", {{1, "one"}, {2, "two"}}};
	std::map<int, int> m{{4, 5}};
	std::string name = name_of(shop, "!");
	int n = count({7, 8}, m) + (own.begin != own.end);

	return name.size() + n == 10 ? 0 : 1;
}
END
g++ -std=c++17 -g -O0 -o parts parts.cc || exit 1
record parts
like "as a parameter, by reference and by value" \
	"$("$HARK" ask parts.hark calls name_of)" \
	'name_of\(s = @0x[0-9a-f]+: \{name = "corner", prices = std::vector of length 2 = \{\{first = 1, second = "one"\}, \{first = 2, second = "two"\}\}\}, by = "!"\) = "corner!"  '
like "others" "$("$HARK" ask parts.hark calls count)" \
	'count\(v = std::vector of length 2 = \{7, 8\}, m = @0x[0-9a-f]+: std::map with 1 element = \{\[4\] = 5\}\) = 3  '
at=$("$HARK" ask parts.hark calls count --json | python3 -c \
	'import json, sys; print(json.load(sys.stdin)["position"])')
s=$("$HARK" ask parts.hark stack --at "$at")
like "as a local" "$s" 'name = "corner!"'
like "in a local" "$s" 'shop = \{name = "corner", prices = std::vector of length 2 = '
like "raw: a parameter" "$("$HARK" ask parts.hark calls count --raw)" \
	'count\(v = \{<_Vector_base<int, .*_M_start = 0x[0-9a-f]+, '
like "raw: on the stack" "$("$HARK" ask parts.hark stack --raw --at "$at")" \
	'name = \{_M_dataplus = \{.*_M_string_length = 7, '
frame() { "$HARK" ask parts.hark --frame 1 --at "$at" "$@"; }
like "raw: a value" "$(frame value shop.name --raw)" \
	'^shop\.name = \{_M_dataplus = \{.*_M_p = 0x[0-9a-f]+ "corner"\}'
is "its fields can be asked for" "$(frame value shop.name._M_string_length)" \
	"shop.name._M_string_length = 6"
is "and computed with" "$(frame value \
	'(shop.prices._M_impl._M_start + 1)->second')" \
	"(shop.prices._M_impl._M_start + 1)->second = \"two\""
is "a class of that name that is not std's" \
	"$("$HARK" ask parts.hark value mine)" \
	"mine = {first = 1, second = 2, third = 3}"
is "another one" "$("$HARK" ask parts.hark value own)" \
	"own = {begin = 0x0, end = 0x0}"
like "json: the text, and the bytes" "$(frame value shop.name --json)" \
	'"value": ?"\\"corner\\"".*"bytes": ?"[0-9a-f?]{64}"'

# -- What is damaged --

g++ -std=c++17 -g -O0 -o damaged "$SRC/ask_damaged.cc" || exit 1
record damaged
value() {
	try timeout 60 "$HARK" ask damaged.hark value "$1"
	out=${out#"$1 = "}
}
raw='\{<_Vector_base<.*_M_start = 0x[0-9a-f]+, _M_finish = 0x[0-9a-f]+, .*\}$'
value backwards
like "the end is before the begin" "$out" "^std::vector \\(damaged\\) = $raw"
value odd
like "the end is in an element" "$out" "^std::vector \\(damaged\\) = $raw"
value wild
is "a vector in unknown memory" "$out" \
	'std::vector of length 100 = {?? <100 times>}'
value endless
like "a vector of 2^38 elements" "$out" \
	'^std::vector of length 274877906944 = \{1, .*, \.\.\.\}$'
ok "it is short" [ ${#out} -lt 5000 ]
value inside_out
like "a vector in a vector" "$out" \
	"^std::vector of length 1 = \\{std::vector \\(damaged\\) = "
value lost
is "a string whose bytes are not known" "$out" "std::string of length 4 = ??"
value enormous
like "one of 2^64 bytes" "$out" '^std::string \(damaged\) = \{_M_dataplus = '
value nowhere
is "one at 0" "$out" "std::string of length 1000 = ??"
value looped
is "a list in a circle" "$out" \
	"std::list of length 3 = {1, 2, <damaged: it comes back to where it was>}"
value shortened
is "one that is shorter than it says" "$out" \
	"std::list of length 1000 = {1, 2, 3, <damaged: there are no more>}"
value lonely
is "one that leads to unknown memory" "$out" \
	"std::list of length 5 = {1, ??, ?? <the next one is not known>}"
value knotted
is "a tree whose root is below itself" "$out" \
	"std::map with 3 elements = {<damaged: the tree is too deep>}"
value counted_wrong
is "one that is smaller than it says" "$out" \
	"std::map with 77 elements = {[1] = 1, [2] = 2, <damaged: there are no more>}"
value astray
is "one that leads to unknown memory, too" "$out" \
	"std::map with 5 elements = {[1] = 1, ?? <the next one is not known>}"
value deep
is "one that comes back to where it was" "$out" \
	"std::set with 9 elements = {0, 1, 2, 3, <damaged: it comes back to where it was>}"
value ring
is "a hash table's chain" "$out" \
	"std::unordered_map with 3 elements = {[3] = 3, [2] = 2, <damaged: it comes back to where it was>}"
value torn
like "a deque whose end is before its begin" "$out" \
	'^std::deque \(damaged\) = \{<_Deque_base<'
value bad_count
like "a count of owners that is nowhere" "$out" \
	'^std::shared_ptr = 0x[0-9a-f]+ -> 5$'
value self
like "a vector that is in itself" "$out" \
	'^\{all = std::vector of length 1 = \{(\{all = std::vector of length 1 = \{){1,20}\{\.\.\.\}\}+$'
