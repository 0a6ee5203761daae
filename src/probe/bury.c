/* probe/bury.c - who has ended?
 *
 * An area that is taken from a thread that lives has two writers, and what
 * comes of that is garbage. So it is taken only if it is certain that its
 * process has ended:
 *
 * G1  the number is nobody's here, or a zombie's without living threads, or
 *     that of a process that began at another time than the one before;
 * G2  and nobody in another pid namespace calls himself that, for an area has
 *     the number that its process sees itself;
 * G3  and the area still has the owner that was looked at.
 *
 * A process that hark may not look at is taken for one that lives. */
#include "probe/bury.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum { SELDOM_NS = 20000000 };

void bury_fini(struct bury *y)
{
	free(y->graves);
	*y = (struct bury){0};
}

/* G1; *began is what is known of it. */
static bool may_be_gone(pid_t pid, uint64_t *began)
{
	uint64_t now;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	if (proc_state(pid, pid) == 0)
		return false;
	now = proc_began(pid);
	if (now == 0)
		return proc_living(pid) == 0;
	if (*began == 0)
		*began = now;
	return now != *began;
}

/* -- G2 -- */

/* Numbers that are told in other namespaces. */
struct strangers {
	pid_t *told; /* owned */
	size_t n, room;
	bool is_whole; /* all of them are there */
};

static bool add_stranger(struct strangers *s, pid_t told)
{
	if (s->n == s->room) {
		size_t room = 2 * s->room + 64;
		pid_t *more = reallocarray(s->told, room, sizeof *more);

		if (more == NULL)
			return false;
		s->told = more;
		s->room = room;
	}
	s->told[s->n++] = told;
	return true;
}

static int see_stranger(void *ctx, pid_t pid)
{
	pid_t told = proc_same_ids(pid) ? pid : proc_inner_id(pid, 0);

	return told == pid || add_stranger(ctx, told) ? 0 : -1;
}

static bool is_stranger(const struct strangers *s, pid_t told)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->told[i] == told)
			return true;
	return false;
}

/* -- All areas -- */

struct search {
	struct bury *y;
	struct board *board;
	struct strangers strangers;
	bool has_looked;
};

static void visit(void *ctx, uint32_t area, uint32_t owner, uint32_t pid)
{
	struct search *s = ctx;
	struct grave *g = &s->y->graves[area];

	if (g->owner != owner)
		*g = (struct grave){.owner = owner};
	if (!may_be_gone((pid_t)pid, &g->began))
		return;
	if (!s->has_looked)
		s->strangers.is_whole =
		    proc_each(see_stranger, &s->strangers) == 0;
	s->has_looked = true;
	if (s->strangers.is_whole && !is_stranger(&s->strangers, (pid_t)pid))
		board_free(s->board, area, owner);
}

void bury_step(struct bury *y, struct board *b)
{
	struct search s = {.y = y, .board = b};
	uint32_t most = board_most(b);
	int64_t now = tracee_now_ns();

	if (board_high(b) < most / 2 || now - y->looked_ns < SELDOM_NS)
		return;
	if (y->graves == NULL)
		y->graves = calloc(most, sizeof *y->graves);
	if (y->graves != NULL)
		board_each_taken(b, visit, &s);
	free(s.strangers.told);
	y->looked_ns = tracee_now_ns();
}
