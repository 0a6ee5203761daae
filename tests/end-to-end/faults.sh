#!/usr/bin/env bash
# timeout: 600
# HARK_FAIL=k: the k-th allocation, open or map of hark fails, for every k
# there is. hark then says why in one line and returns 125, or does its work;
# it never crashes, hangs, or harms the program.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"

hark run --native -q -o sample.hark -- true
build_image make rel "$ROOT/tests/end-to-end/show_make.c"
printf '%s\n' "maps 1 $GUESTS/blocked" "thread 1 1 name" \
	"sample 1 1 5 1 0 0 0 r0:main+9 0:main+1" "lost 1 why" "finish 0 9" |
	./make profile.hark prog

# How many calls could fail.
count() {
	rm -f f.hark
	HARK_FAIL=0 "$HARK" "$@" 2>&1 >/dev/null |
		sed -n 's/^hark: \([0-9]*\) calls could fail$/\1/p' | tail -n 1
}

# walk NAME OUTPUT ARGUMENTS...: every k; OUTPUT is what a success prints (an
# extended regular expression).
walk() {
	local name=$1 want=$2 n k bad="" code

	shift 2
	n=$(count "$@")
	if [ -z "$n" ] || [ "$n" = 0 ]; then
		fail "$name" "nothing to fail: '$n'"
		return
	fi
	for ((k = 1; k <= n; k++)); do
		rm -f f.hark
		HARK_FAIL=$k timeout -s KILL 60 "$HARK" "$@" >walk.out 2>walk.err
		code=$?
		case $code in
		0 | 1) [[ $(cat walk.out) =~ $want ]] ||
			bad+="k=$k: status $code, output '$(head -n 2 walk.out)'"$'\n' ;;
		125) [ -s walk.err ] && ! grep -qv '^hark: ' walk.err &&
			[ "$(wc -l <walk.err)" -le 2 ] ||
			bad+="k=$k: says '$(cat walk.err)'"$'\n' ;;
		*) bad+="k=$k: status $code: $(cat walk.err)"$'\n' ;;
		esac
	done
	if [ -z "$bad" ]; then
		pass "$name ($n calls)"
	else
		fail "$name" "$bad"
	fi
}

plan 18
walk "hark version" '^hark ' version
walk "hark help" 'hark' help run
walk "hark doctor" 'kernel' doctor
walk "hark info" 'kind' info sample.hark
walk "hark info --json" '"kind"' info --json sample.hark
walk "hark info of a profile" 'kind' info profile.hark
walk "hark show" '1 sample' show profile.hark
walk "hark show --json" '"samples":1' show --json --callers profile.hark
walk "hark run --native" '^up$' run --native -q -- echo up
walk "hark run --native -o" '^up$' run --native -q -o f.hark -- echo up
walk "hark record" '^up$' record -q -o f.hark -- echo up
ok "... which is one" "$HARK" record -q --force -o one.hark -- sh -c '/bin/true'
walk "hark info of a recording" 'kind' info one.hark
walk "hark run --native -f" '^up$' run --native -q -f -- sh -c '/bin/echo up'
begin "$GUESTS/blocked" end mended
guest=$pid
trap 'code=$?; kill $guest; (exit $code); tests_end' EXIT
walk "hark run --native -p" '^$' run --native -q -p $guest
is "... and the process visited noticed nothing" "$(cat guest.err)" ""
is "... and kept nothing" "$(grep -c memfd:hark /proc/$guest/maps)" 0
ok "... and lives" kill -0 $guest
