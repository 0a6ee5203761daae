/* travel/races_code.c - which instructions synchronise, by themselves. */
#include "travel/races.h"

#include "record/code.h"
#include "record/lineage.h"
#include "travel/touch.h"
#include "x86/decode.h"

#include <errno.h>
#include <stdlib.h>

/* -- Numbers -- */

static size_t slot_of(const struct numbers *s, uint64_t number)
{
	size_t at =
	    (size_t)(number * 0x9e3779b97f4a7c15ull >> 20) & (s->size - 1);

	while (s->slots[at] != 0 && s->slots[at] != number)
		at = (at + 1) & (s->size - 1);
	return at;
}

int numbers_have(const struct numbers *s, uint64_t number)
{
	return s->size != 0 && number != 0 && s->slots[slot_of(s, number)] != 0;
}

static int grow(struct numbers *s)
{
	struct numbers more = {.size = s->size == 0 ? 64 : 2 * s->size};

	more.slots = calloc(more.size, sizeof *more.slots);
	if (more.slots == NULL)
		return -1;
	for (size_t i = 0; i < s->size; i++)
		if (s->slots[i] != 0)
			more.slots[slot_of(&more, s->slots[i])] = s->slots[i];
	more.n = s->n;
	free(s->slots);
	*s = more;
	return 0;
}

int numbers_add(struct numbers *s, uint64_t number, struct hark_err *err)
{
	size_t at;

	if (number == 0)
		return 0;
	if (2 * s->n >= s->size && grow(s) < 0)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	at = slot_of(s, number);
	s->n += s->slots[at] == 0;
	s->slots[at] = number;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int numbers_list(const struct numbers *s, uint64_t **out, size_t *n,
		 struct hark_err *err)
{
	uint64_t *list = calloc(s->n + 1, sizeof *list);
	size_t k = 0;

	if (list == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (size_t i = 0; i < s->size; i++)
		if (s->slots[i] != 0)
			list[k++] = s->slots[i];
	qsort(list, k, sizeof *list, by_number);
	*out = list;
	*n = k;
	return 0;
}

void numbers_free(struct numbers *s)
{
	free(s->slots);
	*s = (struct numbers){0};
}

/* -- Locked instructions -- */

struct search {
	struct code *code;   /* owned */
	struct numbers *out; /* borrowed */
};

/* Prefixes, and the two opcodes that need none. */
static int may_be_first(uint8_t byte)
{
	switch (byte) {
	case 0xf0:
	case 0x86:
	case 0x87:
	case 0x66:
	case 0x67:
	case 0xf2:
	case 0xf3:
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		return 1;
	default:
		return byte >= 0x40 && byte <= 0x4f;
	}
}

/* Where instructions begin is not told. One that is found where none begins
 * will never be met. */
static int look_at_code(void *ctx, const struct record_event *e,
			struct hark_err *err)
{
	struct search *s = ctx;

	if (e->type != WIRE_REC_CODE)
		return 0;
	for (uint32_t i = 0; i < e->len; i++) {
		uint64_t pc = e->code.address + i;
		uint8_t code[X86_MAX_LEN];
		struct x86_insn x;
		enum x86_status rc;

		if (!may_be_first(e->bytes[i]))
			continue;
		rc = x86_decode(e->bytes + i, e->len - i, &x);
		if (rc != X86_OK)
			rc = x86_decode(
			    code, code_fetch(s->code, pc, code, sizeof code),
			    &x);
		if (rc == X86_OK && x86_is_locked(&x) &&
		    numbers_add(s->out, pc, err) < 0)
			return -1;
	}
	return 0;
}

int races_locked(struct recording *r, uint32_t process, struct numbers *out,
		 struct hark_err *err)
{
	struct search s = {.out = out};
	int rc;

	if (code_load(r, process, &s.code, err) < 0)
		return -1;
	rc = lineage_walk(r, process, look_at_code, &s, err);
	code_free(s.code);
	return rc < 0 ? -1 : 0;
}

/* -- The next instruction -- */

int races_op_at(struct runner *x, struct races_op *out)
{
	const struct wire_rec_state *s = runner_state(x);
	uint8_t code[X86_MAX_LEN];
	unsigned have = runner_code(x, s->pc, code, sizeof code), n;
	struct touch touches[TOUCHES_MAX];
	struct x86_insn insn;

	*out = (struct races_op){0};
	if (x86_decode(code, have, &insn) != X86_OK ||
	    insn.row->attr & X86_A_STRING)
		return 0;
	n = touches_at(s, code, have, touches);
	out->is_locked = (uint32_t)x86_is_locked(&insn);
	/* Its explicit operand comes first. */
	for (unsigned i = 0; i < n && touches[i].address == touches[0].address;
	     i++) {
		out->address = touches[i].address;
		out->size = touches[i].size;
		out->loads |= !touches[i].is_write;
		out->stores |= touches[i].is_write;
	}
	return n > 0 && (out->is_locked || out->size <= GRANULE);
}
