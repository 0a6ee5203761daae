#!/usr/bin/env bash
# timeout: 300
# also: asan
# hark show, and info, ls, rm of profiles: profiles made by a script
# (show_make.c), of programs that are compiled here.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"

plan 89

build_image make rel "$ROOT/tests/end-to-end/show_make.c"

cat >prog.c <<'EOP'
#include <stdlib.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) void spin(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) void heavy(int n) { spin(3 * n); }
__attribute__((noinline)) void light(int n) { spin(n); }
__attribute__((noinline)) int dive(int d)
{
	if (d == 0) {
		heavy(100);
		light(100);
		return 1;
	}
	return dive(d - 1) + 1;
}
__attribute__((noinline)) int ping(int d);
__attribute__((noinline)) int pong(int d) { sink++; return d ? ping(d - 1) + 1 : 0; }
__attribute__((noinline)) int ping(int d) { sink++; return d ? pong(d - 1) + 1 : 0; }
/* The call is its last instruction: what follows is another function. */
__attribute__((noinline, noreturn)) void leave(void) { sink++; abort(); }
int main(int c, char **v)
{
	if (c > 99)
		leave();
	return dive(c) + ping(c);
}
EOP
# shellcheck disable=SC2054
build=(gcc -O2 -g -fno-optimize-sibling-calls -fno-ipa-icf
	-fno-reorder-functions -Wl,--build-id)
"${build[@]}" -o prog prog.c

# size SYMBOL: how long it is.
size() { echo $((16#$(nm -S prog | awk -v s="$1" '$4 == s {print $2}'))); }
# repeat N WORDS...
repeat() { yes "${*:2}" | head -n "$1" | tr '\n' ' '; }

# -- What is printed ----------------------------------------------------------

{
	echo "maps 10 $T/prog"
	echo "thread 10 10 first"
	echo "sample 10 10 1000 1 0 0 0 r0:main+20 $(repeat 5001 r0:dive+20) 0:heavy+16"
	for i in $(seq 2 75); do
		echo "sample 10 10 ${i}000000 1 0 5002 0 0:heavy+16"
	done
	for i in $(seq 76 99); do
		echo "sample 10 10 ${i}000000 1 0 5002 0 0:light+12"
	done
	echo "thread 10 11 worker"
	echo "sample 10 11 50500000 1 0 0 0 r0:main+30 $(repeat 500 r0:ping+12 r0:pong+12)"
	echo "lost 3 buffer"
	echo "finish 0 100000000"
} | ./make p.hark prog 1 2
try hark show p.hark
is "show succeeds" "$status:$err" 0:
like "head: command" "$out" '^prog 1 2'
like "head: how much" "$out" \
	'100 samples of 2 threads in 0.100 s, 997 a second of CPU time; 3 lost'
like "what was lost, and why" "$out" 'note: 3 samples lost: buffer'
like "an inlined function is one" "$out" ' 99\.0% +99\.0%  spin \(prog\)'
like "recursion is one line" "$out" ' 99\.0% +0\.0% +dive x 5001'
like "shares of callees" "$out" ' 75\.0% +0\.0% +heavy'
like "the lighter one" "$out" ' 24\.0% +0\.0% +light'
like "a cycle is printed once" "$out" 'these 2 again and again: x 500'
is "and no more often" "$(printf '%s\n' "$out" | grep -c 'ping')" 1
is "nothing is cut where there is no terminal" \
	"$(printf '%s\n' "$out" | grep -c '\.\.\.')" 0

try hark show p.hark --callers
like "callers: from the inside" "$out" '99\.0% +0\.0%  spin'
like "callers: up to main" "$out" '75\.0% +75\.0% +main'

try hark show --json p.hark
like "json is one object" "$(printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
f = {x["name"]: x for x in d["functions"]}
assert d["samples"] == d["weight"] == 100 and d["lost"] == 3, d
assert f["dive"]["total"] == 99 and f["dive"]["self"] == 0
assert f["heavy"]["total"] == 75 and f["spin"]["self"] == 99
assert f["main"]["total"] == 100 and f["ping"]["total"] == 1
assert sum(x["self"] for x in d["functions"]) == 100
calls = {c["id"]: c for c in d["calls"]}
for c in d["calls"]:
    assert c["parent"] == 0 or calls[c["parent"]]["total"] >= c["total"]
dive = [c for c in d["calls"] if c["name"] == "dive"]
assert len(dive) == 1 and dive[0]["calls_most"] == 5001
assert [t["name"] for t in d["threads"]] == ["first", "worker"]
print("fine")' 2>&1)" fine
is "json by its other name" "$("$HARK" show p.hark --format json)" "$out"
try hark show p.hark --json --format text
is "two formats are refused" "$status:$err" \
	"125:hark: show: --json is json, not text; see 'hark help show'"
try hark show p.hark --json --flame
is "by all their names" "$status" 125

# -- For others ---------------------------------------------------------------

"$HARK" show p.hark --format folded >folded
is "folded: all samples are there" \
	"$(awk '{n += $NF} END {print n}' folded)" 100
is "folded: whole stacks" "$(awk '/heavy/ {print gsub(/dive/, "")}' folded)" 5001
ok "the others write something" bash -c 'for f in html speedscope pprof \
	perfetto firefox perf; do
		"$HARK" show p.hark --format $f -o p.$f && [ -s p.$f ] || exit 1
	done'
for f in speedscope firefox; do
	ok "$f is JSON" /usr/bin/python3 -c 'import json, sys
json.load(open(sys.argv[1]))' p.$f
done
like "pprof is compressed" "$(od -An -tx1 -N2 p.pprof)" '1f 8b'
like "speedscope names functions" "$(cat p.speedscope)" '"dive"'
"$HARK" show p.hark --flame -o flame.html
ok "--flame is --format html" cmp flame.html p.html
is "the page needs nothing else" \
	"$(grep -Eci '(src|href)="?https?:' flame.html)" 0

# -- Which samples ------------------------------------------------------------

try hark show p.hark --thread worker
like "a thread by its name" "$out" '1 sample of 1 thread.*chosen from 100'
try hark show p.hark --thread 10
like "a thread by its id" "$out" '99 samples of 1 thread'
try hark show p.hark --thread nobody
is "a thread that is none" "$status:$err" \
	"125:hark: no thread has the id or name 'nobody'"
try hark show p.hark --last 24
like "the last samples" "$out" '^prog 1 2.24 samples of 1 thread'
like "are the light ones" "$out" '100\.0% +0\.0% +light'
try hark show p.hark --last 5.5ms
like "the last time" "$out" '^prog 1 2.5 samples of 1 thread'
for bad in 0 -1 x 1.5 5m ''; do
	"$HARK" show p.hark --last "$bad" >out 2>&1
	[ $? = 125 ] && [ "$(wc -l <out)" -le 2 ] || break
done
is "no such time" "$bad" ''
try hark show p.hark --min 80
like "--min leaves light ones out" "$out" 'dive x 5001$'
try hark show p.hark --min 101
is "no such share" "$status" 125

# -- Names --------------------------------------------------------------------

{
	echo "maps 10 $T/prog"
	echo "sample 10 10 1 1 0 0 0 r0:main+20 r0:leave+$(size leave)"
	echo "finish 0 100"
} | ./make noreturn.hark x
like "behind a call that does not return: still its caller" \
	"$("$HARK" show noreturn.hark)" '100\.0%  leave \(prog\)'

cat >cxx.cc <<'EOP'
#include <string>
namespace deep { template <class T> struct box {
	__attribute__((noinline)) T open(const std::string &s) { return (T)s.size(); } }; }
int main(int c, char **v) { return deep::box<long>().open(v[0]) == c; }
EOP
g++ -O2 -g -o cxx cxx.cc
{
	echo "maps 10 $T/cxx"
	echo "sample 10 10 1 1 0 0 0 r0:main+8 0:deep::box<long>::open+1"
	echo "finish 0 100"
} | ./make cxx.hark x
like "C++ as it was written" "$("$HARK" show cxx.hark)" \
	'deep::box<long>::open\(std::.*\) \(cxx\)'

{
	echo "maps 10 $T/prog [anon]"
	echo "sample 10 10 1 1 0 0 0 r0:main+20?2 0x200000010"
	echo "sample 10 10 2 1 0 0 1 0:heavy+8"
	echo "sample 10 10 3 1 0 0 0 0x99"
	echo "sample 10 10 4 1 0 0 0 r0:main+20 0:heavy+8"
	echo "finish 9 100"
} | ./make odd.hark x
try hark show odd.hark
like "a guess is marked" "$out" 'main \[guess\]'
like "and counted" "$out" 'note: 1 sample with guessed frames'
like "code of no file" "$out" '\[anon\]\+0x200000010'
like "an address of nothing" "$out" ' 0x99'
like "both are noted" "$out" 'no symbols for \[anon\] .*: 1 sample'
like "a stack without an end is said to be" "$out" \
	'50\.0%.*|25\.0% +0\.0%  \[callers not found\]'
like "and counted" "$out" 'note: 1 sample not to the outermost caller'

# A process id that nobody has: what the test leaves in /tmp is its own.
jit=$((4194304 + $$))
{
	echo "maps $jit $T/prog [anon]"
	echo "sample $jit 10 1 1 0 0 0 r0:main+20 r0x200000020 0x200000018"
	echo "sample $jit 10 2 1 0 1 0 0x200000035"
	echo "finish 9 100"
} | ./make jit.hark x
trap 'code=$?; rm -f "/tmp/perf-$jit.map"; (exit $code); tests_end' EXIT
printf '%s\n' "200000010 10 old" "200000020 20 js:other" "nonsense" "zz 5 x" \
	"200000010 10 js:make" "200000030 0 empty" >"/tmp/perf-$jit.map"
try hark show jit.hark
like "names of code that the program made" "$out" 'js:make x 2.*js:other'
touch -d 2001-01-01 "/tmp/perf-$jit.map"
like "not of an older program" "$("$HARK" show jit.hark)" '\[anon\]\+0x200000018'
rm "/tmp/perf-$jit.map"
ln -s "$T/prog.c" "/tmp/perf-$jit.map"
like "nor through a link" "$("$HARK" show jit.hark)" '\[anon\]\+0x200000018'
rm "/tmp/perf-$jit.map"

# The same as records.
cat >dump.py <<'EOP'
import struct, sys
def record(kind, body):
    return struct.pack("<IIQ", kind, 16 + len(body), 1) + body
def load(addr, size, name):
    return record(0, struct.pack("<IIQQQQ", 1, 1, addr, addr, size, 1) + name + b"\0" + b"\xc3" * size)
def move(old, new, size):
    return record(1, struct.pack("<IIQQQQQ", 1, 1, new, old, new, size, 1))
head = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 0, 0)
whole = (head + load(0x200000010, 16, b"old") + record(2, b"lines" * 9) +
         load(0x200000010, 16, b"dump:make") + load(0x900000000, 32, b"dump:other") +
         move(0x900000000, 0x200000020, 32) + record(3, b""))
open(sys.argv[1], "wb").write(whole[:int(sys.argv[2])] if len(sys.argv) > 2 else whole)
print(len(whole))
EOP
dump_len=$(/usr/bin/python3 dump.py "jit-$jit.dump")
like "names from a dump, and of what was moved" "$("$HARK" show jit.hark)" \
	'dump:make x 2.*dump:other'
mkdir -p dumps/.debug/jit/vm
mv "jit-$jit.dump" dumps/.debug/jit/vm
like "elsewhere" "$(JITDUMPDIR=$T/dumps "$HARK" show jit.hark)" 'dump:other'
ln -s "dumps/.debug/jit/vm/jit-$jit.dump" "jit-$jit.dump"
unlike "not through a link" "$("$HARK" show jit.hark)" 'dump:'
rm "jit-$jit.dump"
for ((n = 0; n < dump_len; n += 7)); do
	/usr/bin/python3 dump.py "jit-$jit.dump" $n >/dev/null
	"$HARK" show jit.hark >said || echo "status $? of $n bytes"
done >wrong 2>&1
is "of half a dump, what is whole" "$(cat wrong)" ""
unlike "no name is half" "$(cat said)" 'dump:(m|ma|mak|o|ot|oth|othe)( |$)'
head -c 4096 /dev/urandom >"jit-$jit.dump"
like "nothing of garbage" "$("$HARK" show jit.hark)" '\[anon\]\+0x200000018'
rm "jit-$jit.dump"

strip -o stripped prog
{
	echo "maps 10 $T/stripped"
	echo "sample 10 10 1 1 0 0 0 $(printf '0x%x' $((0x100000000 + 0x$(nm prog | awk '$3 == "heavy" {print $1}') + 9)))"
	echo "finish 0 100"
} | ./make stripped.hark x
try hark show stripped.hark
like "a stripped program: where its function begins" "$out" \
	"stripped\\+0x0*$(nm prog | awk '$3 == "heavy" {print $1}' | sed 's/^0*//')"
like "and it is said" "$out" \
	'note: no symbols for stripped \(it is stripped\): 1 sample'
objcopy --only-keep-debug prog prog.debug
id=$(readelf -n prog | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
cp prog.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
like "debug information of its own, by build-id" \
	"$(HARK_DEBUG_PATH=$T/debug "$HARK" show stripped.hark)" 'spin \(stripped\)'

{
	echo "maps 10 $T/gone"
	echo "sample 10 10 1 1 0 0 0 r0:main+20 0:heavy+16"
	echo "sample 10 10 2 1 0 1 0 0:light+12"
	echo "finish 0 100"
} >gone.script
cp prog gone
./make gone.hark x <gone.script
like "the file that ran is used" "$("$HARK" show gone.hark)" 'heavy'
sed 's/heavy/weighty/' prog.c >other.c
"${build[@]}" -o gone other.c
try hark show gone.hark
like "another file in its place is not" "$out" \
	'no symbols for gone \(the file has changed here\): 2 samples'
is "no name of it is believed" "$(printf '%s' "$out" | grep -c 'light\|weighty')" 0
rm gone
try hark show gone.hark
like "nor is none" "$out" \
	'no symbols for gone \(the file is not here\): 2 samples'
is "which is no failure" "$status" 0

"${build[@]}" -Wl,--build-id=none -o gone prog.c
./make gone.hark x <gone.script
like "without a build-id the time of the file tells" \
	"$("$HARK" show gone.hark)" 'heavy'
touch gone
like "and forbids" "$("$HARK" show gone.hark)" 'the file has changed here'

# -- Manners ------------------------------------------------------------------

wide=$(COLUMNS=60 "$HARK" show cxx.hark | awk '/%/ && length > 60 {n++} END {print n + 0}')
is "lines are as wide as the terminal" "$wide" 0
like "colour if it is asked for" "$("$HARK" show p.hark --color=always)" $'\033\\['
is "else none" "$("$HARK" show p.hark | grep -c $'\033')" 0
{
	echo "maps 10 $T/prog"
	printf 'thread 10 10 \033[31mred\n'
	echo "sample 10 10 1 1 0 0 0 r0:main+20"
	printf 'lost 1 \033[31mred\n'
	echo "finish 0 100"
} | ./make evil.hark $'\033[31mred'
is "no escape of others gets through" \
	"$("$HARK" show evil.hark | grep -c $'\033')" 0
try hark show p.hark -o out.txt
is "-o writes a file for its owner alone" \
	"$status:$out:$(stat -c %a out.txt)" 0::600
is "the same as without" "$(cat out.txt)" "$("$HARK" show p.hark)"
try hark show p.hark -o out.txt
is "an existing one is kept" "$status:$err" \
	"125:hark: out.txt: File exists (--force replaces it)"
ok "unless --force" "$HARK" show p.hark -o out.txt --force
ok "a pipe that ends early" bash -c '"$HARK" show p.hark --json | head -c 1'
like "from standard input" "$("$HARK" show - <p.hark)" '100 samples'

# -- Other files --------------------------------------------------------------

head -c $(($(stat -c %s p.hark) - 100)) p.hark >cut.hark
try hark show cut.hark
like "a file that was cut off is shown as far as it is whole" "$status:$out" \
	'^0:.*note: the file was cut off'
{ head -c 700 p.hark; printf 'XXXX'; tail -c +705 p.hark; } >bad.hark
try hark show bad.hark
like "a damaged one, too, and it is said in a line" \
	"$(printf '%s' "$err" | wc -l):$err" '^0:hark: bad.hark: damaged at byte'
"$HARK" run -q --native -o native.hark -- /bin/true
try hark show native.hark
is "another kind: which command is for it" "$status:$err" \
	"125:hark: native.hark: is no profile: see it with hark info"
"$HARK" record -q -o rec.hark -- /bin/true
try hark show rec.hark
like "a recording: likewise" "$status:$err" \
	'^125:hark: rec.hark: is a recording: see it with hark back'
try hark back p.hark
is "and of a profile, others say so" "$status:$err" \
	"125:hark: p.hark: not a recording, but of kind 'profile' (see it with hark show)"
echo text >text.hark
try hark show text.hark
is "no file of hark's" "$status:$err" \
	"125:hark: text.hark: not a file that hark wrote"

# -- Size ---------------------------------------------------------------------

{
	echo "maps 10 $T/prog"
	echo "many 10 10 50000 1000 5 512"
	echo "finish 0 100000000000"
} | ./make large.hark x
bytes=$(($(stat -c %s large.hark) / 50000))
ok "1,000 frames deep: $bytes bytes a sample" test "$bytes" -lt 16
{
	echo "maps 10 $T/prog"
	echo "many 10 10 2 1000000 1 2"
	echo "finish 0 100000000000"
} | ./make deep.hark x
ok "a million frames deep" "$HARK" show deep.hark -o deep.txt
{
	echo "maps 10 $(ldd /bin/true | awk '/libc.so/ {print $3}')"
	echo "many 10 10 2 200000 1 5000"
	echo "finish 0 100000000000"
} | ./make deep.hark x
ok "of different functions" "$HARK" show deep.hark -o deep.txt --force
like "the middle is left out" "$(cat deep.txt)" '\([0-9]+ calls are left out\)'
ok "few lines, none of them long" awk 'length > 500 {exit 1}
	END {exit NR > 250}' deep.txt

# -- info, ls, rm -------------------------------------------------------------

like "info" "$("$HARK" info p.hark)" \
	'kind +profile.*lost +3.*samples +100.*rate +997 .*duration +0.100 s'
like "info --json" "$("$HARK" info --json p.hark)" \
	'"kind":"profile".*"complete":true.*"samples":100,"clock":"cpu"'
mkdir -p "$HARK_DIR" && chmod 700 "$HARK_DIR" && cp p.hark "$HARK_DIR/prog-1.hark"
ln -s prog-1.hark "$HARK_DIR/latest"
like "ls" "$("$HARK" ls)" 'profile +exit 0 +prog-1.hark +prog 1 2'
like "show without a file: the latest" "$("$HARK" show)" '^prog 1 2'
"$HARK" rm prog-1.hark
is "rm" "$(ls -A "$HARK_DIR")" ""
