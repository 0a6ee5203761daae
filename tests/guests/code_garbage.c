/* tests/guests/code_garbage.c - a JIT with a collector: functions call each
 * other through direct calls that are patched when one of them moves, old
 * places are filled with int3 and used again, for a thousand moves. */
#include "guest.h"

enum { FUNCTIONS = 32, SLOTS = 64, SIZE = 64 };

static uint8_t *heap;
static int slot_of[FUNCTIONS], used[SLOTS];

/* f(i): i == 0 ? arg : f(i - 1)(arg) + i, by a direct call. */
static void emit(int i)
{
	uint8_t *p = heap + slot_of[i] * SIZE;

	memset(p, 0xcc, SIZE);
	if (i == 0) {
		memcpy(p, "\x48\x8d\x07\xc3", 4); /* lea (rdi), rax */
		return;
	}
	memcpy(p, "\x48\x83\xec\x08\xe8", 5);
	memcpy(p + 9, "\x48\x83\xc4\x08\x48\x83\xc0", 7);
	p[16] = (uint8_t)i;
	p[17] = 0xc3;
}

static void bind_call(int i)
{
	uint8_t *p = heap + slot_of[i] * SIZE;
	int32_t rel = (slot_of[i - 1] - slot_of[i]) * SIZE - 9;

	memcpy(p + 5, &rel, 4);
}

static void move(int i, int to)
{
	memset(heap + slot_of[i] * SIZE, 0xcc, SIZE);
	used[slot_of[i]] = 0;
	slot_of[i] = to;
	used[to] = 1;
	emit(i);
	if (i > 0)
		bind_call(i);
	if (i + 1 < FUNCTIONS)
		bind_call(i + 1);
}

int main(void)
{
	uint64_t seed = 9;

	heap = mmap(NULL, SLOTS * SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(heap != MAP_FAILED);
	for (int i = 0; i < FUNCTIONS; i++) {
		slot_of[i] = i;
		used[i] = 1;
		emit(i);
		if (i > 0)
			bind_call(i);
	}
	for (uint64_t n = 0; n < 1000; n++) {
		int i = (int)(guest_random(&seed) % FUNCTIONS),
		    to = (int)(guest_random(&seed) % SLOTS);
		uint64_t k = guest_random(&seed) % FUNCTIONS;

		while (used[to])
			to = (to + 1) % SLOTS;
		move(i, to);
		uint64_t v =
		    ((uint64_t(*)(uint64_t))(heap + slot_of[k] * SIZE))(n);
		if (v != n + k * (k + 1) / 2)
			SAME(v, n + k * (k + 1) / 2);
	}
	return guest_end();
}
