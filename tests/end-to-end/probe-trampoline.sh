#!/usr/bin/env bash
# An instruction that is probed leaves the state that it leaves at home, and
# in between, the program's own state can be told.
set -eu
exec "$(dirname "$0")/../../build/x86-run/trampoline-run" \
	-n $((100 * ${HARK_EFFORT:-1}))
