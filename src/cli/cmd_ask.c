/* cli/cmd_ask.c - hark ask: one question about a recording, one answer. */
#include "cli/commands.h"

#include "cli/ask_answers.h"
#include "cli/bound.h"
#include "present/say.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- Questions -- */

static int ask_value(struct ask *a, const char *what, struct hark_err *err)
{
	return answer_value(a, what, err);
}

static int ask_writes(struct ask *a, const char *what, struct hark_err *err)
{
	return answer_accesses(a, what, HARK_ON_WRITE, err);
}

static int ask_reads(struct ask *a, const char *what, struct hark_err *err)
{
	return answer_accesses(a, what, HARK_ON_READ, err);
}

static int ask_regs(struct ask *a, const char *what, struct hark_err *err)
{
	(void)what;
	return answer_registers(a, err);
}

static int ask_stack(struct ask *a, const char *what, struct hark_err *err)
{
	(void)what;
	return answer_stack(a, err);
}

static int ask_races(struct ask *a, const char *what, struct hark_err *err)
{
	(void)what;
	return answer_races(a, err);
}

static const struct question {
	const char *word;
	const char *what; /* NULL: nothing */
	int (*answer)(struct ask *a, const char *what, struct hark_err *err);
	bool is_search; /* looks through all of the recording */
} questions[] = {
    {"value", "WHAT", ask_value, false},
    {"last-write", "WHAT", answer_last_write, true},
    {"writes", "WHAT", ask_writes, true},
    {"reads", "WHAT", ask_reads, true},
    {"calls", "FUNCTION", answer_calls, true},
    {"regs", NULL, ask_regs, false},
    {"stack", NULL, ask_stack, false},
    {"races", NULL, ask_races, false},
};

static const struct question *find_question(const char *word)
{
	for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
		if (strcmp(questions[i].word, word) == 0)
			return &questions[i];
	return NULL;
}

/* -- The command line -- */

struct wish {
	const char *file; /* NULL: the latest */
	const struct question *question;
	const char *what;
};

/* No expression ends in '-', but the shell makes "a-" of an unquoted "a->b",
 * and sends the output to a file "b". */
static bool is_cut_by_shell(const struct question *q, const char *what)
{
	size_t len = strlen(what);

	return strcmp(q->what, "WHAT") == 0 && len > 0 && what[len - 1] == '-';
}

static void refuse_cut(const struct cli_args *args, const char *what)
{
	char path[PATH_MAX] = "";
	const char *name;
	struct stat st;

	if (readlink("/proc/self/fd/1", path, sizeof path - 1) < 0 ||
	    fstat(STDOUT_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
		path[0] = '\0';
	name = strrchr(path, '/');
	if (name == NULL)
		args_refuse(args,
			    "'%s' ends in '-'; an expression with '->' wants "
			    "quotes, because the shell redirects at '>'",
			    what);
	else
		args_refuse(args,
			    "'%s' ends in '-': if '%s>%s' was meant, the shell "
			    "has taken '>%s' for the output; put the "
			    "expression in quotes",
			    what, what, name + 1, name + 1);
}

/* FILE may be left out: a question is no file then. */
static bool read_wish(const struct cli_args *args, struct wish *out)
{
	const struct question *q;
	char **word = args_operands(args);
	size_t n = args_count(args);

	*out = (struct wish){0};
	if (find_question(word[0]) == NULL ||
	    (n > 1 && find_question(word[1]) != NULL)) {
		out->file = *word++;
		n--;
	}
	q = n > 0 ? find_question(word[0]) : NULL;
	if (n == 0)
		args_refuse(args, "no question given");
	else if (q == NULL)
		args_refuse(args, "'%s' is no question", word[0]);
	else if (q->what != NULL && n < 2)
		args_refuse(args, "no %s given", q->what);
	else if (n > (q->what != NULL ? 2 : 1))
		args_refuse(args, "'%s' is one argument too many",
			    word[q->what != NULL ? 2 : 1]);
	else if (q->what != NULL && is_cut_by_shell(q, word[1]))
		refuse_cut(args, word[1]);
	else {
		out->question = q;
		out->what = q->what != NULL ? word[1] : NULL;
	}
	return out->question != NULL;
}

static int read_number(const struct cli_args *args, const char *option,
		       uint64_t *out, struct hark_err *err)
{
	const char *text = args_value(args, option);
	char *end;

	if (text == NULL)
		return 0;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || errno != 0 ||
	    *out > UINT32_MAX)
		return err_set(err, HARK_EINPUT, 0, "--%s takes a number",
			       option);
	return 0;
}

static int read_span(struct ask *a, struct hark_err *err)
{
	const char *from = args_value(a->args, "from");
	const char *to = args_value(a->args, "to");

	if (moment_position(a->m, from != NULL ? from : "start", &a->from,
			    err) < 0 ||
	    moment_position(a->m, to != NULL ? to : "end", &a->to, err) < 0)
		return -1;
	return 0;
}

/* -- The command -- */

static int read_thread(struct ask *a, uint32_t *out, struct hark_err *err)
{
	struct hark_timeline *t = a->m->pair.timeline;
	uint64_t thread = hark_selected(t);

	if (read_number(a->args, "thread", &thread, err) < 0)
		return -1;
	for (unsigned i = 0; i < hark_n_threads(t); i++)
		if (hark_thread(t, i)->number == thread) {
			*out = (uint32_t)thread;
			return 0;
		}
	return err_set(err, HARK_EINPUT, 0, "there is no thread %llu",
		       (unsigned long long)thread);
}

/* Will all of the recording be looked through? */
static bool is_long_search(const struct cli_args *args, const struct wish *w)
{
	return w->question->is_search && args_value(args, "from") == NULL &&
	       args_value(args, "to") == NULL;
}

/* Of all threads, at no moment. */
static int answer_of_all(struct ask *a, const struct wish *w,
			 struct hark_err *err)
{
	struct ask_source src = ask_source_of(&a->m->pair);
	int rc;

	if (read_span(a, err) < 0 ||
	    read_number(a->args, "limit", &a->limit, err) < 0 ||
	    space_new(&src, &a->space, err) < 0)
		return -1;
	rc = w->question->answer(a, w->what, err);
	space_free(a->space);
	return rc;
}

/* How many frames one must know; of locals their own caller, too. */
static unsigned frames_for(const struct wish *w, uint64_t frame)
{
	if (w->question->answer == ask_stack || frame >= UNWIND_MAX)
		return UINT_MAX;
	return (unsigned)frame + (w->question->answer == ask_regs ? 1 : 2);
}

static int answer(struct ask *a, const struct wish *w, struct hark_err *err)
{
	struct ask_source src = ask_source_of(&a->m->pair);
	uint64_t frame = 0;
	uint32_t thread = 0;
	int rc = -1;

	if (read_thread(a, &thread, err) < 0 || read_span(a, err) < 0 ||
	    read_number(a->args, "frame", &frame, err) < 0 ||
	    read_number(a->args, "limit", &a->limit, err) < 0 ||
	    space_new(&src, &a->space, err) < 0)
		return -1;
	if (unwind_new(a->space, thread, frames_for(w, frame), &a->u, err) < 0)
		goto out;
	a->eval = (struct eval){.space = a->space,
				.u = a->u,
				.frame = (unsigned)frame,
				.is_raw = args_flag(a->args, "raw")};
	if (frame >= a->u->n)
		err_set(err, HARK_EINPUT, 0, "there are %u frames, from 0",
			a->u->n);
	else
		rc = w->question->answer(a, w->what, err);
out:
	free(a->u);
	space_free(a->space);
	return rc;
}

int cmd_ask(const struct cli_args *args)
{
	struct hark_err err = {0};
	struct moment m;
	struct ask a = {.args = args, .m = &m, .json = args_flag(args, "json")};
	struct wish w;
	int rc;

	if (!read_wish(args, &w))
		return CLI_FAIL;
	bound_replay(NULL);
	if (moment_open(args, w.file, is_long_search(args, &w), &m, &err) < 0)
		return cli_fail(&err);
	a.at = hark_where(m.pair.timeline);
	rc = w.question->answer == ask_races ? answer_of_all(&a, &w, &err)
					     : answer(&a, &w, &err);
	moment_close(&m);
	if (rc < 0)
		return cli_fail(&err);
	return cli_finish(rc == 0 ? CLI_NO : CLI_OK);
}
