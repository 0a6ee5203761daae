#!/usr/bin/env bash
# timeout: 300
# libhark, as it is installed: used from C and C++, shared and static.
. "$(dirname "$0")/lib.sh"

plan 29

make -s -C "$ROOT" install DESTDIR="$T/root" PREFIX=/opt/hark >install.log 2>&1 ||
	note "$(cat install.log)"
here=$T/root/opt/hark
export PKG_CONFIG_LIBDIR=$here/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$T/root
export LD_LIBRARY_PATH=$here/lib
version=$(cat "$ROOT/VERSION")

# -- What is there --

for f in bin/hark include/hark/recording.h lib/libhark.a lib/libhark.so \
	"lib/libhark.so.$version" lib/pkgconfig/hark.pc \
	share/man/man3/hark-recording.3; do
	ok "installed: $f" test -s "$here/$f"
done
is "its name" "$(readelf -d "$here/lib/libhark.so" |
	sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" "libhark.so.${version%%.*}"
ok "that name leads to it" test -s "$here/lib/libhark.so.${version%%.*}"
is "the version, asked of pkg-config" "$(pkg-config --modversion hark)" \
	"$version"

# What a compiler takes for declarations of functions.
gcc -E -P -I"$here/include" -include hark/recording.h -x c /dev/null |
	tr '\n' ' ' | sed 's/[;}]/&\n/g' | grep -v typedef |
	grep -o '\bhark_[a-z_]* *(' | tr -d ' (' | sort -u >declared
ok "the header declares functions" test "$(wc -l <declared)" -gt 30
is "all of them are in the shared library, and nothing else" \
	"$(nm -D --defined-only "$here/lib/libhark.so" | sed 's/.* //' | sort |
		diff declared -)" ""
is "and in the archive" \
	"$(nm -g --defined-only "$here/lib/libhark.a" | grep -o ' [A-Z] .*' |
		sed 's/.* //' | sort | diff declared -)" ""
is "it needs the C library alone" \
	"$(readelf -d "$here/lib/libhark.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -v '^libc\.so\|^ld-linux')" ""
man=$(mandoc -T ascii "$here/share/man/man3/hark-recording.3" |
	sed 's/.\x08//g')
is "the manual page has every function" \
	"$(while read -r f; do
		[[ $man == *"$f("* ]] || echo "$f"
	done <declared)" ""
is "the manual page has no errors" \
	"$(mandoc -T lint -W error "$here/share/man/man3/hark-recording.3")" ""

# -- The example --

cat >prog.c <<'C'
#include <stdio.h>
long value;
int main(void)
{
	for (int i = 0; i < 1000; i++)
		*(volatile long *)&value = 3 * value + i;
	printf("%p %lx\n", (void *)&value, value);
	return 0;
}
C
gcc -g -O1 -o prog prog.c
hark record -q -o prog.hark -- ./prog >prog.out
read -r address value <prog.out
position=$(hark ask prog.hark last-write value | sed 's/ .*//')
example=$ROOT/docs/examples/last-write.c
W="-Wall -Wextra -pedantic -Werror"

# uses NAME COMMAND...: builds it, and it must know what the program knew.
uses() {
	local name=$1 said

	shift
	rm -f last-write
	if ! "$@" -o last-write 2>build.log; then
		fail "$name" "$(cat build.log)"
		return
	fi
	said=$(./last-write prog.hark "$address" 8 2>&1)
	like "$name" "$said" \
		"written at ${position/+/\\+} by 0x[0-9a-f]+: 8 bytes at $address"
}
flags=$(pkg-config --cflags --libs hark)
archive="$(pkg-config --cflags hark) $here/lib/libhark.a $(pkg-config --static --libs-only-l hark | sed 's/-lhark//') -pthread"
# shellcheck disable=SC2086  # words
{
	uses "with gcc" gcc -std=c99 -D_POSIX_C_SOURCE=200809L $W "$example" $flags
	uses "with clang" clang -std=gnu17 $W "$example" $flags
	uses "with the archive" gcc $W "$example" $archive
	uses "all of it static" gcc -static $W "$example" $archive
	cp "$example" example.cc
	uses "as C++" g++ -std=c++17 $W example.cc $flags
}
said=$(./last-write prog.hark "$address" 8)
# number LABEL: the bytes of that line.
number() {
	sed -n "s/^  $1: *//p" <<<"$said" | tr ' ' '\n' | tac | tr -d '\n' |
		sed 's/^0*//'
}
is "the value that it had" "$(number "then")" "$value"
was=$(hark ask prog.hark value value --at "$position")
is "just before it had another" "$(number before)" \
	"$(printf %x "${was#value = }")"
try ./last-write prog.hark "$address" 8 start
is "at the start nobody had" "$status|${out##*$'\n'}" "1|nobody wrote them before"
try ./last-write nothing.hark 0 1
is "no such file" "$status|$err" \
	"2|last-write: nothing.hark: No such file or directory"
try ./last-write prog.hark 0 1 9:9
like "no such moment" "$status|$err" '^2\|last-write: '

# -- Manners --

# A program with names of its own, and a handler of its own.
cat >client.c <<'C'
#include <hark/recording.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int err_set(void) { return 1; }
int cache_start(void) { return 2; }
int replay_new = 3;
static sigjmp_buf back;

static void caught(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	struct sigaction act;
	struct hark_recording *r;
	struct hark_timeline *t;
	struct hark_error err = {HARK_ERROR_NONE, ""};
	struct hark_stopped s;

	(void)argc;
	memset(&act, 0, sizeof act);
	act.sa_handler = caught;
	sigaction(SIGSEGV, &act, NULL);
	if (hark_open(argv[1], &r, &err) < 0 ||
	    hark_timeline_open(r, 0, &t, &err) < 0 ||
	    hark_seek_end(t, &err) < 0 ||
	    hark_step(t, HARK_BACKWARD, 1, &s, &err) < 0)
		return puts(err.text), 1;
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(back, 1) == 0)
			*(volatile int *)0 = 1;
		else
			puts("my own fault");
	}
	hark_timeline_close(t);
	hark_close(r);
	if (hark_open("client.c", &r, &err) < 0 && err.code == HARK_ERROR_FILE)
		puts("no recording");
	printf("%d\n", err_set() + cache_start() + replay_new);
	return 0;
}
C
want="my own fault
my own fault
my own fault
no recording
6"
# shellcheck disable=SC2086
for way in "$flags" "$archive"; do
	gcc $W client.c $way -o client
	is "its names and signals are its own" "$(./client prog.hark 2>&1)" "$want"
done
# shellcheck disable=SC2086
gcc -fsanitize=address -g client.c $archive -o client 2>build.log
is "nothing leaks" "$(ASAN_OPTIONS=handle_segv=0 ./client prog.hark 2>&1)" \
	"$want"
