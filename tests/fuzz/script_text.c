/* tests/fuzz/script_text.c - any text is a script or has a mistake, and what
 * is compiled is safe to run. */
#include "script/script.h"
#include "script/verify.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every struct has a number, a text, a bit field, and itself. */
static int named(void *ctx, const char *name, struct script_type *out)
{
	(void)ctx;
	if (strcmp(name, "struct s") != 0 && strcmp(name, "s_t") != 0)
		return -1;
	*out = (struct script_type){.kind = SCRIPT_STRUCT, .size = 24};
	return 0;
}

static int member(void *ctx, const struct script_type *of, const char *name,
		  struct script_member *out)
{
	struct script_member m = {.type = {.kind = SCRIPT_INT, .size = 4}};

	(void)ctx;
	switch (name[0]) {
	case 'n':
		break;
	case 'b':
		m.bit_shift = 3;
		m.bit_size = 7;
		break;
	case 'c':
		m.type.count = 8;
		m.type.size = 1;
		break;
	case 's':
		m.type = *of;
		m.type.stars = name[1] == 'p';
		m.offset = 8;
		break;
	default:
		return -1;
	}
	*out = m;
	return 0;
}

static int argument(void *ctx, const char *const parts[4], const char *name,
		    unsigned *index, struct script_type *out)
{
	(void)parts;
	if (name != NULL && strcmp(name, "node") != 0)
		return -1;
	if (name != NULL)
		*index = 2;
	named(ctx, "struct s", out);
	out->stars = 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct script_types types = {
	    .named = named, .member = member, .argument = argument};
	static const char *const args[] = {"12", "word", "%s"};
	static struct verify_room room;
	struct script_settings settings = {.target = "42",
					   .args = args,
					   .n_args = 3,
					   .may_destroy = true,
					   .types = &types};
	const struct probe_program *p;
	struct hark_err err;
	struct script *s =
	    script_compile((const char *)data, size, &settings, &err);
	size_t n;

	assert(s != NULL);
	p = script_program(s);
	script_mistakes(s, &n);
	assert((p == NULL) == (n > 0));
	if (p != NULL)
		assert(verify_program(p, p->size, &room) == NULL);
	script_free(s);
	return 0;
}
