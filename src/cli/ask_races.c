/* cli/ask_races.c - hark ask races: accesses that nothing puts in order. */
#include "cli/ask_answers.h"

#include "ask/show.h"
#include "present/json.h"
#include "present/say.h"
#include "present/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_LEN = 512, SHOWN = 16 };

struct list {
	struct ask *a;
	bool all;
	uint64_t n, left_out;
};

/* What the bytes hold, as numbers are shown whose type is not known. */
static void show_bytes_of(const struct hark_access *x, const uint8_t *bytes,
			  uint64_t which, struct prose *out)
{
	uint32_t n = x->size < SHOWN ? x->size : SHOWN;
	uint8_t known[SHOWN];

	for (uint32_t i = 0; i < SHOWN; i++)
		known[i] = which >> i & 1;
	if (memchr(known, 0, n) != NULL) {
		prose_put(out, "??");
		return;
	}
	show_raw(bytes, known, n, out);
	if (x->size > SHOWN)
		prose_put(out, " ...");
}

static void value_text(const struct hark_access *x, char *out, size_t size)
{
	struct prose before, after;

	prose_init(&before, TEXT_LEN);
	prose_init(&after, TEXT_LEN);
	show_bytes_of(x, x->before, x->before_known, &before);
	show_bytes_of(x, x->after, x->after_known, &after);
	if (x->is_write)
		snprintf(out, size, "%s -> %s", prose_of(&before),
			 prose_of(&after));
	else
		snprintf(out, size, "%s", prose_of(&before));
	prose_fini(&before);
	prose_fini(&after);
}

/* -- Text -- */

static void access_text(const struct ask *a, const struct hark_access *x)
{
	char position[64], code[TEXT_LEN], value[2 * TEXT_LEN + 8];

	hark_position_text(&x->at, position, sizeof position);
	space_code(a->space, x->pc, false, code, sizeof code);
	value_text(x, value, sizeof value);
	text_print("  %-16s %s %s  (%s)\n", position,
		   x->is_write ? "writes" : "reads ", value, code);
}

static void race_text(const struct ask *a, const struct hark_race *r)
{
	char name[TEXT_LEN];

	space_name(a->space, r->address, name, sizeof name);
	if (name[0] != '\0')
		text_print("%s", name);
	else
		text_print("0x%" PRIx64, r->address);
	text_print(", %" PRIu32 " byte%s: threads %" PRIu32 " and %" PRIu32
		   ", %" PRIu64 " time%s\n",
		   r->size, r->size == 1 ? "" : "s", r->first.at.thread,
		   r->second.at.thread, r->times, r->times == 1 ? "" : "s");
	access_text(a, &r->first);
	access_text(a, &r->second);
}

/* -- JSON -- */

static void access_json(struct json *j, struct ask *a, const char *key,
			const struct hark_access *x)
{
	struct prose before, after;
	char text[32];

	json_object(j, key);
	answer_put_position(j, "position", &x->at);
	json_number(j, "thread", x->at.thread);
	answer_put_code(j, a, x->pc);
	snprintf(text, sizeof text, "0x%" PRIx64, x->address);
	json_text(j, "address", text);
	json_number(j, "size", x->size);
	json_bool(j, "write", x->is_write != 0);
	prose_init(&before, TEXT_LEN);
	prose_init(&after, TEXT_LEN);
	show_bytes_of(x, x->before, x->before_known, &before);
	show_bytes_of(x, x->after, x->after_known, &after);
	if (x->is_write) {
		json_text(j, "before", prose_of(&before));
		json_text(j, "after", prose_of(&after));
	} else {
		json_text(j, "value", prose_of(&before));
	}
	prose_fini(&before);
	prose_fini(&after);
	json_end(j);
}

static void race_json(struct ask *a, const struct hark_race *r)
{
	char text[TEXT_LEN];
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	snprintf(text, sizeof text, "0x%" PRIx64, r->address);
	json_text(&j, "address", text);
	space_name(a->space, r->address, text, sizeof text);
	json_text(&j, "symbol", text);
	json_number(&j, "size", r->size);
	json_number(&j, "times", r->times);
	access_json(&j, a, "first", &r->first);
	access_json(&j, a, "second", &r->second);
	json_end(&j);
}

static int is_within(const struct ask *a, const struct hark_position *at)
{
	struct hark_timeline *t = a->m->pair.timeline;

	return (args_value(a->args, "from") == NULL ||
		hark_position_compare(t, &a->from, at) <= 0) &&
	       (args_value(a->args, "to") == NULL ||
		hark_position_compare(t, at, &a->to) < 0);
}

/* -- What is left out -- */

static bool is_in(const struct ask *a, uint64_t address,
		  const char *const *names)
{
	const struct space_module *m = space_at(a->space, address);
	const char *file = m == NULL ? NULL : strrchr(m->path, '/');

	for (; file != NULL && *names != NULL; names++)
		if (strncmp(file + 1, *names, strlen(*names)) == 0)
			return true;
	return false;
}

/* Functions of the C library that touch what they are given. Without names it
 * is one unless it is the library's own things that it touches. */
static bool is_for_others(const struct ask *a, uint64_t pc, bool is_own)
{
	static const char *const names[] = {"mem",  "str",	"stp",
					    "wcs",  "wmem",	"rawmem",
					    "bcmp", "explicit", NULL};
	char text[TEXT_LEN];
	const char *name = text;

	space_name(a->space, pc, text, sizeof text);
	while (*name == '_')
		name++;
	for (const char *const *n = names; *n != NULL; n++)
		if (strncmp(name, *n, strlen(*n)) == 0)
			return true;
	return text[0] == '\0' && !is_own;
}

/* The dynamic loader binds names to functions when they are first called:
 * whoever comes second finds it done, or does it again. The C library looks at
 * its own things, and at those that it is to synchronise with, in ways that are
 * right on this machine alone. */
static bool is_inside(const struct ask *a, const struct hark_race *r)
{
	static const char *const loader[] = {"ld-linux", "ld-2.", NULL};
	static const char *const library[] = {"libc.",	  "libc-", "libpthread",
					      "ld-linux", "ld-2.", NULL};
	bool is_own;

	if (is_in(a, r->first.pc, loader) || is_in(a, r->second.pc, loader))
		return true;
	is_own = is_in(a, r->address, library);
	return is_in(a, r->first.pc, library) &&
	       is_in(a, r->second.pc, library) &&
	       !is_for_others(a, r->first.pc, is_own) &&
	       !is_for_others(a, r->second.pc, is_own);
}

/* -- The answer -- */

static int print_race(void *ctx, const struct hark_race *r)
{
	struct list *l = ctx;

	if (!is_within(l->a, &r->first.at) || !is_within(l->a, &r->second.at))
		return 0;
	if (!l->all && is_inside(l->a, r)) {
		l->left_out++;
		return 0;
	}
	moment_hush(l->a->m);
	if (l->a->json)
		race_json(l->a, r);
	else
		race_text(l->a, r);
	l->n++;
	return l->a->limit != 0 && l->n == l->a->limit;
}

int answer_races(struct ask *a, struct hark_err *err)
{
	struct list l = {.a = a, .all = args_flag(a->args, "all")};
	struct hark_error e = {0};
	int rc = hark_races(a->m->pair.timeline, print_race, &l, &e);

	moment_hush(a->m);
	if (rc < 0)
		return ask_error(&e, err);
	if (l.n == 0)
		say("there are no races");
	if (l.left_out > 0)
		say("%" PRIu64 " inside of the C library %s left out (--all "
		    "lists all)",
		    l.left_out, l.left_out == 1 ? "is" : "are");
	return l.n > 0;
}
