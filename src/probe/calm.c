/* probe/calm.c - a stack is registered. */
#include "probe/calm.h"

#include "outside/attach.h"
#include "outside/proc.h"
#include "outside/remote.h"
#include "probe/insert.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Newer than some headers. */
enum {
	USER_MODE_ONLY = 1,
	WP_UNPOPULATED = 1 << 13,
	WP_ASYNC = 1 << 15,
};

static bool is_fit(pid_t pid)
{
	uint64_t filters;

	return proc_count(pid) == 1 &&
	       proc_status(pid, pid, "Seccomp", 10, &filters) == 0 &&
	       filters == 0;
}

static void find_stack(void *ctx, const struct proc_map *m)
{
	if (m->stack && m->writable && !m->shared)
		*(struct uffdio_range *)ctx =
		    (struct uffdio_range){m->start, m->end - m->start};
}

static int enlist(int fd, pid_t pid, uint64_t *to)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = WP_ASYNC | WP_UNPOPULATED};
	struct uffdio_register r = {.mode = UFFDIO_REGISTER_MODE_WP};

	if (proc_mappings(pid, 0, find_stack, &r.range) < 0 ||
	    r.range.len == 0 || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &r) < 0)
		return -1;
	*to = r.range.start + r.range.len;
	return 0;
}

static int take_faults(struct door *d)
{
	struct hark_err ignored;
	int fd = -1;

	d->name = INSERT_NAME;
	if (door_begin(d, &ignored) == 0)
		remote_faults(d, O_CLOEXEC | USER_MODE_ONLY, &fd, &ignored);
	door_leave(d, &ignored);
	return fd;
}

int calm_open(pid_t pid, struct collect_plan *plan)
{
	struct hark_err ignored;
	struct door d;
	uint64_t to = 0;
	int fd;

	if (attach_open(&d, pid, &ignored) < 0)
		return -1;
	fd = is_fit(pid) ? take_faults(&d) : -1;
	if (fd >= 0 && enlist(fd, pid, &to) < 0) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		__atomic_store_n(&plan->calm_to, to, __ATOMIC_RELEASE);
	attach_close(&d);
	return fd;
}
