/* record/collect_name.c - what threads are called.
 *
 * A thread has its maker's name until it, or another one, gives it one of its
 * own: by prctl, or by a write to its file "comm" (which is how the C library
 * names other threads). The name that it began with is told when it begins, but
 * for programs: hark looks at those from outside, and they may have been
 * forbidden to ask. Only one such file is looked after at a time: whoever opens
 * one writes to it and closes it. */
#include "record/collect_priv.h"

#include "inside/sys.h"

enum { NR_PRCTL = 157, GET_NAME = 16, SET_NAME = 15 };

static void put_name(struct vcpu *v, const struct wire_rec_name *name)
{
	struct engine *e = v->engine;
	struct tapes *p = e->tapes;
	uint8_t *at;

	engine_lock(&e->lock);
	at = put_begin(e, &p->pen, WIRE_REC_NAME, 0, sizeof *name);
	if (at)
		put_end(&p->pen, put_bytes(at, name, sizeof *name));
	engine_unlock(&e->lock);
}

/* The thread's own, as it is now. */
static void put_own(struct vcpu *v, uint32_t by)
{
	struct wire_rec_name name = {.count = by == 0 ? 0 : vcpu_count(v),
				     .by = by,
				     .thread = v->tape->thread,
				     .tid = v->tid};

	if (!sys_failed(sys_call3(NR_PRCTL, GET_NAME, (uint64_t)name.name, 0)))
		put_name(v, &name);
}

void name_begin(struct vcpu *v, enum wire_start why)
{
	if (why != WIRE_START_PROGRAM)
		put_own(v, 0);
}

/* -- Other threads' -- */

static int begins_with(const char *text, const char *with)
{
	while (*with != '\0' && *text == *with) {
		text++;
		with++;
	}
	return *with == '\0';
}

/* /proc/PID/task/TID/comm; 0: it is not that. */
static uint32_t tid_of(const char *path)
{
	uint32_t tid = 0;

	if (!begins_with(path, "/proc/"))
		return 0;
	for (path += 6; *path >= '0' && *path <= '9'; path++)
		;
	if (!begins_with(path, "/task/"))
		return 0;
	for (path += 6; *path >= '0' && *path <= '9'; path++)
		tid = 10 * tid + (uint32_t)(*path - '0');
	return begins_with(path, "/comm") && path[5] == '\0' ? tid : 0;
}

/* A file was opened by this name. */
static void see_open(struct vcpu *v, uint64_t path, uint64_t fd)
{
	static const char start[] = "/proc/";
	struct tapes *p = v->engine->tapes;
	char text[256];
	uint32_t len;

	if (guest_copy(text, (const void *)path, sizeof start - 1) != 0 ||
	    !begins_with(text, start))
		return;
	len = code_path(fd, text, sizeof text - 1);
	text[len] = '\0';
	if (tid_of(text) == 0)
		return;
	__atomic_store_n(&p->comm_tid, tid_of(text), __ATOMIC_RELAXED);
	__atomic_store_n(&p->comm_fd, (uint32_t)fd + 1, __ATOMIC_RELEASE);
}

static void see_write(struct vcpu *v, uint64_t from, uint64_t len)
{
	struct tapes *p = v->engine->tapes;
	struct wire_rec_name name = {
	    .count = vcpu_count(v),
	    .by = v->tape->thread,
	    .tid = __atomic_load_n(&p->comm_tid, __ATOMIC_RELAXED)};

	len = len < sizeof name.name - 1 ? len : sizeof name.name - 1;
	if (guest_copy(name.name, (const void *)from, len) != 0)
		return;
	for (uint64_t i = 0; i < len; i++)
		if (name.name[i] == '\n')
			name.name[i] = '\0';
	put_name(v, &name);
}

void name_call(struct vcpu *v, int64_t nr, int64_t answer)
{
	enum { NR_WRITE = 1, NR_OPEN = 2, NR_CLOSE = 3, NR_OPENAT = 257 };
	const uint64_t *g = v->gpr; /* rdi: 7, rsi: 6 */
	struct tapes *p = v->engine->tapes;
	int is_comm = g[7] < UINT32_MAX &&
		      __atomic_load_n(&p->comm_fd, __ATOMIC_ACQUIRE) ==
			  (uint32_t)g[7] + 1;

	if (sys_failed(answer))
		return;
	if (nr == NR_PRCTL && (uint32_t)g[7] == SET_NAME)
		put_own(v, v->tape->thread);
	if (nr == NR_OPEN || nr == NR_OPENAT)
		see_open(v, nr == NR_OPEN ? g[7] : g[6], (uint64_t)answer);
	if (nr == NR_WRITE && is_comm)
		see_write(v, g[6], (uint64_t)answer);
	if (nr == NR_CLOSE && is_comm)
		__atomic_store_n(&p->comm_fd, 0, __ATOMIC_RELAXED);
}
