/* outside/remote.c - what a borrowed thread maps, opens and closes. */
#include "outside/remote.h"

#include "outside/blob.h"
#include "outside/limit.h"
#include "outside/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By a thread that lives: the first may have ended, and has no descriptors
 * then. Kernels before 6.9 know only the first. */
static int open_pidfd(pid_t pid, pid_t tid)
{
	enum { PIDFD_THREAD = O_EXCL };
	int fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);

	return fd >= 0 || errno != EINVAL
		   ? fd
		   : (int)syscall(SYS_pidfd_open, pid, 0);
}

/* One of hark's own for what the target has at fd; -1 and errno. */
static int take_descriptor(const struct door *d, int64_t fd)
{
	int pidfd = open_pidfd(d->pid, d->threads[d->worker].tid);
	int got = -1, why;

	if (pidfd < 0)
		return -1;
	got = (int)syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0);
	why = errno;
	close(pidfd);
	errno = why;
	return got;
}

int remote_fix_size(int fd, uint64_t size)
{
	struct rlimit was;
	struct stat st;
	int rc;

	limit_lift_files(&was);
	rc = ftruncate(fd, (off_t)size);
	limit_restore_files(&was);
	if (rc < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0 ||
	    fstat(fd, &st) < 0)
		return -1;
	if ((uint64_t)st.st_size == size)
		return 0;
	errno = EEXIST;
	return -1;
}

int remote_seal(int fd, bool is_read)
{
	/* Kernels before 5.1 do not know F_SEAL_FUTURE_WRITE. */
	if (is_read && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 &&
	    errno != EINVAL)
		return -1;
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
}

int remote_memfd(struct door *d, int64_t *theirs, int *ours,
		 struct hark_err *err)
{
	int64_t fd;
	uint64_t name;
	int got;

	if (gate_text(&d->gate, d->name, &name, err) < 0 ||
	    gate_call(&d->gate, &fd, err, SYS_memfd_create, name,
		      MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0) < 0)
		return -1;
	if (fd < 0)
		return err_set(err, HARK_EDENIED, (int)-fd,
			       "cannot make shared memory in process %d: %s",
			       d->pid, strerror((int)-fd));
	got = take_descriptor(d, fd);
	if (got < 0)
		err_set(err, HARK_EDENIED, errno,
			"cannot share memory with process %d: %s", d->pid,
			strerror(errno));
	*theirs = fd;
	*ours = got;
	return got < 0 ? -1 : 0;
}

int remote_faults(struct door *d, uint64_t flags, int *ours,
		  struct hark_err *err)
{
	int64_t fd;
	int got;

	if (gate_call(&d->gate, &fd, err, SYS_userfaultfd, flags, 0, 0, 0, 0,
		      0) < 0)
		return -1;
	if (fd < 0)
		return err_set(err, HARK_EDENIED, (int)-fd,
			       "no userfaultfd in process %d: %s", d->pid,
			       strerror((int)-fd));
	got = take_descriptor(d, fd);
	if (got < 0)
		err_set(err, HARK_EDENIED, errno,
			"cannot share a descriptor with process %d: %s", d->pid,
			strerror(errno));
	if (remote_close(d, fd, got < 0 ? NULL : err) < 0 && got >= 0) {
		close(got);
		return -1;
	}
	*ours = got;
	return got < 0 ? -1 : 0;
}

/* It is no part of the program's core file, which would have it all, touched or
 * not. If the kernel does not know how, it is. */
int remote_map(struct door *d, const struct remote_map *m, uint64_t *out,
	       struct hark_err *err)
{
	int64_t at, answer;

	if (gate_call(&d->gate, &at, err, SYS_mmap, m->at, m->len,
		      (uint64_t)m->prot, (uint64_t)m->flags, (uint64_t)m->fd,
		      0) < 0)
		return -1;
	if (at < 0 && at > -4096)
		return err_set(err, HARK_ENOMEM, (int)-at,
			       "cannot map %lu bytes in process %d: %s%s",
			       (unsigned long)m->len, d->pid,
			       strerror((int)-at),
			       at == -ENOMEM ? " (is its address space "
					       "limited? ulimit -v)"
					     : "");
	*out = (uint64_t)at;
	return gate_call(&d->gate, &answer, err, SYS_madvise, (uint64_t)at,
			 m->len, MADV_DONTDUMP, 0, 0, 0);
}

int remote_unmap(struct door *d, uint64_t *at, uint64_t len,
		 struct hark_err *err)
{
	int64_t answer;

	if (*at == 0)
		return 0;
	if (gate_call(&d->gate, &answer, err, SYS_munmap, *at, len, 0, 0, 0,
		      0) < 0)
		return -1;
	if (answer < 0)
		return err_set(err, HARK_EBUG, (int)-answer,
			       "cannot unmap from process %d: %s", d->pid,
			       strerror((int)-answer));
	*at = 0;
	return 0;
}

int remote_close(struct door *d, int64_t fd, struct hark_err *err)
{
	int64_t answer;

	return gate_call(&d->gate, &answer, err, SYS_close, (uint64_t)fd, 0, 0,
			 0, 0, 0);
}

int remote_open(struct door *d, int file, int how, int64_t *theirs)
{
	char path[32], seen[64];
	struct stat ours, got;
	uint64_t at;
	int64_t fd = -1;

	if (file < 0 || fstat(file, &ours) < 0 || !proc_same_ids(d->pid))
		return -1;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), file);
	if (gate_text(&d->gate, path, &at, NULL) < 0 ||
	    gate_call(&d->gate, &fd, NULL, SYS_openat, (uint64_t)AT_FDCWD, at,
		      (uint64_t)(how | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), 0, 0,
		      0) < 0 ||
	    fd < 0)
		return -1;
	snprintf(seen, sizeof seen, "/proc/%d/fd/%d", d->pid, (int)fd);
	if (stat(seen, &got) < 0 || got.st_dev != ours.st_dev ||
	    got.st_ino != ours.st_ino) {
		remote_close(d, fd, NULL);
		return -1;
	}
	*theirs = fd;
	return 0;
}

/* The image in a file of the target's own. */
static int make_file(struct door *d, int64_t *theirs, struct hark_err *err)
{
	int ours = -1, rc = -1;

	if (remote_memfd(d, theirs, &ours, err) == 0)
		rc = blob_fill(ours, err);
	if (ours >= 0)
		close(ours);
	return rc;
}

int remote_image(struct door *d, int64_t *theirs, struct hark_err *err)
{
	*theirs = -1;
	return d->fresh &&
		       remote_open(d, blob_file(d->name), O_RDONLY, theirs) == 0
		   ? 0
		   : make_file(d, theirs, err);
}

int remote_write(const struct door *d, uint64_t at, const void *from,
		 size_t len, struct hark_err *err)
{
	if (pwrite(d->mem, from, len, (off_t)at) == (ssize_t)len)
		return 0;
	return err_set(err, HARK_EGONE, errno,
		       "process %d: cannot write to 0x%lx: %s", d->pid,
		       (unsigned long)at, strerror(errno));
}

int remote_read(const struct door *d, uint64_t at, void *out, size_t len,
		struct hark_err *err)
{
	if (pread(d->mem, out, len, (off_t)at) == (ssize_t)len)
		return 0;
	return err_set(err, HARK_EGONE, errno,
		       "process %d: cannot read 0x%lx: %s", d->pid,
		       (unsigned long)at, strerror(errno));
}
