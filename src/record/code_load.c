/* record/code_load.c - the code of a process, out of a recording. */
#include "record/code.h"

#include "record/lineage.h"

static int add(void *ctx, const struct record_event *e, struct hark_err *err)
{
	if (e->type != WIRE_REC_CODE)
		return 0;
	return code_add(ctx, e->code.serial, e->code.address, e->bytes, e->len,
			err);
}

int code_load(struct recording *r, uint32_t process, struct code **out,
	      struct hark_err *err)
{
	struct code *c = code_new(CODE_MEMORY_MAX);

	if (c == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (lineage_walk(r, process, add, c, err) < 0) {
		code_free(c);
		return -1;
	}
	*out = c;
	return 0;
}
