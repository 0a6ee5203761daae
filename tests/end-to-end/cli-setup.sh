#!/usr/bin/env bash
# tools/setup asks apt only for what is missing, and only if it may.  Its
# commands are replaced by ones that write down how they were called.
# shellcheck disable=SC2016  # those are programs in quotes
. "$(dirname "$0")/lib.sh"
plan 14

mkdir bin
command_is() { # NAME BODY
	printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}

# Everything is installed but the packages named in the file `missing`;
# a package that dpkg once knew is reported as not-installed.
command_is dpkg-query 'shift 3
for p; do
	if grep -qx "$p" missing; then s=not-installed; else s=installed; fi
	grep -qx "unknown $p" missing || echo "$s $p"
done'
command_is apt-get 'echo "apt-get $*" >>calls
case "$*" in *install*) exit $(cat apt-status) ;; esac'
command_is sudo 'echo "sudo $*" >>calls; [ "$1" = -n ] && { shift; "$@"; exit; }
[ "$1" = env ] && exec "$@"; exec "$@"'
command_is id 'cat uid'
for tool in sh cat grep awk env mktemp rm tail true bash; do
	ln -s "$(command -v "$tool")" "bin/$tool"
done

setup() { # UID MISSING-LINES ARG
	echo "$1" >uid
	printf '%b' "$2" >missing
	: >calls
	try env PATH="$T/bin" "$ROOT/tools/setup" "$3"
}
echo 0 >apt-status

setup 0 '' check
is "nothing is missing: nothing is said" "$status$out$err" 0
is "and apt is not called" "$(cat calls)" ""

setup 0 'libdw-dev\nunknown gcc\n' build
is "root installs what is missing" "$status" 0
like "both the removed and the unknown" "$(cat calls)" \
	'apt-get .*install .*gcc libdw-dev$'
unlike "and nothing else" "$(cat calls)" 'make|libelf'
is "one line says so" "$err" "tools/setup: installing gcc libdw-dev"

setup 0 'cppcheck\n' build
is "building does not need the checkers" "$status$(cat calls)" 0
setup 0 'cppcheck\n' check
like "checking does" "$(cat calls)" 'install .*cppcheck$'

setup 1000 'gdb\n' check
like "a user goes through sudo" "$(cat calls)" 'sudo env .*install .*gdb'

rm bin/sudo
setup 1000 'gdb\n' check
is "neither root nor sudo: refused" "$status$(cat calls)" 1
is "in one line with the command to use" "$err" \
	"tools/setup: missing, and neither root nor sudo to install them; as root: apt-get install gdb"

echo 100 >apt-status
setup 0 'gdb\n' check
like "a failure of apt is told" "$status $err" '^1 .*could not install'

rm bin/dpkg-query
setup 0 '' build
like "elsewhere it only says what is needed" "$status $err" \
	'^0 tools/setup: not a Debian system; .*libdw-dev'
try "$ROOT/tools/setup" everything
like "an unknown word is refused" "$status $err" '^1 tools/setup: usage'
