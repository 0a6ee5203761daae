#!/usr/bin/env bash
# timeout: 300
# long: asan
# hark record: its file, and that no trouble with it is the program's trouble.
. "$(dirname "$0")/lib.sh"
plan 112

# json FILE KEY: one value of hark info.
json() {
	"$HARK" info --json "$1" | python3 -c 'import json, sys
print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}
verified() {
	timeout 100 "$HARK" verify "$1" 2>&1 | tail -n 1
}
GOOD=' 0 mismatches$'

# -- The file, and what is said about it --

umask 000
try hark record -q -o a.hark sh -c 'echo out; echo err >&2; exit 7'
is "the program's output, errors and status" "$out|$err|$status" "out|err|7"
is "nobody else may read it" "$(stat -c %a a.hark)" 600
umask 022
try hark record -o b.hark /bin/true
like "one line at the end" "$err" \
	'^hark: b\.hark: [0-9]+ bytes, 1 process, 1 thread$'
try hark info a.hark
like "info: command" "$out" 'command +sh -c echo out'
like "info: how it ended" "$out" 'ended +exit status 7'
like "info: whole" "$out" 'complete +yes'
is "info --json: complete" "$(json a.hark complete)" True
is "info --json: status" "$(json a.hark exit_status)" 7
is "info --json: not counted yet" "$(json a.hark instructions)" None
like "info --json: bytes" "$(json a.hark bytes)" '^[1-9][0-9]+$'
is "bytes are those of the file" "$(json a.hark bytes)" "$(stat -c %s a.hark)"
like "it replays" "$(verified a.hark)" "$GOOD"
ok "counting" "$HARK" verify --count a.hark
like "then instructions are known" "$(json a.hark instructions)" '^[1-9]'
like "and bits" "$(json a.hark bits_per_instruction)" '^[0-9]'
try hark record -q -o c.hark bash -c '/bin/true; exec /bin/echo two'
is "what is executed is recorded, too" "$out" two
is "under numbers of their own" "$(json c.hark processes)" 4
like "with their commands" "$("$HARK" info c.hark)" '/bin/echo two'
like "all of them replay" "$(verified c.hark)" "$GOOD"
try hark record -q --no-follow -o d.hark bash -c '/bin/true; exec /bin/echo two'
is "--no-follow: executed programs run" "$out" two
is "but are not recorded" "$(json d.hark processes)" 2
like "the rest replays" "$(verified d.hark)" "$GOOD"
hark record -q -o k1.hark -- bash -c 'for i in {1..3000}; do :; done'
hark record -q --key-every 5000 -o k2.hark -- \
	bash -c 'for i in {1..3000}; do :; done'
ok "--key-every makes more key frames" test "$(json k2.hark key_frames)" -gt \
	$(($(json k1.hark key_frames) + 3))
like "and they replay" "$(verified k2.hark)" "$GOOD"
# 0.2 s of CPU time at least, wherever it runs.
truncate -s 300M zeros
hark record -q -o k3.hark -- md5sum zeros >/dev/null
ok "who reads much gets key frames, too" test "$(json k3.hark key_frames)" -ge 3
like "that replay" "$(verified k3.hark)" "$GOOD"
rm -f zeros

# -- What a program sends to its process group --

for sig in ABRT TRAP SYS SEGV BUS ILL FPE; do
	rm -f g.hark
	{ setsid -w "$HARK" record -q -o g.hark sh -c "kill -$sig 0"; } 2>/dev/null
	is "SIG$sig for the whole group: all of it is recorded" \
		"$(json g.hark complete)" True
done

# -- Files of code --

printf 'int main(void) { return 6; }\n' >prog.c
gcc -g -static prog.c -o prog
objcopy --only-keep-debug prog prog.debug
strip prog
objcopy --add-gnu-debuglink=prog.debug prog
hark record -q -o m1.hark ./prog
hark record -q --bundle-debug -o m2.hark ./prog
is "the program and the vdso are in it" "$(json m1.hark modules)" 2
is "--bundle-debug: and its debug information" "$(json m2.hark modules)" 3
"$HARK" record -q -o closed.hark ./prog <&- >&- 2>&-
is "without standard input, output and errors" $? 6
like "it is a recording all the same" "$(verified closed.hark)" "$GOOD"

# -- The shelf --

try hark record -q /bin/echo 1
try hark record -q /bin/echo 2
is "names count" "$(cd "$HARK_DIR" && echo *.hark)" "echo-1.hark echo-2.hark"
is "the directory is private" "$(stat -c %a "$HARK_DIR")" 700
is "latest is the newest" "$(readlink "$HARK_DIR/latest")" echo-2.hark
like "info takes it" "$("$HARK" info)" 'command +/bin/echo 2'
try hark ls
like "ls: the oldest first" "$out" \
	'exit 0 +echo-1.hark +/bin/echo 1'$'\n''.*exit 0 +echo-2.hark'
like "ls --json" "$("$HARK" ls --json | head -n 1)" '"name":"echo-1.hark"'
ok "rm by name" "$HARK" rm echo-2.hark
is "then another is the latest" "$(readlink "$HARK_DIR/latest")" echo-1.hark
ok "rm the latest" "$HARK" rm latest
is "then none is" "$(ls -A "$HARK_DIR")" ""
echo precious >text.hark
try hark rm text.hark
is "rm removes nothing that is not hark's" "$status:$(cat text.hark)" \
	125:precious
ln -s a.hark link.hark
try hark rm link.hark
is "nor links" "$status:$(readlink link.hark)" 125:a.hark
try hark record -q ./no/such
is "a program that is not there leaves no file" \
	"$status:$(ls -A "$HARK_DIR")" 127:

# -- What is refused before the program starts --

# refused NAME PATTERN OPTION...: 125, one line, and nothing was run.
refused() {
	local name=$1 pattern=$2

	shift 2
	rm -f ran
	try hark record "$@" touch ran
	if [ "$status" = 125 ] && [[ $err =~ $pattern ]] && [ ! -e ran ] &&
		[ "$(wc -l <<<"$err")" = 1 ]; then
		pass "$name"
	else
		fail "$name" "status $status: $err; $(ls -d ran 2>&1)"
	fi
}
refused "a file that exists" 'File exists.*--force' -o a.hark
: >victim
ln -s "$PWD/victim" symlink.hark
refused "a symbolic link" 'File exists' -o symlink.hark
is "what it leads to is as it was" "$(stat -c %s victim)" 0
refused "no such directory" 'No such file' -o no/such/f.hark
mkdir open && chmod 777 open
refused "a directory that everybody may write to" 'everybody' -o open/f.hark
chmod 1777 open
ok "but a sticky one will do" "$HARK" record -q -o open/f.hark /bin/true
if [ "$(id -u)" = 0 ]; then
	mkdir foreign && chown 12345 foreign
	refused "a directory of another user" 'another user' -o foreign/f.hark
else
	skip "a directory of another user" "only root can make one"
fi
refused "a device" 'File exists' -o /dev/full
refused "a bad size" 'size' --ring 5X -o x.hark
refused "a bad number" 'number' --key-every 0 -o x.hark
try hark record -p $$ true
is "-p with a program is refused" "$status" 125
like "in one line" "$err" '^hark: record: -p and a program exclude each other'
ok "--force replaces" "$HARK" record -q --force -o a.hark /bin/echo new
like "what was there" "$("$HARK" info a.hark)" 'command +/bin/echo new'

# -- Pipes --

hark record -q -o - sh -c 'echo words; exit 3' 2>err.txt >piped.hark
is "-o -: the program's status" $? 3
is "its output goes to standard error" "$(cat err.txt)" words
like "the recording is whole" "$(verified piped.hark)" "$GOOD"
is "info reads it from a pipe" \
	"$("$HARK" info --json - < <(cat piped.hark) | grep -c '"complete":true')" 1
{ hark record -o - sh -c 'until [ -e left ]; do sleep 0.05; done
	for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done
	echo done' 2>err.txt || echo "status $?" >>err.txt; } |
	{ head -c 3000 >/dev/null; exec <&-; touch left; }
is "a reader that goes away stops the recording, not the program" \
	"$(grep -c 'Broken pipe; recording ends here' err.txt):$(
		tail -n 1 err.txt)" 1:done

# -- Full disks and limits --

(
	ulimit -Sf 60
	hark record -o small.hark bash -c 'for i in {1..30000}; do :; done; exit 4'
) 2>err.txt
is "a file that may not grow: the program's status" $? 4
is "one line" "$(wc -l <err.txt):$(grep -c 'recording ends here' err.txt)" 1:1
is "what there is can be read" "$(json small.hark complete)" False
(
	ulimit -Sf 60
	hark record -q --force -o small.hark bash -c 'for i in {1..30000}; do :
		done; exit 4'
) 2>err.txt
is "the line is heard with -q, too" \
	"$?:$(wc -l <err.txt):$(grep -c 'recording ends here' err.txt)" 4:1:1
if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=64k none disk \
	2>/dev/null; then
	hark record -o disk/f.hark bash -c 'for i in {1..30000}; do :; done
		exit 4' 2>err.txt
	is "a full disk: the program's status" $? 4
	is "one line about it" "$(wc -l <err.txt):$(grep -c 'No space' err.txt)" 1:1
	is "what is there can be read" "$(json disk/f.hark complete)" False
	umount disk
else
	skip "a full disk: the program's status" "cannot mount"
	skip "one line about it" "cannot mount"
	skip "what is there can be read" "cannot mount"
fi

# -- Sudden deaths --

DEATHS=$(times 2)
all=yes
for ((i = 1; i <= DEATHS; i++)); do
	"$HARK" record -q -o dead$i.hark -- bash -c \
		"(sleep 0.$(printf %02d $((i * 3 % 10 + 1))); kill -9 \$\$) & while :; do :; done" 2>/dev/null
	s=$?
	v=$(verified dead$i.hark)
	[[ $s = 137 && $v =~ $GOOD && $(json dead$i.hark complete) = True ]] ||
		all="no. $i: status $s, $v"
done 2>/dev/null
is "programs that are killed: their recordings are whole, and replay" \
	"$all" yes
# Who computes alone has nothing to tell, and yet is known to its end, but for
# 2^17 backward branches at most.
gcc -std=gnu17 -O2 -g -D_GNU_SOURCE -o quiet \
	"$ROOT/tests/end-to-end/record_quiet.c"
for option in --ring=64M --key-every=10000000; do
	{ "$HARK" record -q $option -o quiet$option.hark -- ./quiet 1000000; } \
		2>/dev/null
	like "$option, killed while it computes alone: it replays" \
		"$(verified quiet$option.hark)" "$GOOD"
	turns=$("$HARK" ask quiet$option.hark value turns)
	ok "... almost to its end ($turns)" test "${turns//[!0-9]/}" -gt 868900
done
has_key() { [ "$(json "$1" key_frames 2>/dev/null || echo 0)" -gt 0 ]; }
all=yes
for ((i = 1; i <= DEATHS; i++)); do
	rm -f up alive
	is_short=$((i * 2 <= DEATHS))
	"$HARK" record -q -o orphan$i.hark -- bash -c \
		'echo up >up; for i in {1..60000}; do :; done; echo alive >alive' &
	pid=$!
	wait_for up up # or there would be no program to go on
	sleep 0.$((i % 6 + 2))
	[ $is_short = 1 ] || await has_key orphan$i.hark
	kill -9 $pid
	wait $pid
	wait_for alive alive
	v=$(verified orphan$i.hark)
	# Of a short life nothing may have been written yet.
	[[ $is_short = 1 && $v = *' cut off before its first key frame' ]] ||
		[[ $v =~ $GOOD ]] || all="no. $i: $v"
	[ "$(cat alive)" = alive ] || all="no. $i: dead"
done 2>/dev/null
is "hark is killed: programs go on, and what is written replays" "$all" yes
"$HARK" record -q -o int.hark bash -c 'trap "echo got; exit 9" USR1
	echo ready >ready; while :; do sleep 0.02; done' >out.txt &
pid=$!
wait_for ready ready
kill -USR1 $pid
wait $pid
is "a signal to hark is the program's" "$?:$(cat out.txt)" 9:got
like "and its recording replays" "$(verified int.hark)" "$GOOD"
timeout 100 "$HARK" record -q -o back.hark sh -c \
	'sleep 600 </dev/null >/dev/null 2>&1 & echo $! >bg'
is "whoever stays behind does not keep hark" $? 0
is "and lives" "$(kill -0 "$(cat bg)" && echo yes)" yes
kill "$(cat bg)"
like "what it did until then replays" "$(verified back.hark)" "$GOOD"

# -- The newest --

hark record -q --key-every 20000 --ring 40K -o ring.hark -- \
	bash -c 'for i in {1..30000}; do :; done'
is "--ring: the recording is whole" "$(json ring.hark complete)" True
ok "and small" test "$(json ring.hark thread_bytes)" -le 45000
ok "but not empty" test "$(json ring.hark key_frames)" -gt 0
like "and replays" "$(verified ring.hark)" "$GOOD"

# One thread that logs much: what a second one logs may be small enough to stay.
try hark record --key-every 1000000000 --ring 1K -o tiny.hark -- \
	dd if=/dev/urandom of=/dev/null bs=64K count=10
like "a ring that is too small says so" "$err" 'tiny\.hark: the ring had no room'
hark record -q --ring 4M -o big.hark -- \
	dd if=/dev/urandom of=/dev/null bs=64K count=2000 2>/dev/null
ok "--ring: much that is read at a time does not push everything out" test \
	"$(json big.hark thread_bytes)" -ge 500000
ok "nor does it become more" test "$(json big.hark thread_bytes)" -le 4300000
like "it replays" "$(verified big.hark)" "$GOOD"

# -- Nobody reads --

# stuck COMMAND...: hark records it into a pipe that is open and not read.
stuck() {
	rm -f pipe err
	mkfifo pipe
	# shellcheck disable=SC2217
	sleep 1000 <pipe &
	reader=$!
	"$HARK" record -o - -- "$@" >pipe 2>err &
	stuck=$!
	wait_for '^hark: nobody reads the recording, ' err
}
childless() { ! pgrep -P "$1" >/dev/null; }
# heard PID: it has taken the SIGTERM that it was sent.
heard() {
	local waiting

	waiting=$(sed -n 's/^ShdPnd:[[:space:]]*//p' "/proc/$1/status")
	((!(0x$waiting & 1 << 14)))
}
unread() {
	kill $reader
	wait $reader
} 2>/dev/null

stuck dd if=/dev/urandom of=/dev/null bs=64K
is "a pipe that nobody reads: that is said" $? 0
kill -TERM "$stuck"
wait "$stuck"
is "the program still gets its signals" $? 143
like "for the recording is given up" "$(cat err)" \
	'nobody reads it; recording ends here, and the program goes on'
unread 2>/dev/null
stuck dd if=/dev/urandom of=/dev/null bs=64K count=20
is "the program has ended, and nobody reads: likewise" $? 0
await childless "$stuck"
kill -TERM "$stuck"
await heard "$stuck"
kill -TERM "$stuck"
wait "$stuck"
is "hark can be made to end" $? 0
like "and says what that means" "$(cat err)" \
	'hark: the recording was left unfinished$'
unread 2>/dev/null
rm err # it has the same words
"$HARK" record -o - -- dd if=/dev/urandom of=/dev/null bs=64K count=1000 2>err |
	(wait_for 'nobody reads' err && cat >late.hark)
is "a reader who is late: that is said once" \
	"$(grep -c 'nobody reads' err)" 1
is "and nothing is lost" "$(json late.hark complete)" True
like "of it" "$(verified late.hark)" "$GOOD"

# -- -D --

sh -c 'echo $$ >pid1; exec "$HARK" record -q -D -o beside.hark -- \
	sh -c "echo \$\$ >pid2"'
complete() { [ "$(json "$1" complete 2>/dev/null)" = True ]; }
await complete beside.hark
is "-D: the program keeps the shell's number" "$(cat pid1)" "$(cat pid2)"
is "and is recorded to its end" "$(json beside.hark complete)" True
like "as it should be" "$(verified beside.hark)" "$GOOD"

# -- Damage --

head -c 5000 /dev/urandom >junk
try hark info junk
is "junk: one line, 125" "$status:$(wc -l <<<"$err"):$out" 125:1:
size=$(stat -c %s k2.hark)
head -c $((size - size / 50)) k2.hark >cut.hark
is "a part of a recording can be read" "$(json cut.hark complete)" False
like "and replays to there" "$(verified cut.hark)" "$GOOD"
cp c.hark flip.hark
python3 -c 'import sys
with open("flip.hark", "r+b") as f:
    f.seek(int(sys.argv[1]))
    byte = f.read(1)[0]
    f.seek(-1, 1)
    f.write(bytes([byte ^ 4]))' $(($(stat -c %s c.hark) / 2))
try hark verify flip.hark
is "a changed byte is noticed" "$status:$(wc -l <<<"$err")" 125:1
like "and where" "$err" 'damaged at byte [0-9]+'
