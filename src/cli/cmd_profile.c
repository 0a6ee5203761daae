/* cli/cmd_profile.c - hark profile: where a program spends its time.
 *
 * A session of probes without a probe: threads are sampled, and what comes of
 * it goes into a file (profile/profile.h). */
#include "cli/commands.h"

#include "base/fmt.h"
#include "cli/outfile.h"
#include "cli/probe_watch.h"
#include "outside/proc.h"
#include "outside/supervise.h"
#include "outside/tracee.h"
#include "present/say.h"
#include "profile/profile.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HZ = 997,
	HZ_MOST = 20000,
	NAME_SIZE = 64,
	SCAN = 2048, /* bytes of a frame of which no rule tells, at most */
};

/* A thread that has been seen, and not been told to be gone. */
struct seen {
	int pid, tid;
	bool is_strange; /* the numbers are of another namespace */
};

struct cpu_times {
	uint64_t user_ns, system_ns;
};

struct job {
	const struct cli_args *args;
	char **argv; /* borrowed: the program; NULL: pid */
	pid_t pid;   /* runs already; 0: none */
	enum session_time time;
	uint64_t hz;
	uint32_t scan; /* as struct unwind_space has it */
	bool is_strict;
	struct supervise supervise;
	struct launch launch;
	char path[SHELF_PATH_MAX];
	struct profile_writer *writer; /* owned */
	struct profile_frame *frames;  /* owned: of one sample */
	size_t room;
	struct seen *seen; /* owned */
	size_t n_seen, seen_room;
	size_t n_threads;	 /* ever seen */
	struct cpu_times before; /* of a pid */
};

/* -- The command line -- */

static int parse_hz(struct job *job)
{
	const char *text = args_value(job->args, "frequency");
	char *end;

	job->hz = HZ;
	if (text == NULL)
		return CLI_OK;
	errno = 0;
	job->hz = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || *text == '-' || errno != 0 ||
	    job->hz < 1 || job->hz > HZ_MOST)
		return args_refuse(job->args, "-F takes a number from 1 to %d",
				   HZ_MOST);
	return CLI_OK;
}

/* Which guesses are as certain as that? */
static int parse_confidence(struct job *job)
{
	const char *text = args_value(job->args, "confidence");
	unsigned long percent = UNWIND_SURE_LINK;
	char *end;

	if (text != NULL) {
		percent = strtoul(text, &end, 10);
		if (end == text || *end != '\0' || *text == '-' ||
		    percent > 100)
			return args_refuse(job->args, "--confidence takes a "
						      "number from 0 to 100");
	}
	job->is_strict = percent > UNWIND_SURE_LINK;
	job->scan = percent <= UNWIND_SURE_SCAN ? SCAN : 0;
	return CLI_OK;
}

static int check_options(struct job *job)
{
	const struct cli_args *args = job->args;
	int rc;

	job->pid = args_pid(args, "pid");
	if (job->pid == 0 && args_count(args) == 0)
		return args_refuse(args, "which program?");
	if (job->pid != 0 && args_count(args) > 0)
		return args_refuse(args, "-p and a program exclude each other");
	if (job->pid != 0 && args_flag(args, "detach"))
		return args_refuse(args, "-D is for a program to be started");
	if (args_flag(args, "wall") && args_flag(args, "off-cpu"))
		return args_refuse(args,
				   "--wall and --off-cpu exclude each other");
	job->time = args_flag(args, "wall")	 ? SESSION_WALL
		    : args_flag(args, "off-cpu") ? SESSION_OFF_CPU
						 : SESSION_CPU;
	job->argv = job->pid == 0 ? args_operands(args) : NULL;
	rc = parse_confidence(job);
	return rc != CLI_OK ? rc : parse_hz(job);
}

/* -- What /proc knows -- */

static void read_name(int pid, int tid, char out[NAME_SIZE])
{
	int fd = proc_open(pid, tid, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, NAME_SIZE - 1) : -1;

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* CPU time of a process, with all its threads, and as a zombie, too; and of the
 * children that it has waited for, with theirs. 0: there is no such process. */
static struct cpu_times read_times(pid_t pid, bool with_children)
{
	enum { BEHIND_NAME = 11 }; /* words, from the state on */
	struct cpu_times out = {0};
	int fd = proc_open(pid, 0, "stat", O_RDONLY | O_CLOEXEC);
	char text[1024], *at;
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	const uint64_t tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);

	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	for (int i = 0; at != NULL && i <= BEHIND_NAME; i++)
		at = strchr(at + 1, ' ');
	for (int left = with_children ? 2 : 1; at != NULL && left > 0; left--) {
		out.user_ns += strtoull(at, &at, 10) * tick;
		out.system_ns += strtoull(at, &at, 10) * tick;
	}
	if (fd >= 0)
		close(fd);
	return out;
}

/* -- Samples -- */

static struct seen *find_seen(const struct job *job, int pid, int tid)
{
	for (size_t i = job->n_seen; i-- > 0;)
		if (job->seen[i].tid == tid && job->seen[i].pid == pid)
			return &job->seen[i];
	return NULL;
}

/* A stack that keeps nothing may be of a thread that is new. */
static int see(struct job *job, const struct session_sample *s,
	       struct hark_err *err)
{
	char name[NAME_SIZE];

	if (s->kept > 0)
		return 0;
	name[0] = '\0';
	if (find_seen(job, s->pid, s->tid) == NULL) {
		if (job->n_seen == job->seen_room) {
			size_t room = 2 * job->seen_room + 16;
			struct seen *more =
			    reallocarray(job->seen, room, sizeof *more);

			if (more == NULL)
				return err_set(err, HARK_ENOMEM, 0,
					       "out of memory");
			job->seen = more;
			job->seen_room = room;
		}
		job->seen[job->n_seen++] =
		    (struct seen){s->pid, s->tid, s->is_strange};
		job->n_threads++;
	}
	if (!s->is_strange)
		read_name(s->pid, s->tid, name);
	return name[0] == '\0'
		   ? 0
		   : profile_thread(job->writer, s->pid, s->tid, name, err);
}

static int make_room(struct job *job, size_t n, struct hark_err *err)
{
	struct profile_frame *more;

	if (n <= job->room)
		return 0;
	n += n / 2 + 64;
	more = reallocarray(job->frames, n, sizeof *more);
	if (more == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	job->frames = more;
	job->room = n;
	return 0;
}

static int put(void *ctx, const struct session_sample *s, struct hark_err *err)
{
	struct job *job = ctx;
	struct profile_sample out = {
	    .pid = s->pid,
	    .tid = s->tid,
	    .time_ns = s->time_ns,
	    .weight = s->ticks,
	    .map = s->map,
	    .kept = s->kept,
	    .n = s->n,
	    .end = s->end,
	};

	if (see(job, s, err) < 0 || make_room(job, s->n, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		job->frames[i] = (struct profile_frame){
		    s->frames[i].pc, s->frames[i].is_return, s->frames[i].how};
	out.frames = job->frames;
	return profile_put(job->writer, &out, err);
}

static int put_maps(void *ctx, pid_t pid, struct modules *modules,
		    struct hark_err *err)
{
	struct job *job = ctx;

	return profile_maps(job->writer, pid, modules, err);
}

static void forget(void *ctx, pid_t pid, pid_t tid)
{
	struct job *job = ctx;
	struct seen *gone = find_seen(job, pid, tid);

	if (gone != NULL)
		*gone = job->seen[--job->n_seen];
	profile_thread_gone(job->writer, pid, tid);
}

static int tell_difference(void *ctx, const char *text, struct hark_err *err)
{
	struct job *job = ctx;

	say_error("profile: %s", text);
	return profile_note(job->writer, text, err);
}

static int rest(void *ctx, struct hark_err *err)
{
	struct job *job = ctx;

	return profile_flush_due(job->writer, err);
}

/* -- Running -- */

static int open_writer(struct job *job, struct hark_err *err)
{
	static const enum profile_clock clocks[] = {
	    [SESSION_CPU] = PROFILE_CPU,
	    [SESSION_WALL] = PROFILE_WALL,
	    [SESSION_OFF_CPU] = PROFILE_OFF_CPU};
	struct profile_plan plan = {
	    .argv = job->argv,
	    .clock = clocks[job->time],
	    .period_ns = 1000000000ull / job->hz,
	    .began_ns = (uint64_t)tracee_now_ns(),
	};
	char name[NAME_SIZE] = "";

	if (job->argv == NULL)
		read_name(job->pid, 0, name);
	if (outfile_create(job->args,
			   job->argv != NULL ? job->argv[0]
			   : name[0] != '\0' ? name
					     : "process",
			   &plan.file, job->path, err) < 0)
		return -1;
	return profile_create(&plan, &job->writer, err);
}

/* Nothing came of it. */
static void discard(struct job *job)
{
	profile_close(job->writer);
	if (job->path[0] == '\0' || strcmp(job->path, "-") == 0)
		return;
	unlink(job->path);
	shelf_forget(job->path);
}

static const char *file_of(const struct job *job)
{
	return strcmp(job->path, "-") == 0 ? "standard output" : job->path;
}

static void tell_waits(const struct job *job, const struct session_waits *w)
{
	const char *plural = job->n_threads == 1 ? "" : "s";

	if (job->time == SESSION_OFF_CPU)
		say("profile: %lu waits of %zu thread%s, %.3f s in all (%.3f s "
		    "too short to be seen); %s",
		    (unsigned long)w->waits, job->n_threads, plural,
		    (double)w->wait_ns / 1e9, (double)w->short_ns / 1e9,
		    file_of(job));
	if (w->lost > 0)
		say("profile: %lu records of waits were lost: hark was too "
		    "slow",
		    (unsigned long)w->lost);
}

static void tell_clock(const struct session_clock *c,
		       const struct profile_ending *end)
{
	uint64_t cpu = end->cpu_user_ns + end->cpu_system_ns;

	if (c->no_events != 0)
		say("profile: by timers of the threads, for the kernel gives "
		    "hark no events (%s): no more often than its own clock "
		    "ticks",
		    strerror(c->no_events));
	if (!c->has_kernel && end->cpu_system_ns * 100 >= cpu && cpu > 0)
		say("profile: %.0f %% of the CPU time was the kernel's, and is "
		    "not sampled (/proc/sys/kernel/perf_event_paranoid is "
		    "above 1)",
		    100.0 * (double)end->cpu_system_ns / (double)cpu);
}

/* Samples a second, of the time that was sampled. */
static double rate_of(const struct job *job, const struct collect_account *a,
		      const struct session_clock *c,
		      const struct profile_ending *end)
{
	uint64_t cpu =
	    c->cpu_ns > 0 ? c->cpu_ns : end->cpu_user_ns + end->cpu_system_ns;

	if (!c->has_kernel || cpu == 0)
		return (double)job->hz;
	return (double)a->executed * 1e9 / (double)cpu;
}

static void tell(const struct job *job, const struct collect_account *a,
		 const struct session_clock *c, const struct session_waits *w,
		 const struct profile_ending *end)
{
	uint64_t lost = a->executed - a->recorded;
	char more[96] = "", waiting[48] = "", checks[96] = "";

	if (lost > 0)
		fmt_text(more, sizeof more,
			 ", %lu lost (%lu no room, %lu in hark, %lu faults)",
			 (unsigned long)lost, (unsigned long)a->dropped,
			 (unsigned long)a->recursed, (unsigned long)a->faulted);
	if (job->time == SESSION_WALL)
		fmt_text(waiting, sizeof waiting, " and %lu ms of waiting",
			 (unsigned long)(w->wait_ns / 1000000));
	if (end->is_checked)
		fmt_text(
		    checks, sizeof checks, "; %lu samples checked, %lu differ",
		    (unsigned long)end->checked, (unsigned long)end->differing);
	if (job->time != SESSION_OFF_CPU) {
		say("profile: %lu samples%s of %zu thread%s (%.0f Hz)%s%s; %s",
		    (unsigned long)a->recorded, waiting, job->n_threads,
		    job->n_threads == 1 ? "" : "s", rate_of(job, a, c, end),
		    more, checks, file_of(job));
		tell_clock(c, end);
	}
	tell_waits(job, w);
}

static void count_lost(struct job *job, const struct collect_account *a,
		       const struct session_waits *w)
{
	const struct {
		const char *why;
		uint64_t n;
	} lost[] = {{"no room for them", a->dropped},
		    {"the thread was in hark", a->recursed},
		    {"memory of the stack was not there", a->faulted},
		    {"records of waits: hark was too slow", w->lost}};

	for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
		if (lost[i].n > 0)
			profile_lost(job->writer, lost[i].why, lost[i].n);
}

/* Programs that others have executed: too fast, or out of hark's sight. */
static void note_missed(struct job *job, const struct session *s)
{
	uint32_t n = session_missed(s);
	struct hark_err ignored;
	char text[128];

	if (n == 0)
		return;
	fmt_text(text, sizeof text,
		 "%u program%s executed without being sampled: hark was not in "
		 "sight (another pid namespace), or too slow",
		 n, n == 1 ? " was" : "s were");
	say_error("%s", text);
	profile_note(job->writer, text, &ignored);
}

/* -- CPU time -- */

/* Is it the first thread of its process in the list? */
static bool is_first_seen(const struct job *job, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (job->seen[k].pid == job->seen[i].pid)
			return false;
	return true;
}

/* Of all processes that were sampled. Those that have ended count with the one
 * that waited for them; those that live, each by itself. Not known is what had
 * no parent left to wait for it. */
static struct cpu_times all_times(const struct job *job, pid_t first)
{
	bool follows = args_flag(job->args, "follow");
	struct cpu_times all = read_times(first, follows), one;

	if (all.user_ns < job->before.user_ns ||
	    all.system_ns < job->before.system_ns)
		return (struct cpu_times){0}; /* it is gone */
	all.user_ns -= job->before.user_ns;
	all.system_ns -= job->before.system_ns;
	for (size_t i = 0; follows && i < job->n_seen; i++) {
		const struct seen *s = &job->seen[i];

		if (s->pid == first || s->is_strange || !is_first_seen(job, i))
			continue;
		one = read_times(s->pid, true);
		all.user_ns += one.user_ns;
		all.system_ns += one.system_ns;
	}
	return all;
}

/* Until all is said; *status is the program's, or -1. */
static int run_session(struct job *job, struct session *s, int *status,
		       struct hark_err *err)
{
	bool is_child = job->argv != NULL && !job->launch.beside;
	enum session_status why = SESSION_ON;
	struct profile_ending end = {0};
	struct collect_account account;
	struct session_clock clock;
	struct session_waits waits;
	struct cpu_times cpu;
	struct hark_err second;
	int rc = probe_watch(s, is_child, &why, err);

	if (session_stop(s, rc < 0 ? &second : err) < 0)
		rc = -1;
	end.ended_ns = (uint64_t)tracee_now_ns();
	cpu = all_times(job, session_pid(s));
	end.cpu_user_ns = cpu.user_ns;
	end.cpu_system_ns = cpu.system_ns;
	session_sampled(s, &account, &clock);
	session_waited(s, &waits);
	count_lost(job, &account, &waits);
	note_missed(job, s);
	end.is_checked = args_flag(job->args, "check");
	end.checked = clock.checked;
	end.differing = clock.differing;
	*status = -1;
	if (is_child && why == SESSION_ENDED)
		*status = probe_wait_child(session_pid(s), NULL);
	end.has_status = *status >= 0;
	end.status = end.has_status ? *status : 0;
	if (profile_finish(job->writer, &end, rc < 0 ? &second : err) < 0)
		rc = -1;
	if (rc == 0)
		tell(job, &account, &clock, &waits, &end);
	if (is_child && *status < 0)
		*status = probe_wait_child(session_pid(s), NULL);
	return rc;
}

/* A script that asks for nothing. */
static const char no_question[] = "BEGIN {}";
static const struct script_source nothing = {.text = no_question,
					     .len = sizeof no_question - 1};

static void say_mistake(void *ctx, const char *text)
{
	(void)ctx;
	say_error("%s", text);
}

static int run(struct job *job, int *status)
{
	const struct session_samples samples = {
	    .time = job->time,
	    .period_ns = 1000000000ull / job->hz,
	    .put = put,
	    .maps = put_maps,
	    .gone = forget,
	    .scan = job->scan,
	    .is_strict = job->is_strict,
	    .checks = args_flag(job->args, "check"),
	    .differs = tell_difference,
	    .pause = rest,
	    .ctx = job,
	};
	const struct compile script = {
	    .sources = &nothing, .n_sources = 1, .say = say_mistake};
	struct options options;
	struct session_plan plan = {
	    .script = &script,
	    .options = &options,
	    .launch = job->argv != NULL ? &job->launch : NULL,
	    .pid = job->pid,
	    .follows = args_flag(job->args, "follow"),
	    .out = stderr,
	    .samples = &samples,
	    .note = probe_tell,
	};
	struct hark_err err = {0};
	struct session *s = NULL;
	bool has_begun;
	int rc;

	options_init(&options);
	options.bufsize = 1 << 20;
	options.quiet = options.samples = true;
	if (session_open(&plan, &s, &has_begun, &err) < 0) {
		discard(job);
		return has_begun ? cli_fail(&err) : cli_fail_start(&err);
	}
	rc = run_session(job, s, status, &err);
	session_close(s);
	profile_close(job->writer);
	return rc < 0 ? cli_fail(&err) : CLI_OK;
}

int cmd_profile(const struct cli_args *args)
{
	struct job job = {.args = args};
	struct hark_err err = {0};
	int status = -1, rc = check_options(&job);

	if (rc != CLI_OK)
		return rc;
	job.launch = (struct launch){
	    .argv = job.argv,
	    .mask = &job.supervise.before,
	    .beside = args_flag(args, "detach"),
	};
	if (job.pid != 0)
		job.before = read_times(job.pid, args_flag(args, "follow"));
	supervise_begin(&job.supervise);
	job.launch.ignore_chld = job.supervise.chld_was_ignored;
	rc = open_writer(&job, &err) < 0 ? cli_fail(&err) : run(&job, &status);
	supervise_end(&job.supervise);
	free(job.frames);
	free(job.seen);
	if (rc == CLI_OK && status >= 0)
		supervise_exit_as(status);
	return rc;
}
