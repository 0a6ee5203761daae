/* outside/asker.c - from the program's numbers to hark's. */
#include "outside/asker.h"

#include "outside/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct channel_look {
	const struct peer *p;
	bool has;
};

/* The file counts, not the address: any process can map something there. */
static void see_channel(void *ctx, const struct proc_map *m)
{
	const struct peer_place *at;
	struct channel_look *l = ctx;

	at = peer_place(l->p);
	if (m->start == at->start && m->end == at->end && m->shared &&
	    peer_is_file(l->p, m->dev, m->ino))
		l->has = true;
}

/* Does the process have the channel where it was mapped? 1, 0, or -1: it may
 * not be looked into. */
static int maps_channel(pid_t pid, const struct peer *p)
{
	struct channel_look l = {.p = p};
	pid_t tid = proc_living(pid);

	if (tid != 0 && proc_mappings(pid, tid, see_channel, &l) < 0)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	return l.has;
}

static int is_thread_of(pid_t pid, pid_t tid)
{
	uint64_t tgid;

	return proc_status(tid, 0, "Tgid", 10, &tgid) == 0 &&
	       (pid_t)tgid == pid;
}

/* The number in /proc/PID/DIR/ whose innermost id is `inner`; 0: none. With a
 * peer, one that maps its channel. */
static pid_t search(const char *dir, pid_t pid, pid_t inner,
		    const struct peer *p)
{
	pid_t found = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d != NULL && found == 0 && (e = readdir(d)) != NULL) {
		pid_t id = (pid_t)strtol(e->d_name, NULL, 10);

		if (!isdigit((unsigned char)e->d_name[0]) ||
		    proc_inner_id(pid != 0 ? pid : id, pid != 0 ? id : 0) !=
			inner)
			continue;
		if (p == NULL || maps_channel(id, p) == 1)
			found = id;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* In a namespace of its own. */
static struct asker search_inside(const struct peer *p, pid_t pid, pid_t tid)
{
	struct asker a = {search("/proc", 0, pid, p), 0};
	char tasks[48];

	snprintf(tasks, sizeof tasks, "/proc/%d/task", a.pid);
	if (a.pid != 0)
		a.tid = search(tasks, a.pid, tid, NULL);
	return a;
}

int asker_find(const struct peer *p, const struct peer_ask *ask,
	       struct asker *out)
{
	struct asker a = {
	    (pid_t)wire_ask_pid(ask->word),
	    (pid_t)wire_ask_tid(ask->word),
	};
	struct asker inside;
	int maps;

	if (a.pid <= 0 || a.tid <= 0)
		return -1;
	maps = is_thread_of(a.pid, a.tid) ? maps_channel(a.pid, p) : 0;
	if (maps != 1) {
		inside = search_inside(p, a.pid, a.tid);
		if (inside.tid != 0)
			a = inside;
		else if (maps == 0)
			return -1;
		/* Else it may not be attached to either: that says why. */
	}
	*out = a;
	return 0;
}
