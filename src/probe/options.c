/* probe/options.c - one row an option. */
#include "probe/options.h"

#include "base/fmt.h"
#include "script/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MS = 1000000,
	MAX_THREADS = 1024,
	NAME_MAX_LEN = 64,
};

enum option_kind { IS_SIZE, IS_COUNT, IS_RATE, IS_CHOICE, IS_FLAG };

struct row {
	const char *name;
	enum option_kind kind;
	size_t at; /* in struct options */
	uint64_t lowest, highest, normally;
	const char *const *choices; /* highest + 1 of them */
};

static const char *const policies[] = {[COLLECT_SWITCH] = "switch",
				       [COLLECT_FILL] = "fill",
				       [COLLECT_RING] = "ring"};
static const char *const evaltimes[] = {[EVALTIME_EXEC] = "exec",
					[EVALTIME_PREINIT] = "preinit",
					[EVALTIME_POSTINIT] = "postinit",
					[EVALTIME_MAIN] = "main"};

/* clang-format off */
#define AT(member) offsetof(struct options, member)
static const struct row rows[] = {
    {"bufsize", IS_SIZE, AT(bufsize), 16 << 10, 1 << 30, 4 << 20, NULL},
    {"bufpolicy", IS_CHOICE, AT(bufpolicy), 0, COLLECT_RING, COLLECT_SWITCH,
     policies},
    {"aggsize", IS_SIZE, AT(aggsize), 16 << 10, 1 << 30, 4 << 20, NULL},
    {"strsize", IS_SIZE, AT(strsize), PROBE_STRING_MIN, PROBE_STRING_MAX, 256, NULL},
    {"dynvarsize", IS_SIZE, AT(dynvarsize), 4 << 10, 1 << 30, 1 << 20, NULL},
    {"nspec", IS_COUNT, AT(nspec), 1, 1024, 16, NULL},
    {"specsize", IS_SIZE, AT(specsize), 1 << 10, 64 << 20, 32 << 10, NULL},
    {"ustackframes", IS_COUNT, AT(ustackframes), 1, PROBE_FRAMES_MAX, 20, NULL},
    {"switchrate", IS_RATE, AT(switchrate), MS, 60ULL * 1000 * MS, 10ULL * MS, NULL},
    {"evaltime", IS_CHOICE, AT(evaltime), 0, EVALTIME_MAIN, EVALTIME_EXEC,
     evaltimes},
    {"quiet", IS_FLAG, AT(quiet), 0, 1, 0, NULL},
    {"flowindent", IS_FLAG, AT(flowindent), 0, 1, 0, NULL},
    {"destructive", IS_FLAG, AT(destructive), 0, 1, 0, NULL},
    {"aggsortkey", IS_FLAG, AT(order.by_key), 0, 1, 0, NULL},
    {"aggsortrev", IS_FLAG, AT(order.is_reversed), 0, 1, 0, NULL},
    {"aggsortkeypos", IS_COUNT, AT(order.first_key), 0, PROBE_KEYS_MAX - 1, 0, NULL},
    {"defaultargs", IS_FLAG, AT(defaultargs), 0, 1, 0, NULL},
};
#undef AT
/* clang-format on */
enum { N_ROWS = sizeof rows / sizeof *rows };

static void put(struct options *o, const struct row *r, uint64_t value)
{
	uint8_t *at = (uint8_t *)o + r->at;

	if (r->kind == IS_FLAG)
		*(bool *)at = value != 0;
	else
		memcpy(at, &value, sizeof value);
}

void options_init(struct options *o)
{
	*o = (struct options){0};
	for (size_t i = 0; i < N_ROWS; i++)
		put(o, &rows[i], rows[i].normally);
}

/* -- Values -- */

/* A number with k, m or g behind it, if units. */
static bool number_of(const char *text, bool units, uint64_t *out)
{
	static const char letters[] = "kmg";
	const char *unit;
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (end == text || text[0] == '-' || errno != 0)
		return false;
	if (units && *end != '\0') {
		unit = strchr(letters, *end | 0x20);
		if (unit == NULL || n > UINT64_MAX >> 30)
			return false;
		n <<= 10 * (unit - letters + 1);
		end++;
	}
	*out = n;
	return *end == '\0';
}

static bool choice_of(const struct row *r, const char *text, uint64_t *out)
{
	for (uint64_t i = 0; i <= r->highest; i++)
		if (strcmp(text, r->choices[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool value_of(const struct row *r, const char *text, uint64_t *out)
{
	switch (r->kind) {
	case IS_CHOICE:
		return choice_of(r, text, out);
	case IS_RATE:
		return script_period(text, out);
	case IS_FLAG:
		if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
			return false;
		*out = text[0] == '1';
		return true;
	default:
		return number_of(text, r->kind == IS_SIZE, out);
	}
}

static int bad_choice(const struct row *r, const char *value,
		      struct hark_err *err)
{
	char all[64] = "";
	size_t n = 0;

	for (uint64_t i = 0; i <= r->highest && n < sizeof all; i++)
		n += fmt_text(all + n, sizeof all - n, "%s%s",
			      i == 0		? ""
			      : i == r->highest ? " or "
						: ", ",
			      r->choices[i]);
	return err_set(err, HARK_EINPUT, 0, "option %s=%s: it is %s", r->name,
		       value, all);
}

static int bad_value(const struct row *r, const char *value,
		     struct hark_err *err)
{
	switch (r->kind) {
	case IS_CHOICE:
		return bad_choice(r, value, err);
	case IS_FLAG:
		return err_set(err, HARK_EINPUT, 0,
			       "option %s=%s: it takes no value", r->name,
			       value);
	case IS_RATE:
		return err_set(err, HARK_EINPUT, 0,
			       "option %s=%s: it is a rate like 10hz or 100ms, "
			       "from 1ms to 60s",
			       r->name, value);
	default:
		return err_set(err, HARK_EINPUT, 0,
			       "option %s=%s: it is a number%s from %llu to "
			       "%llu",
			       r->name, value,
			       r->kind == IS_SIZE ? " (with k, m or g)" : "",
			       (unsigned long long)r->lowest,
			       (unsigned long long)r->highest);
	}
}

/* -- Names -- */

static const struct row *find(const char *name)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static int unknown(const char *name, struct hark_err *err)
{
	char all[320] = "";
	size_t n = 0;

	for (size_t i = 0; i < N_ROWS && n < sizeof all; i++)
		n += fmt_text(all + n, sizeof all - n, "%s%s", i ? ", " : "",
			      rows[i].name);
	return err_set(err, HARK_EINPUT, 0,
		       "unknown option '%.64s'; there are %s", name, all);
}

int options_set(struct options *o, const char *name, const char *value,
		struct hark_err *err)
{
	const struct row *r = find(name);
	uint64_t number = 1;

	if (r == NULL)
		return unknown(name, err);
	if (value == NULL && r->kind != IS_FLAG)
		return err_set(err, HARK_EINPUT, 0,
			       "option %s needs a value: %s=VALUE", name, name);
	if (value != NULL && (!value_of(r, value, &number) ||
			      number < r->lowest || number > r->highest))
		return bad_value(r, value, err);
	put(o, r, number);
	return 0;
}

int options_parse(struct options *o, const char *text, struct hark_err *err)
{
	const char *equals = strchr(text, '=');
	char name[NAME_MAX_LEN + 1];
	size_t len = equals != NULL ? (size_t)(equals - text) : strlen(text);

	if (len > NAME_MAX_LEN)
		return unknown(text, err);
	memcpy(name, text, len);
	name[len] = '\0';
	return options_set(o, name, equals != NULL ? equals + 1 : NULL, err);
}

void options_geometry(const struct options *o, struct collect_geometry *out)
{
	*out = (struct collect_geometry){
	    .max_threads = MAX_THREADS,
	    .ring_size = (uint32_t)o->bufsize,
	    .aggregation_size = (uint32_t)o->aggsize,
	    .array_size = (uint32_t)o->dynvarsize,
	    .n_speculations = (uint32_t)o->nspec,
	    .speculation_size = (uint32_t)o->specsize,
	    .policy = (enum collect_policy)o->bufpolicy,
	};
}
