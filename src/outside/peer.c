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
};
_Static_assert(sizeof(struct peer) <= WIRE_PAGE, "one page");

static void *page_of(const struct peer *p)
{
	return (uint8_t *)p + WIRE_PAGE;
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

int peer_next_ask(const struct peer *p, struct peer_ask *ask)
{
	const uint64_t *asks = peer_run(p)->asks;

	for (uint32_t i = ask->word != 0 ? ask->at + 1 : 0; i < WIRE_ASKS;
	     i++) {
		uint64_t word = __atomic_load_n(&asks[i], __ATOMIC_ACQUIRE);

		if (wire_ask_state(word) == WIRE_ASK_ASKED) {
			*ask = (struct peer_ask){word, i};
			return 1;
		}
	}
	return 0;
}

/* The word belongs to another request if this one has been replaced. */
static void change_ask(struct peer *p, const struct peer_ask *ask, uint64_t to)
{
	uint64_t *word = &peer_run(p)->asks[ask->at];
	uint64_t was = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (wire_ask_same(was, ask->word) &&
	    __atomic_compare_exchange_n(word, &was, to, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		wake((uint32_t *)word);
}

void peer_answer(struct peer *p, const struct peer_ask *ask,
		 enum wire_ask_state answer)
{
	change_ask(p, ask, wire_ask_answer(ask->word, answer));
}

void peer_free_ask(struct peer *p, const struct peer_ask *ask)
{
	change_ask(p, ask, 0);
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

static void refuse_all(struct peer *p)
{
	struct peer_ask ask = {0};

	while (peer_next_ask(p, &ask))
		peer_answer(p, &ask, WIRE_ASK_ALONE);
}

void peer_close(struct peer *p)
{
	if (p == NULL)
		return;
	if (!p->deaf && !p->gone) {
		lifeline_leave(&p->lifeline);
		refuse_all(p);
	}
	close(p->fd);
	munmap(p, 2ul * WIRE_PAGE);
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
