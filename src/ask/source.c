/* ask/source.c - one moment of a process: of a timeline. */
#include "ask/source.h"

#include <stdlib.h>

int ask_error(const struct hark_error *from, struct hark_err *err)
{
	static const enum hark_code codes[] = {
	    [HARK_ERROR_NONE] = HARK_EBUG,
	    [HARK_ERROR_FILE] = HARK_EINPUT,
	    [HARK_ERROR_MEMORY] = HARK_ENOMEM,
	    [HARK_ERROR_MACHINE] = HARK_EREFUSE,
	    [HARK_ERROR_POSITION] = HARK_EINPUT,
	    [HARK_ERROR_DIVERGED] = HARK_EINPUT,
	    [HARK_ERROR_STOPPED] = HARK_ETIME,
	    [HARK_ERROR_ARGUMENT] = HARK_EINPUT,
	};
	enum hark_code code = HARK_EBUG;

	if (from->code <= HARK_ERROR_ARGUMENT)
		code = codes[from->code];
	return err_set(err, code, 0, "%s", from->text);
}

static size_t source_read(void *ctx, uint64_t addr, size_t len, uint8_t *out,
			  uint8_t *known)
{
	struct ask_pair *p = ctx;

	return hark_read(p->timeline, addr, len, out, known, NULL);
}

static int source_registers(void *ctx, uint32_t thread,
			    struct hark_registers *out, struct hark_err *err)
{
	struct ask_pair *p = ctx;
	struct hark_error e = {0};

	if (hark_registers(p->timeline, thread, out, &e) < 0)
		return ask_error(&e, err);
	return 0;
}

static int source_mappings(void *ctx, const struct hark_mapping **out,
			   unsigned *n, struct hark_err *err)
{
	struct ask_pair *p = ctx;
	struct hark_error e = {0};

	if (hark_mappings(p->timeline, out, n, &e) < 0)
		return ask_error(&e, err);
	return 0;
}

static unsigned source_n_modules(void *ctx)
{
	return hark_n_modules(((struct ask_pair *)ctx)->recording);
}

static const struct hark_module *source_module(void *ctx, unsigned i)
{
	return hark_module(((struct ask_pair *)ctx)->recording, i);
}

static int source_read_module(void *ctx, unsigned i, uint8_t **out, size_t *len,
			      struct hark_err *err)
{
	struct ask_pair *p = ctx;
	struct hark_error e = {0};

	if (hark_read_module(p->recording, i, out, len, &e) < 0)
		return ask_error(&e, err);
	return 0;
}

struct ask_source ask_source_of(struct ask_pair *p)
{
	return (struct ask_source){.read = source_read,
				   .registers = source_registers,
				   .mappings = source_mappings,
				   .n_modules = source_n_modules,
				   .module = source_module,
				   .read_module = source_read_module,
				   .ctx = p};
}

uint64_t ask_pc(struct hark_timeline *t)
{
	struct hark_registers *regs = calloc(1, sizeof *regs);
	uint64_t pc = 0;

	if (regs != NULL &&
	    hark_registers(t, hark_selected(t), regs, NULL) == 0)
		pc = regs->rip;
	free(regs);
	return pc;
}
