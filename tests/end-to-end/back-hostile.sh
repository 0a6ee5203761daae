#!/usr/bin/env bash
# also: asan
# Recordings that were made to harm: nothing that one says is run by gdb, and no
# name of one reaches a file or the terminal.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/back.bash"
. "$ROOT/tests/end-to-end/image.bash"

plan 7

# shellcheck disable=SC2086  # a list of words
gcc -std=gnu17 -O2 -w -D_GNU_SOURCE -I"$ROOT/src" -o forge \
	"$SRC/record_forge.c" "$ROOT/build/rel/libhosted.a" \
	$IMAGE_LIBS || exit 1

export OWNED=$T/owned
climb=/../../../../../../../..
dir=$T/$(printf '%*s' $((${#climb} - 1)) '' | tr ' ' d)
mkdir "$dir"
echo "int main(void) { return 0; }" >prog.c
gcc -g -O0 -o "$dir/prog" prog.c || exit 1
hark record -q -o good.hark -- "$dir/prog" >/dev/null

# -- A path that climbs out of gdb's directory of scripts --

echo "import os; open(os.environ['OWNED'], 'w').close()" >prog-gdb.py
./forge good.hark climbs.hark swap "$dir/prog" "$climb$T/prog" || exit 1
back climbs.hark 'break main' run 'info line'
like "a path that climbs is debugged as any other" "$out" 'Breakpoint 1, main'
ok "and no script is run that lies where it leads" test ! -e "$OWNED"
rm -f "$OWNED"

# -- Printers that are installed here are loaded as before --

printers=$(gdb -nx -batch -ex 'show data-directory' |
	sed -nE 's/.* is "(.*)"\.$/\1/p')
mkdir -p data
cp -r "$printers"/. data/
mkdir -p "data/auto-load$dir"
echo "open('$T/loaded', 'a').write('x')" >"data/auto-load$dir/prog-gdb.py"
out=$(timeout 300 "$HARK" back good.hark -- -nx -batch -data-directory data \
	-ex 'break main' -ex run 2>&1 </dev/null)
like "a path that has an installed script is debugged" "$out" \
	'Breakpoint 1, main'
is "and the script is run, once" "$(cat loaded)" x

# -- Names with characters that act on a terminal --

name=$'esc\e]0;owned\a\r'
cp "$dir/prog" "$name"
hark record -q -o escape.hark -- "./$name" $'\e[31mred' >/dev/null
back escape.hark 'break main' run 'info proc all' 'info files' \
	'info sharedlibrary' 'monitor processes' checkpoint 'info checkpoints'
like "a program of such a name is found" "$out" 'Breakpoint 1, main'
like "its name is shown with the characters escaped" "$out" \
	'esc\\x1b\]0;owned\\x07\\r'
is "and no such character reaches the terminal" \
	"$(tr -dc '\001-\010\013-\037\177' <<<"$out" | wc -c)" 0
