#!/usr/bin/env bash
# alone
# tools/check-all counts what passes and misses nothing that fails.  It is run
# on small trees of its own, in which everything else is made up.
. "$(dirname "$0")/lib.sh"
unset HARK_EFFORT
plan 67

check_all() { (cd tree && exec python3 "$ROOT/tools/check-all" "$@"); }
last() { tail -n 1 <<<"$out"; }

# program PATH BODY
program() {
	mkdir -p "tree/$(dirname "$1")"
	printf '#!/usr/bin/env bash\n%s\n' "$2" >"tree/$1"
	chmod +x "tree/$1"
}

# A tree where all is well: 2 tests in each of the two unit programs, one
# script, one fuzzer, and the five checks whose status counts.
fresh() {
	rm -rf tree
	mkdir -p tree/tests/{end-to-end,fuzz,unit} tree/.ci
	printf 'tidy cppcheck format-check:\n\t@echo %s\n' 'checked $@' \
		>tree/Makefile
	for build in asan rel; do
		program "build/$build/unit" 'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
	done
	program tools/check-layers 'exit 0'
	program tools/bare 'exec "$@"'
	program .ci/run 'exit 0'
	program tests/end-to-end/one.sh 'echo 1..1; echo "ok 1 - one"'
	touch tree/tests/fuzz/x.c
	program build/fuzz/x 'echo "stat::number_of_executed_units: 500" >&2'
}

# breaks NAME COUNTS PATTERN: what was just broken in the tree is found
breaks() {
	try check_all
	is "$1" "$status $(last)" "1 $2"
	[ "$(last)" = "$2" ] || note "$out"
	like "$1: told" "$out" "$3"
	fresh
}

fresh
try check_all
is "all is well" "$status $(last)" "0 11 passed, 0 failed, 1 skipped"
like "the slowest are listed" "$out" 'slowest:'

# Names of processes are any bytes; a check must not vanish because of one.
python3 -c 'import ctypes, time
ctypes.CDLL(None).prctl(15, b"\xff\xfe)", 0, 0, 0)
print("named", flush=True)
time.sleep(600)' >named &
odd=$!
await test -s named
try check_all
is "a process with an odd name changes nothing" "$status $(last)" \
	"0 11 passed, 0 failed, 1 skipped"
{ kill $odd && wait $odd; } 2>/dev/null

program tests/end-to-end/one.sh 'echo 1..3; echo "ok 1 - a"
echo "not ok 2 - the claim"; echo "# because"; echo "ok 3 - c # SKIP no way"; exit 1'
breaks "a failed test" "11 passed, 1 failed, 2 skipped" \
	'not ok: 2 - the claim.*\| # because'
program tests/end-to-end/one.sh 'echo 1..2; echo "not ok 1 - the claim"
echo "# because"; echo "ok 2 - b"; exit 1'
program tests/end-to-end/two.sh 'echo 1..1; echo "ok 1 - a"; echo "of sorts"; exit 9'
try check_all
is "what failed is told at the very end, briefly" "$(sed -n '/^FAIL [^ ]/,$p' <<<"$out")" \
	"FAIL one: 1 - the claim
     | not ok 1 - the claim
     | # because
FAIL two: ended with status 9
     | 1..1
     | of sorts
12 passed, 2 failed, 1 skipped"
fresh

program tests/end-to-end/one.sh 'echo 1..3; echo "ok 1 - a"'
breaks "fewer tests than planned" "11 passed, 2 failed, 1 skipped" \
	'did not run'
program tests/end-to-end/one.sh 'echo 1..1; echo "ok 1 - a"; echo "ok 2 - b"'
breaks "more tests than planned" "12 passed, 1 failed, 1 skipped" 'ran 2 tests'
program tests/end-to-end/one.sh 'echo "ok 1 - a"'
breaks "no plan" "11 passed, 1 failed, 1 skipped" 'has no plan'
program tests/end-to-end/one.sh 'echo 1..1; echo "ok 1 - a"; exit 3'
breaks "a bad end after good tests" "11 passed, 1 failed, 1 skipped" \
	'ended with status 3'
program tests/end-to-end/one.sh 'echo 1..1; echo "ok 1 - a"; kill -SEGV $$'
breaks "a death after good tests" "11 passed, 1 failed, 1 skipped" \
	'ended by SIGSEGV'
program tests/end-to-end/one.sh '# timeout: 3
echo 1..2; echo "ok 1 - a"; sleep 60'
breaks "a script that hangs" "11 passed, 2 failed, 1 skipped" \
	'killed after 3 seconds'
program tests/end-to-end/one.sh "sleep 600 & echo \$! >$T/pid
echo 1..1; echo 'ok 1 - a'"
breaks "a process left behind" "11 passed, 1 failed, 1 skipped" \
	'left processes behind'
ok "it is not left behind for good" gone "$(cat pid)"

program build/asan/unit 'echo "==1==ERROR: AddressSanitizer" >&2; exit 1'
breaks "a unit program that dies at once" "9 passed, 2 failed, 1 skipped" \
	'AddressSanitizer'
rm tree/build/rel/unit
breaks "a unit program that is not there" "9 passed, 1 failed, 1 skipped" \
	'cannot be started'
program build/fuzz/x 'echo "SUMMARY: boom" >&2; exit 77'
breaks "a fuzzer that found something" "10 passed, 1 failed, 1 skipped" \
	'SUMMARY: boom'
program build/fuzz/x 'echo "stat::number_of_executed_units: 2" >&2'
breaks "a fuzzer that reached nothing" "10 passed, 1 failed, 1 skipped" \
	'only 2 inputs'
printf 'tidy:\n\t@echo untidy; exit 1\ncppcheck format-check:\n' >tree/Makefile
breaks "a static check" "10 passed, 1 failed, 1 skipped" 'untidy'

(cd tree && git init -q . && echo build/ >.gitignore && git add -A)
try check_all
is "a clean tree" "$status $(last)" "0 12 passed, 0 failed"
touch tree/tests/made.o
breaks "something generated into it" "11 passed, 1 failed" \
	'tests/made\.o is not in git'

# shellcheck disable=SC2016
body='echo 1..1; mkdir "$DIR/busy" && sleep 0.3 && rmdir "$DIR/busy" &&
	echo "ok 1 - nobody else was here"'
for i in 1 2 3; do
	program "tests/end-to-end/alone$i.sh" "# alone
DIR=$T; $body"
done
try check_all alone
is "scripts marked alone are alone" "$status $(last)" "0 3 passed, 0 failed"
try check_all no-such-check
is "nothing run is not well" "$status $(last)" "1 0 passed, 0 failed"

# -- make check-long: more of everything --

fresh
program tests/end-to-end/one.sh '# timeout: 1
# long: asan
echo 1..1; sleep 2; echo "ok 1 - $HARK_EFFORT ${HARK#"$PWD"}"'
program build/fuzz-guided/x 'echo "stat::number_of_executed_units: 500" >&2'
breaks "a second is a second" "10 passed, 2 failed, 1 skipped" \
	'killed after 1 seconds'
program tests/end-to-end/one.sh '# timeout: 1
# long: asan
echo 1..1; sleep 2; echo "ok 1 - $HARK_EFFORT ${HARK##*/build}"'
program build/fuzz-guided/x 'echo "$@" >args
echo "stat::number_of_executed_units: 500" >&2'
program build/fuzz/x 'exit 1'
out=$(cd tree && HARK_EFFORT=10 python3 "$ROOT/tools/check-all" 2>&1)
is "ten times the time, the sanitized tool, and fuzzers that search" "$(last)" \
	"12 passed, 0 failed, 1 skipped"
like "... both tools" "$out" 'passed  one \(asan\)'
like "... for a minute" "$(cat tree/args)" '-max_total_time=60 '
fresh

# -- However it ends, the last line is there ------------------------------------

# The script says so when it runs, and does not end by itself.
fresh
program tests/end-to-end/one.sh "echo 1..2; echo 'ok 1 - a'; sleep 600 &
echo \$\$ >$T/began; wait"
# ended SIGNAL COMMAND...: what it said when told to end in the middle
ended_by() {
	local signal=$1

	rm -f began
	shift
	(cd tree && exec "$@") >said 2>&1 &
	child=$!
	await test -s began
	kill -s "$signal" "$child"
	wait "$child"
	status=$?
	out=$(cat said)
}
# Bash ignores SIGINT in what it starts in the background; check-all does not.
for signal in TERM INT HUP; do
	ended_by "$signal" python3 "$ROOT/tools/check-all" one two
	is "ended by SIG$signal: the last line is there" "$status $(last)" \
		"1 0 passed, 2 failed"
	like "ended by SIG$signal: what was not finished is told" "$out" \
		"FAIL one: was not finished: SIG$signal came"
	ok "ended by SIG$signal: nothing is left" gone "$(cat began)"
done
# The kernel may give it to any thread; only the first one handles it.
rm -f began
(cd tree && exec python3 "$ROOT/tools/check-all" one) >said 2>&1 &
child=$!
await test -s began
python3 -c 'import ctypes, os, sys
pid = int(sys.argv[1])
other = max(map(int, os.listdir(f"/proc/{pid}/task")))
sys.exit(other == pid or ctypes.CDLL(None).syscall(234, pid, other, 15))' $child
wait $child
is "ended through another thread: at once" "$(tail -n 1 said)" "0 passed, 2 failed"

# Some run, the others do not yet; what had ended counts.
for i in 1 2 3 4 5; do
	cp tree/tests/end-to-end/one.sh "tree/tests/end-to-end/one$i.sh"
done
program tests/end-to-end/first.sh '# timeout: 200
echo 1..1; echo "ok 1 - one"'
ended_by TERM python3 "$ROOT/tools/check-all" one first
passed=$(grep -c '^ok ' <<<"$out")
is "ended in the middle: each that was not run has failed" "$(last)" \
	"$passed passed, $((8 - passed)) failed"
[ "$(last)" = "$passed passed, $((8 - passed)) failed" ] || note "$out"
rm tree/tests/end-to-end/{one?,first}.sh

out=$(cd tree && HARK_CHECK_SECONDS=2 python3 "$ROOT/tools/check-all" one 2>&1)
is "the time for all is over: the last line is there" "$(last)" \
	"1 passed, 2 failed"
like "the time for all is over: told" "$out" 'killed after 2 seconds'
fresh

# In a session, but in a group of its own: as background jobs of a shell are.
program tests/end-to-end/one.sh "set -m; sleep 600 & echo \$! >$T/pid
echo 1..1; echo 'ok 1 - a'"
breaks "a process left behind in a group of its own" \
	"11 passed, 1 failed, 1 skipped" 'left processes behind'
ok "that is not left behind for good, either" gone "$(cat pid)"

# It has left the session, too, and keeps all that it inherited.
program tests/end-to-end/one.sh "setsid sleep 600 & echo 1..1; echo 'ok 1 - a'
until [ \"\$(ps -o sid= \$! | tr -d ' ')\" = \$! ]; do sleep 0.01; done
echo \$! >$T/pid"
out=$(check_all one 2>&1)
is "a process that keeps the output open does not keep the log open" \
	"$(last)" "1 passed, 0 failed"
kill "$(cat pid)"

# -- Building first -------------------------------------------------------------

fresh
printf '%s\n' 'built:' '	@echo is built' 'tidy cppcheck format-check:' \
	>tree/Makefile
try check_all --build
is "it is built first" "$status $(head -n 1 <<<"$out") $(last)" \
	"0 is built 12 passed, 0 failed, 1 skipped"
printf '%s\n' 'built:' '	@echo no such thing; exit 3' >tree/Makefile
try check_all --build one
is "a build that fails: the last line is there" "$status $(last)" \
	"1 0 passed, 2 failed"
like "a build that fails: told" "$out" \
	'FAIL build: ended with status 2.*no such thing.*FAIL one: was not run'
# shellcheck disable=SC2016
printf '%s\n' 'built:' "	@echo \$\$\$\$ >$T/began; sleep 600" >tree/Makefile
ended_by TERM python3 "$ROOT/tools/check-all" --build one
is "ended while it builds: the last line is there" "$status $(last)" \
	"1 0 passed, 2 failed"
ok "ended while it builds: nothing is left" gone "$(cat began)"

# -- All of it, as on a machine that is told to do it ----------------------------

mkdir -p tree/tools
cp "$ROOT/tools/check-all" tree/tools/
cp "$ROOT/.ci/run" tree/.ci/run
cat >>tree/Makefile <<'END'
check: setup
	@tools/check-all --build
setup:
	@tools/setup check
END
program tools/setup 'exit 0'
ended_by TERM .ci/run
like "the whole run is ended: the last line is there" "$status $(grep passed said)" \
	'^[1-9][0-9]* 0 passed, [0-9]+ failed$'
program tools/setup "echo \$\$ >$T/began; exec sleep 600"
ended_by HUP .ci/run
like "the whole run is ended at its beginning: the last line is there" \
	"$status $(last)" '^[1-9][0-9]* 0 passed, 1 failed$'
program tools/setup 'exit 1'
try tree/.ci/run
is "what is needed cannot be had: the last line is there" "$status $(last)" \
	"2 0 passed, 1 failed"
program tools/setup 'exit 0'
program tools/check-all 'kill -KILL $$'
try tree/.ci/run
is "what counts was killed: the last line is there" "$status $(last)" \
	"2 0 passed, 1 failed"
