/* tests/end-to-end/image_ask.c - src/image from a command line, for scripts.
 *
 *	image_ask functions FILE [PATTERN]	address size kind binding name
 *	image_ask named FILE			names in, address or ?? out
 *	image_ask lines FILE			addresses in, frames out, as
 *						llvm-symbolizer prints them
 *	image_ask sites FILE SOURCE LINE	addresses
 *	image_ask frames FILE			counts
 *	image_ask debug FILE			where its debug information is
 *	image_ask modules PID
 *	image_ask place PID ADDRESS		module function line
 *	image_ask speed FILE			what it costs, in figures */
#include "image/frames.h"
#include "image/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct image *im;
static struct image_file *file;

static int fail(const struct hark_err *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

static const char *or_unknown(const char *text)
{
	return text != NULL ? text : "??";
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* shared machines */
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* -- Symbols -- */

static int show(void *ctx, const struct symbol *s)
{
	(void)ctx;
	printf("%lx %lu %d %d %s\n", (unsigned long)s->addr,
	       (unsigned long)s->size, s->kind, s->binding, s->name);
	return 0;
}

static int functions(const char *pattern)
{
	struct hark_err err;

	return symbols_each(file, pattern, show, NULL, &err) < 0 ? fail(&err)
								 : 0;
}

static int named(void)
{
	char line[16384];

	while (fgets(line, sizeof line, stdin) != NULL) {
		struct symbol s;

		line[strcspn(line, "\n")] = '\0';
		if (symbols_named(file, line, &s, NULL) == 0)
			printf("%lx\n", (unsigned long)s.addr);
		else
			printf("??\n");
	}
	return 0;
}

/* -- Lines -- */

static void show_frames(const struct line_frame *f, size_t n)
{
	while (n-- > 0)
		printf("%s\n%s:%u:%u\n", or_unknown(f[n].linked),
		       or_unknown(f[n].file), f[n].line, f[n].column);
	printf("\n");
}

static int lines(void)
{
	char line[64];

	while (fgets(line, sizeof line, stdin) != NULL) {
		uint64_t addr = strtoull(line, NULL, 16);
		struct line_frame f[LINES_DEPTH] = {{0}};
		struct symbol s;
		size_t n;

		if (lines_at(file, addr, f, LINES_DEPTH, &n, NULL) < 0)
			n = 1;
		/* The outermost is called as the linker calls it. */
		if (symbols_function(file, addr, &s, NULL) == 0)
			f[0].linked = s.name;
		show_frames(f, n);
	}
	return 0;
}

static int show_site(void *ctx, uint64_t addr)
{
	(void)ctx;
	printf("%lx\n", (unsigned long)addr);
	return 0;
}

static int sites(const char *source, const char *line)
{
	struct hark_err err;

	return lines_sites(file, source, (uint32_t)strtoul(line, NULL, 10),
			   show_site, NULL, &err) != 0
		   ? fail(&err)
		   : 0;
}

/* -- Rules -- */

static int frames(void)
{
	const struct frame_table *t;
	struct frames_stats s;
	struct hark_err err;

	if (frames_of(file, &t, &err) < 0)
		return fail(&err);
	s = frames_stats(file);
	printf("fdes %zu outside %zu broken %zu dropped %zu rows %u rules %u "
	       "general %u bytes %lu\n",
	       s.fdes, s.outside, s.broken, s.dropped, t->n_rows, t->n_rules,
	       t->n_general, (unsigned long)t->len);
	return 0;
}

static int debug(void)
{
	int sources = symbols_sources(file, NULL);

	printf("%s symtab=%d debug=%d mini=%d dynsym=%d\n",
	       image_file_debug(file) != NULL ? image_file_debug(file) : "-",
	       (sources & SYMBOLS_SYMTAB) != 0, (sources & SYMBOLS_DEBUG) != 0,
	       (sources & SYMBOLS_MINI) != 0, (sources & SYMBOLS_DYNSYM) != 0);
	return 0;
}

/* -- Processes -- */

static int modules(int pid)
{
	static const char *const kinds[] = {"exec", "pie", "so", "vdso",
					    "anon"};
	struct hark_err err;
	struct modules *m;

	if (modules_of_pid(im, pid, &m, &err) < 0)
		return fail(&err);
	for (size_t i = 0; i < modules_count(m); i++) {
		const struct module *p = modules_get(m, i);

		printf("%s%s%s %s %lx-%lx id=%zu file=%s%s%s\n", kinds[p->kind],
		       p->main ? " main" : "", p->deleted ? " deleted" : "",
		       p->path, (unsigned long)p->ranges[0].start,
		       (unsigned long)p->ranges[0].end, p->id_len,
		       p->file != NULL ? "yes" : "no",
		       p->why != NULL ? " " : "", p->why != NULL ? p->why : "");
	}
	modules_free(m);
	return 0;
}

static int place(int pid, const char *address)
{
	struct hark_err err;
	struct modules *m;
	struct place p;

	if (modules_of_pid(im, pid, &m, &err) < 0)
		return fail(&err);
	place_of(m, strtoull(address, NULL, 16), &p);
	printf("%s %s", p.module != NULL ? p.module->name : "??",
	       p.has_symbol ? p.symbol.name : "??");
	for (size_t i = 0; i < p.n; i++)
		printf(" %s@%s:%u", or_unknown(p.frame[i].function),
		       or_unknown(p.frame[i].file), p.frame[i].line);
	printf("\n");
	modules_free(m);
	return 0;
}

/* -- Speed -- */

struct sample {
	uint64_t addr[65536];
	size_t n;
};

static int take(void *ctx, const struct symbol *s)
{
	struct sample *sample = ctx;

	if (sample->n < 65536 && s->size > 1)
		sample->addr[sample->n++] = s->addr + s->size / 2;
	return 0;
}

static void time_warm(const struct sample *s)
{
	struct line_frame f[LINES_DEPTH];
	struct symbol symbol;
	double start = now_us();
	uint64_t n = 0;
	size_t depth;

	while (s->n > 0 && now_us() - start < 2e5)
		for (size_t i = 0; i < s->n; i++, n++)
			symbols_function(file, s->addr[i * 7919 % s->n],
					 &symbol, NULL);
	printf("warm symbol: %.0f ns\n", (now_us() - start) * 1e3 / (double)n);
	for (size_t i = 0; i < s->n; i++)
		lines_at(file, s->addr[i], f, LINES_DEPTH, &depth, NULL);
	start = now_us();
	for (n = 0; s->n > 0 && now_us() - start < 2e5;)
		for (size_t i = 0; i < s->n; i++, n++)
			lines_at(file, s->addr[i * 7919 % s->n], f, LINES_DEPTH,
				 &depth, NULL);
	printf("warm lines and inlines: %.0f ns\n",
	       (now_us() - start) * 1e3 / (double)n);
}

static void time_frames(const struct sample *s)
{
	const struct frame_table *t;
	double start = now_us();
	uint64_t n = 0, sum = 0;

	if (frames_of(file, &t, NULL) < 0)
		return;
	printf("rules: %.2f ms, %u rows, %.1f ns and %.2f bytes a row\n",
	       (now_us() - start) / 1e3, t->n_rows,
	       (now_us() - start) * 1e3 / t->n_rows,
	       (double)t->len / t->n_rows);
	start = now_us();
	while (s->n > 0 && now_us() - start < 2e5)
		for (size_t i = 0; i < s->n; i++, n++)
			sum += frame_find(t, s->addr[i * 7919 % s->n])->kind;
	printf("warm rule: %.0f ns (%lu)\n",
	       (now_us() - start) * 1e3 / (double)n, (unsigned long)sum % 2);
}

static int speed(const char *path)
{
	static struct sample s;
	struct line_frame f[LINES_DEPTH];
	struct symbol symbol;
	struct hark_err err;
	double start = now_us(), opened, named_one;
	size_t n;

	if (image_open(im, path, &file, &err) < 0)
		return fail(&err);
	opened = now_us();
	symbols_function(file, 0x30000, &symbol, NULL);
	named_one = now_us();
	symbols_each(file, NULL, take, &s, NULL);
	if (s.n > 0)
		lines_at(file, s.addr[s.n / 2], f, LINES_DEPTH, &n, NULL);
	printf("open: %.0f us, first symbol: %.2f ms, first line: %.2f ms, "
	       "%zu functions\n",
	       opened - start, (named_one - opened) / 1e3,
	       (now_us() - named_one) / 1e3, s.n);
	printf("memory for one: %.1f MB\n",
	       (double)image_file_memory(file) / 1e6);
	time_frames(&s);
	time_warm(&s);
	printf("memory for all: %.1f MB\n",
	       (double)image_file_memory(file) / 1e6);
	return 0;
}

static int run(int argc, char **argv)
{
	struct hark_err err;

	if (strcmp(argv[1], "modules") == 0)
		return modules(atoi(argv[2]));
	if (strcmp(argv[1], "place") == 0 && argc > 3)
		return place(atoi(argv[2]), argv[3]);
	if (strcmp(argv[1], "speed") == 0)
		return speed(argv[2]);
	if (image_open(im, argv[2], &file, &err) < 0)
		return fail(&err);
	if (strcmp(argv[1], "functions") == 0)
		return functions(argc > 3 ? argv[3] : NULL);
	if (strcmp(argv[1], "named") == 0)
		return named();
	if (strcmp(argv[1], "lines") == 0)
		return lines();
	if (strcmp(argv[1], "sites") == 0 && argc > 4)
		return sites(argv[3], argv[4]);
	if (strcmp(argv[1], "frames") == 0)
		return frames();
	if (strcmp(argv[1], "debug") == 0)
		return debug();
	return 2;
}

int main(int argc, char **argv)
{
	struct hark_err err;
	int rc;

	if (argc < 3 || image_new(&im, &err) < 0)
		return 2;
	rc = run(argc, argv);
	image_free(im);
	return rc;
}
