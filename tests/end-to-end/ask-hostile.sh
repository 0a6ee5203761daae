#!/usr/bin/env bash
# timeout: 300
# Recordings that were made to harm hark ask: names that act on a terminal.
. "$(dirname "$0")/lib.sh"

plan 2

# controls TEXT: how many characters of it act on a terminal.
controls() { tr -dc '\001-\010\013-\037\177' <<<"$1" | wc -c; }

# -- Names --

name=$'esc\e]0;owned\a'
cat >"$name.c" <<'END'
static int twice(int *number)
{
	*number *= 2;
	return *number;
}
int main(int argc, char **argv)
{
	return argv[0] == 0 || twice(&argc) == 3;
}
END
gcc -g -O0 -o "$name" "$name.c" || exit 1
hark record -q -o names.hark -- "./$name" $'\e[31mred' >/dev/null
all=
for question in 'calls twice' 'stack --at 1:0' 'regs' 'races' 'calls main'; do
	# shellcheck disable=SC2086  # words
	try hark ask names.hark $question
	all+=$out$err
done
like "a source file of such a name is shown" "$all" \
	'esc\\x1b\]0;owned\\x07\.c:[0-9]'
is "and no such character reaches the terminal" "$(controls "$all")" 0
