/* outside/remote.h - memory and descriptors of a held process.
 *
 * System calls are made by the thread that the door has borrowed
 * (door_begin); bytes go through /proc/PID/mem, so text that only may be
 * executed can be written, too. Hosted. */
#ifndef OUTSIDE_REMOTE_H
#define OUTSIDE_REMOTE_H

#include "outside/door.h"

#include <stdbool.h>

/* Makes a memfd as long as hark needs it, for good: whoever shortened it would
 * take pages from under hark (SIGBUS). Before it is first mapped. -1 and errno;
 * EEXIST: another process has changed its length in between. */
int remote_fix_size(int fd, uint64_t size);
/* Nothing else may be sealed from now on. is_read: nobody can map it for
 * writing any more; what is mapped stays. */
int remote_seal(int fd, bool is_read);

/* A memfd made in the target, so that no right over hark is needed; hark gets
 * a descriptor of its own. */
int remote_memfd(struct door *d, int64_t *theirs, int *ours,
		 struct hark_err *err);
/* What answers page faults in the target (userfaultfd), with those flags; the
 * target itself has no descriptor of it afterwards. */
int remote_faults(struct door *d, uint64_t flags, int *ours,
		  struct hark_err *err);
/* A descriptor, in the target, of a sealed file with the image. */
int remote_image(struct door *d, int64_t *theirs, struct hark_err *err);
/* A file of hark's own, which the target opens itself, if it may and sees the
 * same /proc. What it gets is believed only if it is that file. */
int remote_open(struct door *d, int file, int how, int64_t *theirs);
int remote_close(struct door *d, int64_t fd, struct hark_err *err);

/* What mmap takes; fd -1: of no file. */
struct remote_map {
	uint64_t at, len;
	int prot, flags;
	int64_t fd;
};
int remote_map(struct door *d, const struct remote_map *m, uint64_t *out,
	       struct hark_err *err);
/* Sets *at to 0; 0 is nothing. */
int remote_unmap(struct door *d, uint64_t *at, uint64_t len,
		 struct hark_err *err);

int remote_write(const struct door *d, uint64_t at, const void *from,
		 size_t len, struct hark_err *err);
int remote_read(const struct door *d, uint64_t at, void *out, size_t len,
		struct hark_err *err);

#endif
