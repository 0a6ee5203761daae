/* site/barred.c - a map of barred bytes, made when the first one is. */
#include "site/barred.h"

#include <stdlib.h>

static const char *const reasons[BARRED_MAX] = {
    [BARRED_SEQUENCE] =
	"it is in a restartable sequence (rseq), which must not be moved",
    [BARRED_SEQUENCES] = "it may be in a restartable sequence (rseq) whose "
			 "bounds are not known",
    [BARRED_LABEL] = "its label has no type, and nothing proves that it is "
		     "code: .type NAME, @function would",
};

int barred_add(struct survey *s, uint64_t start, uint64_t end, enum barred why,
	       struct hark_err *err)
{
	if (s->barred == NULL)
		s->barred = calloc(s->len + 1, 1);
	if (s->barred == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (start < s->start)
		start = s->start;
	for (; start < end && start - s->start < s->len; start++)
		s->barred[start - s->start] = (uint8_t)why;
	return 0;
}

const char *barred_why(const struct survey *s, uint64_t addr, uint64_t len)
{
	if (s->barred == NULL)
		return NULL;
	for (; len > 0 && addr - s->start < s->len; len--, addr++)
		if (s->barred[addr - s->start] != 0)
			return reasons[s->barred[addr - s->start]];
	return NULL;
}
