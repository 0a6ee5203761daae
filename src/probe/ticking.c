/* probe/ticking.c - events of the kernel's: one for each thread that was there.
 */
#include "probe/ticking.h"

#include "wire/collect.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

struct event {
	int fd; /* owned */
	pid_t pid;
};

struct ticking {
	uint64_t period_ns;
	bool follows;
	struct event *events; /* owned */
	size_t n_events, room;
	struct session_clock clock;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "out of memory");
}

/* Before 5.18 a signal that comes while a thread has it blocked, if only for
 * the moment in which hark's handler runs, kills the process. */
static bool is_kernel_fit(void)
{
	struct utsname u;
	unsigned long major, minor;
	char *end;

	if (uname(&u) < 0)
		return false;
	major = strtoul(u.release, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return major > 5 || (major == 5 && minor >= 18);
}

static int open_event(const struct ticking *t, pid_t tid, bool has_kernel)
{
	struct perf_event_attr a = {
	    .size = sizeof a,
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_TASK_CLOCK,
	    .sample_period = t->period_ns,
	    .exclude_kernel = !has_kernel,
	    .exclude_hv = !has_kernel,
	    .inherit = 1,
	    .inherit_thread = !t->follows,
	    .remove_on_exec = 1,
	    .sigtrap = 1,
	    .sig_data = COLLECT_TICK,
	};

	return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* The kernel's time, too, as long as that is allowed. */
static int open_clock(struct ticking *t, pid_t tid)
{
	int fd = t->clock.has_kernel ? open_event(t, tid, true) : -1;

	if (fd >= 0 || (t->clock.has_kernel && errno == ESRCH))
		return fd;
	fd = open_event(t, tid, false);
	if (fd >= 0)
		t->clock.has_kernel = false;
	return fd;
}

static int keep_event(struct ticking *t, int fd, pid_t pid,
		      struct hark_err *err)
{
	if (t->n_events == t->room) {
		size_t room = 2 * t->room + 16;
		struct event *more =
		    reallocarray(t->events, room, sizeof *more);

		if (more == NULL) {
			close(fd);
			return no_memory(err);
		}
		t->events = more;
		t->room = room;
	}
	t->events[t->n_events++] = (struct event){fd, pid};
	return 0;
}

void ticking_allow_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

int ticking_denied(const char *what, int why, struct hark_err *err)
{
	return err_set(err, HARK_EDENIED, why, "%s: %s%s", what, strerror(why),
		       why == EACCES || why == EPERM
			   ? " (is /proc/sys/kernel/perf_event_paranoid above "
			     "2, or a seccomp filter in force?)"
			   : "");
}

static int cannot(int why, struct hark_err *err)
{
	return ticking_denied("the kernel gives no clock to look at threads by",
			      why, err);
}

static int start_events(struct ticking *t, const struct door *d,
			struct hark_err *err)
{
	ticking_allow_files();
	for (int k = 0; k < d->n_threads; k++) {
		int fd;

		if (d->threads[k].progress == DOOR_DEAD)
			continue;
		fd = open_clock(t, d->threads[k].tid);
		if (fd < 0 && errno == ESRCH)
			continue;
		if (fd < 0)
			return cannot(errno, err);
		if (keep_event(t, fd, d->pid, err) < 0)
			return -1;
	}
	return 0;
}

int ticking_start(struct ticking *t, struct door *d, const struct insertion *in,
		  struct hark_err *err)
{
	return t->clock.no_events != 0 ? insert_arm(in, d, err)
				       : start_events(t, d, err);
}

bool ticking_has_no_events(void)
{
	const char *wish = getenv("HARK_CLOCK");

	return wish != NULL && strcmp(wish, "timer") == 0;
}

static void choose(struct ticking *t)
{
	int fd;

	if (ticking_has_no_events() || !is_kernel_fit()) {
		t->clock.no_events = EOPNOTSUPP;
	} else {
		fd = open_clock(t, 0);
		if (fd < 0)
			t->clock.no_events = errno;
		else
			close(fd);
	}
	if (t->clock.no_events != 0)
		t->clock.has_kernel = true;
}

int ticking_new(uint64_t period_ns, bool follows, struct ticking **out,
		struct hark_err *err)
{
	struct ticking *t = calloc(1, sizeof *t);

	if (t == NULL)
		return no_memory(err);
	t->period_ns = period_ns;
	t->follows = follows;
	/* A tick in the middle of execve may reach the next program, if nobody
	 * is with it: hark is not with those that have privileges. */
	t->clock.has_kernel = !follows || geteuid() == 0;
	choose(t);
	*out = t;
	return 0;
}

void ticking_free(struct ticking *t)
{
	if (t == NULL)
		return;
	ticking_stop(t);
	free(t->events);
	free(t);
}

uint64_t ticking_period(const struct ticking *t)
{
	return t->period_ns;
}

uint32_t ticking_flags(const struct ticking *t)
{
	return COLLECT_TICKS |
	       (t->clock.no_events != 0 ? (uint32_t)COLLECT_TIMERS : 0);
}

/* What it has counted, of threads that were made, too. */
static void end_event(struct ticking *t, const struct event *e)
{
	uint64_t ns;

	if (read(e->fd, &ns, sizeof ns) == (ssize_t)sizeof ns)
		t->clock.cpu_ns += ns;
	close(e->fd);
}

void ticking_stop(struct ticking *t)
{
	for (size_t i = 0; i < t->n_events; i++)
		end_event(t, &t->events[i]);
	t->n_events = 0;
}

bool ticking_stop_one(struct ticking *t, pid_t pid)
{
	size_t n = 0, before = t->n_events;

	for (size_t i = 0; i < t->n_events; i++)
		if (t->events[i].pid == pid && !t->follows)
			end_event(t, &t->events[i]);
		else
			t->events[n++] = t->events[i];
	t->n_events = n;
	return n < before;
}

void ticking_clock(const struct ticking *t, struct session_clock *out)
{
	*out = t->clock;
}
