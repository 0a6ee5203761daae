#!/usr/bin/env bash
# timeout: 300
# also: asan
# Names that only a server of debug files has; and servers that are not there,
# slow, or mean: what this machine knows is shown, soon, with one line that says
# what went wrong.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"
plan 34

ldconfig -p | grep -q 'libdebuginfod\.so\.1 ' || {
	for ((i = 0; i < 34; i++)); do
		skip "debuginfod" "libdebuginfod.so.1 is not installed"
	done
	exit 0
}
build_image make rel "$ROOT/tests/end-to-end/show_make.c"

cat >prog.c <<'EOP'
volatile unsigned long sink;
static inline __attribute__((always_inline)) void spin(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) static void heavy(int n) { spin(3 * n); }
__attribute__((noinline, visibility("default"))) void known(int n) { heavy(n); sink++; }
int main(int c, char **v) { known(c); return 0; }
EOP
# The library knows one of its functions by itself.
gcc -O2 -g -fno-ipa-icf -Wl,--build-id -o prog prog.c || exit 1
gcc -O2 -g -fPIC -shared -Wl,--build-id -o lib.so prog.c || exit 1
{
	echo "maps 10 $T/prog $T/lib.so"
	echo "thread 10 10 first"
	for i in 1 2 3 4; do
		echo "sample 10 10 ${i}000000 1 0 0 0 r0:main+5 r1:known+5 1:heavy+16"
		echo "sample 10 10 ${i}500000 1 0 0 0 r0:main+5 0:heavy+16"
	done
	echo "finish 0 100000000"
} | ./make p.hark prog || exit 1
"$HARK" show --json --min 0 p.hark >whole

# The debug files go to the server.
mkdir files
for f in prog lib.so; do
	id=$(readelf -n "$f" | sed -n 's/.*Build ID: //p')
	objcopy --only-keep-debug "$f" "files/$id"
	strip "$f"
done

exec {hold}> >(exec /usr/bin/python3 "$ROOT/tests/end-to-end/debuginfod_server.py" \
	files port log)
await test -s port || exit 1
export no_proxy='*' NO_PROXY='*' HOME=$T DEBUGINFOD_CACHE_PATH=$T/cache
unset DEBUGINFOD_TIMEOUT DEBUGINFOD_MAXTIME DEBUGINFOD_PROGRESS \
	DEBUGINFOD_VERBOSE DEBUGINFOD_RETRY_LIMIT XDG_CACHE_HOME
url=http://127.0.0.1:$(cat port)

# ask MOOD: of a server in that mood; sets $out, and $took in seconds.
ask() {
	local begin=$SECONDS

	: >log
	rm -rf cache
	try timeout -s KILL 100 env DEBUGINFOD_URLS="$url/$1" \
		"$HARK" show --min 0 p.hark
	took=$((SECONDS - begin))
	notes=$(grep '^note:' <<<"$out")
}
questions() { grep -c . log; }

# -- Nobody is asked ------------------------------------------------------------

: >log
try env ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=socket,connect -o trace "$HARK" show --min 0 p.hark
is "without the variable there is no network" \
	"$status:$(grep -c -e socket -e connect trace):$(questions)" 0:0:0
offline=$out
like "what this machine knows is shown" "$out" ' known'
unlike "and no more" "$out" 'heavy|spin'
try env DEBUGINFOD_URLS="" "$HARK" show --min 0 p.hark
is "an empty one is none" "$out" "$offline"
is "nor was anybody asked" "$(questions)" 0

# -- A server that has it -------------------------------------------------------

ask good
like "functions have names" "$out" ' heavy'
like "inlined ones too" "$out" ' spin \(prog\)'
is "each file was asked for once" "$(questions)" 2
DEBUGINFOD_URLS=$url/good "$HARK" show --json --min 0 p.hark >got
ok "all is as if nothing had been stripped" cmp whole got
is "what came is kept" "$(questions)" 2
: >log
try env DEBUGINFOD_URLS="http://127.0.0.1:1 $url/good" \
	DEBUGINFOD_CACHE_PATH="$T/second" "$HARK" show --min 0 p.hark
like "one server of two is enough" "$out" ' spin \(prog\)'
unlike "and no word about the other" "$out" 'DEBUGINFOD'

# -- Servers that are no help ---------------------------------------------------

# bare: the output without the note about servers.
bare() { grep -v '^note: .*DEBUGINFOD_URLS' <<<"$out"; }
# no_help NAME PATTERN: it says why, once, and shows what there is.
no_help() {
	like "$1" "$notes" "DEBUGINFOD_URLS.*$2"
	is "$1: one line, and the rest as ever" \
		"$status:$(grep -c DEBUGINFOD <<<"$notes"):$(bare)" \
		"0:1:$offline"
}
ask none
is "a server that does not have it" "$status:$out" "0:$offline"
rm -rf cache
try env DEBUGINFOD_URLS=http://127.0.0.1:1 timeout 60 "$HARK" show --min 0 p.hark
notes=$(grep '^note:' <<<"$out")
no_help "no server" 'for /.*: Connection refused'
ask garbage
no_help "garbage" 'is not its debug information: /.*cache/'
ask other
no_help "a file of something else" 'is not its debug information'
ask cut
no_help "half a file" 'is not its debug information'
# The library tells it from "no such file" only if it has seen the beginning.
for _ in 1 2 3 4 5; do
	ask broken
	! grep -q DEBUGINFOD <<<"$notes" || break
done
no_help "a connection that breaks" 'for /.*: it broke off'
ask loop
no_help "from one place to the next" 'for /'
ask angry
like "a server that is out of order: all is shown" "$(bare)" ' known'

# They keep hark waiting: once, not once for each file.
for mood in silent trickle; do
	ask $mood
	no_help "a server in the mood: $mood" 'no answer within 10 s; asked no further'
	is "$mood: the other file is not asked for" "$(questions)" 1
	ok "$mood: it takes ${took} s" test "$took" -lt 60
done

exec {hold}>&-
