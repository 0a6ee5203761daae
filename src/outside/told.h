/* outside/told.h - the process that a number in shared memory stands for.
 *
 * A process of a session names itself by a number that it writes into memory
 * which it shares with hark. The number may be wrong for two reasons. A process
 * in a pid namespace of its own (a container) sees another number than hark
 * does; and any process of the session can write there, and may want hark to
 * enter a process that is none of its business. So hark enters a process only
 * if
 *
 * T1  it maps the session's board: the same device and inode, shared; and
 * T2  it descends from the process that the session began with: its parents
 *     lead to a process that is proved, or (when its parents have ended) it
 *     has the board at the address at which a proved process had it, and the
 *     credentials that the session began with. A descriptor can be sent to
 *     any process, but none can be made to map it at a chosen address; and
 * T3  it is not older than the session's first process.
 *
 * What is proved of a process holds for as long as it has its number: it is
 * remembered with the time at which it began, and T1 is looked at each time.
 * hark looks once more when it holds the process, for a number may have been
 * given to another one in between. Hosted. */
#ifndef OUTSIDE_TOLD_H
#define OUTSIDE_TOLD_H

#include "outside/creds.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TOLD_MOST = 1 << 14 }; /* that are remembered */

/* A process that is proved, and where it had the board. */
struct told_known {
	pid_t pid;
	uint64_t began, at;
};

struct told {
	pid_t pid;	   /* the first one, as hark numbers it */
	uint64_t began;	   /* proc_began */
	uint64_t dev, ino; /* of the board; 0: there is none yet */
	struct creds creds;
	bool has_creds;
	struct told_known *known; /* owned */
	size_t n_known, room;
	int64_t missed_ns; /* the last search that found nothing; or 0 */
};

void told_init(struct told *t, pid_t first);
void told_fini(struct told *t);
/* The board is this file, and hark has mapped it in the first process. */
int told_set_board(struct told *t, int fd);
/* hark has mapped the board in a process, which it went along with. */
void told_add(struct told *t, pid_t pid);

/* T1 to T3. */
bool told_is_proved(struct told *t, pid_t pid);
/* Has the process the credentials that the session began with? */
bool told_has_creds(const struct told *t, pid_t pid);

/* hark's number of a process that calls itself `told` and is proved; 0: there
 * is none. */
pid_t told_process(struct told *t, pid_t told);
/* The same for showing it only: T3, and nothing else is proved. Most of these
 * have ended, so they are not searched for again and again. */
pid_t told_number(struct told *t, pid_t told);
/* hark's number of a thread of a process, which hark numbers pid. */
pid_t told_thread(pid_t pid, pid_t told);

#endif
