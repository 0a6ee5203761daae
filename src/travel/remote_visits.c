/* travel/remote_visits.c - visits of a list, many in a message.
 *
 * A callback mostly wants a visit's registers and the top of the stack, so the
 * message has them. If it asks for anything else, the process is sent to the
 * visit first (send_message), and answers all else that this callback asks. */
#include "travel/remote_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { REGS_LEAST = offsetof(struct hark_registers, xsave) };

/* The next visit of a message of len bytes; how many bytes it takes. 0: the
 * rest is no visit. `data` is a copy that the process cannot change. */
static size_t take_visit(const uint8_t *data, size_t len,
			 struct remote_visit *out, struct hark_registers *regs)
{
	struct serve_visit *about = &out->about;

	if (len < sizeof *about)
		return 0;
	memcpy(about, data, sizeof *about);
	if (about->regs_len > len - sizeof *about ||
	    about->regs_len > sizeof *regs || serve_visit_size(about) > len ||
	    (about->regs_len != 0 && about->regs_len < REGS_LEAST))
		return 0;
	out->regs = about->regs_len != 0 ? regs : NULL;
	memcpy(regs, data + sizeof *about, about->regs_len);
	if (about->regs_len != 0)
		regs->xsave_len = about->regs_len - REGS_LEAST;
	return serve_visit_size(about);
}

static int look_at_visit(struct hark_timeline *t, struct remote_visit *visit)
{
	struct remote_visit *outer = t->visit;
	int rc;

	t->visit = visit;
	t->where = visit->about.at;
	rc = t->each->visit(t->each->ctx, t, &visit->about.at);
	t->visit = outer;
	return rc;
}

/* They are checked before the program sees any of them. */
static bool are_visits(const uint8_t *data, size_t len, uint64_t n,
		       struct hark_registers *room)
{
	struct remote_visit visit;

	for (uint64_t i = 0; i < n; i++) {
		size_t one = take_visit(data, len, &visit, room);

		if (one == 0)
			return false;
		data += one;
		len -= one;
	}
	return len == 0;
}

int remote_answer_visits(struct hark_timeline *t, uint64_t n, uint64_t len,
			 int64_t *rc)
{
	struct hark_registers *regs;
	uint8_t *data, *at;
	int ok = 0;

	if (t->each == NULL || t->each->visit == NULL || n > SERVE_VISITS ||
	    len > SERVE_VISIT_BYTES)
		return 0;
	data = malloc(sizeof *regs + len);
	if (data == NULL) {
		*rc = 1; /* the list ends; its call says why */
		t->has_no_memory = true;
		return 1;
	}
	regs = (struct hark_registers *)data;
	at = data + sizeof *regs;
	memcpy(at, t->c->data, len);
	ok = are_visits(at, len, n, regs);
	*rc = 0;
	for (uint64_t i = 0; ok && i < n && *rc == 0 && t->pid != 0; i++) {
		struct remote_visit visit = {.number = (uint32_t)i + 1};

		at += take_visit(at, SIZE_MAX, &visit, regs);
		*rc = look_at_visit(t, &visit);
	}
	free(data);
	return ok;
}

bool remote_visit_registers(const struct hark_timeline *t, uint32_t thread,
			    struct hark_registers *out)
{
	const struct remote_visit *visit = t->visit;
	size_t len;

	if (visit == NULL || visit->is_there || visit->regs == NULL ||
	    visit->about.at.thread != thread)
		return false;
	len = visit->about.regs_len;
	memcpy(out, visit->regs, len);
	memset((uint8_t *)out + len, 0, sizeof *out - len);
	return true;
}

bool remote_visit_read(const struct hark_timeline *t, uint64_t address,
		       size_t len, uint8_t *out, uint8_t *known)
{
	const struct remote_visit *visit = t->visit;
	uint64_t offset, wanted;

	if (visit == NULL || visit->is_there || visit->regs == NULL)
		return false;
	offset = address - visit->regs->gpr[4];
	if (len == 0 || offset >= SERVE_STACK || len > SERVE_STACK - offset)
		return false;
	wanted = UINT64_MAX >> (64 - len) << offset;
	if ((visit->about.stack_known & wanted) != wanted)
		return false;
	memcpy(out, visit->about.stack + offset, len);
	memset(known, 1, len);
	return true;
}
