/* outside/depart.c - all threads of a process leave the engine.
 *
 *   rounds of:	hold all threads
 *		all are parked?  give signals, registers, mask; vanish; done
 *		else ask those that are not, let all go, wait a little
 *
 * A thread that is held in a system call which the kernel is to make again is
 * sent to park from there. Any other gets a signal while it is held: it comes
 * before its next instruction, so that no call is interrupted by it.
 *
 * Threads and children that are born meanwhile are met in the next round. A
 * round in which everybody waits is the last: whoever waits makes nobody.
 *
 * If hark is killed at any point: wire/stay.h. */
#include "outside/depart.h"

#include "outside/attach.h"
#include "outside/proc.h"
#include "outside/rules.h"
#include "outside/tracee.h"
#include "wire/record.h"
#include "wire/stay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 5, SYSCALL_LEN = 2 };

struct departure {
	pid_t pid;
	struct wire_places places;
	struct door_place at;
	int mem; /* owned: /proc/PID/mem */
};

struct depart_from depart_from(const struct peer *p)
{
	return (struct depart_from){peer_place(p)->start, peer_place(p)->end,
				    *peer_places(p)};
}

static int has_channel(pid_t pid, uint64_t start)
{
	struct proc_map m = {0};
	pid_t tid = proc_living(pid);

	while (tid != 0 && proc_mapping(pid, tid, DOOR_IN_MAPS, m.end, &m) == 0)
		if (m.start == start)
			return 1;
	return 0;
}

/* -- Its memory -- */

static int read_their(const struct departure *p, uint64_t at, void *out,
		      size_t len)
{
	return pread(p->mem, out, len, (off_t)at) == (ssize_t)len ? 0 : -1;
}

static struct wire_stay stay_of(const struct departure *p)
{
	struct wire_stay s = {0};

	read_their(p, p->places.stay, &s, sizeof s);
	return s;
}

static void set_state(const struct departure *p, uint32_t state)
{
	uint64_t at = p->places.stay + offsetof(struct wire_stay, state);

	if (pwrite(p->mem, &state, sizeof state, (off_t)at) < 0)
		return; /* it has ended */
}

static int cannot_look(pid_t pid, struct hark_err *err)
{
	return err_set(err, errno == ENOENT ? HARK_EGONE : HARK_EDENIED, errno,
		       "cannot look into process %d: %s", pid, strerror(errno));
}

/* -- Asking -- */

static int waits(const struct departure *p, const struct door_thread *t)
{
	return t->seen.rip == p->places.parked;
}

static int is_ask(const struct departure *p, const siginfo_t *info)
{
	return info->si_signo == SIGTRAP && info->si_code == SI_QUEUE &&
	       info->si_value.sival_ptr == (void *)p->places.secret;
}

/* A thread that was asked once more on its way to where it waits would take
 * that home. It will look. */
static int has_ask(const struct departure *p, const struct door_thread *t)
{
	enum { MOST = 32 };
	struct __ptrace_peeksiginfo_args which = {.nr = MOST};
	siginfo_t pending[MOST];
	long n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &which, pending);

	for (long i = 0; i < n; i++)
		if (is_ask(p, &pending[i]))
			return 1;
	return 0;
}

static int is_parked(const struct departure *p, const struct door_thread *t)
{
	return waits(p, t) && !has_ask(p, t);
}

/* The kernel would make its call again. */
static int ask_in_call(const struct departure *p, const struct door_thread *t)
{
	struct user_regs_struct r = t->seen;
	struct hark_err ignored;

	if (t->seen.rip != p->places.call_end || !rules_in_call(&t->seen))
		return 0;
	r.rsi = (unsigned long long)-(long)t->seen.rax;
	r.rip = p->places.park;
	r.orig_rax = ~0ull;
	return tracee_set_regs(t->tid, &r, &ignored) == 0 &&
	       tracee_set_mask(t->tid, ~0ull, &ignored) == 0;
}

/* What the kernel remembers of a call it forgets behind a signal. */
static int is_on_its_way(const struct departure *p, const struct door_thread *t)
{
	uint32_t restart = 0;

	read_their(p, t->seen.gs_base + (uint64_t)p->places.restart, &restart,
		   sizeof restart);
	return restart == RULES_ERESTART_RESTARTBLOCK;
}

/* One that has it blocked is about to wait, to end or to execute another
 * program, which would inherit it: next time. */
static void ask_by_signal(const struct departure *p,
			  const struct door_thread *t)
{
	siginfo_t info = {.si_signo = SIGTRAP, .si_code = SI_QUEUE};

	if (is_on_its_way(p, t) || (t->mask >> (SIGTRAP - 1) & 1) != 0)
		return;
	info.si_value.sival_ptr = (void *)p->places.secret;
	syscall(SYS_rt_tgsigqueueinfo, p->pid, t->tid, SIGTRAP, &info);
}

/* How many have to be asked. */
static int ask_all(const struct departure *p, const struct door *d)
{
	int n = 0;

	for (int i = 0; i < d->n_threads; i++) {
		const struct door_thread *t = &d->threads[i];

		if (is_parked(p, t))
			continue;
		if (n++ == 0)
			set_state(p, WIRE_STAY_ASKED);
		if (!waits(p, t) && !ask_in_call(p, t))
			ask_by_signal(p, t);
	}
	return n;
}

static void nap(void)
{
	const struct timespec moment = {.tv_nsec = 100000};

	nanosleep(&moment, NULL);
}

static void wait_for(const struct departure *p, int n_threads,
		     const struct depart_how *how)
{
	enum { TRIES = 300 };

	for (int i = 0; i < TRIES; i++) {
		if (stay_of(p).n_parked >= (uint32_t)n_threads)
			return;
		how->meanwhile(how->ctx);
		nap();
	}
}

/* Who is not inside yet cannot leave. */
static void wait_for_arrival(const struct departure *p)
{
	enum { TRIES = 10000 };

	for (int i = 0; i < TRIES && stay_of(p).n_coming > 0; i++)
		nap();
}

/* -- Going home -- */

/* ORDER wire_cannot */
static const char *const why_not[WIRE_CANNOT_MAX] = {
    [WIRE_CANNOT_FILTER] = "its seccomp filters are kept by the engine",
    [WIRE_CANNOT_DISPATCH] = "it gets its system calls as signals",
    [WIRE_CANNOT_CODE] = "it has forbidden itself new code",
};

/* What a parked thread will go on with; segments stay as they are. */
static void set_home(struct door_thread *t, const struct wire_park *park)
{
	struct user_regs_struct r;

	memcpy(&r, &park->regs, sizeof r);
	r.ds = t->seen.ds;
	r.es = t->seen.es;
	r.fs = t->seen.fs;
	r.gs = t->seen.gs;
	t->mask = park->sigmask;
	t->home = r;
	t->home.orig_rax = ~0ull;
	if (park->restart != 0) { /* R1 */
		r.rcx = r.rip += SYSCALL_LEN;
		r.r11 = r.eflags;
		r.rax = -(unsigned long long)park->restart;
	}
	t->seen = r;
}

static int read_parks(const struct departure *p, struct door *d, uint64_t *vcpu,
		      struct hark_err *err)
{
	for (int i = 0; i < d->n_threads; i++) {
		struct wire_park park;

		if (read_their(p, d->threads[i].seen.rbx, &park, sizeof park) <
		    0)
			return cannot_look(p->pid, err);
		if (park.cannot != WIRE_CANNOT_NOT)
			return err_set(err, HARK_EREFUSE, 0, "%s",
				       park.cannot < WIRE_CANNOT_MAX
					   ? why_not[park.cannot]
					   : "it cannot");
		if (i == 0)
			*vcpu = park.vcpu;
		set_home(&d->threads[i], &park);
	}
	return 0;
}

/* All wait. 0: they are home (and held). 1: not now. */
static int take_home(const struct departure *p, struct door *d,
		     struct hark_err *err)
{
	uint64_t vcpu = 0;
	int rc;

	if (read_parks(p, d, &vcpu, err) < 0 ||
	    door_reenter(d, &p->at, err) < 0)
		return -1;
	rc = door_send(d, 0, WIRE_LEAVE, vcpu, err);
	if (rc != 0) {
		err_set(err, HARK_EREFUSE, EBUSY,
			"another process runs in its memory");
		return rc < 0 ? -1 : 1;
	}
	for (int i = 1; i < d->n_threads; i++)
		if (door_give_back(d, i, err) < 0)
			return -1;
	if (door_send(d, 0, WIRE_VANISH, vcpu, err) < 0)
		return -1;
	return door_leave(d, err);
}

/* One round: 0 it has left, 1 not yet, -1 it will not. */
static int try_once(const struct departure *p, const struct depart_how *how,
		    struct hark_err *err)
{
	struct door d;
	int n, rc = 1;

	if (attach_open(&d, p->pid, err) < 0)
		return err->code == HARK_ETIME ? 1 : -1;
	n = d.n_threads;
	if (!has_channel(p->pid, p->at.channel))
		rc = 0; /* it has executed something else meanwhile */
	else if (ask_all(p, &d) == 0)
		rc = take_home(p, &d, err);
	attach_close(&d);
	if (rc == 1)
		wait_for(p, n, how);
	return rc;
}

/* A thread that has made a child by vfork cannot be stopped before the child
 * executes something; and that may want an answer first. */
static int waits_for_child(pid_t pid)
{
	enum { MOST = 4096 };
	static pid_t tids[MOST];
	int n = proc_threads(pid, tids, MOST);

	for (int i = 0; i < n && i < MOST; i++)
		if (proc_state(pid, tids[i]) == 'D')
			return 1;
	return 0;
}

static int open_departure(pid_t pid, const struct depart_from *from,
			  struct departure *out, struct hark_err *err)
{
	struct departure p = {
	    .pid = pid,
	    .places = from->places,
	    .at = {.image = from->places.image,
		   .image_len = from->places.image_len,
		   .channel = from->start,
		   .channel_len = from->end - from->start},
	};

	p.mem = proc_open(pid, proc_living(pid), "mem", O_RDWR);
	if (p.mem < 0)
		return cannot_look(pid, err);
	*out = p;
	return 0;
}

static int leave(const struct departure *p, const struct depart_how *how,
		 struct hark_err *err)
{
	int64_t limit = tracee_now_ns() + LIMIT_S * 1000000000LL;
	int rc;

	wait_for_arrival(p);
	err_set(err, HARK_ETIME, 0, "its threads do not come to rest");
	do {
		rc = has_channel(p->pid, p->at.channel);
		if (rc == 1 && waits_for_child(p->pid)) {
			how->meanwhile(how->ctx);
			nap();
		} else if (rc == 1) {
			rc = try_once(p, how, err);
		}
	} while (rc == 1 && tracee_now_ns() < limit);
	if (rc != 0 && stay_of(p).state == WIRE_STAY_ASKED)
		set_state(p, WIRE_STAY_INSIDE);
	return rc == 0 || err->code == HARK_EGONE ? 0 : -1;
}

int depart(pid_t pid, const struct depart_from *from,
	   const struct depart_how *how, struct hark_err *err)
{
	struct departure p = {0};
	int rc;

	if (open_departure(pid, from, &p, err) < 0)
		return err->code == HARK_EGONE ? 0 : -1;
	rc = leave(&p, how, err);
	close(p.mem);
	return rc;
}

/* -- Orphans -- */

static void nothing(void *ctx)
{
	(void)ctx;
}

static void set_word(const struct departure *p, uint64_t at, uint32_t value)
{
	if (pwrite(p->mem, &value, sizeof value, (off_t)(p->at.channel + at)) <
	    0)
		return; /* it has ended */
}

/* Its threads wait only for a hark that lives, and write only for one. */
int depart_orphan(pid_t pid, const struct depart_from *from,
		  struct hark_err *err)
{
	enum {
		WANTED = WIRE_RECORDING_AT +
			 (int)offsetof(struct wire_recording, wanted),
		LOCK = WIRE_RUN_AT + (int)offsetof(struct wire_run, hark_lock),
	};
	const struct depart_how how = {NULL, nothing};
	struct departure p = {0};
	int rc = 0;

	if (open_departure(pid, from, &p, err) < 0)
		return -1;
	if (has_channel(pid, p.at.channel)) { /* or it has executed another */
		set_word(&p, WANTED, 0);
		set_word(&p, LOCK, (uint32_t)getpid());
		rc = leave(&p, &how, err);
		if (rc < 0)
			set_word(&p, LOCK, 0);
	}
	close(p.mem);
	return rc;
}

/* -- All of them -- */

struct seer {
	void (*see)(void *ctx, pid_t pid, const struct proc_map *m);
	void *ctx;
};

static int see_process(void *ctx, pid_t pid)
{
	const struct seer *s = ctx;
	struct proc_map m = {0};
	pid_t tid = pid != getpid() ? proc_living(pid) : 0;

	while (tid != 0 && proc_mapping(pid, tid, DOOR_IN_MAPS, m.end, &m) == 0)
		if (!m.executable)
			s->see(s->ctx, pid, &m);
	return 0;
}

void depart_each(void (*see)(void *ctx, pid_t pid, const struct proc_map *m),
		 void *ctx)
{
	struct seer s = {see, ctx};

	proc_each(see_process, &s);
}
