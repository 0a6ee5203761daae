/* outside/peer.c - hark's end of a translated program.
 *
 *   page 0   struct peer: hark's own memory
 *   page 1   the channel's first page
 *
 * One behind the other, because the link of a lifeline has to lie at a fixed
 * distance from its word. */
#include "outside/peer.h"

#include "outside/lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct peer {
	struct lifeline lifeline; /* first */
	int fd;			  /* owned */
	uint8_t deaf;		  /* not on the lifeline */
	uint8_t gone;		  /* the channel's page is not mapped */
	uint32_t heard;		  /* the bell as last seen */
	struct peer_place place;
	struct wire_ask doubtful; /* held, but by whom? */
	int64_t doubtful_ns;
};
_Static_assert(sizeof(struct peer) <= WIRE_PAGE, "one page");

static void *page_of(const struct peer *p)
{
	return (uint8_t *)p + WIRE_PAGE;
}

/* -- Life -- */

static int map_page(struct peer *p)
{
	void *at = mmap(page_of(p), WIRE_PAGE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, p->fd, 0);

	return at == MAP_FAILED ? -1 : 0;
}

int peer_open(int fd, const struct peer_place *place, int deaf,
	      struct peer **out, struct hark_err *err)
{
	struct peer *p = mmap(NULL, 2ul * WIRE_PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		close(fd);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	p->fd = fd;
	p->place = *place;
	p->deaf = deaf != 0;
	/* Whoever shrank it would take the page from under hark. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0 ||
	    map_page(p) < 0) {
		err_set(err, HARK_ENOMEM, errno, "cannot keep a channel: %s",
			strerror(errno));
		close(fd);
		munmap(p, 2ul * WIRE_PAGE);
		return -1;
	}
	if (!p->deaf)
		lifeline_join(&p->lifeline);
	*out = p;
	return 0;
}

void peer_close(struct peer *p)
{
	if (p == NULL)
		return;
	if (!p->deaf && !p->gone) {
		lifeline_leave(&p->lifeline);
		if (peer_run(p)->ask.state == WIRE_ASK_ASKED)
			peer_answer(p, WIRE_ASK_ALONE);
	}
	close(p->fd);
	munmap(p, 2ul * WIRE_PAGE);
}

const struct peer_place *peer_place(const struct peer *p)
{
	return &p->place;
}

struct wire_run *peer_run(const struct peer *p)
{
	return wire_run_of(page_of(p));
}

const struct wire_places *peer_places(const struct peer *p)
{
	return wire_places_of(page_of(p));
}

int peer_is_file(const struct peer *p, uint64_t dev, uint64_t ino)
{
	struct stat st;

	return fstat(p->fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* -- Bell and ask -- */

uint32_t *peer_bell(const struct peer *p)
{
	struct wire_control *c = page_of(p);

	return &c->doorbell;
}

uint32_t peer_heard(const struct peer *p)
{
	return p->heard;
}

int peer_rang(struct peer *p)
{
	uint32_t now = __atomic_load_n(peer_bell(p), __ATOMIC_ACQUIRE);
	int rang = now != p->heard;

	p->heard = now;
	return rang;
}

/* No FUTEX_PRIVATE: two processes meet here. */
static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void peer_answer(struct peer *p, enum wire_ask_state answer)
{
	struct wire_ask *ask = &peer_run(p)->ask;

	__atomic_store_n(&ask->state, answer, __ATOMIC_RELEASE);
	wake(&ask->state);
}

/* It says NONE, or lets go of the ask, as soon as it has. */
int peer_unread(const struct peer *p, enum wire_ask_state answer)
{
	const struct wire_ask *ask = &peer_run(p)->ask;

	return __atomic_load_n(&ask->state, __ATOMIC_ACQUIRE) == answer &&
	       __atomic_load_n(&ask->lock, __ATOMIC_ACQUIRE) != 0;
}

/* Does the ask look now as it did at least so long ago, and ever since? */
static int is_stuck(struct peer *p, int64_t now_ns)
{
	enum { WHILE_NS = 20000000 };
	struct wire_ask now = peer_run(p)->ask;

	if (now.lock == 0 || now.tid != p->doubtful.tid ||
	    now.pid != p->doubtful.pid || now.state != p->doubtful.state) {
		p->doubtful = now;
		p->doubtful_ns = now_ns;
		return 0;
	}
	return now_ns - p->doubtful_ns > WHILE_NS;
}

void peer_free_ask(struct peer *p, int64_t now_ns)
{
	struct wire_ask *ask = &peer_run(p)->ask;

	if (now_ns != 0 && !is_stuck(p, now_ns))
		return;
	__atomic_store_n(&ask->state, WIRE_ASK_NONE, __ATOMIC_RELEASE);
	__atomic_store_n(&ask->lock, 0, __ATOMIC_RELEASE);
	wake(&ask->lock);
}

/* -- The end -- */

/* The page cannot be had again: whoever is left goes on alone. */
static void lose(struct peer *p)
{
	const uint32_t nobody = 0;

	p->gone = 1;
	if (pwrite(p->fd, &nobody, sizeof nobody, LIFELINE_WORD - WIRE_PAGE) <
	    0)
		return;
}

int peer_deserted(struct peer *p)
{
	if (p->gone)
		return 1;
	if (!p->deaf)
		lifeline_hide(&p->lifeline);
	munmap(page_of(p), WIRE_PAGE);
	if (fcntl(p->fd, F_ADD_SEALS, F_SEAL_WRITE) == 0) {
		p->gone = 1;
		return 1;
	}
	if (map_page(p) < 0) {
		lose(p);
		return 1;
	}
	if (!p->deaf)
		lifeline_join(&p->lifeline);
	return 0;
}

void peer_count(const struct peer *p, struct wire_stats *sum)
{
	enum {
		AT = WIRE_RUN_AT + (int)offsetof(struct wire_run, stats),
		N = sizeof(struct wire_stats) / sizeof(uint64_t),
	};
	uint64_t counted[N], *to = (uint64_t *)sum;

	_Static_assert(sizeof(struct wire_stats) == N * sizeof(uint64_t),
		       "numbers alone");
	if (pread(p->fd, counted, sizeof counted, AT) != sizeof counted)
		return;
	for (unsigned i = 0; i < N; i++)
		to[i] += counted[i];
}
