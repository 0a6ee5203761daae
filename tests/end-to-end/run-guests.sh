#!/usr/bin/env bash
# timeout: 900
# Transparency: each self-checking guest runs natively, then translated; what
# it writes and how it ends must be the same.  GUEST=PATTERN runs some of them.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/guests.bash"

# translated NAME PROGRAM
translated() { alike "$@" run -q && pass "$1"; }

each_guest translated
