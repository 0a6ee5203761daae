/* cli/probe_account.c - executed = recorded + dropped + recursed + faulted,
 * in all and by probe. */
#include "cli/probe_account.h"

#include "present/json.h"
#include "present/say.h"

#include <stdio.h>

struct tally {
	struct collect_account all;
	size_t probes, sites;
	bool lost;    /* somewhere */
	bool verbose; /* a line for each probe, hit or not */
	struct json json;
};

static bool is_lossy(const struct collect_account *a)
{
	return a->recorded != a->executed;
}

/* -- In all -- */

static void add(void *ctx, const struct session_account *a)
{
	struct tally *t = ctx;

	t->lost |= is_lossy(&a->hits);
	if (a->is_unbound)
		return;
	t->probes++;
	t->sites += a->sites;
	t->all.executed += a->hits.executed;
	t->all.recorded += a->hits.recorded;
	t->all.dropped += a->hits.dropped;
	t->all.recursed += a->hits.recursed;
	t->all.faulted += a->hits.faulted;
}

/* -- As lines -- */

/* Hits in which threads ended: at most one each. */
static uint64_t unfinished(const struct collect_account *a)
{
	return a->executed -
	       (a->recorded + a->dropped + a->recursed + a->faulted);
}

static void format(const struct collect_account *a, char *out, size_t size)
{
	int n = snprintf(
	    out, size,
	    "%llu executed = %llu recorded + %llu dropped + %llu recursed "
	    "+ %llu faulted",
	    (unsigned long long)a->executed, (unsigned long long)a->recorded,
	    (unsigned long long)a->dropped, (unsigned long long)a->recursed,
	    (unsigned long long)a->faulted);

	if (unfinished(a) != 0 && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n,
			 " + %llu that the end of a thread cut off",
			 (unsigned long long)unfinished(a));
}

static void say_loudly(const struct tally *t, const char *text)
{
	if (t->lost)
		say_error("%s", text);
	else
		say("%s", text);
}

static void say_one(void *ctx, const struct session_account *a)
{
	struct tally *t = ctx;
	char hits[160], line[700];

	if (!t->verbose && !is_lossy(&a->hits))
		return;
	format(&a->hits, hits, sizeof hits);
	snprintf(line, sizeof line, "%s:%s:%s:%s: %s", a->text[0], a->text[1],
		 a->text[2], a->text[3], hits);
	say_loudly(t, line);
}

static void say_reason(void *ctx, bool is_loss, const char *text)
{
	(void)ctx;
	if (is_loss)
		say_error("%s", text);
	else
		say("%s", text);
}

static void say_all(const struct session *s, struct tally *t)
{
	char hits[160], line[256];

	session_accounts(s, say_one, t);
	format(&t->all, hits, sizeof hits);
	snprintf(line, sizeof line, "%zu probe%s: %s", t->probes,
		 t->probes == 1 ? "" : "s", hits);
	say_loudly(t, line);
	session_explain(s, say_reason, NULL);
}

/* -- As JSON -- */

static void put_hits(struct json *j, const struct collect_account *a)
{
	json_number(j, "executed", a->executed);
	json_number(j, "recorded", a->recorded);
	json_number(j, "dropped", a->dropped);
	json_number(j, "recursed", a->recursed);
	json_number(j, "faulted", a->faulted);
	json_number(j, "unfinished", unfinished(a));
}

static void put_one(void *ctx, const struct session_account *a)
{
	struct tally *t = ctx;

	json_object(&t->json, NULL);
	json_text(&t->json, "provider", a->text[0]);
	json_text(&t->json, "module", a->text[1]);
	json_text(&t->json, "function", a->text[2]);
	json_text(&t->json, "name", a->text[3]);
	json_number(&t->json, "instructions", a->sites);
	put_hits(&t->json, &a->hits);
	json_end(&t->json);
}

static void put_reason(void *ctx, bool is_loss, const char *text)
{
	struct tally *t = ctx;

	(void)is_loss;
	json_text(&t->json, NULL, text);
}

/* Standard output is the script's and the program's. */
static void put_all(const struct session *s, struct tally *t)
{
	json_init(&t->json, stderr);
	json_object(&t->json, NULL);
	put_hits(&t->json, &t->all);
	json_array(&t->json, "probes");
	session_accounts(s, put_one, t);
	json_end(&t->json);
	json_array(&t->json, "reasons");
	session_explain(s, put_reason, t);
	json_end(&t->json);
	json_end(&t->json);
}

void probe_account(const struct session *s, const struct cli_args *args)
{
	struct tally t = {.verbose = args_flag(args, "verbose")};

	session_accounts(s, add, &t);
	if (args_flag(args, "json"))
		put_all(s, &t);
	else
		say_all(s, &t);
}
