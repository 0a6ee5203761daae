/* tests/end-to-end/back_remap_ask.c - what a recording of back_remap knows at
 * each moment, held against what the program said.
 *
 *	back_remap_ask WAY FILE TOLD [STEPS]
 *
 * WAY: up, down, mixed: moments in that order; steps: back from each of them,
 * one by one (STEPS of them, 100 if that is more or not said), and what is
 * known there is what one who comes from before knows; possible: what it may
 * hold is nothing that it cannot. Prints what is wrong, and how much was asked.
 */
#include <hark/recording.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTS_MOST = 256, TOLD_MOST = 1024, STEPS_MOST = 100 };

static struct told {
	unsigned moment;
	unsigned long long at, value;
	char kind[8];
	int is_written;
} told[TOLD_MOST];
static unsigned n_told, n_moments, n_asked, n_wrong, n_steps = STEPS_MOST;
static struct hark_position moments[MOMENTS_MOST];

static struct hark_timeline *open_at(struct hark_recording *r, unsigned process)
{
	struct hark_timeline *t;
	struct hark_error e;

	if (hark_timeline_open(r, process, &t, &e) < 0)
		errx(1, "%s", e.text);
	return t;
}

static void load(const char *path, unsigned *process, uint64_t *stop)
{
	FILE *f = fopen(path, "r");
	unsigned long long at;
	struct told *t = told;

	if (f == NULL || fscanf(f, "%u %llx", process, &at) != 2)
		errx(1, "%s: not what back_remap says", path);
	*stop = at;
	while (n_told < TOLD_MOST &&
	       fscanf(f, "%u %llx %7s %llx %d", &t->moment, &t->at, t->kind,
		      &t->value, &t->is_written) == 5) {
		n_told++;
		t++;
	}
	fclose(f);
}

static int keep(void *ctx, struct hark_timeline *t,
		const struct hark_position *at)
{
	(void)ctx;
	(void)t;
	moments[n_moments++] = *at;
	return n_moments == MOMENTS_MOST;
}

static void seek(struct hark_timeline *t, const struct hark_position *to)
{
	struct hark_error e;

	if (hark_seek(t, to, &e) < 0)
		errx(1, "%s", e.text);
}

static void complain(const struct told *w, const char *what,
		     const uint8_t *bytes, const uint8_t *known)
{
	n_wrong++;
	printf("moment %u, %llx, %s %016llx: %s", w->moment, w->at, w->kind,
	       w->value, what);
	for (int i = 8; bytes != NULL && i-- > 0;)
		if (known[i])
			printf("%02x", bytes[i]);
		else
			printf("??");
	printf("\n");
}

/* Can it be so? */
static int is_right(const struct told *w, const uint8_t *bytes,
		    const uint8_t *known)
{
	for (unsigned i = 0; i < 8; i++) {
		uint8_t value = (uint8_t)(w->value >> 8 * i);

		if (strcmp(w->kind, "lost") == 0 ? known[i]
		    : known[i]			 ? bytes[i] != value
						 : w->kind[0] == 'k')
			return 0;
	}
	return 1;
}

static void check_write(struct hark_timeline *t, const struct told *w)
{
	struct hark_access by;
	struct hark_error e;
	int rc;

	if (w->is_written == 2)
		return;
	n_asked++;
	rc = hark_last_write(t, w->at, 8, &by, &e);
	if (rc < 0)
		errx(1, "%s", e.text);
	if (rc != w->is_written)
		complain(w, rc > 0 ? "it was written" : "nobody wrote it", NULL,
			 NULL);
	else if (rc > 0 && (by.address != w->at || by.size != 8 ||
			    memcmp(by.after, &w->value, 8) != 0))
		complain(w, "another write", NULL, NULL);
}

static void check(struct hark_timeline *t, unsigned moment)
{
	seek(t, &moments[moment]);
	for (unsigned i = 0; i < n_told; i++) {
		const struct told *w = &told[i];
		uint8_t bytes[8], known[8];
		struct hark_error e = {0};

		if (w->moment != moment)
			continue;
		n_asked++;
		hark_read(t, w->at, 8, bytes, known, &e);
		if (e.code != HARK_ERROR_NONE)
			errx(1, "%s", e.text);
		if (!is_right(w, bytes, known))
			complain(w, "", bytes, known);
		check_write(t, w);
	}
}

/* -- Steps -- */

struct seen {
	struct hark_position at;
	uint8_t bytes[8], known[8];
};

static void look(struct hark_timeline *t, uint64_t at, struct seen *out)
{
	out->at = hark_where(t);
	hark_read(t, at, 8, out->bytes, out->known, NULL);
}

static int is_same(const struct seen *a, const struct seen *b)
{
	for (unsigned i = 0; i < 8; i++)
		if (a->known[i] != b->known[i] ||
		    (a->known[i] && a->bytes[i] != b->bytes[i]))
			return 0;
	return 1;
}

/* `back` has gone there from behind, `from` comes from before. */
static void check_steps(struct hark_timeline *back, struct hark_timeline *from,
			const struct told *w)
{
	static struct seen seen[STEPS_MOST];
	struct hark_stopped why;
	struct hark_error e;
	unsigned n = 0;

	seek(back, &moments[w->moment]);
	while (n < n_steps) {
		if (hark_step(back, HARK_BACKWARD, 1, &why, &e) < 0)
			errx(1, "%s", e.text);
		look(back, w->at, &seen[n++]);
	}
	while (n-- > 0) {
		struct seen other;

		seek(from, &seen[n].at);
		look(from, w->at, &other);
		n_asked++;
		if (!is_same(&seen[n], &other)) {
			complain(w, "behind: ", seen[n].bytes, seen[n].known);
			complain(w, "before: ", other.bytes, other.known);
		}
	}
}

/* -- What it may be -- */

static int is_possible(void *ctx, const struct hark_access *by,
		       const uint8_t *bytes, const uint8_t *known)
{
	struct told w = *(const struct told *)ctx;

	n_asked++;
	/* Before all writes it may be unknown. */
	if (by == NULL && w.kind[0] == 'k')
		strcpy(w.kind, "maybe");
	if (!is_right(&w, bytes, known))
		complain(&w, "possible: ", bytes, known);
	return 0;
}

static void check_possible(struct hark_timeline *t, struct told *w)
{
	struct hark_error e;

	seek(t, &moments[w->moment]);
	if (hark_possible(t, w->at, 8, is_possible, w, &e) < 0)
		errx(1, "%s", e.text);
}

int main(int argc, char **argv)
{
	struct hark_recording *r;
	struct hark_timeline *t, *other;
	struct hark_error e;
	unsigned process;
	uint64_t stop;

	if (argc != 4 && argc != 5)
		errx(2, "back_remap_ask WAY FILE TOLD [STEPS]");
	if (argc == 5 && strtoul(argv[4], NULL, 10) < STEPS_MOST)
		n_steps = (unsigned)strtoul(argv[4], NULL, 10);
	load(argv[3], &process, &stop);
	if (hark_open(argv[2], &r, &e) < 0)
		errx(1, "%s", e.text);
	t = open_at(r, process);
	if (hark_visits(t, stop, NULL, NULL, keep, NULL, &e) < 0)
		errx(1, "%s", e.text);
	if (n_told == 0 || n_moments != told[n_told - 1].moment + 1)
		errx(1, "%u moments, the last is said to be %u", n_moments,
		     told[n_told - 1].moment);
	other = open_at(r, process);
	for (unsigned i = 0; strcmp(argv[1], "up") == 0 && i < n_moments; i++)
		check(t, i);
	for (unsigned i = n_moments; strcmp(argv[1], "down") == 0 && i-- > 0;)
		check(t, i);
	for (unsigned i = 0; strcmp(argv[1], "mixed") == 0 && i < 2 * n_moments;
	     i++)
		check(t, i * 7919 % n_moments);
	for (unsigned i = 0; i < n_told; i++) {
		if (strcmp(argv[1], "steps") == 0)
			check_steps(t, other, &told[i]);
		if (strcmp(argv[1], "possible") == 0)
			check_possible(t, &told[i]);
	}
	hark_timeline_close(other);
	hark_timeline_close(t);
	hark_close(r);
	printf("%s, %u wrong\n", n_asked > 2 ? "asked" : "not asked", n_wrong);
	return n_wrong != 0;
}
