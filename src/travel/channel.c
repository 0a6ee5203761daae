/* travel/channel.c - two processes that take turns over one piece of memory.
 *
 * The word `turn` says whose turn it is. A side that is about to sleep adds the
 * bit SLEEPS to it; the other one takes the word by an exchange and sees the
 * bit, so no wake is lost. */
#include "travel/channel.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 2 };

/* How often it looks before it sleeps, about 20 microseconds; and how many
 * waits it sleeps at once after it has looked in vain. */
enum { SPINS = 1000, RESTS = 64 };

/* Where all processors are busy, or there is only one, the other side cannot go
 * on while this one spins: then a call takes ten times as long as by sleeping.
 * So who has looked in vain does not look for a while. */
static unsigned resting;

struct channel *channel_new(void)
{
	void *at = mmap(NULL, sizeof(struct channel), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at != MAP_FAILED ? at : NULL;
}

void channel_free(struct channel *c)
{
	if (c != NULL)
		munmap(c, sizeof *c);
}

void channel_give(struct channel *c, enum channel_side self)
{
	uint32_t other =
	    self == CHANNEL_CALLER ? CHANNEL_SERVER : CHANNEL_CALLER;

	if (atomic_exchange(&c->turn, other) & SLEEPS)
		syscall(SYS_futex, &c->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int is_turn(struct channel *c, enum channel_side self)
{
	return (atomic_load_explicit(&c->turn, memory_order_acquire) &
		~(uint32_t)SLEEPS) == (uint32_t)self;
}

static int spin(struct channel *c, enum channel_side self)
{
	if (resting > 0) {
		resting--;
		return is_turn(c, self);
	}
	for (unsigned i = 0; i < SPINS; i++) {
		if (is_turn(c, self))
			return 1;
		__builtin_ia32_pause();
	}
	resting = RESTS;
	return 0;
}

int channel_wait(struct channel *c, enum channel_side self, int ms)
{
	const struct timespec most = {.tv_sec = ms / 1000,
				      .tv_nsec = ms % 1000 * 1000000L};
	uint32_t seen;

	if (spin(c, self))
		return 1;
	seen = atomic_load(&c->turn);
	if ((seen & ~(uint32_t)SLEEPS) == (uint32_t)self)
		return 1;
	if (!(seen & SLEEPS) &&
	    !atomic_compare_exchange_strong(&c->turn, &seen, seen | SLEEPS))
		return is_turn(c, self);
	syscall(SYS_futex, &c->turn, FUTEX_WAIT, seen | SLEEPS, &most, NULL, 0);
	return is_turn(c, self);
}
