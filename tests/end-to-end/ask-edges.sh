#!/usr/bin/env bash
# Words that lie across a multiple of 4 GiB, where the map of what was touched
# begins anew, and across where a thread's shadow does: what is asked of them,
# byte by byte and as a whole, at the end and before.
. "$(dirname "$0")/lib.sh"
plan 26

cat >prog.c <<'END'
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SKEW = 0x5840, ROOM = 131072 };

char *map_edge, *shadow_edge;

__attribute__((noinline)) static void store(char *at, uint64_t v)
{
	__asm__ volatile("mov %0, (%1)" ::"r"(v), "r"(at) : "memory");
}

__attribute__((noinline)) static void half(void)
{
	__asm__ volatile("nop" ::: "memory");
}

__attribute__((noinline)) static void copy(char *to, const char *from, long n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

int main(void)
{
	char text[10000];
	char *at = (void *)(7 * (1ull << 32) - ROOM / 2);

	memset(text, 'x', sizeof text);
	if (mmap(at, ROOM, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) != at)
		return 1;
	map_edge = at + ROOM / 2;
	shadow_edge = map_edge - SKEW;
	store(map_edge - 3, 0x1122334455667788);
	store(shadow_edge - 3, 0x1122334455667788);
	half();
	store(map_edge - 5, 0xaabbccddeeff0011);
	store(shadow_edge - 5, 0xaabbccddeeff0011);
	half();
	copy(map_edge - 5000, text, sizeof text);
	copy(shadow_edge - 5000, text, sizeof text);
	map_edge[0] = 'y';
	shadow_edge[0] = 'y';
	return 0;
}
END
gcc -g -O1 prog.c -o prog || exit 1

# value WHAT AT: what is there, as a number. fs reaches the same places of the
# shadow.
value() {
	"$HARK" ask a.hark value "$1" --at "$2" 2>&1 | sed "s/.* = //; s/ '.*//"
}

for every in "" 50; do
	name=${every:+, a key every $every}
	rm -f a.hark
	"$HARK" record -q ${every:+"--key-every=$every"} -o a.hark ./prog
	try hark ask a.hark calls half
	first=$(sed -n '1s/ .*//p' <<<"$out")
	second=$(sed -n '2s/ .*//p' <<<"$out")
	knows() { is "$1$name" "$(value "$2" "$3")" "$4"; }
	for edge in map_edge:0x700000000 shadow_edge:0x6ffffa7c0; do
		at=${edge#*:}
		edge=${edge%:*}
		minus() { printf '%#x' $((at - $1)); }
		knows "$edge: the first word" \
			"*(unsigned long *)($(minus 3))" "$first" \
			$((0x1122334455667788))
		knows "$edge: its byte behind the edge" \
			"*(unsigned char *)($at)" "$first" $((0x55))
		knows "$edge: the second word" \
			"*(unsigned long *)($(minus 5))" "$second" \
			12302652060662169617
		knows "$edge: what is left of the first one" \
			"*(unsigned short *)($(minus -3))" "$second" $((0x1122))
		knows "$edge: a string, and a byte of it" \
			"*(unsigned short *)($(minus 1))" end $((0x7978))
		try hark ask a.hark last-write "*(char *)$(minus 1)"
		like "$edge: who wrote before the edge$name" "$out" 'copy'
	done
	try hark verify a.hark
	like "it verifies$name" "$out" ' 0 mismatches$'
done
