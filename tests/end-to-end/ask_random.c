/* tests/end-to-end/ask_random.c - a recording's answers, held against the
 * account that the program of ask_random.py has kept of itself.
 *
 *	ask_random FILE ACCOUNT
 *
 * Prints what differs. Exit status 0: nothing does. */
#include <hark/recording.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES_MAX = 256, NOTES_MAX = 1 << 16, SHOWN_MAX = 20 };

struct variable {
	unsigned number, thread; /* 0: of all */
	char kind[8];
	unsigned size;
	uint64_t address;
};

struct note {
	unsigned thread, variable;
	char kind;
	uint64_t value;
};

static struct variable variables[VARIABLES_MAX];
static struct note notes[NOTES_MAX];
static unsigned n_variables, n_notes, n_differ;
static unsigned long mark_address, n_compared;
static struct hark_error err;

static _Noreturn void fail(const char *what)
{
	printf("%s: %s\n", what, err.text);
	exit(2);
}

static void read_account(FILE *in)
{
	struct variable *v = variables;
	struct note *n = notes;
	char line[256];

	while (fgets(line, sizeof line, in) != NULL) {
		if (sscanf(line, "mark %lx", &mark_address) == 1)
			continue;
		if (sscanf(line, "variable %u %7s %u %u %lx", &v->number,
			   v->kind, &v->size, &v->thread, &v->address) == 5)
			v++;
		else if (sscanf(line, "%u %c %u %lx", &n->thread, &n->kind,
				&n->variable, &n->value) == 4)
			n++;
		else
			fail(line);
		if (v == variables + VARIABLES_MAX || n == notes + NOTES_MAX)
			fail("the account is too long");
	}
	n_variables = (unsigned)(v - variables);
	n_notes = (unsigned)(n - notes);
}

static bool is_kind(const struct variable *v, const char *kind)
{
	return strcmp(v->kind, kind) == 0;
}

/* Only marks of it are noted. */
static bool is_loose(const struct variable *v)
{
	return is_kind(v, "bits") || is_kind(v, "array");
}

static bool is_shared(const struct variable *v)
{
	return is_kind(v, "racy") || is_kind(v, "atomic");
}

static __attribute__((format(printf, 2, 3))) void
differ(const struct variable *v, const char *format, ...)
{
	va_list args;

	if (n_differ++ >= SHOWN_MAX)
		return;
	printf("v%u (%s, %u bytes): ", v->number, v->kind, v->size);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* -- Lists -- */

struct item {
	struct hark_position at;
	uint64_t value;
};

struct list {
	const struct variable *v;
	unsigned on;
	struct item *items; /* owned */
	unsigned n, room;
	/* What the variable held after the last item, as far as it is known. */
	uint8_t now[8];
	unsigned n_known;
	unsigned touched; /* a bit for each byte that an item has */
};

static uint64_t number_of(const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;

	memcpy(&value, bytes, size);
	return value;
}

/* The bytes of the variable that the access has, at those of the variable. */
static unsigned take_bytes(const struct variable *v,
			   const struct hark_access *a, const uint8_t *from,
			   uint64_t known, uint8_t *to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < v->size; i++) {
		uint64_t at = v->address + i - a->address;

		if (at >= a->size || at >= 64 || !(known >> at & 1))
			continue;
		to[i] = from[at];
		n++;
	}
	return n;
}

/* A store found what was there; if the variable is not raced for, what the last
 * one left. */
static void check_before(struct list *l, const struct hark_access *a)
{
	uint8_t before[8];
	unsigned n;

	memcpy(before, l->now, sizeof before);
	n = take_bytes(l->v, a, a->before, a->before_known, before);
	if (l->n_known < l->v->size)
		return;
	n_compared++;
	if (n < take_bytes(l->v, a, a->before, UINT64_MAX, (uint8_t[8]){0}))
		differ(l->v, "a store's old value is not known");
	else if (!is_shared(l->v) && memcmp(before, l->now, l->v->size) != 0)
		differ(l->v, "a store found %lx where %lx was left",
		       number_of(before, l->v->size),
		       number_of(l->now, l->v->size));
}

static void note_touched(struct list *l, const struct hark_access *a)
{
	for (unsigned i = 0; i < l->v->size; i++)
		l->touched |=
		    (unsigned)(l->v->address + i - a->address < a->size) << i;
}

static int add_access(void *ctx, const struct hark_access *a)
{
	struct list *l = ctx;
	unsigned n;

	note_touched(l, a);
	if (l->n == l->room) {
		l->room = l->room == 0 ? 64 : 2 * l->room;
		l->items = realloc(l->items, l->room * sizeof *l->items);
		if (l->items == NULL)
			fail("memory");
	}
	if (l->on == HARK_ON_WRITE)
		check_before(l, a);
	n = l->on == HARK_ON_WRITE
		? take_bytes(l->v, a, a->after, UINT64_MAX, l->now)
		: take_bytes(l->v, a, a->before, a->before_known, l->now);
	if (l->on == HARK_ON_READ && n < l->v->size && a->size >= l->v->size)
		differ(l->v, "a load of what is not known");
	l->n_known = l->n_known > n ? l->n_known : n;
	l->items[l->n++] = (struct item){a->at, number_of(l->now, l->v->size)};
	return 0;
}

static struct list list_of(struct hark_timeline *t, const struct variable *v,
			   unsigned on)
{
	struct list l = {.v = v, .on = on};

	if (hark_accesses(t, v->address, v->size, on, NULL, NULL, add_access,
			  &l, &err) < 0)
		fail("accesses");
	return l;
}

/* The last items of a thread are its notes; what the loader did comes before.
 */
static void compare_thread(const struct list *l, unsigned thread, char kind)
{
	unsigned i = l->n, k = n_notes;
	unsigned long n = 0;

	for (;;) {
		while (k > 0 && (notes[k - 1].thread != thread ||
				 notes[k - 1].variable != l->v->number ||
				 notes[k - 1].kind != kind))
			k--;
		while (i > 0 && l->items[i - 1].at.thread != thread)
			i--;
		if (k == 0)
			break;
		n_compared++;
		if (i == 0 || l->items[i - 1].value != notes[k - 1].value) {
			differ(
			    l->v,
			    "%s of thread %u, %lu from the end: %lx, not %lx",
			    kind == 'r' ? "load" : "store", thread, n,
			    i == 0 ? 0 : l->items[i - 1].value,
			    notes[k - 1].value);
			break;
		}
		i--;
		k--;
		n++;
	}
}

static void compare_list(const struct list *l, char kind)
{
	for (unsigned thread = 1; thread < 16; thread++)
		if (l->v->thread == 0 || l->v->thread == thread)
			compare_thread(l, thread, kind);
}

/* At the end of the recording. What no thread has touched is not known. */
static void compare_end(struct hark_timeline *t, const struct list *stores,
			unsigned touched)
{
	const struct variable *v = stores->v;
	const struct item *last = &stores->items[stores->n - 1];
	uint8_t bytes[8] = {0}, known[8];
	struct hark_access a;

	if (stores->n == 0)
		return;
	n_compared += 2;
	if (hark_last_write(t, v->address, v->size, &a, &err) != 1)
		differ(v, "no last write");
	else if (memcmp(&a.at, &last->at, sizeof a.at) != 0)
		differ(v, "the last write is at %u:%lu, not %u:%lu",
		       a.at.thread, a.at.count, last->at.thread,
		       last->at.count);
	if (touched != (1u << v->size) - 1)
		return;
	if (hark_read(t, v->address, v->size, bytes, known, &err) != v->size)
		differ(v, "its value at the end is not known");
	else if (number_of(bytes, v->size) != last->value)
		differ(v, "at the end %lx, not %lx", number_of(bytes, v->size),
		       last->value);
}

static void compare_lists(struct hark_timeline *t, const struct variable *v)
{
	struct list loads = list_of(t, v, HARK_ON_READ);
	struct list stores = list_of(t, v, HARK_ON_WRITE);

	if (!is_loose(v)) {
		compare_list(&loads, 'r');
		compare_list(&stores, 'w');
	}
	/* What a thread's own variables held is nothing after its end. */
	if (v->thread <= 1)
		compare_end(t, &stores, stores.touched | loads.touched);
	free(loads.items);
	free(stores.items);
}

/* -- Marks -- */

static const struct variable *find_variable(uint64_t number, unsigned thread)
{
	for (unsigned i = 0; i < n_variables; i++)
		if (variables[i].number == number &&
		    (variables[i].thread == 0 || variables[i].thread == thread))
			return &variables[i];
	fail("mark of no variable");
}

/* The next mark in the account of that thread, from *k on. */
static const struct note *next_mark(unsigned thread, unsigned *k)
{
	for (; *k < n_notes; ++*k)
		if (notes[*k].thread == thread && notes[*k].kind == 'm')
			return &notes[(*k)++];
	return NULL;
}

static int see_mark(void *ctx, struct hark_timeline *t,
		    const struct hark_position *at)
{
	static struct hark_registers regs;
	unsigned *next = ctx;
	const struct note *note;
	const struct variable *v;
	uint8_t bytes[8] = {0}, known[8];

	if (hark_registers(t, at->thread, &regs, &err) < 0)
		fail("registers");
	note =
	    at->thread < 16 ? next_mark(at->thread, &next[at->thread]) : NULL;
	v = find_variable(regs.gpr[7], at->thread);
	n_compared++;
	if (note == NULL || note->variable != regs.gpr[7] ||
	    note->value != regs.gpr[6])
		differ(v, "mark of thread %u: %lx is not the next", at->thread,
		       regs.gpr[6]);
	if (hark_read(t, v->address, v->size, bytes, known, &err) != v->size)
		differ(v, "not known at %u:%lu", at->thread, at->count);
	else if (number_of(bytes, v->size) != regs.gpr[6])
		differ(v, "%lx at %u:%lu, not %lx", number_of(bytes, v->size),
		       at->thread, at->count, regs.gpr[6]);
	return 0;
}

static void compare_marks(struct hark_timeline *t)
{
	unsigned next[16] = {0};

	if (hark_visits(t, mark_address, NULL, NULL, see_mark, next, &err) < 0)
		fail("visits");
	for (unsigned thread = 0; thread < 16; thread++)
		if (next_mark(thread, &next[thread]) != NULL)
			differ(&variables[0], "thread %u has more marks",
			       thread);
}

int main(int argc, char **argv)
{
	struct hark_recording *r;
	struct hark_timeline *t;
	FILE *in = argc == 3 ? fopen(argv[2], "r") : NULL;

	if (in == NULL)
		fail("account");
	read_account(in);
	fclose(in);
	if (hark_open(argv[1], &r, &err) < 0 ||
	    hark_timeline_open(r, 0, &t, &err) < 0 ||
	    hark_seek_end(t, &err) < 0)
		fail("open");
	for (unsigned i = 0; i < n_variables; i++)
		compare_lists(t, &variables[i]);
	compare_marks(t);
	printf("%lu answers, %u differ\n", n_compared, n_differ);
	hark_timeline_close(t);
	hark_close(r);
	return n_differ > 0;
}
