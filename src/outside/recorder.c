/* outside/recorder.c - one thread drains all recorded programs.
 *
 * It sleeps between two looks at the rings. While bytes come it looks so often
 * that the busiest ring stays mostly empty, and nobody needs to ring a bell.
 * When none came for a while it says that it is asleep; then programs ring
 * when a chunk is full. It wakes by itself from time to time nevertheless, so
 * that a hark that is killed has written nearly everything. */
#include "outside/recorder.h"

#include "outside/limit.h"
#include "outside/proc.h"
#include "outside/recorder_priv.h"
#include "outside/tracee.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Linux 5.16; libc's headers may be older. ORDER futex_waitv */
struct waitv {
	uint64_t value, at;
	uint32_t flags, reserved;
};
enum { NR_FUTEX_WAITV = 449, WAITV_MAX = 128, WAITV_32 = 2 };

enum {
	LOAD_MAX = 48 << 20,   /* bytes that wait to be pressed */
	PASS_BYTES = 16 << 20, /* out of one source, at a time */
	NAP_LEAST = 1000000,
	NAP_MOST = 10000000,
	NAP_IDLE = 50000000, /* nobody has said anything lately */
	NAP_BLIND = 2000000, /* bells cannot be heard */
	NAP_FRESH = 400000,  /* a program has begun: it maps its code now, */
	FRESH_LOOKS = 24,    /* which is pressed while it runs */
	IDLE_AFTER = 4,	     /* passes without a byte */
};

enum { END_NOT, END_WANTED, END_DONE };

/* As large as it may be. A channel is a file, though one in memory: where files
 * are limited, and hark may not lift that, it has fewer rings, or (if even that
 * would be too few) smaller ones. */
static struct wire_geometry choose_geometry(void)
{
	const uint64_t few = 16, margin = 1 << 20;
	struct wire_geometry g = {.max_threads = 4096,
				  .n_slots = 1,
				  .ring_chunks = 8,
				  .chunk_size = 65536};
	uint64_t most = limit_of_files(), ring = 8ull * 65536, n;

	if (most < margin + few * ring) {
		g.chunk_size = 16384;
		ring = 8ull * 16384;
	}
	n = most < 2 * margin ? 1 : (most - margin) / ring;
	if (n < g.max_threads)
		g.max_threads = (uint32_t)n;
	return g;
}

const struct wire_geometry *recorder_geometry(const struct recorder *r)
{
	return &r->geometry;
}

static struct wire_recording *recording_of(const struct recorder_source *s)
{
	return wire_recording_of(drain_base(s->drain));
}

static long futex(uint32_t *at, int op, uint32_t value,
		  const struct timespec *limit)
{
	return syscall(SYS_futex, at, op, value, limit, NULL, 0);
}

/* -- Passes -- */

/* Streams of so many rings, or of as many as there is memory for. */
static uint32_t fit_streams(struct recorder_source *s, uint32_t n)
{
	uint32_t room = 2 * n + 14;
	struct stream *more;

	if (n <= s->room_rings)
		return n;
	more = realloc(s->streams, room * sizeof *more);
	if (more == NULL)
		return s->room_rings;
	memset(more + s->room_rings, 0, (room - s->room_rings) * sizeof *more);
	s->streams = more;
	s->room_rings = room;
	return n;
}

/* What one source has; how many bytes. */
static int64_t drain_source(struct recorder_source *s, uint64_t bytes)
{
	struct drain_bounds b = {.bytes = bytes, .end = stream_end};
	struct hark_err err;
	uint32_t most;
	int64_t moved;

	if (drain_base(s->drain) == NULL)
		return 0; /* hidden, or lost */
	b.rings = __atomic_load_n(&recording_of(s)->n_rings, __ATOMIC_ACQUIRE);
	if (b.rings == 0)
		return 0;
	most = s->recorder->geometry.max_threads;
	s->n_rings = fit_streams(s, b.rings < most ? b.rings : most);
	if (s->n_rings == 0)
		return 0;
	b.rings = s->n_rings;
	drain_bound(s->drain, &b);
	s->most = s->ring_bytes = 0;
	moved = drain_pass(s->drain, stream_take, s, &err);
	return moved < 0 ? 0 : moved;
}

struct pass {
	int64_t moved;
	uint64_t most; /* out of one ring */
};

static void stop_writers(struct recorder *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (drain_base(r->sources[i]->drain) != NULL)
			__atomic_store_n(&recording_of(r->sources[i])->wanted,
					 0, __ATOMIC_RELEASE);
}

static struct pass look(struct recorder *r)
{
	int64_t now = tracee_now_ns();
	struct pass p = {0};

	pthread_mutex_lock(&r->lock);
	if (__atomic_load_n(&r->failed, __ATOMIC_ACQUIRE))
		stop_writers(r); /* C3 */
	for (unsigned i = 0; i < r->n; i++) {
		struct recorder_source *s = r->sources[i];

		p.moved += drain_source(s, PASS_BYTES);
		stream_reclaim(s, now);
		p.most = s->most > p.most ? s->most : p.most;
		stream_cut_old(s, now);
		recorder_key_look(s);
		stream_release(s);
	}
	pthread_mutex_unlock(&r->lock);
	return p;
}

/* -- Sleep -- */

static void nap(struct recorder *r, uint32_t turn, int64_t ns)
{
	struct timespec limit = {ns / 1000000000, ns % 1000000000};

	futex(&r->turn, FUTEX_WAIT_PRIVATE, turn, &limit);
}

/* The bells of all sources and, last, the turn. 0: they are too many. */
static unsigned list_bells(struct recorder *r, uint32_t turn,
			   struct waitv out[WAITV_MAX])
{
	unsigned n = 0;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->n && r->n < WAITV_MAX; i++) {
		struct recorder_source *s = r->sources[i];
		struct wire_recording *w;

		if (drain_base(s->drain) == NULL)
			continue;
		w = recording_of(s);
		__atomic_store_n(&w->asleep, 1, __ATOMIC_SEQ_CST);
		out[n++] =
		    (struct waitv){s->heard, (uint64_t)&w->bell, WAITV_32, 0};
	}
	if (r->n < WAITV_MAX)
		out[n++] =
		    (struct waitv){turn, (uint64_t)&r->turn, WAITV_32, 0};
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Bells as they are now: what is rung from here on differs. */
static void hear_bells(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->n; i++) {
		struct recorder_source *s = r->sources[i];

		if (drain_base(s->drain) == NULL)
			continue;
		__atomic_store_n(&recording_of(s)->asleep, 0, __ATOMIC_RELEASE);
		s->heard =
		    __atomic_load_n(&recording_of(s)->bell, __ATOMIC_ACQUIRE);
	}
	pthread_mutex_unlock(&r->lock);
}

/* Nobody says anything: until somebody does, or for a good while. */
static void sleep_deep(struct recorder *r, uint32_t turn)
{
	struct waitv v[WAITV_MAX];
	unsigned n = list_bells(r, turn, v);
	int64_t until = tracee_now_ns() + NAP_IDLE;
	struct timespec at = {until / 1000000000, until % 1000000000};

	if (n == 0 ||
	    (syscall(NR_FUTEX_WAITV, v, n, 0, &at, CLOCK_MONOTONIC) < 0 &&
	     errno == ENOSYS))
		nap(r, turn, NAP_BLIND);
}

/* So long that the busiest ring gets about a quarter full. */
static int64_t next_nap(const struct wire_geometry *g, int64_t last,
			uint64_t most)
{
	const uint64_t quarter = (uint64_t)g->ring_chunks * g->chunk_size / 4;
	int64_t ns;

	if (most == 0)
		return last < NAP_MOST / 2 ? 2 * last : NAP_MOST;
	ns = (int64_t)((uint64_t)last * quarter / most);
	ns = ns > 2 * last ? 2 * last : ns;
	return ns < NAP_LEAST ? NAP_LEAST : ns > NAP_MOST ? NAP_MOST : ns;
}

/* -- The end -- */

static void free_source(struct recorder_source *s)
{
	while (s->ready != NULL) {
		struct press_job *next = s->ready->next;

		press_job_free(s->recorder->press, s->ready);
		s->ready = next;
	}
	for (uint32_t i = 0; s->streams != NULL && i < s->n_rings; i++)
		press_job_free(s->recorder->press, s->streams[i].job);
	drain_close(s->drain);
	file_text_free(&s->program);
	press_job_free(s->recorder->press, s->maps);
	free(s->streams);
	free(s->pairs);
	free(s);
}

/* Everything that is left in it; nothing more will come. */
static void end_source(struct recorder_source *s)
{
	struct recorder *r = s->recorder;

	while (drain_source(s, 0) > 0)
		continue;
	for (uint32_t i = 0; i < s->n_rings; i++)
		stream_end(s, i, 0);
	stream_release(s);
	if (drain_base(s->drain) != NULL)
		r->lost += recording_of(s)->left_out;
	r->lost += drain_stats(s->drain).lost;
}

static void end_all(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	stop_writers(r);
	while (r->n > 0) {
		end_source(r->sources[r->n - 1]);
		free_source(r->sources[--r->n]);
	}
	if (r->plan.bundle_debug)
		recorder_put_sources(r);
	recorder_put_end(r);
	pthread_mutex_unlock(&r->lock);
	press_wait(r->press, 0);
}

/* -- The thread -- */

static void *run(void *arg)
{
	struct recorder *r = arg;
	int64_t ns = NAP_LEAST;
	unsigned quiet = 0, fresh = 0;
	uint32_t last = 0;

	while (__atomic_load_n(&r->end, __ATOMIC_ACQUIRE) == END_NOT) {
		uint32_t turn = __atomic_load_n(&r->turn, __ATOMIC_ACQUIRE);
		struct pass p;

		hear_bells(r);
		p = look(r);
		quiet = p.moved == 0 ? quiet + 1 : 0;
		fresh = turn != last ? FRESH_LOOKS : fresh > 0 ? fresh - 1 : 0;
		last = turn;
		press_wait(r->press, LOAD_MAX);
		if (fresh > 0) {
			nap(r, turn, NAP_FRESH);
		} else if (quiet > IDLE_AFTER) {
			sleep_deep(r, turn);
		} else {
			ns = next_nap(&r->geometry, ns, p.most);
			nap(r, turn, ns);
		}
	}
	end_all(r);
	__atomic_store_n(&r->end, END_DONE, __ATOMIC_RELEASE);
	syscall(SYS_tgkill, getpid(), r->main, SIGCHLD);
	return NULL;
}

static void wake(struct recorder *r)
{
	__atomic_add_fetch(&r->turn, 1, __ATOMIC_RELEASE);
	futex(&r->turn, FUTEX_WAKE_PRIVATE, 1, NULL);
}

/* -- Sources -- */

/* So that joining cannot fail. */
static int make_room(struct recorder *r)
{
	struct recorder_source **more = r->sources;

	pthread_mutex_lock(&r->lock);
	if (r->n == r->room) {
		unsigned room = 2 * r->room + 16;

		more = realloc(r->sources, room * sizeof(void *));
		if (more != NULL) {
			r->sources = more;
			r->room = room;
		}
	}
	pthread_mutex_unlock(&r->lock);
	return more == NULL ? -1 : 0;
}

int recorder_meet(struct recorder *r, pid_t pid, struct drain *d,
		  struct recorder_source **out, struct hark_err *err)
{
	struct recorder_source *s = calloc(1, sizeof *s);
	struct wire_recording *w = wire_recording_of(drain_base(d));
	pid_t tid;

	if (s == NULL || make_room(r) < 0) {
		free(s);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	s->recorder = r;
	s->pid = pid;
	s->inside = !proc_same_ids(pid);
	tid = proc_living(pid); /* the first may have ended */
	tid = tid != 0 ? tid : pid;
	recorder_read_program(tid, &s->program);
	pthread_mutex_lock(&r->lock);
	s->maps = recorder_read_maps(r, tid);
	pthread_mutex_unlock(&r->lock);
	w->key_every = recorder_key_first(s);
	w->wanted = !press_has_failed(r->press);
	*out = s;
	return 0;
}

void recorder_join(struct recorder_source *s, struct drain *d)
{
	struct recorder *r = s->recorder;

	s->drain = d;
	pthread_mutex_lock(&r->lock);
	r->sources[r->n++] = s;
	pthread_mutex_unlock(&r->lock);
	wake(r);
}

void recorder_forget(struct recorder_source *s)
{
	if (s != NULL)
		free_source(s);
}

/* The lock is kept until recorder_show. */
void recorder_hide(struct recorder_source *s)
{
	pthread_mutex_lock(&s->recorder->lock);
	drain_hide(s->drain);
}

void recorder_show(struct recorder_source *s, int gone)
{
	struct recorder *r = s->recorder;

	if (drain_show(s->drain, gone) < 0)
		r->lost++;
	if (gone) {
		unsigned i = 0;

		while (r->sources[i] != s)
			i++;
		r->sources[i] = r->sources[--r->n];
		end_source(s);
		free_source(s);
	}
	pthread_mutex_unlock(&r->lock);
}

/* -- Life -- */

/* C3: nobody waits for a file that cannot be written. */
static void file_failed(void *ctx, const char *why)
{
	struct recorder *r = ctx;
	char text[600];

	snprintf(text, sizeof text,
		 "%s; recording ends here, and the program goes on", why);
	r->plan.note(r->plan.ctx, text);
	__atomic_store_n(&r->failed, 1, __ATOMIC_RELEASE);
	wake(r);
}

static void file_stuck(void *ctx, int stuck)
{
	struct recorder *r = ctx;

	__atomic_store_n(&r->stuck, stuck, __ATOMIC_RELEASE);
	if (!stuck)
		return;
	r->plan.note(r->plan.ctx,
		     "nobody reads the recording, and the program waits for "
		     "that (SIGINT or SIGTERM gives the recording up)");
	if (r->started)
		syscall(SYS_tgkill, getpid(), r->main, SIGCHLD);
}

int recorder_is_stuck(const struct recorder *r)
{
	return __atomic_load_n(&r->stuck, __ATOMIC_ACQUIRE);
}

void recorder_abandon(struct recorder *r)
{
	press_abandon(r->press);
}

int recorder_open(const struct recorder_plan *plan, struct recorder **out,
		  struct hark_err *err)
{
	struct recorder *r = calloc(1, sizeof *r);
	struct press_plan press = {.file = plan->file,
				   .keep = plan->keep,
				   .ctx = r,
				   .failed = file_failed};

	if (r == NULL) {
		file_writer_discard(plan->file);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	r->plan = *plan;
	r->geometry = choose_geometry();
	r->status = -1;
	if (recorder_put_meta(plan, err) < 0 ||
	    press_new(&press, &r->press, err) < 0) {
		file_writer_discard(plan->file);
		free(r);
		return -1;
	}
	pthread_mutex_init(&r->lock, NULL);
	file_writer_watch(plan->file, file_stuck, r);
	*out = r;
	return 0;
}

int recorder_start(struct recorder *r, struct hark_err *err)
{
	sigset_t all, before;
	int e;

	if (press_start(r->press, err) < 0)
		return -1;
	r->main = (pid_t)syscall(SYS_gettid);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e != 0)
		return err_set(err, HARK_ENOMEM, e, "cannot make a thread: %s",
			       strerror(e));
	r->started = 1;
	return 0;
}

void recorder_finish(struct recorder *r, int status)
{
	r->status = status;
	__atomic_store_n(&r->end, END_WANTED, __ATOMIC_RELEASE);
	wake(r);
}

int recorder_is_done(const struct recorder *r)
{
	return __atomic_load_n(&r->end, __ATOMIC_ACQUIRE) == END_DONE;
}

static void join_thread(struct recorder *r)
{
	if (!r->started)
		return;
	if (__atomic_load_n(&r->end, __ATOMIC_ACQUIRE) == END_NOT)
		recorder_finish(r, -1);
	pthread_join(r->thread, NULL);
}

static void free_sources(struct recorder *r)
{
	while (r->n > 0)
		free_source(r->sources[--r->n]);
	recorder_free_modules(r);
}

static void free_recorder(struct recorder *r)
{
	pthread_mutex_destroy(&r->lock);
	free(r->sources);
	free(r->pids);
	free(r);
}

void recorder_close(struct recorder *r, struct recorder_totals *out)
{
	if (r == NULL)
		return;
	join_thread(r);
	if (out != NULL)
		*out = (struct recorder_totals){
		    .bytes = press_written(r->press),
		    .processes = r->processes,
		    .threads = r->threads,
		    .lost = r->lost,
		    .dropped = press_dropped(r->press),
		    .kept = press_kept(r->press),
		    .failed = r->failed,
		};
	free_sources(r);
	press_free(r->press);
	free_recorder(r);
}

void recorder_discard(struct recorder *r)
{
	if (r == NULL)
		return;
	recorder_abandon(r);
	join_thread(r);
	free_sources(r);
	press_discard(r->press);
	free_recorder(r);
}
