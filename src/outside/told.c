/* outside/told.c - from numbers that processes tell to those that hark sees. */
#include "outside/told.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <stdlib.h>

/* Whoever descends from the first one is not older. Most processes with small
 * numbers are, which those of a new namespace have. */
static bool may_be(const struct told_first *first, pid_t pid)
{
	return proc_began(pid) >= first->began && proc_same_ids(pid);
}

/* What fork made, and has not lost its parents. */
static bool is_below(pid_t pid, pid_t first)
{
	enum { GENERATIONS = 256 };

	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		uint64_t parent = 0;

		if (pid == first)
			return true;
		if (proc_status(pid, pid, "PPid", 10, &parent) < 0)
			return false;
		pid = (pid_t)parent;
	}
	return false;
}

/* Somebody below the first one who calls himself that, in another namespace. */
struct search {
	pid_t first, told;
};

static int is_meant(void *ctx, pid_t pid)
{
	const struct search *s = ctx;

	return proc_inner_id(pid, 0) == s->told && !proc_same_ids(pid) &&
		       is_below(pid, s->first)
		   ? pid
		   : 0;
}

static pid_t search(const struct told_first *first, pid_t told)
{
	struct search s = {first->pid, told};
	pid_t found = proc_each(is_meant, &s);

	return found > 0 ? found : 0;
}

pid_t told_process(struct told_first *first, pid_t told, bool waits)
{
	enum { SELDOM_NS = 100000000 };
	pid_t found;

	if (told <= 0)
		return 0;
	if (proc_inner_id(first->pid, 0) == told)
		return first->pid;
	if (may_be(first, told))
		return told;
	if (!waits && first->missed_ns != 0 &&
	    tracee_now_ns() - first->missed_ns < SELDOM_NS)
		return 0;
	found = search(first, told);
	if (found == 0)
		first->missed_ns = tracee_now_ns();
	return found;
}

pid_t told_thread(pid_t pid, pid_t told)
{
	enum { MORE = 16 }; /* may be born meanwhile */
	pid_t *all, found = 0;
	int n, room;

	if (proc_same_ids(pid))
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
