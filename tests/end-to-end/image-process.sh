#!/usr/bin/env bash
# timeout: 120
# What is mapped in a running process: by its owner, by somebody else, after
# its files were deleted or replaced, with a library loaded twice, with code
# that no file is behind.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/end-to-end/image.bash"

plan 16
build_ask || exit 1
chmod 755 "$T"

cat >sleeper.c <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int in_program(void) { return 1; }
int main(int argc, char **argv)
{
	void *first = dlopen(argv[1], RTLD_NOW);
	void *second = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("jit code", 0);
	void *jit;

	memset(code, 0xc3, 4096);
	write(fd, code, 4096);
	jit = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	printf("program %p\nfirst %p\nsecond %p\nanon %p\njit %p\n",
	       (void *)in_program, dlsym(first, "in_library"),
	       dlsym(second, "in_library"), (void *)code, jit);
	fflush(stdout);
	for (;;)
		pause();
}
EOF
cat >library.c <<'EOF'
int in_library(int x)
{
	return x + 42;
}
EOF
mkdir "odd dir"
gcc -O2 -g -w -o "odd dir/sleeper" sleeper.c
gcc -O2 -g -shared -fPIC -Wl,-soname,liblib.so.1 -o "odd dir/liblib.so.1" library.c
chmod -R a+rX .

# start COMMAND...: runs a sleeper, waits for what it prints, sets $pid.
start() {
	rm -f said
	"$@" >said &
	pid=$!
	wait_for jit said
}

# where WHAT: what the sleeper said about it
where() { awk -v w="$1" '$1 == w {print $2}' said; }

start "odd dir/sleeper" "$T/odd dir/liblib.so.1"
trap 'code=$?; kill $pid 2>/dev/null; (exit $code); tests_end' EXIT

try ./ask modules "$pid"
like "the program is a PIE with a path that has a blank" "$out" \
	"pie main $T/odd dir/sleeper [0-9a-f]+-[0-9a-f]+ id=20 file=yes"
like "the C library is there" "$out" 'so /[^ ]*/libc.so.6 .* file=yes'
like "so is the vdso" "$out" 'vdso \[vdso\] .* file=yes'
is "a library loaded twice is two modules" \
	"$(grep -c 'odd dir/liblib.so.1' <<<"$out")" 2
like "memory without a file is told" "$out" 'anon \[anon\] .* file=no no file'
like "code in a memfd is no ELF file" "$out" 'anon /memfd:jit code .*file=no'

for what in first second; do
	try ./ask place "$pid" "$(where $what)"
	like "in the $what copy the line is right" "$out" \
		"^liblib.so.1 in_library in_library@$T/library.c:[23]$"
done
try ./ask place "$pid" "$(where program)"
like "in the program, too" "$out" \
	"^sleeper in_program in_program@$T/sleeper.c:7"
try ./ask place "$pid" "$(where anon)"
is "code without a file is an address" "$out" '[anon] ?? ??@??:0'

# -- Deleted and replaced

mv "odd dir" "gone dir"
gcc -O1 -g -shared -fPIC -o other.so library.c
mkdir "odd dir" && cp other.so "odd dir/liblib.so.1"
rm "gone dir/sleeper"
try ./ask place "$pid" "$(where program)"
like "a program that was deleted is still read" "$out" \
	'^sleeper in_program in_program@'
try ./ask modules "$pid"
like "and marked" "$out" "pie main deleted $T/gone dir/sleeper .* file=yes"
unlike "another file in its place is not taken for it" "$out" \
	"$T/odd dir/"
kill $pid
mv "gone dir/liblib.so.1" "odd dir/liblib.so.1"
gcc -O2 -g -w -o "odd dir/sleeper" sleeper.c

# -- As somebody who may do little

if command -v setpriv >/dev/null && [ "$(id -u)" = 0 ]; then
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	start "${nobody[@]}" "odd dir/sleeper" "$T/odd dir/liblib.so.1"
	try "${nobody[@]}" ./ask place "$pid" "$(where first)"
	like "an ordinary user asks of a process of his" "$out" \
		"^liblib.so.1 in_library in_library@$T/library.c:[23]$"
	rm "odd dir/liblib.so.1" "odd dir/sleeper"
	try "${nobody[@]}" ./ask place "$pid" "$(where program)"
	like "also of a program that was deleted" "$out" '^sleeper in_program'
	kill $pid
	try "${nobody[@]}" ./ask modules 1
	like "but not of a process that is not" "$err" \
		'^/proc/1/maps: Permission denied'
else
	for i in 1 2 3; do
		skip "an ordinary user $i" "this is one already"
	done
fi
