#!/usr/bin/env bash
# timeout: 300
# A recording on another machine: another processor (qemu's), no program, no
# libraries, no sources.
. "$(dirname "$0")/lib.sh"

plan 36

# on CPU COMMAND...: hark on another processor.
on() { timeout 120 qemu-x86_64 -cpu "$1" "$HARK" "${@:2}"; }

cat >prog.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item { long id; char name[24]; double weight; };
struct item item;
volatile int counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) long add(struct item *i, const char *name, double w)
{
	strcpy(i->name, name);
	i->weight += w;
	return ++i->id;
}

static void *run(void *name)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		add(&item, name, i / 4.0);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], NULL, run, "first");
	pthread_create(&t[1], NULL, run, "second");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d %ld %s %g\n", counter, item.id, item.name, item.weight);
	return 0;
}
C
cat >wide.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char out[32];

	__builtin_cpu_init();
	if (argc > 1 ? !__builtin_cpu_supports("avx512f")
		     : !__builtin_cpu_supports("avx2"))
		return 77;
	if (argc > 1)
		__asm__("vpternlogq $255, %%zmm30, %%zmm30, %%zmm30\n\t"
			"vmovdqu64 %%ymm30, %0"
			: "=m"(out));
	else
		__asm__("vpcmpeqb %%ymm0, %%ymm0, %%ymm0\n\t"
			"vpabsb %%ymm0, %%ymm0; vmovdqu %%ymm0, %0; vzeroupper"
			: "=m"(out)::"xmm0");
	printf("%d\n", out[31]);
	return 0;
}
C

# record NAME COMMAND...
record() { "$HARK" record -q -o "$1.hark" -- "${@:2}" >"$1.out"; }

# One that any x86-64 can execute, and one whose C library chooses what it uses
# by the processor: not what qemu's lacks, this time.
musl-gcc -g -O1 -static -o plain prog.c
gcc -g -O1 -pthread -o chosen prog.c
gcc -O1 -o wide wide.c
record plain ./plain
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM
record chosen ./chosen

# -- The same answers on another processor --

# all_alike: without r11. Behind a system call it holds the flags, of which AF
# is left undefined by and, or, xor: processors differ, and so do their replays.
all_alike() { grep -v '^r11 '; }
# same NAME QUESTION...: here and there.
same() {
	local name=$1 here there

	shift
	here=$("$HARK" "$@" 2>&1 | all_alike)
	there=$(on max "$@" 2>&1 | all_alike)
	if [ -n "$here" ] && [ "$here" = "$there" ]; then
		pass "$name"
	else
		fail "$name" "here:  $here
there: $there"
	fi
}
# It has the extended registers of the machine it is made on: gdb counts AVX-512's
# masks among the general ones.
seen() {
	gdb -nx -batch -ex 'info registers' -ex 'print item' -ex 'print counter' \
		-ex 'print $xmm0.v2_int64' -ex bt $p "$1" 2>&1 | all_alike | grep -v '^k[0-7] '
}
for p in plain chosen; do
	like "$p: verified here" "$(hark verify $p.hark)" ', 0 mismatches'
	same "$p: verified on another processor" verify $p.hark
	same "$p: a value" ask $p.hark value item
	same "$p: the last write" ask $p.hark last-write item.weight
	same "$p: every write" ask $p.hark writes counter
	same "$p: calls" ask $p.hark calls add
	at=$(hark ask $p.hark last-write counter | sed 's/ .*//')
	same "$p: a stack" ask $p.hark stack --at "$at"
	same "$p: registers" ask $p.hark regs --at "$at"
	# A core file asks for all memory, which takes the longer on another processor the
	# more has happened to it: that of the larger program is made soon after its start,
	# or near its end with HARK_EFFORT.
	[ $p = plain ] || [ "$(times 1)" != 1 ] ||
		at=$(hark ask $p.hark writes counter --limit 1 | sed 's/ .*//')
	rm -f here.core there.core
	hark core -q $p.hark --at "$at" -o here.core
	on max core -q $p.hark --at "$at" -o there.core
	is "$p: a core file" "$(seen there.core)" "$(seen here.core)"
done
is "what it said itself" \
	"$(on max ask plain.hark value item | sed 's/.*name = "\([a-z]*\)".*weight = \([0-9.]*\)}/\1 \2/')" \
	"$(cut -d' ' -f3- plain.out)"
like "info says what may be missing" "$(on max,-sse4a,-adx info plain.hark)" \
	'complete +yes'

# -- One that cannot --

for cpu in Nehalem qemu64; do
	try on $cpu verify plain.hark
	like "$cpu: verify says what it lacks" "$status|$err" \
		'^125\|.*hark: it cannot be replayed on this processor, which lacks .*fsgsbase'
	try on $cpu ask plain.hark value item
	like "$cpu: so does ask" "$status|$err" \
		'^125\|.*hark: plain.hark: it cannot be replayed on this processor, which lacks .*fsgsbase'
	try on $cpu info plain.hark
	like "$cpu: info shows the rest" "$status|$out" \
		'^0\|kind +recording.*replayable +no: this processor lacks '
done

# lacks NAME CPU FAMILY ARGUMENT...: something that the program really used.
lacks() {
	local name=$1 cpu=$2 family=$3

	shift 3
	record "wide$#" ./wide "$@"
	if [ $? = 77 ]; then
		skip "$name" "this processor lacks it, too"
		skip "$name: info" "this processor lacks it, too"
		skip "$name: ask" "this processor lacks it, too"
		return
	fi
	try on "$cpu" verify "wide$#.hark"
	like "$name" "$status|$err" \
		"^125\\|hark: .*the program used an instruction that this processor lacks: [0-9a-f ]+\\($family"
	try on "$cpu" ask "wide$#.hark" regs
	like "$name: ask" "$status|$err" \
		"^125\\|hark: .*the program used an instruction that this processor lacks: [0-9a-f ]+\\($family"
	try on "$cpu" info --json "wide$#.hark"
	is "$name: info" "$(/usr/bin/python3 -c 'import json, sys
print(json.loads(sys.argv[1])["replayable"])' "$out")" None
}
lacks "without AVX2" max,-avx2 "AVX,"
lacks "without AVX-512" max AVX-512 512
unset GLIBC_TUNABLES

# -- Without the program, its libraries, its sources --

mkdir -p cell/there cell/tmp
cp "$HARK" plain.hark chosen.hark cell/there
ldd "$HARK" | grep -o '/[^ ]*' | xargs -I{} cp {} cell/there
loader=$(basename "$(ldd "$HARK" | grep -o '/[^ ]*ld-linux[^ ]*')")
cell() {
	local way=(chroot)

	[ "$(id -u)" = 0 ] || way=(unshare -r chroot)
	timeout 60 "${way[@]}" cell "/there/$loader" --library-path /there \
		/there/hark "$@"
}
if cell version >/dev/null 2>&1; then
	for p in plain chosen; do
		is "$p: verified where nothing else is" \
			"$(cell verify /there/$p.hark 2>&1)" \
			"$(hark verify $p.hark)"
		is "$p: asked there" \
			"$(cell ask /there/$p.hark calls add 2>&1)" \
			"$(hark ask $p.hark calls add)"
	done
else
	for p in 1 2 3 4; do
		skip "where nothing else is: $p" "no chroot here"
	done
fi
