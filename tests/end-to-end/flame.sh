#!/usr/bin/env bash
# The flame graph's page, in a real browser: it opens from a file, and what it
# shows is what was sampled, however one looks at it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 19

build_image stacks_write rel -I"$ROOT/tests/unit" \
	"$ROOT/tests/unit/stacks_sample.c" "$ROOT/tests/end-to-end/stacks_write.c"
page() { # NAME KIND SAMPLES SIZE
	local name=$1

	shift
	./stacks_write "$@" truth >"$name.truth" &&
		./stacks_write "$@" flame >"$name.html"
}
page real real 6000 5
page few real 60 2
page deep deep 300 10000
page hostile hostile 400 17
page wide wide 30000 8000
page empty empty 1 1

# One browser for all; its verdicts are the tests.
/usr/bin/python3 "$ROOT/tests/end-to-end/flame_browser.py" "$T" >verdicts 2>said
[ ! -s said ] || note "$(cat said)"
while read -r verdict name; do
	case $verdict in
	pass) pass "$name" ;;
	*) fail "${name%%:*}" "${name#*:}" ;;
	esac
done <verdicts
