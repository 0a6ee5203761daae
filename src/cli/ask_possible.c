/* cli/ask_possible.c - hark ask value --all: what it may be, if threads race
 * for it. */
#include "cli/ask_answers.h"

#include "ask/show.h"
#include "present/json.h"
#include "present/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_LEN = 256, VALUES_MOST = 8, THREADS_MOST = 16, LEN_MOST = 64 };

struct possible {
	struct ask *a;
	const struct value *v;
	char values[VALUES_MOST][TEXT_LEN]; /* each once; as it was comes
					     * first */
	unsigned n;
	bool has_more;
	uint32_t threads[THREADS_MOST]; /* that write it */
	unsigned n_threads;
};

static void add_value(struct possible *p, const char *text)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->values[i], text) == 0)
			return;
	if (p->n == VALUES_MOST) {
		p->has_more = true;
		return;
	}
	snprintf(p->values[p->n++], TEXT_LEN, "%.*s", TEXT_LEN - 1, text);
}

static void add_thread(struct possible *p, uint32_t thread)
{
	unsigned i = 0;

	while (i < p->n_threads && p->threads[i] != thread)
		i++;
	if (i == p->n_threads && i < THREADS_MOST)
		p->threads[p->n_threads++] = thread;
}

static int note(void *ctx, const struct hark_access *by, const uint8_t *bytes,
		const uint8_t *known)
{
	struct possible *p = ctx;
	struct show s = {.space = p->a->space};
	struct prose text;

	prose_init(&text, TEXT_LEN - 1);
	if (p->v->is_typed && p->v->repeated == 0 && p->v->bit_size == 0)
		show_bytes(&s, p->v->type, bytes, known, p->v->len, &text);
	else if (p->v->is_typed && p->v->bit_size != 0)
		show_bits(&s, p->v, bytes, known, p->v->len, &text);
	else
		show_raw(bytes, known, p->v->len, &text);
	add_value(p, prose_of(&text));
	prose_fini(&text);
	if (by != NULL)
		add_thread(p, by->at.thread);
	return 0;
}

static void print_text(const struct possible *p, const char *what)
{
	text_print("%s = %s", what, p->values[0]);
	for (unsigned i = 1; i < p->n; i++)
		text_print(" or %s", p->values[i]);
	if (p->has_more)
		text_print(" or others");
	for (unsigned i = 0; p->n > 1 && i < p->n_threads; i++)
		text_print("%s%" PRIu32,
			   i > 0 ? i + 1 == p->n_threads ? " and " : ", "
			   : p->n_threads > 1 ? "  (threads "
					      : "  (thread ",
			   p->threads[i]);
	if (p->n > 1 && p->n_threads > 0)
		text_print(p->n_threads > 1 ? " race)" : " races)");
	putchar('\n');
}

static void print_json(const struct possible *p, const char *what)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	answer_put_position(&j, "position", &p->a->at);
	json_text(&j, "what", what);
	json_text(&j, "value", p->values[0]);
	json_array(&j, "possible");
	for (unsigned i = 0; i < p->n; i++)
		json_text(&j, NULL, p->values[i]);
	json_end(&j);
	json_bool(&j, "more", p->has_more);
	json_array(&j, "threads");
	for (unsigned i = 0; i < p->n_threads; i++)
		json_number(&j, NULL, p->threads[i]);
	json_end(&j);
	json_end(&j);
}

int answer_possible(struct ask *a, const char *what, const struct value *v,
		    const char *as_it_was, struct hark_err *err)
{
	struct possible p = {.a = a, .v = v};
	struct hark_error e = {0};
	uint64_t addr;
	int rc = 0;

	add_value(&p, as_it_was);
	if (eval_address(v, &addr) && v->len > 0 && v->len <= LEN_MOST)
		rc = hark_possible(a->m->pair.timeline, addr, v->len, note, &p,
				   &e);
	moment_hush(a->m);
	if (rc < 0)
		return ask_error(&e, err);
	if (a->json)
		print_json(&p, what);
	else
		print_text(&p, what);
	return 0;
}
