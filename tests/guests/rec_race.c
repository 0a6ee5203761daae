/* tests/guests/rec_race.c - two threads that race without any lock, and decide
 * by what they see: a replay that saw anything else would go another way. */
#include "guest.h"
#include <pthread.h>

enum { ROUNDS = 300000, CELLS = 64 };

static volatile uint64_t cells[CELLS]; /* written by both, at any time */
static volatile uint8_t bytes[8];
static volatile uint32_t turn;

static void *thread(void *arg)
{
	uint64_t self = (uint64_t)arg, seen = self, hash = self + 1;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t at = seen % CELLS;

		hash = guest_hash(hash, (const void *)&cells[at], 8);
		cells[(at + self) % CELLS] += hash & 0xff;
		bytes[hash & 7] = (uint8_t)(bytes[seen & 7] + self);
		seen = hash ^ bytes[(hash >> 8) & 7] ^ turn;
		if (seen & 1)
			turn++;
		else if (seen % 7 == 3)
			cells[(seen >> 8) % CELLS] = seen;
	}
	return (void *)hash;
}

int main(void)
{
	pthread_t t[2];
	void *hash[2];

	for (uint64_t i = 0; i < 2; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(t[i], &hash[i]) == 0);
	CHECK(hash[0] != hash[1]);
	return guest_end();
}
