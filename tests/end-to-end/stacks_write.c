/* tests/end-to-end/stacks_write.c - a made-up profile in any format.
 *
 *	stacks_write KIND SAMPLES SIZE FORMAT > file
 *
 * KIND and SIZE are those of tests/unit/stacks_sample.h. FORMAT truth says what
 * is in it, without any presenter: a line a thing, texts in hexadecimal. */
#include "present/flame.h"
#include "present/foreign.h"
#include "stacks_sample.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_hex(const char *text)
{
	putchar(' ');
	putchar('x');
	for (; text != NULL && *text != '\0'; text++)
		printf("%02x", (unsigned char)*text);
}

static int write_truth(const struct stacks *s, FILE *out, struct hark_err *err)
{
	size_t i;

	(void)err;
	for (i = 0; i < s->n_frames; i++) {
		const struct stacks_frame *f = &s->frames[i];

		printf("F %" PRIu32 " %d %d %d", f->line, f->is_inlined,
		       f->is_guess, f->is_unknown);
		put_hex(f->name);
		put_hex(f->module);
		put_hex(f->file);
		putchar('\n');
	}
	for (i = 0; i < s->n_nodes; i++)
		printf("N %" PRIu32 " %" PRIu32 "\n", s->nodes[i].parent,
		       s->nodes[i].frame);
	for (i = 0; i < s->n_threads; i++) {
		printf("T %d %d", s->threads[i].pid, s->threads[i].tid);
		put_hex(s->threads[i].name);
		putchar('\n');
	}
	for (i = 0; i < s->n_samples; i++)
		printf("S %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 "\n",
		       s->samples[i].time_ns, s->samples[i].thread,
		       s->samples[i].node, s->samples[i].weight);
	printf("P %d %" PRIu64 " %" PRIu64 "\n", (int)s->unit, s->period_ns,
	       s->duration_ns);
	return fflush(out);
}

static const struct format {
	const char *name;
	int (*write)(const struct stacks *, FILE *, struct hark_err *);
} formats[] = {
    {"truth", write_truth},	   {"folded", present_folded},
    {"perf", present_perf_script}, {"speedscope", present_speedscope},
    {"pprof", present_pprof},	   {"perfetto", present_perfetto},
    {"firefox", present_firefox},  {"flame", present_flame},
};

int main(int argc, char **argv)
{
	struct stacks_sample_set g;
	struct hark_err err = {0};
	size_t i;
	int rc = 1;

	if (argc != 5 ||
	    stacks_sample_make(&g, argv[1], strtoull(argv[2], NULL, 0),
			       strtoull(argv[3], NULL, 0)) < 0) {
		fprintf(stderr, "stacks_write KIND SAMPLES SIZE FORMAT\n");
		return 2;
	}
	/* Weights may be times, too. */
	if (getenv("STACKS_NS") != NULL)
		g.s.unit = STACKS_NS;
	for (i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (strcmp(formats[i].name, argv[4]) == 0)
			rc = formats[i].write(&g.s, stdout, &err) < 0;
	if (rc != 0)
		fprintf(stderr, "%s\n", err.text);
	stacks_sample_free(&g);
	return rc;
}
