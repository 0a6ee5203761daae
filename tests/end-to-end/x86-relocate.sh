#!/usr/bin/env bash
# A moved instruction leaves the state that it leaves at home: registers,
# flags, vectors, memory, signals, pc; and in between, the state can be told.
set -eu
exec "$(dirname "$0")/../../build/x86-run/relocate-run" -n 500
