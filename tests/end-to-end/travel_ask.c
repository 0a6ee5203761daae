/* tests/end-to-end/travel_ask.c - questions to a recording through
 * hark/recording.h.
 *
 *	travel_ask writes FILE ADDRESS LEN	what each write left there
 *	travel_ask walk FILE SEED ROUNDS	there and back again, compared
 *	travel_ask frames FILE SEED ROUNDS	with and without more frames
 *	travel_ask asked FILE STOP 0		conditions, in the order of all
 *	travel_ask sent FILE STOP 0		visits: what comes with them is
 *						what is there
 *	travel_ask last FILE ADDRESS LEN	the last write before the end
 *	travel_ask stopped FILE SEED ROUNDS	reads of memory that are given
 *up travel_ask values FILE ADDRESS STOP	what 8 bytes are whenever STOP
 *is executed travel_ask runs FILE ADDRESS STOP	the same, by running from one to
 *						the next, and back again
 *
 * Exit status 0 if all went well. */
#include <hark/recording.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 60, STACK = 64 };

static struct hark_error err;

static _Noreturn void fail(const char *what)
{
	printf("%s: %s\n", what, err.text);
	exit(1);
}

static void print_bytes(const uint8_t *bytes, unsigned len)
{
	uint64_t value = 0;

	memcpy(&value, bytes, len < 8 ? len : 8);
	printf("%llx\n", (unsigned long long)value);
}

/* -- Writes -- */

struct what {
	uint64_t address, len;
	uint8_t now[8];
};

static int tell_write(void *ctx, const struct hark_access *a)
{
	struct what *w = ctx;

	for (uint64_t i = 0; i < w->len; i++) {
		uint64_t off = w->address + i - a->address;

		if (off < a->size && off < sizeof a->after)
			w->now[i] = a->after[off];
	}
	print_bytes(w->now, (unsigned)w->len);
	return 0;
}

static int writes(struct hark_timeline *t, uint64_t address, uint64_t len)
{
	struct what w = {.address = address, .len = len};

	if (hark_accesses(t, address, len, HARK_ON_WRITE, NULL, NULL,
			  tell_write, &w, &err) < 0)
		fail("writes");
	return 0;
}

static int last(struct hark_timeline *t, uint64_t address, uint64_t len)
{
	struct hark_access a;
	char text[64];

	if (hark_seek_end(t, &err) < 0)
		fail("end");
	if (hark_last_write(t, address, len, &a, &err) != 1)
		fail("last write");
	hark_position_text(&a.at, text, sizeof text);
	printf("%s ", text);
	print_bytes(a.after, a.size);
	return 0;
}

/* -- Values -- */

static void tell_value(struct hark_timeline *t, uint64_t address)
{
	uint8_t bytes[8], known[8];

	if (hark_read(t, address, 8, bytes, known, &err) == 8)
		print_bytes(bytes, 8);
	else
		puts("??");
}

static int visit(void *ctx, struct hark_timeline *t,
		 const struct hark_position *at)
{
	(void)at;
	tell_value(t, *(uint64_t *)ctx);
	return 0;
}

static int values(struct hark_timeline *t, uint64_t address, uint64_t stop)
{
	if (hark_visits(t, stop, NULL, NULL, visit, &address, &err) < 0)
		fail("visits");
	return 0;
}

/* Forwards to the end, told; backwards to the start, compared. */
static int runs(struct hark_timeline *t, uint64_t address, uint64_t stop)
{
	enum { MOST = 1000 };
	static struct hark_position there[MOST];
	struct hark_stopped stopped;
	int n = 0;

	hark_break(t, stop, HARK_ANY_THREAD, NULL, NULL);
	for (; n < MOST; n++) {
		if (hark_run(t, HARK_FORWARD, &stopped, &err) < 0)
			fail("run");
		if (stopped.why != HARK_STOP_BREAKPOINT)
			break;
		there[n] = hark_where(t);
		tell_value(t, address);
	}
	while (n-- > 0) {
		struct hark_position at;

		if (hark_run(t, HARK_BACKWARD, &stopped, &err) < 0)
			fail("run back");
		at = hark_where(t);
		if (stopped.why != HARK_STOP_BREAKPOINT ||
		    memcmp(&at, &there[n], sizeof at) != 0) {
			printf("stop %d is another one on the way back\n", n);
			exit(1);
		}
	}
	return 0;
}

/* -- Conditions -- */

enum { ASKED_MOST = 1000 };
struct asked {
	struct hark_position at[ASKED_MOST];
	unsigned n;
};

static int note_asked(void *ctx, struct hark_timeline *t)
{
	struct asked *a = ctx;

	if (a->n < ASKED_MOST)
		a->at[a->n++] = hark_where(t);
	return 0;
}

static int note_visit(void *ctx, struct hark_timeline *t,
		      const struct hark_position *at)
{
	(void)at;
	return note_asked(ctx, t);
}

/* A condition is asked where its breakpoint is met, in the order of all
 * threads, and once. */
static int asked(struct hark_timeline *t, uint64_t stop)
{
	static struct asked seen, told;
	struct hark_stopped stopped;

	if (hark_visits(t, stop, NULL, NULL, note_visit, &seen, &err) < 0)
		fail("visits");
	hark_break(t, stop, HARK_ANY_THREAD, note_asked, &told);
	if (hark_run(t, HARK_FORWARD, &stopped, &err) < 0)
		fail("run");
	if (stopped.why != HARK_STOP_END || seen.n == 0 || seen.n != told.n ||
	    memcmp(seen.at, told.at, seen.n * sizeof seen.at[0]) != 0) {
		printf("visited %u times, asked %u\n", seen.n, told.n);
		exit(1);
	}
	printf("asked %u times\n", told.n);
	return 0;
}

/* -- Visits -- */

struct sight {
	struct hark_registers regs;
	uint8_t stack[8], known[8];
};

static void look_at_visit(struct hark_timeline *t, struct sight *out)
{
	memset(out, 0, sizeof *out);
	if (hark_registers(t, hark_selected(t), &out->regs, &err) < 0)
		fail("registers");
	hark_read(t, out->regs.gpr[4], 8, out->stack, out->known, &err);
}

static int count_visit(void *ctx, struct hark_timeline *t,
		       const struct hark_position *at)
{
	struct sight sight;

	(void)at;
	look_at_visit(t, &sight);
	++*(unsigned *)ctx;
	return 0;
}

static int is_at(struct hark_timeline *t, const struct hark_position *at)
{
	struct hark_position here = hark_where(t);

	return memcmp(&here, at, sizeof here) == 0;
}

struct sent {
	uint64_t stop;
	unsigned n, n_inner;
};

/* As it came with the message; as it is there; after a step and back; and from
 * within another list. */
static int compare_visit(void *ctx, struct hark_timeline *t,
			 const struct hark_position *at)
{
	static struct sight sent, there;
	struct sent *s = ctx;
	struct hark_stopped stopped;
	uint8_t byte, known;

	look_at_visit(t, &sent);
	hark_read(t, sent.regs.gpr[4] + 4096, 1, &byte, &known, &err);
	look_at_visit(t, &there);
	if (!is_at(t, at) || memcmp(&sent, &there, sizeof sent) != 0)
		fail("what came with the visit is not what is there");
	if (hark_step(t, HARK_FORWARD, 3, &stopped, &err) < 0 || is_at(t, at) ||
	    hark_seek(t, at, &err) < 0)
		fail("step and back");
	look_at_visit(t, &there);
	if (memcmp(&sent, &there, sizeof sent) != 0)
		fail("it is not the same after a step and back");
	if (s->n++ == 1 && (hark_visits(t, s->stop, NULL, NULL, count_visit,
					&s->n_inner, &err) < 0 ||
			    !is_at(t, at)))
		fail("a list within a list");
	return 0;
}

static int sent(struct hark_timeline *t, uint64_t stop)
{
	struct sent s = {.stop = stop};
	struct hark_position before = hark_where(t);

	if (hark_visits(t, stop, NULL, NULL, compare_visit, &s, &err) < 0)
		fail("visits");
	if (!is_at(t, &before))
		fail("the timeline has moved");
	printf("%u and %u visits agree\n", s.n, s.n_inner);
	return 0;
}

/* -- There and back again -- */

struct moment {
	struct hark_position at;
	struct hark_registers regs;
	uint8_t stack[STACK], known[STACK];
};

static void look(struct hark_timeline *t, struct moment *out)
{
	memset(out, 0, sizeof *out);
	out->at = hark_where(t);
	if (hark_registers(t, out->at.thread, &out->regs, &err) < 0)
		fail("registers");
	hark_read(t, out->regs.gpr[4], STACK, out->stack, out->known, &err);
	for (int i = 0; i < STACK; i++)
		if (!out->known[i])
			out->stack[i] = 0;
}

static int is_same(const struct moment *a, const struct moment *b)
{
	return a->at.count == b->at.count && a->at.step == b->at.step &&
	       a->regs.rip == b->regs.rip &&
	       memcmp(a->regs.gpr, b->regs.gpr, sizeof a->regs.gpr) == 0 &&
	       memcmp(a->regs.xsave, b->regs.xsave, sizeof a->regs.xsave) ==
		   0 &&
	       memcmp(a->known, b->known, STACK) == 0 &&
	       memcmp(a->stack, b->stack, STACK) == 0;
}

static uint64_t random64(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void walk_once(struct hark_timeline *t, uint64_t *seed)
{
	static struct moment there[STEPS + 1], back;
	unsigned thread = (unsigned)(random64(seed) % hark_n_threads(t));
	struct hark_position at = hark_thread(t, thread)->last;
	struct hark_stopped stopped;
	int n = 0;

	at.count = at.count == 0 ? 0 : random64(seed) % at.count;
	at.step = 0;
	if (hark_seek(t, &at, &err) < 0)
		fail("seek");
	for (look(t, &there[0]); n < STEPS; n++) {
		if (hark_step(t, HARK_FORWARD, 1, &stopped, &err) < 0)
			fail("step");
		if (stopped.why == HARK_STOP_END)
			break;
		look(t, &there[n + 1]);
	}
	for (int i = n; i >= 0; i--) {
		look(t, &back);
		if (!is_same(&there[i], &back)) {
			printf("thread %u %llu+%llu: another one on the way "
			       "back (step %d of %d)\n",
			       back.at.thread,
			       (unsigned long long)back.at.count,
			       (unsigned long long)back.at.step, i, n);
			exit(1);
		}
		if (i > 0 && hark_step(t, HARK_BACKWARD, 1, &stopped, &err) < 0)
			fail("step back");
	}
}

static int walk(struct hark_timeline *t, uint64_t seed, uint64_t rounds)
{
	seed = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint64_t i = 0; i < rounds; i++)
		walk_once(t, &seed);
	printf("%llu rounds\n", (unsigned long long)rounds);
	return 0;
}

/* -- Frames -- */

/* Where a fresh timeline is in the middle of everything, so is one that has
 * frames to start from; and steps and stops are the same. */
static int frames(struct hark_timeline *t, struct hark_recording *r,
		  uint64_t seed, uint64_t rounds)
{
	static struct moment a, b;
	struct hark_timeline *plain;
	struct hark_stopped stopped;

	if (hark_timeline_open(r, 0, &plain, &err) < 0)
		fail("another timeline");
	for (unsigned i = 0; i < hark_n_threads(t); i++) {
		struct hark_position end = hark_thread(t, i)->last;
		struct hark_position start = {end.process, end.thread, 0, 0};

		if (hark_prepare(t, &start, &end, 64, &err) < 0)
			fail("prepare");
	}
	seed = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint64_t i = 0; i < rounds; i++) {
		unsigned n = (unsigned)(random64(&seed) % hark_n_threads(t));
		struct hark_position at = hark_thread(t, n)->last;
		uint64_t back = random64(&seed) % 100;

		at.count = at.count == 0 ? 0 : random64(&seed) % at.count;
		at.step = 0;
		if (hark_seek(t, &at, &err) < 0 ||
		    hark_seek(plain, &at, &err) < 0 ||
		    hark_step(t, HARK_BACKWARD, back, &stopped, &err) < 0 ||
		    hark_step(plain, HARK_BACKWARD, back, &stopped, &err) < 0)
			fail("seek");
		look(t, &a);
		look(plain, &b);
		if (!is_same(&a, &b)) {
			printf("thread %u %llu: another one from a frame\n",
			       at.thread, (unsigned long long)at.count);
			exit(1);
		}
	}
	hark_timeline_close(plain);
	printf("%llu rounds\n", (unsigned long long)rounds);
	return 0;
}

/* -- Reads that are given up -- */

enum { GIVEN_UP_LEN = 512 };

struct memory {
	uint8_t bytes[GIVEN_UP_LEN], known[GIVEN_UP_LEN];
};

static int give_up(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *left = ctx;

	(void)done;
	(void)total;
	return *left == 0 || --*left == 0;
}

static uint64_t stack_at_end(struct hark_timeline *t)
{
	static struct hark_registers regs;

	if (hark_seek_end(t, &err) < 0 ||
	    hark_registers(t, hark_selected(t), &regs, &err) < 0)
		fail("end");
	return regs.gpr[4] - 8192; /* what was left long ago */
}

/* A read that ended early must not call bytes known that it did not find.
 * Each round has a new timeline, which has nothing at hand. */
static int stopped(struct hark_recording *r, uint64_t rounds)
{
	static struct memory is, was;
	unsigned long long ended = 0;

	for (uint64_t i = 0; i <= rounds; i++) {
		struct memory *to = i == 0 ? &is : &was;
		struct hark_timeline *t;
		struct hark_error why = {0};
		uint64_t at, left = i;
		size_t n, sum = 0;

		if (hark_timeline_open(r, 0, &t, &err) < 0)
			fail("a timeline");
		at = stack_at_end(t);
		if (i > 0)
			hark_on_progress(t, give_up, &left);
		n = hark_read(t, at, GIVEN_UP_LEN, to->bytes, to->known, &why);
		ended += why.code == HARK_ERROR_STOPPED;
		for (unsigned k = 0; k < GIVEN_UP_LEN; k++) {
			sum += to->known[k];
			if (to->known[k] &&
			    (!is.known[k] || to->bytes[k] != is.bytes[k])) {
				printf("round %llu: byte %u is not known\n",
				       (unsigned long long)i, k);
				exit(1);
			}
		}
		if (n != sum) {
			printf("%zu known, %zu marked\n", n, sum);
			exit(1);
		}
		hark_timeline_close(t);
	}
	printf("%s\n", ended > 0 ? "given up" : "never given up");
	return 0;
}

int main(int argc, char **argv)
{
	struct hark_recording *r;
	struct hark_timeline *t;
	uint64_t a, b;

	if (argc != 5)
		return 2;
	if (hark_open(argv[2], &r, &err) < 0 ||
	    hark_timeline_open(r, 0, &t, &err) < 0)
		fail(argv[2]);
	a = strtoull(argv[3], NULL,
		     strcmp(argv[1], "walk") == 0 ||
			     strcmp(argv[1], "stopped") == 0 ||
			     strcmp(argv[1], "frames") == 0
			 ? 10
			 : 16);
	b = strtoull(argv[4], NULL,
		     strcmp(argv[1], "values") == 0 ||
			     strcmp(argv[1], "runs") == 0
			 ? 16
			 : 10);
	if (strcmp(argv[1], "writes") == 0)
		writes(t, a, b);
	else if (strcmp(argv[1], "last") == 0)
		last(t, a, b);
	else if (strcmp(argv[1], "values") == 0)
		values(t, a, b);
	else if (strcmp(argv[1], "runs") == 0)
		runs(t, a, b);
	else if (strcmp(argv[1], "asked") == 0)
		asked(t, a);
	else if (strcmp(argv[1], "sent") == 0)
		sent(t, a);
	else if (strcmp(argv[1], "stopped") == 0)
		stopped(r, b);
	else if (strcmp(argv[1], "frames") == 0)
		frames(t, r, a, b);
	else
		walk(t, a, b);
	hark_timeline_close(t);
	hark_close(r);
	return 0;
}
