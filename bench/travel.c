/* bench/travel.c - how long does a person wait who walks in a recording?
 *
 *	travel RECORDING [cpu | index]
 *
 * Every line that it prints is `NAME SECONDS...`, one number a try; with `cpu`
 * they are CPU time, for a machine that others use, too; with `index`, nothing
 * is done but an index made: `index SECONDS CPU`. Moments and addresses are
 * drawn by a generator of its own, so they are the same every time.
 * bench/travel makes the table. */
#include <hark/recording.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	SEEKS = 60,
	FIRSTS = 20,
	STEPS = 2000,
	DENSE = 20,
	INTERRUPTS = 5,
	EARLY = 64, /* candidates for a write that is never done again */
};

static struct hark_error err;
static struct hark_timeline *t;
static struct hark_position end;
static int is_cpu;	   /* CPU time is measured */
static clockid_t replayer; /* of the process that replays; 0: none is known */

static double read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* A timeline is replayed by a child: its CPU time is the wait's, too. */
static void find_replayer(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid;

	if (f == NULL)
		return;
	if (fscanf(f, "%d", &pid) != 1 ||
	    clock_getcpuclockid(pid, &replayer) != 0)
		replayer = 0;
	fclose(f);
}

static double now(void)
{
	if (!is_cpu)
		return read_clock(CLOCK_MONOTONIC);
	return read_clock(CLOCK_PROCESS_CPUTIME_ID) +
	       (replayer != 0 ? read_clock(replayer) : 0);
}

static _Noreturn void fail(void)
{
	fprintf(stderr, "travel: %s\n", err.text);
	exit(1);
}

static uint64_t draw(uint64_t below)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x % below;
}

/* A moment of the first thread, not of its first tenth. */
static struct hark_position somewhere(void)
{
	struct hark_position at = end;

	at.count = end.count / 10 + draw(end.count - end.count / 10);
	at.step = 0;
	return at;
}

static void seek(const struct hark_position *at)
{
	if (hark_seek(t, at, &err) < 0)
		fail();
}

static void measure_seeks(void)
{
	for (int warm = 0; warm < 2; warm++) {
		printf(warm ? "seek" : "seek_first");
		for (int i = 0; i < SEEKS; i++) {
			struct hark_position at = somewhere();
			double begin = now();

			seek(&at);
			printf(" %.9f", now() - begin);
		}
		printf("\n");
	}
}

static void measure_steps(void)
{
	static double all[STEPS];
	struct hark_stopped stop;

	printf("stepi_first");
	for (int i = 0; i < FIRSTS; i++) {
		struct hark_position at = somewhere();
		double begin;

		seek(&at);
		begin = now();
		if (hark_step(t, HARK_BACKWARD, 1, &stop, &err) < 0)
			fail();
		printf(" %.9f", now() - begin);
	}
	for (int i = 0; i < STEPS; i++) {
		double begin = now();

		if (hark_step(t, HARK_BACKWARD, 1, &stop, &err) < 0)
			fail();
		all[i] = now() - begin;
	}
	printf("\nstepi");
	for (int i = 0; i < STEPS; i++)
		printf(" %.9f", all[i]);
	printf("\n");
}

/* The place of a stack slot that calls write all the time. */
static void measure_dense(void)
{
	static struct hark_registers regs;
	struct hark_position at = somewhere();
	uint32_t id;

	seek(&at);
	if (hark_registers(t, at.thread, &regs, &err) < 0)
		fail();
	id = hark_watch(t, regs.gpr[4] - 8, 8, HARK_ON_WRITE, HARK_ANY_THREAD,
			NULL, NULL);
	printf("dense");
	for (int i = 0; i < DENSE; i++) {
		struct hark_stopped stop;
		double begin = now();

		if (hark_run(t, HARK_BACKWARD, &stop, &err) < 0)
			fail();
		printf(" %.9f", now() - begin);
		if (stop.why != HARK_STOP_WATCH)
			break;
	}
	printf("\n");
	hark_forget_stop(t, id);
}

struct early {
	uint64_t address[EARLY];
	unsigned n;
};

static int note_early(void *ctx, const struct hark_access *a)
{
	struct early *e = ctx;

	e->address[e->n++] = a->address;
	return e->n == EARLY;
}

/* Something that was written at the start, and never again: among the first
 * writes to the data of whatever was mapped first, the loader say. */
static int find_early(uint64_t *out)
{
	const struct hark_mapping *maps;
	struct hark_position from, to;
	struct early e = {.n = 0};
	uint64_t low = 0;
	unsigned n;

	if (hark_seek_start(t, &err) < 0 ||
	    hark_mappings(t, &maps, &n, &err) < 0)
		fail();
	for (unsigned i = 0; i < n; i++)
		if (maps[i].prot & 2 && maps[i].path[0] == '/')
			low = maps[i].start;
	from = hark_where(t);
	to = from;
	to.count = from.count + end.count / 1000;
	if (low == 0)
		return 0;
	if (hark_accesses(t, low, 8192, HARK_ON_WRITE, &from, &to, note_early,
			  &e, &err) < 0)
		fail();
	seek(&end);
	for (unsigned i = 0; i < e.n; i += 8) {
		struct hark_access a;

		if (hark_last_write(t, e.address[i], 8, &a, &err) == 1 &&
		    a.at.count <= to.count) {
			*out = e.address[i];
			return 1;
		}
	}
	return 0;
}

static void measure_far(uint64_t address)
{
	struct hark_stopped stop;
	struct hark_access a;
	double begin;
	uint32_t id;

	for (int i = 0; i < 2; i++) {
		seek(&end);
		begin = now();
		if (hark_last_write(t, address, 8, &a, &err) != 1)
			fail();
		printf("last_write%s %.9f\n", i == 0 ? "_first" : "",
		       now() - begin);
	}
	id = hark_watch(t, address, 8, HARK_ON_WRITE, HARK_ANY_THREAD, NULL,
			NULL);
	begin = now();
	if (hark_run(t, HARK_BACKWARD, &stop, &err) < 0)
		fail();
	printf("far %.9f\n", now() - begin);
	hark_forget_stop(t, id);
}

struct patience {
	double asked; /* when it was to end; 0: not yet */
	double last, gap, begun;
};

static int give_up(void *ctx, uint64_t done, uint64_t total)
{
	struct patience *p = ctx;
	double at = now();

	(void)done;
	(void)total;
	p->gap = at - p->last > p->gap ? at - p->last : p->gap;
	p->last = at;
	return p->asked > 0 && at >= p->asked;
}

/* Of more bytes than an index is asked for, and nobody has them: all of the
 * recording is looked through. */
static uint32_t watch_nothing(void)
{
	return hark_watch(t, 0x10000000, 3 << 20, HARK_ON_WRITE,
			  HARK_ANY_THREAD, NULL, NULL);
}

static void measure_unindexed(void)
{
	uint32_t id = watch_nothing();
	struct hark_stopped stop;
	double begin;

	seek(&end);
	begin = now();
	if (hark_run(t, HARK_BACKWARD, &stop, &err) < 0)
		fail();
	printf("unindexed %.9f\n", now() - begin);
	hark_forget_stop(t, id);
}

/* A search for what is not there is given up a little later each time. */
static void measure_interrupts(void)
{
	uint32_t id = watch_nothing();
	double gap = 0;

	printf("interrupt");
	for (int i = 0; i < INTERRUPTS; i++) {
		struct hark_stopped stop;
		struct patience p = {.begun = now()};
		int rc;

		seek(&end);
		p.last = now();
		p.asked = p.last + 0.05 * (i + 1);
		hark_on_progress(t, give_up, &p);
		rc = hark_run(t, HARK_BACKWARD, &stop, &err);
		hark_on_progress(t, NULL, NULL);
		if (rc == 0)
			break; /* it was quicker */
		printf(" %.9f", now() - p.asked);
		gap = p.gap > gap ? p.gap : gap;
	}
	printf("\ngap %.9f\n", gap);
	hark_forget_stop(t, id);
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

/* Of this process and of those that it has waited for. */
static double cpu_of_all(void)
{
	static const int who[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage u;

		getrusage(who[i], &u);
		sum += seconds(u.ru_utime) + seconds(u.ru_stime);
	}
	return sum;
}

static int measure_index(void)
{
	double begin = now(), cpu = cpu_of_all();

	if (hark_prepare_search(t, &err) < 0)
		fail();
	printf("index %.9f %.9f\n", now() - begin, cpu_of_all() - cpu);
	return 0;
}

int main(int argc, char **argv)
{
	struct hark_recording *r;
	uint64_t address;
	double begin;

	if (argc < 2)
		return fprintf(stderr,
			       "usage: travel RECORDING [cpu | index]\n"),
		       2;
	is_cpu = argc > 2 && strcmp(argv[2], "cpu") == 0;
	begin = now();
	if (hark_open(argv[1], &r, &err) < 0 ||
	    hark_timeline_open(r, 0, &t, &err) < 0)
		fail();
	find_replayer();
	if (hark_seek_end(t, &err) < 0)
		fail();
	printf("open %.9f\n", now() - begin);
	if (argc > 2 && strcmp(argv[2], "index") == 0)
		return measure_index();
	end = hark_where(t);
	if (end.count < 1000)
		return fprintf(stderr, "travel: too short\n"), 1;
	if (find_early(&address))
		measure_far(address);
	measure_seeks();
	measure_steps();
	measure_dense();
	measure_unindexed();
	measure_interrupts();
	hark_timeline_close(t);
	hark_close(r);
	return 0;
}
