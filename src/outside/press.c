/* outside/press.c - chunks are compressed by many and written in order. */
#include "outside/press.h"

#include "outside/pace.h"
#include "outside/tracee.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum {
	WORKERS_MAX = 8,
	SPARE_MAX = 16,
	SMALL = 64 << 10,
	SPARE_ROOM = 2 << 20
};

enum { JOB_NEW, JOB_TAKEN, JOB_PRESSED };

/* R4. A segment is a chunk with a key frame and those of its thread up to the
 * next one with a key frame. Of some threads the segment that goes on is gone
 * already: what comes of it goes, too. */
struct kept {
	struct press_job *first, *last; /* owned: oldest first */
	uint64_t bytes;
	uint64_t dropped, segments; /* that went, and that were written */
	struct kept_thread {
		uint32_t process, thread;
	} * gone; /* owned */
	size_t n_gone, room_gone;
};

struct press {
	struct press_plan plan;
	pthread_mutex_t lock;
	pthread_cond_t work, room; /* a job is there; load has fallen */
	pthread_t workers[WORKERS_MAX];
	unsigned n_workers, n_max, idle;
	struct press_job *first, *last; /* owned: in the order of the file */
	struct press_job *next;		/* the first that is NEW */
	struct press_job *spare;	/* owned: to be used again */
	unsigned n_spare;
	uint64_t load;
	uint64_t awaited; /* load that somebody waits for ... */
	unsigned waiting; /* ... if anybody does */
	struct pace pace; /* R2 */
	struct kept kept;
	int writing, failed, end;
};

/* -- Jobs -- */

struct press_job *press_job(struct press *p)
{
	struct press_job *j;

	pthread_mutex_lock(&p->lock);
	j = p->spare;
	if (j != NULL) {
		p->spare = j->next;
		p->n_spare--;
	}
	pthread_mutex_unlock(&p->lock);
	if (j == NULL)
		j = calloc(1, sizeof *j);
	if (j != NULL)
		*j = (struct press_job){.bytes = j->bytes,
					.room = j->room,
					.packed = {.bytes = j->packed.bytes,
						   .room = j->packed.room}};
	return j;
}

static void leave_source(struct press_source *s)
{
	if (s == NULL || --s->n > 0)
		return;
	close(s->fd);
	free(s);
}

static void destroy(struct press_job *j)
{
	leave_source(j->source);
	file_unpack_free(&j->packed);
	free(j->bytes);
	free(j);
}

/* Memory of the usual size is used again: new memory costs page faults. */
static void recycle(struct press *p, struct press_job *j)
{
	if (p->n_spare == SPARE_MAX || j->room > SPARE_ROOM) {
		destroy(j);
		return;
	}
	leave_source(j->source);
	j->source = NULL;
	j->next = p->spare;
	p->spare = j;
	p->n_spare++;
}

void press_job_free(struct press *p, struct press_job *j)
{
	if (j == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	recycle(p, j);
	pthread_mutex_unlock(&p->lock);
}

int press_job_fit(struct press_job *j, size_t len)
{
	size_t room = j->room == 0 ? SMALL : j->room;
	uint8_t *more;

	if (len <= j->room - j->len)
		return 0;
	while (room - j->len < len)
		room *= 2;
	more = realloc(j->bytes, room);
	if (more == NULL)
		return -1;
	j->bytes = more;
	j->room = room;
	return 0;
}

int press_job_append(struct press_job *j, const void *bytes, size_t len)
{
	if (press_job_fit(j, len) < 0)
		return -1;
	if (len > 0)
		memcpy(j->bytes + j->len, bytes, len);
	j->len += len;
	return 0;
}

struct press_source *press_source(int fd)
{
	struct press_source *s = calloc(1, sizeof *s);

	if (s == NULL) {
		close(fd);
		return NULL;
	}
	*s = (struct press_source){fd, 1};
	return s;
}

void press_source_leave(struct press *p, struct press_source *s)
{
	pthread_mutex_lock(&p->lock);
	leave_source(s);
	pthread_mutex_unlock(&p->lock);
}

void press_job_read(struct press *p, struct press_job *j,
		    struct press_source *s, uint64_t offset, size_t len)
{
	pthread_mutex_lock(&p->lock);
	s->n++;
	pthread_mutex_unlock(&p->lock);
	j->source = s;
	j->source_offset = offset;
	j->len = len;
}

/* -- Pressing -- */

/* A worker's own: new memory costs page faults. */
struct bench {
	ZSTD_CCtx *zstd;
	struct file_room room; /* for what is read of a file */
};

/* A file that has become shorter meanwhile is zero from there on. */
static int read_bytes(const struct press_job *j, struct file_room *room)
{
	size_t done = 0;
	ssize_t n = 1;

	if (file_make_room(room, j->len) < 0)
		return -1;
	while (done < j->len && n > 0) {
		n = pread(j->source->fd, room->at + done, j->len - done,
			  (off_t)(j->source_offset + done));
		done += n > 0 ? (size_t)n : 0;
	}
	memset(room->at + done, 0, j->len - done);
	return 0;
}

/* Of this thread. */
static int64_t cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Without memory it stays unpressed, and is a failure of the file. */
static void press_one(struct press_job *j, int level, struct bench *b)
{
	struct file_content c = {
	    .type = j->type,
	    .process = j->process,
	    .thread = j->thread,
	    .key = j->has_key ? &j->key : NULL,
	    .bytes = j->bytes,
	    .len = j->len,
	};

	if (j->source != NULL) {
		if (read_bytes(j, &b->room) < 0)
			return;
		c.bytes = b->room.at;
	}
	j->has_packed = file_pack(&c, level, b->zstd, &j->packed) == 0;
}

/* -- Writing -- */

static void fail(struct press *p, const char *why)
{
	int before = p->failed;

	p->failed = 1;
	if (before)
		return;
	pthread_mutex_unlock(&p->lock);
	p->plan.failed(p->plan.ctx, why);
	pthread_mutex_lock(&p->lock);
}

/* Without the lock, but for one at a time. */
static void put(struct press *p, const struct press_job *j)
{
	struct hark_err err = {0};
	int rc;

	if (p->failed)
		return;
	pthread_mutex_unlock(&p->lock);
	rc = !j->has_packed
		 ? err_set(&err, HARK_ENOMEM, ENOMEM, "out of memory")
		 : file_put_packed(p->plan.file, &j->packed, &err);
	pthread_mutex_lock(&p->lock);
	if (rc < 0)
		fail(p, err.text);
}

/* -- R4 -- */

static struct kept_thread *find_gone(const struct kept *k,
				     const struct press_job *j)
{
	for (size_t i = 0; i < k->n_gone; i++)
		if (k->gone[i].process == j->process &&
		    k->gone[i].thread == j->thread)
			return &k->gone[i];
	return NULL;
}

static int add_gone(struct kept *k, uint32_t process, uint32_t thread)
{
	if (k->n_gone == k->room_gone) {
		size_t room = 2 * k->room_gone + 16;
		struct kept_thread *more =
		    realloc(k->gone, room * sizeof *more);

		if (more == NULL)
			return -1;
		k->gone = more;
		k->room_gone = room;
	}
	k->gone[k->n_gone++] = (struct kept_thread){process, thread};
	return 0;
}

/* The oldest. Returns whether its end was seen. */
static int drop_oldest(struct press *p)
{
	struct kept *k = &p->kept;
	uint32_t process = k->first->process, thread = k->first->thread;
	struct press_job **at = &k->first, *last = NULL;
	int begun = 0, ended = 0;

	while (*at != NULL) {
		struct press_job *j = *at;
		int mine = j->process == process && j->thread == thread;

		ended |= mine && begun && j->has_key;
		if (!mine || ended) {
			last = j;
			at = &j->next;
			continue;
		}
		begun = 1;
		*at = j->next;
		k->bytes -= file_packed_size(&j->packed);
		recycle(p, j);
	}
	k->last = last;
	k->dropped++;
	return ended || add_gone(k, process, thread) == 0 ? 0 : -1;
}

/* What counts is packed, and stays for long. */
static void shrink(struct press_job *j)
{
	file_packed_fit(&j->packed);
	free(j->bytes);
	j->bytes = NULL;
	j->room = 0;
}

static void keep(struct press *p, struct press_job *j)
{
	struct kept *k = &p->kept;
	struct kept_thread *gone = find_gone(k, j);

	if (gone != NULL && j->has_key) {
		*gone = k->gone[--k->n_gone];
		gone = NULL;
	}
	if (!j->has_packed || gone != NULL) {
		recycle(p, j);
		return;
	}
	shrink(j);
	j->next = NULL;
	if (k->first == NULL)
		k->first = j;
	else
		k->last->next = j;
	k->last = j;
	k->bytes += file_packed_size(&j->packed);
	while (k->bytes > p->plan.keep)
		if (drop_oldest(p) < 0)
			fail(p, "out of memory");
}

static void put_kept(struct press *p)
{
	struct press_job *j;

	while ((j = p->kept.first) != NULL) {
		p->kept.first = j->next;
		p->kept.segments += j->has_key;
		put(p, j);
		recycle(p, j);
	}
	p->kept.last = NULL;
	p->kept.bytes = 0;
}

/* -- The order -- */

static int is_droppable(const struct press_job *j)
{
	return j->type == WIRE_CHUNK_DATA && j->thread != 0;
}

static void put_or_keep(struct press *p, struct press_job *j)
{
	if (p->plan.keep != 0 && is_droppable(j) && !p->failed) {
		keep(p, j);
		return;
	}
	if (j->type == WIRE_CHUNK_END)
		put_kept(p);
	put(p, j);
	recycle(p, j);
}

/* What is read of a file later takes no memory now. */
static uint64_t load_of(const struct press_job *j)
{
	return (j->source == NULL ? j->len : 0) + sizeof *j;
}

/* All that is ready, from the oldest on. */
static void write_ready(struct press *p)
{
	if (p->writing)
		return;
	p->writing = 1;
	while (p->first != NULL && p->first->state == JOB_PRESSED) {
		struct press_job *j = p->first;
		uint64_t load = load_of(j);

		p->first = j->next;
		if (p->first == NULL)
			p->last = NULL;
		put_or_keep(p, j);
		p->load -= load;
		if (p->waiting > 0 && p->load <= p->awaited)
			pthread_cond_broadcast(&p->room);
	}
	p->writing = 0;
}

/* -- Threads -- */

/* Room for what is packed, of a job that is done. */
static void inherit(struct press *p, struct press_job *j)
{
	struct press_job *from = p->spare;

	while (from != NULL && from->packed.room == 0)
		from = from->next;
	if (j->packed.room > 0 || from == NULL)
		return;
	j->packed = from->packed;
	from->packed = (struct file_packed){0};
}

static struct press_job *take_job(struct press *p)
{
	struct press_job *j;

	while (p->next == NULL && !p->end) {
		p->idle++;
		pthread_cond_wait(&p->work, &p->lock);
		p->idle--;
	}
	j = p->next;
	if (j == NULL)
		return NULL;
	p->next = j->next;
	j->state = JOB_TAKEN;
	inherit(p, j);
	return j;
}

/* Signals are the main thread's. */
static int start_worker(struct press *p, void *(*work)(void *))
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&p->workers[p->n_workers], NULL, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e == 0)
		p->n_workers++;
	return e;
}

/* R2. Files of code are not what the program says: their level is fixed. And
 * what is kept (R4) is the more, the smaller it is: there the usual level is
 * left only when much waits. */
struct pressing {
	int level;
	unsigned number; /* pace's */
	int64_t begun_ns;
};

static struct pressing begin_pressing(struct press *p,
				      const struct press_job *j)
{
	struct pressing how;

	how.level = pace_level(&p->pace, p->load, &how.number);
	if (j->level != 0 && j->level < how.level)
		how.level = j->level;
	how.begun_ns = cpu_now_ns();
	return how;
}

static void end_pressing(struct press *p, const struct press_job *j,
			 const struct pressing *how)
{
	if (j->level == 0 && p->plan.keep == 0)
		pace_note(&p->pace, how->number, j->len,
			  cpu_now_ns() - how->begun_ns, tracee_now_ns());
}

/* R6: as a batch job a thread does not take the CPU from one that runs, when it
 * is woken. */
static void stand_back(void)
{
	const struct sched_param none = {0};

	sched_setscheduler(0, SCHED_BATCH, &none);
}

/* R5. */
static void *work(void *arg)
{
	struct press *p = arg;
	struct bench b = {.zstd = ZSTD_createCCtx()};
	struct press_job *j;

	stand_back();
	pthread_mutex_lock(&p->lock);
	while ((j = take_job(p)) != NULL) {
		int failed = p->failed;
		struct pressing how = begin_pressing(p, j);

		if (p->next != NULL && p->idle == 0 && p->n_workers < p->n_max)
			start_worker(p, work);
		pthread_mutex_unlock(&p->lock);
		if (!failed)
			press_one(j, how.level, &b);
		pthread_mutex_lock(&p->lock);
		end_pressing(p, j, &how);
		j->state = JOB_PRESSED;
		write_ready(p);
	}
	pthread_mutex_unlock(&p->lock);
	ZSTD_freeCCtx(b.zstd);
	free(b.room.at);
	return NULL;
}

void press_add(struct press *p, struct press_job *j)
{
	pthread_mutex_lock(&p->lock);
	j->next = NULL;
	j->state = JOB_NEW;
	if (p->failed) {
		recycle(p, j);
	} else {
		if (p->last == NULL)
			p->first = j;
		else
			p->last->next = j;
		p->last = j;
		if (p->next == NULL)
			p->next = j;
		p->load += load_of(j);
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
}

/* -- Asking -- */

uint64_t press_load(struct press *p)
{
	uint64_t load;

	pthread_mutex_lock(&p->lock);
	load = p->load;
	pthread_mutex_unlock(&p->lock);
	return load;
}

void press_wait(struct press *p, uint64_t most)
{
	pthread_mutex_lock(&p->lock);
	if (p->waiting++ == 0 || p->awaited < most)
		p->awaited = most;
	while (p->load > most && p->n_workers > 0)
		pthread_cond_wait(&p->room, &p->lock);
	p->waiting--;
	pthread_mutex_unlock(&p->lock);
}

int press_has_failed(struct press *p)
{
	int failed;

	pthread_mutex_lock(&p->lock);
	failed = p->failed;
	pthread_mutex_unlock(&p->lock);
	return failed;
}

void press_abandon(struct press *p)
{
	file_writer_abandon(p->plan.file);
}

/* No job is being written when these are asked: after press_wait(p, 0). */
uint64_t press_written(struct press *p)
{
	return file_written(p->plan.file);
}

uint64_t press_dropped(struct press *p)
{
	return p->kept.dropped;
}

uint64_t press_kept(struct press *p)
{
	return p->kept.segments;
}

/* -- Life -- */

static unsigned cpus(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return 1;
	n = CPU_COUNT(&set);
	return n < WORKERS_MAX ? (unsigned)n : WORKERS_MAX;
}

static void free_list(struct press_job *j)
{
	while (j != NULL) {
		struct press_job *next = j->next;

		destroy(j);
		j = next;
	}
}

static void free_all(struct press *p)
{
	free_list(p->first);
	free_list(p->spare);
	free_list(p->kept.first);
	free(p->kept.gone);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->room);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int press_new(const struct press_plan *plan, struct press **out,
	      struct hark_err *err)
{
	struct press *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	p->plan = *plan;
	p->n_max = cpus();
	pace_init(&p->pace, tracee_now_ns());
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->room, NULL);
	*out = p;
	return 0;
}

int press_start(struct press *p, struct hark_err *err)
{
	int e = start_worker(p, work);

	return e == 0 ? 0
		      : err_set(err, HARK_ENOMEM, e, "cannot make a thread: %s",
				strerror(e));
}

static void stop_workers(struct press *p)
{
	pthread_mutex_lock(&p->lock);
	p->end = 1;
	p->next = NULL;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_workers; i++)
		pthread_join(p->workers[i], NULL);
}

void press_free(struct press *p)
{
	if (p == NULL)
		return;
	stop_workers(p);
	file_writer_close(p->plan.file);
	free_all(p);
}

void press_discard(struct press *p)
{
	if (p == NULL)
		return;
	stop_workers(p);
	file_writer_discard(p->plan.file);
	free_all(p);
}
