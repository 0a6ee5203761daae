/* probe/insert_adopt.c - what a hark that was killed has left in a process.
 *
 * All of it but the trampolines is mapped from files of one name; the first of
 * these mappings begins with the plan. If hark was killed before there was a
 * plan, there is nothing else but such mappings, and perhaps a descriptor.
 *
 * Children of fork have a copy of all that: the same way leads out of them. */
#include "probe/insert_priv.h"

#include "outside/attach.h"
#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define IN_MAPS REFUSE_IN_MAPS

enum { PATIENCE_S = 10 };

/* -- Looking -- */

/* May what is mapped there say what is to be undone in the process? The file
 * was made by the process itself, or by root; one that another user has sent to
 * it says nothing. hark without privilege cannot look, and need not: it has no
 * more rights than that user. */
static bool is_believable(int pid, const struct proc_map *m)
{
	struct stat st;
	char path[96];
	uint64_t uid;

	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", pid,
		 (unsigned long)m->start, (unsigned long)m->end);
	if (stat(path, &st) < 0)
		return geteuid() != 0;
	return st.st_uid == 0 || st.st_uid == geteuid() ||
	       (proc_status(pid, 0, "Uid", 10, &uid) == 0 && st.st_uid == uid);
}

uint64_t insert_find_plan(int pid, pid_t tid, int mem)
{
	struct proc_map m = {0};

	while (proc_mapping(pid, tid, IN_MAPS, m.end, &m) == 0) {
		struct collect_plan head;

		if (m.offset == 0 && !m.writable && is_believable(pid, &m) &&
		    pread(mem, &head, sizeof head, (off_t)m.start) ==
			sizeof head &&
		    head.magic == COLLECT_MAGIC && head.self == m.start)
			return m.start;
	}
	return 0;
}

static bool lives(const struct collect_removal *r)
{
	return proc_began((pid_t)r->hark) == r->began && r->began != 0;
}

bool insert_is_mine(const struct collect_removal *r)
{
	return r->hark == (uint32_t)getpid() && r->space == proc_space() &&
	       r->began == proc_began(getpid());
}

/* -1: it belongs to another hark, which lives, or one cannot know. */
static int check_owner(pid_t pid, const struct collect_removal *r,
		       struct hark_err *err)
{
	if (insert_is_mine(r) || (r->space == proc_space() && !lives(r)))
		return 0;
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d is probed by hark (pid %u%s) already", pid,
		       r->hark,
		       r->space != proc_space() ? " of another container" : "");
}

/* 1: there is one, in *out; 0: there is not, but there are mappings of that
 * name; -1. */
static int read_record(pid_t pid, struct collect_removal *out,
		       struct hark_err *err)
{
	pid_t tid = proc_living(pid);
	int mem = proc_open(pid, tid, "mem", O_RDONLY), rc = 0;
	struct collect_plan head;
	uint64_t plan;

	if (mem < 0)
		return err_set(err, HARK_EDENIED, errno,
			       "process %d has probes of hark in it already, "
			       "and cannot be looked into",
			       pid);
	plan = insert_find_plan(pid, tid, mem);
	if (plan != 0)
		rc = insert_read_head(pid, mem, plan, &head, out, err) < 0 ? -1
									   : 1;
	close(mem);
	return rc;
}

static bool has_any(pid_t pid)
{
	struct proc_map m;

	return proc_mapping(pid, proc_living(pid), IN_MAPS, 0, &m) == 0;
}

int insert_look(pid_t pid, struct hark_err *err)
{
	struct collect_removal r = {0};
	int rc;

	if (!has_any(pid))
		return 0;
	rc = read_record(pid, &r, err);
	if (rc <= 0)
		return rc < 0 ? -1 : 1;
	return check_owner(pid, &r, err) < 0 ? -1 : 1;
}

/* -- Taking out -- */

int insert_sweep(struct door *d, struct hark_err *err)
{
	pid_t tid = d->threads[0].tid;
	int fd;

	while (d->sweep && (fd = proc_descriptor(d->pid, tid, IN_MAPS)) >= 0)
		if (remote_close(d, fd, err) < 0)
			return -1;
	return 0;
}

/* What is left when no probe is. */
static int sweep(struct door *d, struct hark_err *err)
{
	pid_t tid = d->threads[0].tid;
	struct proc_map m = {0};

	while (proc_mapping(d->pid, tid, IN_MAPS, m.end, &m) == 0) {
		uint64_t at = m.start;

		if (remote_unmap(d, &at, m.end - m.start, err) < 0)
			return -1;
	}
	return insert_sweep(d, err);
}

/* The process is held: 0, 1, -1 as insert_remove(). */
static int take_out(struct door *d, struct hark_err *err)
{
	uint64_t plan = insert_find_plan(d->pid, d->threads[0].tid, d->mem);
	struct insert_left l;
	int rc;

	if (plan == 0)
		return sweep(d, err);
	if (insert_left_init(&l, d->pid, d->mem, plan, err) < 0)
		return -1;
	rc = check_owner(d->pid, &l.record, err) < 0
		 ? -1
		 : insert_take_out(&l, d, err);
	insert_left_fini(&l);
	return rc == 0 ? sweep(d, err) : rc;
}

static int try_once(pid_t pid, const struct insert_proof *proof,
		    struct hark_err *err)
{
	struct hark_err second;
	struct door d;
	int rc;

	if (attach_open(&d, pid, err) < 0)
		return -1;
	if (proof != NULL && !proof->is_ours(proof->ctx, pid)) {
		attach_close(&d); /* the number is another process's by now */
		return 0;
	}
	d.name = INSERT_NAME;
	rc = door_begin(&d, err);
	if (rc == 0)
		rc = take_out(&d, err);
	if (door_leave(&d, rc < 0 ? &second : err) < 0)
		rc = -1;
	attach_close(&d);
	return rc;
}

static int adopt(pid_t pid, const struct insert_proof *proof,
		 struct hark_err *err)
{
	int64_t limit = tracee_now_ns() + PATIENCE_S * 1000000000LL;
	int rc = insert_look(pid, err);

	if (rc <= 0)
		return rc;
	for (int i = 0; (rc = try_once(pid, proof, err)) > 0; i++) {
		if (tracee_now_ns() > limit)
			return err_set(err, HARK_ETIME, 0,
				       "process %d: a thread does not leave a "
				       "probe of a hark that was killed",
				       pid);
		tracee_pause(i);
	}
	return rc;
}

int insert_adopt(pid_t pid, struct hark_err *err)
{
	return adopt(pid, NULL, err);
}

/* -- Children -- */

/* A record that is mapped in a process need not be of that process's making:
 * files can be sent. So the process has to be proved, too. */
static int leave_one(void *ctx, pid_t pid)
{
	const struct insert_proof *proof = ctx;
	struct collect_removal r = {0};
	struct hark_err ignored;

	if (pid != getpid() && has_any(pid) &&
	    proof->is_ours(proof->ctx, pid) &&
	    read_record(pid, &r, &ignored) == 1 && insert_is_mine(&r))
		adopt(pid, proof, &ignored);
	return 0;
}

void insert_leave_children(const struct insert_proof *proof)
{
	struct insert_proof p = *proof;

	proc_each(leave_one, &p);
}
