/* outside/hold.c - a program, held by an int3 before its libraries begin.
 *
 * The loader calls an empty function when all that the program is linked with
 * is mapped and relocated, for debuggers to stop at. Where there is none (a
 * static program has no loader), the program is held at its entry point. If it
 * is to be held at main, it goes on from there. */
#include "outside/hold.h"

#include "image/loader.h"
#include "image/modules.h"
#include "image/symbols.h"
#include "outside/mend.h"
#include "outside/tracee.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATIENCE_S = 30, AUXV_MAX = 64 };

/* A place where it stops. */
struct brake {
	uint64_t at; /* 0: none */
	long word;   /* what was there */
};

struct holding {
	pid_t pid;
	struct brake loader, entry;
	uint64_t state; /* where the loader says that all is done; 0: always */
	int64_t deadline;
};

void hold_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

/* -- Where -- */

/* Where the program begins, as the kernel told it. */
static int entry_of(pid_t pid, uint64_t *out, struct hark_err *err)
{
	Elf64_auxv_t auxv[AUXV_MAX];
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	if (f != NULL) {
		n = fread(auxv, sizeof *auxv, AUXV_MAX, f);
		fclose(f);
	}
	for (size_t i = 0; i < n; i++)
		if (auxv[i].a_type == AT_ENTRY) {
			*out = auxv[i].a_un.a_val;
			return 0;
		}
	return err_set(err, HARK_EIO, f == NULL ? errno : 0,
		       "%s: no entry point in it", path);
}

/* The loader's function, and its state. */
static void look_for_loader(struct holding *h, const struct modules *all)
{
	struct loader l;

	if (!loader_find(all, &l))
		return;
	h->loader.at = l.function;
	h->state = l.state;
}

static int find_places(struct holding *h, struct hark_err *err)
{
	struct image *im;
	struct modules *all;

	if (entry_of(h->pid, &h->entry.at, err) < 0 || image_new(&im, err) < 0)
		return -1;
	if (modules_of_pid(im, h->pid, &all, NULL) == 0) {
		look_for_loader(h, all);
		modules_free(all);
	}
	image_free(im);
	return 0;
}

/* -- Brakes -- */

static int out_of_reach(pid_t pid, struct hark_err *err)
{
	return err_set(err, HARK_EIO, errno,
		       "process %d: its beginning is out of reach", (int)pid);
}

static int look(pid_t pid, struct brake *b, struct hark_err *err)
{
	if (b->at == 0)
		return 0;
	errno = 0;
	b->word = ptrace(PTRACE_PEEKTEXT, pid, b->at, 0);
	return b->word == -1 && errno != 0 ? out_of_reach(pid, err) : 0;
}

static int put(pid_t pid, const struct brake *b, struct hark_err *err)
{
	if (b->at != 0 &&
	    ptrace(PTRACE_POKETEXT, pid, b->at, (b->word & ~0xffL) | 0xcc) < 0)
		return out_of_reach(pid, err);
	return 0;
}

static void take_away(pid_t pid, const struct brake *b)
{
	if (b->at != 0)
		ptrace(PTRACE_POKETEXT, pid, b->at, b->word);
}

static int wait_for_it(const struct holding *h, int *status,
		       struct hark_err *err)
{
	if (tracee_wait(h->pid, h->deadline, status, err) < 0)
		return -1;
	if (!WIFSTOPPED(*status))
		return err_set(err, HARK_EGONE, 0,
			       "the program ended before it began");
	return 0;
}

/* Over the instruction that the brake stands on. */
static int step_over(struct holding *h, struct brake *b, struct hark_err *err)
{
	int status;

	take_away(h->pid, b);
	if (ptrace(PTRACE_SINGLESTEP, h->pid, 0, 0) < 0)
		return err_set(err, HARK_EGONE, errno,
			       "process %d: cannot go on", (int)h->pid);
	return wait_for_it(h, &status, err) < 0 ? -1 : put(h->pid, b, err);
}

/* -- Running there -- */

static bool is_ready(const struct holding *h, const struct brake *b)
{
	long word;

	if (b == &h->entry || h->state == 0)
		return true;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, h->pid, h->state, 0);
	return errno == 0 && (word & 0xffffffffL) == 0; /* RT_CONSISTENT */
}

/* The brake that it stands behind; it is put before it. NULL: none. */
static int which(struct holding *h, struct brake **out, struct hark_err *err)
{
	struct user_regs_struct regs;

	*out = NULL;
	if (tracee_get_regs(h->pid, &regs, err) < 0)
		return -1;
	if (h->loader.at != 0 && regs.rip == h->loader.at + 1)
		*out = &h->loader;
	else if (regs.rip == h->entry.at + 1)
		*out = &h->entry;
	if (*out == NULL)
		return 0;
	regs.rip--;
	return tracee_set_regs(h->pid, &regs, err);
}

/* A clock of the program before (probe/ticking.h) may have ticked in the
 * middle of execve. This one knows nothing of it. */
static bool is_stale_tick(pid_t pid)
{
	enum { CODE_PERF = 6 }; /* TRAP_PERF */
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 &&
	       info.si_signo == SIGTRAP && info.si_code == CODE_PERF;
}

/* Signals on the way are delivered. */
static int run(struct holding *h, struct hark_err *err)
{
	struct brake *at;
	int status, sig = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, h->pid, 0, sig) < 0)
			return err_set(err, HARK_EGONE, errno,
				       "process %d: cannot go on", (int)h->pid);
		if (wait_for_it(h, &status, err) < 0)
			return -1;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (sig != SIGTRAP)
			continue;
		if (which(h, &at, err) < 0)
			return -1;
		if (at == NULL) {
			sig = is_stale_tick(h->pid) ? 0 : sig;
			continue;
		}
		sig = 0;
		if (is_ready(h, at))
			return 0;
		if (step_over(h, at, err) < 0)
			return -1;
	}
}

static int find_brakes(struct holding *h, struct hark_err *err)
{
	if (find_places(h, err) < 0 || look(h->pid, &h->entry, err) < 0 ||
	    look(h->pid, &h->loader, err) < 0)
		return -1;
	return 0;
}

static int hold(struct holding *h, struct hark_err *err)
{
	if (put(h->pid, &h->entry, err) < 0 ||
	    put(h->pid, &h->loader, err) < 0 || run(h, err) < 0)
		return -1;
	take_away(h->pid, &h->loader);
	take_away(h->pid, &h->entry);
	return tracee_settle(h->pid, h->deadline, err);
}

/* -- On to main -- */

/* The program's main, if it has a name; else what the C library's beginning is
 * given it by. */
static int find_main(const struct holding *h, uint64_t *out, uint64_t *begin,
		     struct hark_err *err)
{
	struct image *im;
	struct modules *all;
	struct symbol s;

	*out = *begin = 0;
	if (image_new(&im, err) < 0)
		return -1;
	if (modules_of_pid(im, h->pid, &all, err) < 0) {
		image_free(im);
		return -1;
	}
	for (size_t i = 0; i < modules_count(all); i++) {
		const struct module *m = modules_get(all, i);

		if (m->file == NULL)
			continue;
		if (m->main && symbols_named(m->file, "main", &s, NULL) == 0 &&
		    s.kind == SYMBOL_FUNCTION)
			*out = s.addr + m->bias;
		if (symbols_named(m->file, "__libc_start_main", &s, NULL) ==
			0 &&
		    s.kind == SYMBOL_FUNCTION)
			*begin = s.addr + m->bias;
	}
	modules_free(all);
	image_free(im);
	return 0;
}

static int run_to(struct holding *h, uint64_t at, struct hark_err *err)
{
	h->loader = (struct brake){0};
	h->entry = (struct brake){.at = at};
	if (look(h->pid, &h->entry, err) < 0 ||
	    put(h->pid, &h->entry, err) < 0 || run(h, err) < 0)
		return -1;
	take_away(h->pid, &h->entry);
	return 0;
}

/* Others would run while probes are put in. */
static int is_alone(pid_t pid, struct hark_err *err)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if (stat(path, &st) == 0 && st.st_nlink == 3) /* ., .. and one */
		return 0;
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d has several threads before main: it cannot "
		       "be held there",
		       (int)pid);
}

static int go_to_main(struct holding *h, struct hark_err *err)
{
	struct user_regs_struct regs;
	uint64_t at, begin;

	h->deadline = tracee_now_ns() + PATIENCE_S * 1000000000LL;
	if (find_main(h, &at, &begin, err) < 0)
		return -1;
	if (at == 0 && begin == 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "the program does not tell where its main is");
	if (at == 0) {
		if (run_to(h, begin, err) < 0 ||
		    tracee_get_regs(h->pid, &regs, err) < 0)
			return -1;
		at = regs.rdi;
	}
	if (run_to(h, at, err) < 0 || is_alone(h->pid, err) < 0)
		return -1;
	return tracee_settle(h->pid, h->deadline, err);
}

static struct mend_place place_of(const struct brake *b)
{
	return (struct mend_place){.at = b->at, .byte = (uint8_t)b->word};
}

int hold_executed(pid_t pid, struct hark_err *err)
{
	struct holding h = {.pid = pid,
			    .deadline =
				tracee_now_ns() + PATIENCE_S * 1000000000LL};
	struct mend_place places[MEND_PLACES];
	struct mend mend;
	int rc;

	if (find_brakes(&h, err) < 0)
		return -1;
	places[0] = place_of(&h.loader);
	places[1] = place_of(&h.entry);
	mend_begin(&mend, pid, places);
	rc = hold(&h, err);
	if (rc < 0) {
		take_away(pid, &h.loader);
		take_away(pid, &h.entry);
	}
	if (mend_end(&mend, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

int hold_start(const struct launch *plan, pid_t *out, struct hark_err *err)
{
	struct holding h = {.deadline =
				tracee_now_ns() + PATIENCE_S * 1000000000LL};

	if (launch_start(plan, &h.pid, err) < 0)
		return -1;
	if (find_brakes(&h, err) < 0 || hold(&h, err) < 0 ||
	    (plan->to_main && go_to_main(&h, err) < 0)) {
		launch_abandon(plan, h.pid, err);
		return -1;
	}
	*out = h.pid;
	return 0;
}
