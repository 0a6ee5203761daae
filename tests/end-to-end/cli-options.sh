#!/usr/bin/env bash
# Command lines, right and wrong, of the tool as it is installed.
# also: asan
. "$(dirname "$0")/lib.sh"
commands=$(hark help --list)
plan $((34 + 2 * $(wc -w <<<"$commands")))

# refuses NAME WORDS-ON-STDERR ARGUMENT...: one line, status 125, no output
refuses() {
	local name=$1 want=$2

	shift 2
	try hark "$@"
	is "$name" "$status|$out|$err" "125||hark: $want"
}

refuses "no command" "no command given; see 'hark help'"
refuses "an unknown command with a near one" \
	"unknown command 'rnu'; did you mean 'run'?" rnu
refuses "an unknown command without" \
	"unknown command 'fandango'; see 'hark help'" fandango
refuses "an empty command" "unknown command ''; see 'hark help'" ""
refuses "an unknown option before the command" \
	"unknown option '--nope'; see 'hark help'" --nope run
refuses "an unknown option" \
	"run: unknown option '--natvie'; did you mean '--native'?" run --natvie x
refuses "an unknown letter" \
	"run: unknown option '-Z'; see 'hark help run'" run -qZ x
refuses "a missing value" "run: option '--output' needs FILE" run --output
refuses "a value too many" "run: option '--native' takes no value" run --native=1 x
refuses "a wrong choice" \
	"doctor: 'pink' is not one of auto|always|never (option --color)" \
	doctor --color=pink
refuses "a wrong process id" "run: 'me' is no process id (option --pid)" run -p me
refuses "a missing operand" "rm: no FILE given; see 'hark help rm'" rm
refuses "an operand too many" "version: 'now' is one argument too many" version now
refuses "help on an unknown command" \
	"unknown command 'docter'; did you mean 'doctor'?" help docter
refuses "control characters stay harmless" \
	"unknown command 'a\\nhark: b\\x1b[2J'; see 'hark help'" $'a\nhark: b\e[2J'
refuses "quiet does not silence errors" \
	"info: 'b' is one argument too many" info -q a b

version=$(cat "$ROOT/VERSION")
try hark --version
is "--version" "$status|$out|$err" "0|hark $version|"
try hark -V
is "-V" "$status|$out" "0|hark $version"
try hark version
is "version" "$status|$out" "0|hark $version"
try hark version --json
is "version --json is JSON" "$(python3 -c 'import json, sys
v = json.load(sys.stdin); print(v["name"], v["version"], v["arch"])' <<<"$out")" \
	"hark $version x86_64"

try hark help
like "help goes to standard output" "$status|$err|$out" '^0\|\|hark - .*usage: hark '
for word in --help -h; do
	try hark $word
	is "$word is help" "$out" "$(hark help)"
done
for command in $commands; do
	try hark "$command" --help
	like "$command --help" "$status|$err|$out" "^0\|\|hark $command - "
	is "help $command says the same" "$(hark help "$command")" "$out"
done
try hark run --native --help --nonsense
like "help ends the options" "$status|$out" '^0\|hark run - '
try hark help -- run
like "two dashes end the options" "$status|$out" '^0\|hark run - '

hark help >/dev/full 2>err
is "a full disk is told" "$?|$(cat err)" \
	"125|hark: cannot write to standard output: No space left on device"
hark version >&- 2>err
is "a closed output is told" "$?|$(cat err)" \
	"125|hark: cannot write to standard output: Bad file descriptor"
hark nothing 2>&-
is "a closed standard error harms nothing" $? 125
hark nothing 2>/dev/full
is "a full standard error harms nothing" $? 125
{ hark nothing 2>&1 1>&3 | :; } 3>/dev/null
is "a standard error that nobody reads harms nothing" "${PIPESTATUS[0]}" 125
# hark's words must not land in a file that hark opens meanwhile.
"$HARK" info "$ROOT/VERSION" <&- >&- 2>&-
is "all three closed: still a clean refusal" $? 125

env -i "$HARK" version >out 2>err
is "an empty environment is enough" "$?|$(cat out)|$(cat err)" "0|hark $version|"

# Every allocation, open and map of hark's fails once: an error, not a crash.
worst=0 failed=0
for command in help version doctor "info $ROOT/VERSION" "help run" \
	"help --man" "help --complete bash"; do
	for k in 1 2 3 4 5 6 8 10 13 17 22 30 45; do
		# shellcheck disable=SC2086
		HARK_FAIL=$k "$HARK" $command >out 2>&1 </dev/null
		code=$?
		[ $code -le $worst ] || worst=$code
		[ $code != 125 ] || failed=$((failed + 1))
	done
done
ok "no failed allocation kills hark (worst status $worst)" [ $worst -le 125 ]
ok "and some of them were felt ($failed)" [ $failed -ge 10 ]
