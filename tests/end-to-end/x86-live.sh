#!/usr/bin/env bash
# What liveness calls dead may hold anything: nothing observable changes.
set -eu
exec "$(dirname "$0")/../../build/x86-run/live-run" -n 4000
