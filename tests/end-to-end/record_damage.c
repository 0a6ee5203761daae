/* tests/end-to-end/record_damage.c - damages recordings, very many times.
 *
 *	record_damage plain FROM TO FILE OTHER
 *	record_damage sealed FROM TO FILE OTHER
 *
 * Cases FROM to TO - 1; each is made of its number alone. Both files are
 * recordings, small ones.
 *
 * plain: bytes change, go, come twice or come from OTHER, as disks, copies and
 * transfers do it, and nothing is put right. Whoever reads it must be told that
 * it is damaged or incomplete, and what stands before that must be FILE's.
 *
 * sealed: what is said in it changes (chunks' headers, key frames, texts,
 * records) and all checksums are made right: the work of an enemy. It is read
 * to its end, and every 16th is replayed. It may say what it likes, but nobody
 * may crash, hang or take much memory.
 *
 * Cases run in a child; when it dies or hangs, that case is told, and another
 * child goes on behind it. Exit status: 0 if none did, and none was believed.
 */
#include "outside/file.h"
#include "record/player.h"
#include "record/recording.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum {
	CASE_SECONDS = 10,    /* longer is a hang */
	MEMORY_MAX = 1 << 20, /* KiB, above what it began with */
	REPLAY_EVERY = 16,
	MISSES_MAX = 20, /* then it is enough */
};

/* -- Chance: of the case's number alone -- */

static uint64_t state;

static void begin_chance(uint64_t number)
{
	state = number * 0x9e3779b97f4a7c15 + 0x1234567;
}

static uint64_t chance(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Below n, which is not 0. */
static size_t below(size_t n)
{
	return (size_t)(chance() % n);
}

/* -- Files -- */

struct bytes {
	uint8_t *at; /* owned */
	size_t len, room;
};

struct file {
	struct bytes bytes;
	size_t *chunks; /* owned: where they begin; the last is the end */
	unsigned n;	/* without that */
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void fit(struct bytes *b, size_t room)
{
	if (room <= b->room)
		return;
	b->at = realloc(b->at, room);
	if (b->at == NULL)
		die("memory");
	b->room = room;
}

static void append(struct bytes *b, const void *from, size_t len)
{
	fit(b, b->len + len + 1);
	if (len > 0)
		memcpy(b->at + b->len, from, len);
	b->len += len;
}

static struct wire_file_chunk head_at(const struct bytes *b, size_t at)
{
	struct wire_file_chunk c;

	memcpy(&c, b->at + at, sizeof c);
	return c;
}

static void find_chunks(struct file *f)
{
	size_t at = sizeof(struct wire_file);

	f->chunks = calloc(f->bytes.len / 48 + 2, sizeof *f->chunks);
	if (f->chunks == NULL)
		die("memory");
	while (at < f->bytes.len) {
		struct wire_file_chunk c = head_at(&f->bytes, at);

		f->chunks[f->n++] = at;
		at += sizeof c + c.stored + wire_chunk_padding(c.stored);
	}
	f->chunks[f->n] = at;
	if (at != f->bytes.len || f->n < 4)
		die("no recording to begin with");
}

static struct file load(const char *path)
{
	FILE *from = fopen(path, "rb");
	struct file f = {0};
	uint8_t piece[4096];
	size_t n;

	if (from == NULL)
		die(path);
	while ((n = fread(piece, 1, sizeof piece, from)) > 0)
		append(&f.bytes, piece, n);
	fclose(from);
	find_chunks(&f);
	return f;
}

/* -- Plain damage -- */

/* A part of it: begin and length, which is not 0. */
struct part {
	size_t at, len;
};

static struct part some_part(size_t len)
{
	static const size_t usual[] = {1, 8, 48, 512, 4096, 1 << 20};
	size_t most = usual[below(6)];
	struct part p = {below(len), 0};

	p.len = 1 + below(most);
	if (p.len > len - p.at)
		p.len = len - p.at;
	return p;
}

static struct part some_chunk(const struct file *f)
{
	unsigned i = (unsigned)below(f->n);

	return (struct part){f->chunks[i], f->chunks[i + 1] - f->chunks[i]};
}

static void flip(struct bytes *b)
{
	b->at[below(b->len)] ^= (uint8_t)(1u << below(8));
}

static void scribble(struct bytes *b)
{
	struct part p = some_part(b->len);
	int zero = below(3) == 0;

	for (size_t i = 0; i < p.len; i++)
		b->at[p.at + i] = zero ? 0 : (uint8_t)chance();
}

static void cut(struct bytes *b)
{
	b->len = below(b->len);
}

/* The length is there, the bytes are not: a machine that has crashed. */
static void cut_and_fill(struct bytes *b)
{
	size_t from = below(b->len);

	memset(b->at + from, 0, b->len - from);
}

static void take_out(struct bytes *b, struct part p)
{
	memmove(b->at + p.at, b->at + p.at + p.len, b->len - p.at - p.len);
	b->len -= p.len;
}

/* p of `from`, to `at`. */
static void put_in(struct bytes *b, size_t at, const struct bytes *from,
		   struct part p)
{
	uint8_t *copy = malloc(p.len);

	if (copy == NULL)
		die("memory");
	memcpy(copy, from->at + p.at, p.len);
	fit(b, b->len + p.len);
	memmove(b->at + at + p.len, b->at + at, b->len - at);
	memcpy(b->at + at, copy, p.len);
	b->len += p.len;
	free(copy);
}

static void swap_chunks(const struct file *f, struct bytes *b)
{
	struct part one = some_chunk(f), two = some_chunk(f), first, last;

	first = one.at < two.at ? one : two;
	last = one.at < two.at ? two : one;
	if (first.at == last.at)
		return;
	take_out(b, last);
	put_in(b, last.at, &f->bytes, first);
	take_out(b, first);
	put_in(b, first.at, &f->bytes, last);
}

/* The beginning of one file and the end of another. */
static void splice(const struct file *f, const struct file *other,
		   struct bytes *b)
{
	const struct bytes *o = &other->bytes;
	size_t least = f->n < other->n ? f->n : other->n;
	size_t i = below(least + 1);
	size_t to, from;

	switch (below(3)) {
	case 0: /* at the same byte */
		to = from =
		    below(f->bytes.len < o->len ? f->bytes.len : o->len);
		break;
	case 1: /* at the same chunk */
		to = f->chunks[i];
		from = other->chunks[i];
		break;
	default:
		to = f->chunks[below(f->n + 1)];
		from = other->chunks[below(other->n + 1)];
	}
	b->len = to;
	append(b, o->at + from, o->len - from);
}

/* A chunk of another file, in the place of this one's of the same number. */
static void exchange(const struct file *f, const struct file *other,
		     struct bytes *b)
{
	unsigned least = f->n < other->n ? f->n : other->n;
	unsigned i = (unsigned)below(least);
	struct part p = {f->chunks[i], f->chunks[i + 1] - f->chunks[i]};
	struct part q = {other->chunks[i],
			 other->chunks[i + 1] - other->chunks[i]};

	take_out(b, p);
	put_in(b, p.at, &other->bytes, q);
}

static void damage(const struct file *f, const struct file *other,
		   struct bytes *b)
{
	switch (below(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		flip(b);
		break;
	case 4:
	case 5:
		scribble(b);
		break;
	case 6:
		cut(b);
		break;
	case 7:
		cut_and_fill(b);
		break;
	case 8:
		take_out(b, some_part(b->len));
		break;
	case 9:
		take_out(b, some_chunk(f));
		break;
	case 10:
		put_in(b, below(b->len + 1), &f->bytes, some_part(b->len));
		break;
	case 11:
		put_in(b, f->chunks[below(f->n + 1)], &f->bytes, some_chunk(f));
		break;
	case 12:
		swap_chunks(f, b);
		break;
	case 13:
		exchange(f, other, b);
		break;
	default:
		splice(f, other, b);
	}
}

/* -- Sealed damage -- */

static void change_bytes(uint8_t *at, size_t len)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff};

	for (size_t n = 1 + below(4); n > 0 && len > 0; n--) {
		size_t most = below(4) == 0 && len > 900 ? 900 : len;
		uint8_t *b = &at[below(most)];

		switch (below(3)) {
		case 0:
			*b ^= (uint8_t)(1u << below(8));
			break;
		case 1:
			*b = odd[below(sizeof odd)];
			break;
		default:
			*b = (uint8_t)chance();
		}
	}
}

/* What it says: decompressed, changed, and now and then another length. */
static void change_payload(struct wire_file_chunk *c, struct bytes *stored)
{
	size_t key = (c->flags & WIRE_CHUNK_KEY) != 0 ? 32 : 0;
	struct bytes plain = {0};

	fit(&plain, (size_t)c->plain + 4096);
	plain.len = c->plain;
	if ((c->flags & WIRE_CHUNK_ZSTD) != 0)
		ZSTD_decompress(plain.at, c->plain, stored->at + key,
				stored->len - key);
	else
		memcpy(plain.at, stored->at + key, plain.len);
	change_bytes(plain.at, plain.len);
	if (below(8) == 0)
		plain.len = below(plain.len + 64);
	stored->len = key;
	append(stored, plain.at, plain.len);
	c->flags &= (uint16_t)~WIRE_CHUNK_ZSTD;
	c->stored = (uint32_t)stored->len;
	c->plain = (uint32_t)plain.len;
	free(plain.at);
}

static void change_head(struct wire_file_chunk *c)
{
	static const uint32_t odd[] = {0, 1, 2, 0x7fffffff, UINT32_MAX};
	uint32_t value = below(2) == 0 ? odd[below(5)] : (uint32_t)below(9);

	switch (below(6)) {
	case 0:
		c->type = (uint16_t)below(10);
		break;
	case 1:
		c->flags = (uint16_t)below(4);
		break;
	case 2:
		c->process = value;
		break;
	case 3:
		c->thread = value;
		break;
	case 4:
		c->plain = value;
		break;
	default:
		c->stored = below(2) == 0 ? value : c->stored ^ 1u << below(8);
	}
}

static uint64_t seal(const void *bytes, size_t len)
{
	return XXH3_64bits(bytes, len);
}

static void change_key(struct wire_file_chunk *c, struct bytes *stored)
{
	if ((c->flags & WIRE_CHUNK_KEY) != 0 && stored->len >= 32)
		change_bytes(stored->at, 24);
}

/* Chunk at `at` of from, changed or not, as the nth of to. */
static void put_chunk(const struct bytes *from, size_t at, uint64_t number,
		      int change, struct bytes *to)
{
	struct wire_file_chunk c = head_at(from, at);
	struct bytes stored = {0};
	struct wire_file h;
	uint64_t check;

	memcpy(&h, from->at, sizeof h);
	append(&stored, from->at + at + sizeof c, c.stored);
	if (change && below(8) == 0)
		change_head(&c);
	else if (change && below(8) == 0)
		change_key(&c, &stored);
	else if (change && below(4) == 0)
		change_bytes(stored.at, stored.len);
	else if (change)
		change_payload(&c, &stored);
	if ((c.flags & WIRE_CHUNK_KEY) != 0 && stored.len >= 32) {
		check = seal(stored.at, 24);
		memcpy(stored.at + 24, &check, sizeof check);
	}
	c.number = number;
	c.check = seal(stored.at, stored.len);
	c.head_check = XXH3_64bits_withSeed(&c, 40, h.id);
	append(to, &c, sizeof c);
	append(to, stored.at, stored.len);
	append(to, (uint8_t[8]){0}, wire_chunk_padding((uint32_t)stored.len));
	free(stored.at);
}

/* Mostly of FILE; some chunks are left out, come twice or are OTHER's. */
static void forge(const struct file *f, const struct file *other,
		  struct bytes *b)
{
	int mixed = below(4) == 0;
	size_t one = below(f->n);
	uint64_t number = 0;

	b->len = sizeof(struct wire_file);
	for (unsigned i = 0; i < f->n; i++) {
		size_t odd = mixed ? below(24) : 9;
		int change = i == one || below(32) == 0;
		size_t at = f->chunks[i];

		if (odd == 0)
			continue;
		if (odd == 1)
			put_chunk(&f->bytes, at, number++, 1, b);
		if (odd == 2 && i < other->n)
			put_chunk(&other->bytes, other->chunks[i], number++, 0,
				  b);
		put_chunk(&f->bytes, at, number++, change, b);
	}
	memcpy(b->at, f->bytes.at, sizeof(struct wire_file));
}

/* put_chunk takes the id of the file it copies from: all are of FILE here. */
static void adopt(const struct file *f, struct file *other)
{
	memcpy(other->bytes.at, f->bytes.at, sizeof(struct wire_file));
}

/* -- Reading -- */

static int read_stream(struct recording_stream *s, struct hark_err *err)
{
	const uint8_t *bytes;
	size_t len;
	int more;

	while ((more = recording_stream_next(s, &bytes, &len, err)) > 0)
		continue;
	recording_stream_close(s);
	return more;
}

static int read_processes(struct recording *r, struct hark_err *err)
{
	struct recording_stream *s;
	int rc = 0;

	for (unsigned i = 0; i < recording_n_processes(r); i++) {
		uint32_t n = recording_process(r, i)->number;

		if (recording_read_process(r, n, &s, err) < 0 ||
		    read_stream(s, err) < 0 ||
		    recording_read_maps(r, n, &s, err) < 0 ||
		    read_stream(s, err) < 0)
			rc = -1;
	}
	return rc;
}

static int read_modules(struct recording *r, struct hark_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < recording_n_modules(r); i++) {
		uint8_t *bytes = NULL;
		size_t len;

		if (recording_read_module(r, i, &bytes, &len, err) < 0)
			rc = -1;
		else
			free(bytes);
	}
	return rc;
}

static int read_segments(struct recording *r, struct hark_err *err)
{
	struct recording_stream *s;
	int rc = 0;

	for (unsigned i = 0; i < recording_n_segments(r); i++)
		if (recording_read_segment(r, i, &s, err) < 0 ||
		    read_stream(s, err) < 0)
			rc = -1;
	return rc;
}

static void replay(struct recording *r)
{
	struct hark_err err = {0};
	struct player_sum sum;
	struct player *p;

	if (player_new(r, 0, &p, &err) < 0)
		return;
	for (unsigned i = 0; i < recording_n_segments(r) && i < 64; i++)
		player_segment(p, i, &sum, &err);
	player_free(p);
}

enum { SAID_DAMAGED, SAID_CUT, SAID_WHOLE };

/* What hark says of it, and how many bytes it took for good. */
static int read_all(const char *path, int replays, uint64_t *good)
{
	struct recording *r;
	struct recording_facts facts;
	struct hark_err err = {0};
	int bad = 0, said;

	*good = 0;
	if (recording_open(path, &r, &err) < 0)
		return SAID_DAMAGED;
	bad |= recording_check(r, &err);
	bad |= read_processes(r, &err);
	bad |= read_modules(r, &err);
	bad |= read_segments(r, &err);
	if (replays)
		replay(r);
	recording_facts(r, &facts);
	*good = facts.bytes;
	said = bad != 0			  ? SAID_DAMAGED
	       : recording_is_complete(r) ? SAID_WHOLE
					  : SAID_CUT;
	recording_close(r);
	return said;
}

/* -- Cases -- */

struct counts {
	uint64_t done, same, damaged, cut, whole, believed, died, hung, large;
	uint64_t now; /* the case */
};

struct setting {
	struct file file, other;
	int sealed;
	int fd; /* what is read */
	char path[64];
	struct counts *counts; /* shared with children */
};

static void show(const struct setting *s, const struct bytes *b)
{
	if (ftruncate(s->fd, 0) < 0 ||
	    pwrite(s->fd, b->at, b->len, 0) != (ssize_t)b->len)
		die("memfd");
}

/* Cut: what is there must be the beginning of FILE, or of OTHER. */
static int is_beginning(const struct setting *s, const struct bytes *b,
			uint64_t good)
{
	const struct bytes *f = &s->file.bytes, *o = &s->other.bytes;

	return good <= b->len &&
	       ((good <= f->len && memcmp(b->at, f->at, good) == 0) ||
		(good <= o->len && memcmp(b->at, o->at, good) == 0));
}

static int is_either(const struct setting *s, const struct bytes *b)
{
	const struct bytes *f = &s->file.bytes, *o = &s->other.bytes;

	return (b->len == f->len && memcmp(b->at, f->at, b->len) == 0) ||
	       (b->len == o->len && memcmp(b->at, o->at, b->len) == 0);
}

static void judge(const struct setting *s, const struct bytes *b, int said,
		  uint64_t good)
{
	struct counts *c = s->counts;

	c->damaged += said == SAID_DAMAGED;
	c->cut += said == SAID_CUT;
	c->whole += said == SAID_WHOLE;
	if (s->sealed || said == SAID_DAMAGED ||
	    (said == SAID_CUT && is_beginning(s, b, good)))
		return;
	if (++c->believed <= MISSES_MAX)
		printf("case %lu: believed\n", (unsigned long)c->now);
}

static void run_case(const struct setting *s, struct bytes *b)
{
	int replays = s->sealed && s->counts->now % REPLAY_EVERY == 0;
	uint64_t good;
	int said;

	begin_chance(s->counts->now);
	b->len = 0;
	append(b, s->file.bytes.at, s->file.bytes.len);
	if (s->sealed)
		forge(&s->file, &s->other, b);
	else
		damage(&s->file, &s->other, b);
	if (is_either(s, b)) {
		s->counts->same++;
		return;
	}
	show(s, b);
	said = read_all(s->path, replays, &good);
	judge(s, b, said, good);
}

static long memory_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static void end(struct setting *s)
{
	free(s->file.bytes.at);
	free(s->file.chunks);
	free(s->other.bytes.at);
	free(s->other.chunks);
}

/* Until `to`, or until it dies; of a leak, too, at its end. */
static void run_cases(struct setting *s, uint64_t to)
{
	struct itimerval limit = {.it_value = {CASE_SECONDS, 0}};
	struct bytes b = {0};
	long before = memory_now();

	for (; s->counts->now < to; s->counts->now++) {
		setitimer(ITIMER_REAL, &limit, NULL);
		run_case(s, &b);
		s->counts->done++;
		if (memory_now() - before < MEMORY_MAX)
			continue;
		printf("case %lu: took much memory\n",
		       (unsigned long)s->counts->now++);
		s->counts->large++;
		break;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	free(b.at);
	end(s);
	exit(0);
}

static void run_child(struct setting *s, uint64_t to)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_cases(s, to);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fork");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		s->counts->hung++;
	else
		s->counts->died++;
	printf("case %lu: ended with %s %d\n", (unsigned long)s->counts->now,
	       WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	s->counts->now++;
	s->counts->done++;
}

static void begin(struct setting *s, char **argv)
{
	s->file = load(argv[4]);
	s->other = load(argv[5]);
	s->sealed = strcmp(argv[1], "sealed") == 0;
	if (s->sealed)
		adopt(&s->file, &s->other);
	s->fd = memfd_create("damaged", MFD_CLOEXEC);
	s->counts = mmap(NULL, sizeof *s->counts, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->fd < 0 || s->counts == MAP_FAILED)
		die("memory");
	snprintf(s->path, sizeof s->path, "/proc/self/fd/%d", s->fd);
	s->counts->now = strtoull(argv[2], NULL, 10);
}

int main(int argc, char **argv)
{
	enum { BATCH = 20000 };
	struct setting s = {0};
	struct counts *c;
	uint64_t to;

	if (argc != 6)
		return 2;
	begin(&s, argv);
	c = s.counts;
	to = strtoull(argv[3], NULL, 10);
	while (c->now < to &&
	       c->believed + c->died + c->hung + c->large < MISSES_MAX) {
		uint64_t next = c->now + BATCH;

		run_child(&s, next < to ? next : to);
	}
	printf("%lu cases to %lu: %lu as before, %lu damaged, %lu incomplete, "
	       "%lu whole; %lu believed, %lu died, %lu hung, %lu large\n",
	       (unsigned long)c->done, (unsigned long)c->now,
	       (unsigned long)c->same, (unsigned long)c->damaged,
	       (unsigned long)c->cut, (unsigned long)c->whole,
	       (unsigned long)c->believed, (unsigned long)c->died,
	       (unsigned long)c->hung, (unsigned long)c->large);
	end(&s);
	return c->believed + c->died + c->hung + c->large == 0 ? 0 : 1;
}
