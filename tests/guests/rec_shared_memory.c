/* tests/guests/rec_shared_memory.c - memory that another process writes: read
 * by loads, string instructions, vectors and system calls, while it changes. */
#include "guest.h"
#include <immintrin.h>
#include <sys/wait.h>

enum { WORDS = 4096, ROUNDS = 400 };

struct shared {
	volatile uint64_t words[WORDS];
	volatile uint32_t stop, rounds;
};

static _Noreturn void writer(struct shared *s)
{
	uint64_t state = 88172645463325252;

	while (!s->stop) {
		for (int i = 0; i < WORDS; i++)
			s->words[i] = guest_random(&state);
		s->rounds++;
	}
	_exit(0);
}

static uint64_t read_in_all_ways(const struct shared *s, uint64_t hash)
{
	static uint64_t copy[WORDS];
	__m128i sum = _mm_setzero_si128();
	uint64_t total = 0;
	void *to = copy;
	const void *from = (const void *)s->words;
	uint64_t n = WORDS;

	for (int i = 0; i < WORDS; i++)
		total += s->words[i];
	for (int i = 0; i < WORDS; i += 2)
		sum = _mm_add_epi64(
		    sum, _mm_loadu_si128((const void *)&s->words[i]));
	asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n)::"memory");
	hash = guest_hash(hash, &total, sizeof total);
	hash = guest_hash(hash, &sum, sizeof sum);
	return guest_hash(hash, copy, sizeof copy / 8);
}

int main(void)
{
	struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t hash = 1, before = 0, changes = 0;
	int status, fds[2];
	pid_t pid;

	MUST(s != MAP_FAILED && pipe(fds) == 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		writer(s);
	for (int i = 0; i < ROUNDS || changes < 10; i++) {
		hash = read_in_all_ways(s, hash);
		changes += hash != before;
		before = hash;
		MUST(write(fds[1], (const void *)s->words, 64) == 64);
		MUST(read(fds[0], &hash, 8) == 8);
		MUST(read(fds[0], (void *)&s->words[8], 56) == 56);
	}
	s->stop = 1;
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	CHECK(s->rounds > 0);
	return guest_end();
}
