/* outside/creds.h - the credentials of a process, for comparison.
 *
 * Memory that two processes share is a way from one to the other. hark makes no
 * such way between processes of different credentials. Hosted. */
#ifndef OUTSIDE_CREDS_H
#define OUTSIDE_CREDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CREDS_GROUPS = 1024 };

/* User and group ids are those that hark's user namespace gives them. */
struct creds {
	char uid[64], gid[64];	   /* real, effective, saved, file system */
	char groups[CREDS_GROUPS]; /* cut, if there are more */
	uint64_t permitted;	   /* capabilities */
	uint64_t space;		   /* the user namespace; 0: not known */
};

/* false: the process has ended, or may not be looked at. */
bool creds_read(pid_t pid, struct creds *out);

/* Capabilities are compared within one user namespace: those of another are
 * worth nothing outside it. */
bool creds_same(const struct creds *a, const struct creds *b);

/* Has the kernel told the program that executing it changed its credentials
 * (AT_SECURE)? True, too, if that cannot be found out. */
bool creds_changed_by_exec(pid_t pid);

#endif
