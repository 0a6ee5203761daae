/* probe/output.c - rows, entries, aggregations. */
#include "probe/output.h"

#include "probe/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 65536 };

/* What the script did to an aggregation. */
struct state {
	int64_t normal;
	bool is_shown;
};

struct output {
	struct output_plan p;
	struct show show;
	struct flow *flow;    /* owned; NULL: no indentation */
	struct state *states; /* owned, one an aggregation */
	FILE *other;	      /* owned: freopen()'s, or NULL */
	bool has_head, is_over, ignores_exit;
	int status;
	struct output_totals totals;
};

int output_new(const struct output_plan *p, struct output **out,
	       struct hark_err *err)
{
	struct output *o = calloc(1, sizeof *o);

	if (o == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	o->p = *p;
	o->show = (struct show){
	    .program = p->program, .name = p->name, .ctx = p->name_ctx};
	o->states = calloc(p->program->aggregations.n + 1, sizeof *o->states);
	if (o->states == NULL)
		err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (o->states == NULL ||
	    (p->flowindent && flow_new(&o->flow, err) < 0)) {
		output_free(o);
		return -1;
	}
	for (uint32_t i = 0; i < p->program->aggregations.n; i++)
		o->states[i].normal = 1;
	*out = o;
	return 0;
}

void output_free(struct output *o)
{
	if (o == NULL)
		return;
	if (o->other != NULL)
		fclose(o->other);
	flow_free(o->flow);
	free(o->states);
	free(o);
}

static FILE *now(const struct output *o)
{
	return o->other != NULL ? o->other : o->p.out;
}

/* -- Rows -- */

static void put_head(struct output *o)
{
	if (o->has_head)
		return;
	o->has_head = true;
	if (o->flow != NULL)
		fprintf(now(o), "%7s %s\n", "TID", "FUNCTION");
	else
		fprintf(now(o), "%7s %6s %32s\n", "TID", "ID", "FUNCTION:NAME");
}

static void put_flow(struct output *o, const struct board_record *r,
		     const struct output_site *s)
{
	struct flow_hit h = {r->pid, r->tid, r->site, r->clause, s->kind};
	struct flow_line line;
	char name[512];

	flow_step(o->flow, &h, &line);
	snprintf(name, sizeof name, "%*s%s%s%s%s", (int)line.indent, "",
		 line.arrow, s->function, line.names_all ? ":" : "",
		 line.names_all ? s->name : "");
	fprintf(now(o), "%7u %-41s ", r->tid, name);
}

static void put_row(struct output *o, const struct board_record *r)
{
	const struct output_site *s = &o->p.sites[r->site];
	char name[512];

	if (o->p.quiet)
		return;
	put_head(o);
	if (o->flow != NULL) {
		put_flow(o, r, s);
		return;
	}
	snprintf(name, sizeof name, "%s:%s", s->function, s->name);
	fprintf(now(o), "%7u %6u %32s ", r->tid, r->site, name);
}

/* -- Aggregations -- */

/* Aggregations that are shown side by side. */
struct sheet {
	struct show_column column[PROBE_COLUMNS_MAX];
	unsigned n;
	const char *format, *before; /* what stands before the first row */
};

static void add_column(const struct output *o, struct sheet *s, uint32_t number)
{
	s->column[s->n++] =
	    (struct show_column){number, o->states[number].normal};
}

static void print_rows(struct output *o, const struct sheet *s,
		       struct show_row *rows, size_t n)
{
	show_sort(o->p.program, s->column[0].aggregation, o->p.order, rows, n);
	if (n > 0)
		fputs(s->before, now(o));
	for (size_t i = 0; i < n; i++)
		if (show_row(&o->show, s->column, s->n, &rows[i], s->format,
			     now(o)) < 0)
			o->totals.damaged++;
}

static int print_sheet(struct output *o, const struct sheet *s,
		       struct hark_err *err)
{
	struct beside *all = NULL;
	struct show_row *rows;
	size_t n;

	if (s->n == 1) {
		if (board_rows(o->p.board, s->column[0].aggregation, &rows, &n,
			       err) < 0)
			return -1;
		print_rows(o, s, rows, n);
		return 0;
	}
	if (beside_new(s->n, &all, err) < 0)
		return -1;
	for (unsigned i = 0; i < s->n; i++)
		if (board_rows(o->p.board, s->column[i].aggregation, &rows, &n,
			       err) < 0 ||
		    beside_add(all, rows, n, err) < 0) {
			beside_free(all);
			return -1;
		}
	if (beside_join(all, &rows, &n, err) < 0) {
		beside_free(all);
		return -1;
	}
	print_rows(o, s, rows, n);
	beside_free(all);
	return 0;
}

int output_rest(struct output *o, struct hark_err *err)
{
	for (uint32_t i = 0; i < o->p.program->aggregations.n; i++) {
		struct sheet s = {.format = "", .before = "\n"};

		if (o->states[i].is_shown)
			continue;
		add_column(o, &s, i);
		if (print_sheet(o, &s, err) < 0)
			return -1;
	}
	return 0;
}

/* -- What hark is asked for -- */

/* The text of system() and freopen(). */
static char *text_of(const struct output *o, const struct probe_entry *e,
		     size_t len)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (f == NULL)
		return NULL;
	rc = show_entry(&o->show, e, len, f);
	fclose(f);
	if (rc == 0 && size < TEXT_MAX)
		return text;
	free(text);
	return NULL;
}

FILE *output_open(const char *path, bool replace, struct hark_err *err)
{
	FILE *f = NULL;
	int fd;

	if (replace)
		unlink(path);
	fd = open(path,
		  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
		      O_NOCTTY | (replace ? O_EXCL : 0),
		  0600);
	if (fd >= 0)
		f = fdopen(fd, "a");
	if (f != NULL)
		return f;
	err_set(err, HARK_EIO, errno, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int do_freopen(struct output *o, const char *path, struct hark_err *err)
{
	FILE *f = NULL;

	if (output_flush(o, err) < 0)
		return -1;
	if (path[0] != '\0') {
		f = output_open(path, false, err);
		if (f == NULL)
			return -1;
	}
	if (o->other != NULL)
		fclose(o->other);
	o->other = f;
	return 0;
}

static int do_text(struct output *o, const struct probe_action *a,
		   const struct probe_entry *e, size_t len,
		   struct hark_err *err)
{
	char *text = text_of(o, e, len);
	int rc;

	if (text == NULL) {
		o->totals.damaged++;
		return 0;
	}
	if (a->kind == PROBE_FREOPEN)
		rc = do_freopen(o, text, err);
	else
		rc = output_flush(o, err) < 0 ? -1
					      : o->p.run(o->p.ctx, text, err);
	free(text);
	return rc;
}

static void do_exit(struct output *o, const struct probe_entry *e, size_t len)
{
	int64_t status = 0;

	show_number(&o->show, e, len, &status);
	if (o->is_over || o->ignores_exit)
		return;
	o->is_over = true;
	o->status = (int)(status & 0xff);
}

static int do_printa(struct output *o, const struct probe_action *a,
		     struct hark_err *err)
{
	struct sheet s = {.format = probe_texts(o->p.program) + a->format};

	s.before = !o->p.quiet && *s.format == '\0' ? "\n" : "";
	for (unsigned i = 0; i <= a->n_beside; i++) {
		o->states[a[i].aggregation].is_shown = true;
		add_column(o, &s, a[i].aggregation);
	}
	return print_sheet(o, &s, err);
}

static int do_to_aggregation(struct output *o, const struct probe_action *a,
			     const struct probe_entry *e, size_t len,
			     struct hark_err *err)
{
	struct state *s = &o->states[a->aggregation];
	int64_t number = 0;
	bool has_number = show_number(&o->show, e, len, &number) == 0;

	switch (a->kind) {
	case PROBE_PRINTA:
		return do_printa(o, a, err);
	case PROBE_CLEAR:
		return board_clear(o->p.board, a->aggregation, err);
	case PROBE_TRUNC:
		return board_trunc(o->p.board, a->aggregation, number, err);
	case PROBE_NORMALIZE:
		s->normal = has_number && number > 0 ? number : 1;
		return 0;
	default:
		s->normal = 1;
		return 0;
	}
}

/* -- Entries -- */

static int show_one(struct output *o, const struct probe_entry *e, size_t len,
		    struct hark_err *err)
{
	const struct probe_action *a = &probe_actions(o->p.program)[e->action];

	switch (a->kind) {
	case PROBE_TRACE:
	case PROBE_PRINT:
		if (!o->p.quiet)
			fputc(' ', now(o));
		o->totals.damaged += show_entry(&o->show, e, len, now(o)) < 0;
		return 0;
	case PROBE_PRINTF:
		o->totals.damaged += show_entry(&o->show, e, len, now(o)) < 0;
		return 0;
	case PROBE_EXIT:
		do_exit(o, e, len);
		return 0;
	case PROBE_SYSTEM:
	case PROBE_FREOPEN:
		return do_text(o, a, e, len, err);
	case PROBE_PRINTA:
	case PROBE_CLEAR:
	case PROBE_TRUNC:
	case PROBE_NORMALIZE:
	case PROBE_DENORMALIZE:
		return do_to_aggregation(o, a, e, len, err);
	default:
		return 0;
	}
}

static bool is_sound(const struct output *o, const struct probe_entry *e,
		     size_t left)
{
	const struct probe_action *a;

	if (left < sizeof *e || e->size < sizeof *e || e->size > left ||
	    e->size % 8 != 0 || e->action >= o->p.program->actions.n)
		return false;
	a = &probe_actions(o->p.program)[e->action];
	return a->kind < PROBE_PRINTA || a->kind == PROBE_EXIT ||
	       a->kind == PROBE_SYSTEM || a->kind == PROBE_FREOPEN ||
	       a->kind == PROBE_DEFAULT ||
	       a->aggregation < o->p.program->aggregations.n;
}

static int show_entries(struct output *o, const struct board_record *r,
			struct hark_err *err)
{
	uint32_t at = 0;

	while (at < r->len) {
		const struct probe_entry *e =
		    (const struct probe_entry *)(const void *)(r->entries + at);

		if (!is_sound(o, e, r->len - at)) {
			o->totals.damaged++;
			return 0;
		}
		if (show_one(o, e, r->len - at, err) < 0)
			return -1;
		at += e->size;
	}
	return 0;
}

int output_record(void *ctx, const struct board_record *r, struct hark_err *err)
{
	struct output *o = ctx;

	o->totals.bytes += r->len;
	if (r->site >= o->p.n_sites || r->clause >= o->p.program->clauses.n) {
		o->totals.damaged++;
		return 0;
	}
	if (o->is_over && !o->ignores_exit) {
		o->totals.late++;
		return 0;
	}
	if (r->is_fault)
		return o->p.fault(o->p.ctx, r, err);
	if (r->len == 0)
		return 0;
	put_row(o, r);
	if (show_entries(o, r, err) < 0)
		return -1;
	if (!o->p.quiet)
		fputc('\n', now(o));
	return 0;
}

int output_flush(struct output *o, struct hark_err *err)
{
	FILE *f = now(o);

	errno = 0;
	if (fflush(f) == 0 && !ferror(f))
		return 0;
	return err_set(err, HARK_EIO, errno,
		       "what the script puts out cannot be written: %s",
		       errno != 0 ? strerror(errno)
				  : "an earlier write failed");
}

/* -- The end -- */

bool output_has_exit(const struct output *o, int *status)
{
	*status = o->status;
	return o->is_over;
}

void output_after_exit(struct output *o)
{
	o->ignores_exit = true;
}

struct output_totals output_totals(const struct output *o)
{
	return o->totals;
}
