/* travel/remote.c - a process that replays: made, called, ended.
 *
 * Nothing that it says is believed (C2): numbers that choose something are
 * checked where they are used, lengths are held against what there is room for,
 * and one that answers what it was not asked is killed. */
#include "travel/remote_priv.h"

#include "base/fmt.h"
#include "record/beside.h"
#include "record/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, SILENT_MS = 5000 };

/* -- Life -- */

/* What it needs of files is opened while they can be opened. */
static int open_files(struct hark_recording *rec)
{
	if (rec->built_fd >= 0)
		return 0;
	rec->index_fd = beside_open(rec->path, "index");
	if (beside_id(rec->path, &rec->id) < 0)
		rec->id = 0;
	rec->built_fd = memfd_create("hark-index", MFD_CLOEXEC);
	return rec->built_fd < 0 ? -1 : 0;
}

static _Noreturn void become_server(struct hark_timeline *t, pid_t program)
{
	/* Of a thread that made it, not of the process: so only if that is the
	 * same. Otherwise it looks by itself now and then. */
	if (__libc_single_threaded)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != program)
		_exit(0);
	serve(t->c, t->rec);
}

int remote_start(struct hark_timeline *t, struct hark_error *err)
{
	pid_t self = getpid();
	sigset_t all, before;

	t->pid_fd = -1;
	t->owner = self;
	t->c = channel_new();
	if (t->c == NULL || open_files(t->rec) < 0)
		return travel_error(err, HARK_ERROR_MEMORY,
				    "no memory to share: %s", strerror(errno));
	/* The program's handlers are not to run in there. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	t->pid = fork();
	if (t->pid == 0)
		become_server(t, self);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (t->pid < 0) {
		t->pid = 0;
		return travel_error(err, HARK_ERROR_MEMORY,
				    "no process to replay in: %s",
				    strerror(errno));
	}
	t->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	return 0;
}

/* By its descriptor, if there is one: its number may be another's by now, if
 * the program waits for children that it does not know. */
static void kill_process(const struct hark_timeline *t)
{
	if (t->pid_fd >= 0)
		syscall(SYS_pidfd_send_signal, t->pid_fd, SIGKILL, NULL, 0);
	else
		kill(t->pid, SIGKILL);
}

/* It has ended, or is about to: how. */
static int bury(struct hark_timeline *t)
{
	int status = 0;
	pid_t got;

	do {
		got = waitpid(t->pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (t->pid_fd >= 0)
		close(t->pid_fd);
	t->pid_fd = -1;
	t->pid = 0;
	return got < 0 ? 0 : status;
}

void remote_stop(struct hark_timeline *t)
{
	if (t->pid > 0 && t->owner == getpid()) {
		kill_process(t);
		bury(t);
	} else if (t->pid_fd >= 0) {
		close(t->pid_fd);
	}
	channel_free(t->c);
}

static void note_death(struct hark_timeline *t, int status)
{
	if (WIFSIGNALED(status))
		travel_error(&t->gone, HARK_ERROR_DIVERGED,
			     "the replay was killed by signal %d (%s): the "
			     "recording may be damaged",
			     WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		travel_error(&t->gone, HARK_ERROR_DIVERGED,
			     "the replay ended with status %d: the recording "
			     "may be damaged",
			     WEXITSTATUS(status));
}

static int is_gone(const struct hark_timeline *t, struct hark_error *err)
{
	if (err != NULL)
		*err = t->gone;
	return -1;
}

int remote_condemn(struct hark_timeline *t, struct hark_error *err)
{
	if (t->pid > 0) {
		kill_process(t);
		bury(t);
		travel_error(&t->gone, HARK_ERROR_DIVERGED,
			     "the replay answered what makes no sense, and was "
			     "ended: the recording may be damaged");
	}
	return is_gone(t, err);
}

/* -- Looking after it -- */

/* What it has taken. 0: that cannot be told. */
static uint64_t memory_of(pid_t pid)
{
	char name[64], text[128] = "";
	const char *resident;
	ssize_t n;
	int fd;

	fmt_text(name, sizeof name, "/proc/%d/statm", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	resident = n > 0 ? strchr(text, ' ') : NULL; /* the second number */
	if (resident == NULL)
		return 0;
	return strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* CPU time that it has had; 0: that cannot be told. */
static uint64_t cpu_ms_of(pid_t pid)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Seconds of CPU time that it has had since the call began, as far as that was
 * looked at. */
static uint64_t seconds_of(struct hark_timeline *t)
{
	uint64_t ms = cpu_ms_of(t->pid);

	if (t->call_began_ms == 0)
		t->call_began_ms = ms + 1;
	return (ms + 1 - t->call_began_ms) / 1000;
}

/* Does it sleep, though it is its turn? On a busy machine one that works may
 * wait long for a CPU. */
static int is_asleep(pid_t pid)
{
	char name[64], text[256] = "";
	const char *state;
	ssize_t n;
	int fd;

	fmt_text(name, sizeof name, "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	state = n > 0 ? strrchr(text, ')') : NULL;
	return state == NULL || state[1] != ' ' || state[2] != 'R';
}

/* It takes too much. Always -1. */
static int end_process(struct hark_timeline *t, const char *what, uint64_t most,
		       const char *unit, const char *variable)
{
	kill_process(t);
	bury(t);
	return travel_error(&t->gone, HARK_ERROR_MEMORY,
			    "the replay took more than %llu %s, and was ended: "
			    "%s=%s allows more",
			    (unsigned long long)most, what, variable, unit);
}

/* While it is waited for. -1: it has ended, or was. */
static int look_after(struct hark_timeline *t)
{
	siginfo_t info = {0};
	int rc =
	    waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT);

	if (rc < 0 && errno == EINTR)
		return 0;
	if (rc < 0 || info.si_pid != 0) {
		note_death(t, bury(t));
		return -1;
	}
	if (memory_of(t->pid) > bounds_memory())
		return end_process(t, "MiB of memory", bounds_memory() >> 20,
				   "BYTES", BOUNDS_MEMORY);
	if (seconds_of(t) > bounds_time())
		return end_process(t, "s of processor time", bounds_time(),
				   "SECONDS", BOUNDS_TIME);
	return 0;
}

/* A process that was taken over may never ask whether it shall go on. The
 * program is asked then all the same; if it does not want to, it is over. */
static int look_for_end(struct hark_timeline *t, uint64_t silent_ms)
{
	if (silent_ms < SILENT_MS || t->progress == NULL ||
	    t->progress(t->progress_ctx, t->done, t->total) == 0)
		return 0;
	kill_process(t);
	bury(t);
	return travel_error(&t->gone, HARK_ERROR_STOPPED,
			    "the replay did not stop when it was told to, and "
			    "was ended");
}

/* -- Messages -- */

static int take_places(struct remote_window *w, const struct channel_head *h,
		       const uint8_t *data)
{
	struct serve_place *more;

	if (h->len != h->window_n * sizeof *more)
		return -1;
	if (h->window_n > w->room) {
		more = reallocarray(w->places, h->window_n, sizeof *more);
		if (more == NULL)
			return -1;
		w->places = more;
		w->room = h->window_n;
	}
	memcpy(w->places, data, h->len);
	w->places_of = h->window;
	return 0;
}

/* Where it is in which window. A window whose places are not known, or that
 * makes no sense, is none: then each step is asked for. */
static void note_window(struct hark_timeline *t, const struct channel_head *h)
{
	struct remote_window *w = &t->window;

	w->number = w->n = w->at = w->told = 0;
	if (h->window == 0 || h->window_n > SERVE_PLACES ||
	    h->window_at >= h->window_n)
		return;
	if (h->window != w->places_of &&
	    (h->kind != CHANNEL_DONE || h->op != CHANNEL_STEP ||
	     take_places(w, h, t->c->data) < 0))
		return;
	w->number = h->window;
	w->n = h->window_n <= w->room ? h->window_n : w->room;
	w->at = w->told = h->window_at;
	if (w->at >= w->n)
		w->number = w->n = w->at = w->told = 0;
}

/* 0, or -1: it is gone. */
static int wait_message(struct hark_timeline *t, struct channel_head *out)
{
	uint64_t slept = 0, worked = 0, began = 0;

	while (!channel_wait(t->c, CHANNEL_CALLER, TICK_MS)) {
		if (look_after(t) < 0 || look_for_end(t, slept + worked) < 0)
			return -1;
		began = began > 0 ? began : cpu_ms_of(t->pid) + 1;
		worked = cpu_ms_of(t->pid) + 1 - began;
		slept += is_asleep(t->pid) ? TICK_MS : 0;
	}
	*out = t->c->head;
	t->where = out->where;
	note_window(t, out);
	return 0;
}

static void send_message(struct hark_timeline *t, struct channel_head *h)
{
	struct remote_visit *visit = t->visit;

	h->visit = visit != NULL && !visit->is_there ? visit->number : 0;
	if (visit != NULL)
		visit->is_there = true;
	h->steps = (int64_t)t->window.at - t->window.told;
	t->window.told = t->window.at;
	t->c->head = *h;
	channel_give(t->c, CHANNEL_CALLER);
}

void remote_check_access(struct hark_access *a)
{
	if (a->known > sizeof a->before)
		a->known = sizeof a->before;
	a->is_write = a->is_write != 0;
}

int remote_take(struct hark_timeline *t, const struct channel_head *h, void *to,
		size_t len, struct hark_error *err)
{
	if (h->len != len || len > CHANNEL_DATA)
		return remote_condemn(t, err);
	memcpy(to, t->c->data, len);
	return 0;
}

/* -- What it asks -- */

/* Each: 1: *rc is the answer. 0: that makes no sense. */

static int answer_condition(struct hark_timeline *t, uint64_t number,
			    int64_t *rc)
{
	for (unsigned i = 0; i < t->n_conditions; i++) {
		const struct remote_condition *c = &t->conditions[i];

		if (c->number != number)
			continue;
		*rc = c->when(c->ctx, t);
		return 1;
	}
	return 0;
}

/* Several of them. They are copied first: the program may call something else
 * while it looks at one. */
static int answer_accesses(struct hark_timeline *t, uint64_t n, int64_t *rc)
{
	const struct remote_each *each = t->each;
	struct hark_access all[SERVE_ACCESSES];

	if (each == NULL || each->access == NULL || n > SERVE_ACCESSES)
		return 0;
	memcpy(all, t->c->data, n * sizeof all[0]);
	*rc = 0;
	for (uint64_t i = 0; i < n && *rc == 0; i++) {
		remote_check_access(&all[i]);
		*rc = each->access(each->ctx, &all[i]);
	}
	return 1;
}

static int answer_race(struct hark_timeline *t, int64_t *rc)
{
	struct hark_race r;

	if (t->each == NULL || t->each->race == NULL)
		return 0;
	memcpy(&r, t->c->data, sizeof r);
	remote_check_access(&r.first);
	remote_check_access(&r.second);
	*rc = t->each->race(t->each->ctx, &r);
	return 1;
}

static int answer_possible(struct hark_timeline *t, int64_t *rc)
{
	struct serve_possible p;

	if (t->each == NULL || t->each->possible == NULL)
		return 0;
	memcpy(&p, t->c->data, sizeof p);
	remote_check_access(&p.by);
	*rc = t->each->possible(t->each->ctx, p.has_by ? &p.by : NULL, p.bytes,
				p.known);
	return 1;
}

static int answer_build(struct hark_timeline *t, const struct channel_head *h,
			int64_t *rc)
{
	struct hark_err why = {0};
	uint64_t n = recording_n_segments(t->rec->r);

	if (h->args[0] >= h->args[1] || h->args[1] > n)
		return 0;
	*rc = travel_build_index(t->rec, (unsigned)h->args[0],
				 (unsigned)h->args[1], t->progress,
				 t->progress_ctx, &why) < 0
		  ? (int64_t)why.code
		  : 0;
	return 1;
}

static int answer(struct hark_timeline *t, const struct channel_head *h,
		  int64_t *rc)
{
	switch (h->op) {
	case CHANNEL_PROGRESS:
		t->done = h->args[0];
		t->total = h->args[1];
		*rc = t->progress != NULL
			  ? t->progress(t->progress_ctx, h->args[0], h->args[1])
			  : 0;
		return 1;
	case CHANNEL_CONDITION:
		return answer_condition(t, h->args[0], rc);
	case CHANNEL_EACH_ACCESS:
		return answer_accesses(t, h->args[0], rc);
	case CHANNEL_EACH_VISIT:
		return remote_answer_visits(t, h->args[0], h->args[1], rc);
	case CHANNEL_EACH_RACE:
		return answer_race(t, rc);
	case CHANNEL_EACH_POSSIBLE:
		return answer_possible(t, rc);
	case CHANNEL_BUILD_INDEX:
		return answer_build(t, h, rc);
	default:
		return 0;
	}
}

/* -- A call -- */

/* Of an error the kind and the text. */
static int64_t take_error(struct hark_timeline *t, const struct channel_head *h,
			  struct hark_error *err)
{
	struct hark_error why = {0};

	if (h->error > HARK_ERROR_ARGUMENT || h->text_len >= sizeof why.text)
		return remote_condemn(t, err);
	why.code = (enum hark_error_code)h->error;
	memcpy(why.text, t->c->data + CHANNEL_TEXT, h->text_len);
	if (why.code != HARK_ERROR_NONE && err != NULL)
		*err = why;
	return h->rc;
}

static int64_t exchange(struct hark_timeline *t, struct channel_head *h,
			struct hark_error *err)
{
	const uint32_t op = h->op;

	for (;;) {
		int64_t rc = 0;

		send_message(t, h);
		if (wait_message(t, h) < 0)
			return is_gone(t, err);
		if (h->kind == CHANNEL_DONE && h->op == op)
			return take_error(t, h, err);
		if (h->kind != CHANNEL_ASK || !answer(t, h, &rc))
			return remote_condemn(t, err);
		if (t->pid == 0) /* it ended while it was answered */
			return is_gone(t, err);
		*h = (struct channel_head){.kind = CHANNEL_ANSWER, .rc = rc};
	}
}

int64_t remote_call(struct hark_timeline *t, struct channel_head *h,
		    const struct remote_each *each, struct hark_error *err)
{
	const struct remote_each *outer = t->each;
	int64_t rc;

	if (t->pid == 0)
		return is_gone(t, err);
	h->kind = CHANNEL_CALL;
	t->each = each;
	t->call_began_ms = 0;
	rc = exchange(t, h, err);
	t->each = outer;
	return rc;
}
