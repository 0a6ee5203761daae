/* outside/told.c - from numbers in shared memory to processes. */
#include "outside/told.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* -- What is known -- */

void told_init(struct told *t, pid_t first)
{
	*t = (struct told){.pid = first, .began = proc_began(first)};
	t->has_creds = creds_read(first, &t->creds);
}

void told_fini(struct told *t)
{
	free(t->known);
	*t = (struct told){0};
}

static struct told_known *find_known(const struct told *t, pid_t pid)
{
	for (size_t i = t->n_known; i-- > 0;)
		if (t->known[i].pid == pid)
			return &t->known[i];
	return NULL;
}

/* Without memory for it, it has to be proved again. */
static void remember(struct told *t, pid_t pid, uint64_t began, uint64_t at)
{
	struct told_known *k = find_known(t, pid);

	if (k != NULL && k->began == began && k->at == at)
		return;
	if (t->n_known == TOLD_MOST) {
		t->n_known /= 2; /* the older half is given up */
		memmove(t->known, t->known + t->n_known,
			t->n_known * sizeof *t->known);
	}
	if (t->n_known == t->room) {
		size_t room = 2 * t->room + 16;
		struct told_known *more =
		    reallocarray(t->known, room, sizeof *more);

		if (more == NULL)
			return;
		t->known = more;
		t->room = room;
	}
	t->known[t->n_known++] = (struct told_known){pid, began, at};
}

void told_add(struct told *t, pid_t pid)
{
	uint64_t began = proc_began(pid),
		 at = t->ino != 0 ? proc_shares(pid, t->dev, t->ino) : 0;

	if (began != 0 && at != 0)
		remember(t, pid, began, at);
}

int told_set_board(struct told *t, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	told_add(t, t->pid);
	return 0;
}

/* -- Proofs -- */

static bool is_known(const struct told *t, pid_t pid, uint64_t began)
{
	const struct told_known *k = find_known(t, pid);

	return k != NULL && k->began == began;
}

/* The parents, up to one that is proved. */
static bool is_below(const struct told *t, pid_t pid)
{
	enum { GENERATIONS = 256 };

	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		uint64_t parent = 0, began = proc_began(pid);

		if (began < t->began)
			return false;
		if (pid == t->pid || is_known(t, pid, began))
			return true;
		if (proc_status(pid, pid, "PPid", 10, &parent) < 0)
			return false;
		pid = (pid_t)parent;
	}
	return false;
}

static bool is_known_place(const struct told *t, uint64_t at)
{
	for (size_t i = t->n_known; i-- > 0;)
		if (t->known[i].at == at)
			return true;
	return false;
}

bool told_has_creds(const struct told *t, pid_t pid)
{
	struct creds now;

	return t->has_creds && creds_read(pid, &now) &&
	       creds_same(&now, &t->creds);
}

bool told_is_proved(struct told *t, pid_t pid)
{
	uint64_t began = proc_began(pid), at;

	if (began == 0 || began < t->began || t->ino == 0)
		return false;
	at = proc_shares(pid, t->dev, t->ino);
	if (at == 0)
		return false;
	if (!is_known(t, pid, began) && !is_below(t, pid) &&
	    !(is_known_place(t, at) && told_has_creds(t, pid)))
		return false;
	/* The number was that process's all the time. */
	if (proc_began(pid) != began)
		return false;
	remember(t, pid, began, at);
	return true;
}

/* -- Numbers -- */

/* The one that calls itself that, in another namespace. */
struct search {
	struct told *t;
	pid_t told;
	bool is_proved; /* it has to be */
};

static int is_meant(void *ctx, pid_t pid)
{
	const struct search *s = ctx;

	return proc_inner_id(pid, 0) == s->told && !proc_same_ids(pid) &&
		       (s->is_proved ? told_is_proved(s->t, pid)
				     : is_below(s->t, pid))
		   ? pid
		   : 0;
}

static pid_t search(struct told *t, pid_t told, bool is_proved)
{
	struct search s = {t, told, is_proved};
	pid_t found = proc_each(is_meant, &s);

	return found > 0 ? found : 0;
}

pid_t told_process(struct told *t, pid_t told)
{
	if (told <= 0)
		return 0;
	if (proc_inner_id(t->pid, 0) == told && told_is_proved(t, t->pid))
		return t->pid;
	if (proc_same_ids(told) && told_is_proved(t, told))
		return told;
	return search(t, told, true);
}

pid_t told_number(struct told *t, pid_t told)
{
	enum { SELDOM_NS = 100000000 };
	pid_t found;

	if (told <= 0)
		return 0;
	if (proc_inner_id(t->pid, 0) == told)
		return t->pid;
	if (proc_began(told) >= t->began && proc_same_ids(told))
		return told;
	if (t->missed_ns != 0 && tracee_now_ns() - t->missed_ns < SELDOM_NS)
		return 0;
	found = search(t, told, false);
	if (found == 0)
		t->missed_ns = tracee_now_ns();
	return found;
}

pid_t told_thread(pid_t pid, pid_t told)
{
	enum { MORE = 16 }; /* may be born meanwhile */
	pid_t *all, found = 0;
	int n, room;

	if (proc_same_ids(pid) && proc_inner_id(pid, told) == told)
		return told;
	if (proc_inner_id(pid, 0) == told)
		return pid;
	room = proc_count(pid) + MORE;
	all = calloc((size_t)room, sizeof *all);
	n = all != NULL ? proc_threads(pid, all, room) : 0;
	for (int i = 0; i < n && i < room && found == 0; i++)
		if (proc_inner_id(pid, all[i]) == told)
			found = all[i];
	free(all);
	return found;
}
