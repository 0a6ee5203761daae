/* tests/unit/profile_reader_test.c - profiles: whole, cut, damaged, hostile. */
#include "profile_make.h"

#include "base/varint.h"
#include "outside/faults.h"
#include "profile/calls.h"
#include "profile/show.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EXAMPLE_SAMPLES = 40 };

static bool is_same_stack(const struct profile *a, const struct profile *b,
			  size_t sample)
{
	uint32_t i = a->samples[sample].node, j = b->samples[sample].node;

	while (i != 0 && j != 0) {
		const struct tree_frame *x = &a->frames[a->nodes[i].frame];
		const struct tree_frame *y = &b->frames[b->nodes[j].frame];

		if (x->address != y->address || x->module != y->module ||
		    x->flags != y->flags)
			return false;
		i = a->nodes[i].parent;
		j = b->nodes[j].parent;
	}
	return i == j;
}

START_TEST(reader_of_every_truncation_gives_a_prefix)
{
	struct profile *whole = NULL, *p;
	struct hark_err err;
	size_t len, before = 0;
	uint8_t *bytes = make_example(&len);

	ck_assert_int_eq(0, make_open(bytes, len, &whole, &err));
	ck_assert_uint_eq(EXAMPLE_SAMPLES, whole->n_samples);
	ck_assert(whole->facts.is_complete);
	for (size_t cut = 0; cut < len; cut++) {
		if (make_open(bytes, cut, &p, &err) < 0) {
			ck_assert_int_eq(HARK_EINPUT, err.code);
			ck_assert_uint_eq(0, before);
			continue;
		}
		ck_assert_ptr_null(p->facts.damage);
		ck_assert(!p->facts.is_complete);
		make_check(p);
		ck_assert_uint_ge(p->n_samples, before);
		for (size_t i = 0; i < p->n_samples; i++)
			ck_assert(is_same_stack(p, whole, i));
		before = p->n_samples;
		profile_free(p);
	}
	ck_assert_uint_eq(EXAMPLE_SAMPLES, before);
	profile_free(whole);
	free(bytes);
}
END_TEST

START_TEST(reader_notices_every_flipped_bit)
{
	struct hark_err err;
	struct profile *p;
	size_t len;
	uint8_t *bytes = make_example(&len);

	for (size_t i = 0; i < 8 * len; i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		if (make_open(bytes, len, &p, i % 2 == 0 ? &err : NULL) == 0) {
			ck_assert_ptr_nonnull(p->facts.damage);
			ck_assert(!p->facts.is_complete);
			make_check(p);
			profile_free(p);
		}
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	free(bytes);
}
END_TEST

/* -- Right checksums over wrong contents -- */

/* A copy in which byte `at` of chunk `which` is another. */
static uint8_t *tampered(const uint8_t *bytes, size_t len, uint64_t which,
			 uint64_t random, size_t *out_len)
{
	int from = memfd_create("from", 0), to = memfd_create("to", 0);
	struct file_reader *r;
	struct file_writer *w;
	struct file_chunk c;
	struct hark_err err;
	uint8_t *out;

	ck_assert_int_eq(write(from, bytes, len), (ssize_t)len);
	lseek(from, 0, SEEK_SET);
	ck_assert_int_eq(0, file_open_fd(from, "from", &r, &err));
	ck_assert_int_eq(0, file_create_fd(to, "to", &w, &err));
	while (file_next(r, &c, &err) == FILE_CHUNK) {
		uint8_t *copy = malloc(c.len + 1);

		memcpy(copy, c.bytes, c.len);
		if (c.number == which && c.len > 0)
			copy[random % c.len] = (uint8_t)(random >> 32);
		ck_assert_int_eq(0, file_put(w, c.type, c.process, c.thread,
					     copy, c.len, &err));
		free(copy);
	}
	*out_len = (size_t)file_written(w);
	file_writer_close(w);
	file_reader_close(r);
	out = malloc(*out_len);
	ck_assert_int_eq(pread(to, out, *out_len, 0), (ssize_t)*out_len);
	close(from);
	close(to);
	return out;
}

/* Everything that is done with a profile. */
static void use(const struct profile *p)
{
	const struct profile_choice all = {0};
	struct profile_stacks *stacks;
	struct hark_err err;
	struct calls c;

	ck_assert_int_eq(0, profile_stacks(p, &all, &stacks, &err));
	for (int view = CALLS_DOWN; view <= CALLS_UP; view++) {
		ck_assert_int_eq(0, calls_init(&c, profile_stacks_get(stacks),
					       (enum calls_view)view, 0, &err));
		ck_assert_uint_eq(p->facts.weight, c.total);
		calls_fini(&c);
	}
	profile_stacks_free(stacks);
}

#ifdef __SANITIZE_ADDRESS__
enum { TRIES = 360 };
#else
enum { TRIES = 1500 };
#endif

START_TEST(reader_believes_nothing_that_has_a_right_checksum)
{
	uint64_t state = 12345;
	size_t len, changed_len;
	uint8_t *bytes = make_example(&len);
	unsigned damaged = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		struct hark_err err;
		struct profile *p;
		uint8_t *changed;

		state = state * 6364136223846793005u + 1442695040888963407u;
		changed = tampered(bytes, len, i % 24, state, &changed_len);
		if (make_open(changed, changed_len, &p, &err) == 0) {
			make_check(p);
			use(p);
			damaged += p->facts.damage != NULL;
			profile_free(p);
		} else {
			ck_assert_int_eq(HARK_EINPUT, err.code);
		}
		free(changed);
	}
	ck_assert_uint_gt(damaged, TRIES / 30); /* it does what it says */
	free(bytes);
}
END_TEST

/* A file of one module, one thread, frames 0 and 1, nodes 1 and 2, and then
 * one more chunk of such varints. */
static struct profile *with_chunk(enum wire_chunk_type type, const uint64_t *v,
				  size_t n)
{
	static const char meta[] = "kind=profile\nprofile=1\n";
	int fd = memfd_create("hostile", 0);
	uint8_t bytes[256], *at = bytes;
	struct profile *p = NULL;
	struct file_writer *w;
	struct hark_err err;
	char path[64];

	ck_assert_int_eq(0, file_create_fd(fd, "hostile", &w, &err));
	file_put(w, WIRE_CHUNK_META, 0, 0, meta, sizeof meta - 1, &err);
	file_put(w, WIRE_CHUNK_MODULE, 0, 1, "path=/a\n", 8, &err);
	file_put(w, WIRE_CHUNK_THREADS, 0, 0, "\1\1\1\1x", 5, &err);
	file_put(w, WIRE_CHUNK_FRAMES, 0, 0, "\20\0\20\2", 4, &err);
	file_put(w, WIRE_CHUNK_NODES, 0, 0, "\1\0\1\1", 4, &err);
	file_put(w, WIRE_CHUNK_SAMPLES, 0, 0, "\1\2\4\1", 4, &err);
	for (size_t i = 0; i < n; i++)
		at = varint_put(at, v[i]);
	file_put(w, type, 0, 0, bytes, (size_t)(at - bytes), &err);
	file_put(w, WIRE_CHUNK_END, 0, 0, "", 0, &err);
	file_writer_close(w);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ck_assert_int_eq(0, profile_open(path, &p, &err));
	close(fd);
	make_check(p);
	use(p);
	return p;
}

static const struct {
	enum wire_chunk_type type;
	size_t n;
	uint64_t v[8];
	const char *what;
	size_t samples; /* that there are then */
} hostile[] = {
    {WIRE_CHUNK_SAMPLES, 4, {1, 2, 4, 1}, NULL, 2},
    {WIRE_CHUNK_SAMPLES, 4, {1, 2, 0, 1}, NULL, 2}, /* an empty stack */
    {WIRE_CHUNK_SAMPLES, 4, {0, 2, 4, 1}, "no thread", 1},
    {WIRE_CHUNK_SAMPLES, 4, {2, 2, 4, 1}, "no thread", 1},
    {WIRE_CHUNK_SAMPLES, 4, {1, 2, 6, 1}, "no node", 1},
    {WIRE_CHUNK_SAMPLES, 4, {1, 2, 1, 1}, "no node", 1}, /* node -1 */
    {WIRE_CHUNK_SAMPLES, 4, {1, 1, 2, 1}, "no time", 1}, /* -1 */
    {WIRE_CHUNK_SAMPLES, 4, {1, 2, 2, 1ull << 53}, "weigh too much", 1},
    {WIRE_CHUNK_SAMPLES, 4, {1, 2, 2, UINT64_MAX}, "weigh too much", 1},
    {WIRE_CHUNK_SAMPLES, 3, {1, 2, 2}, "middle of a record", 1},
    {WIRE_CHUNK_SAMPLES, 8, {1, 2, 2, 1, 9, 2, 2, 1}, "no thread", 2},
    {WIRE_CHUNK_NODES, 2, {0, 0}, "no parent", 1},
    {WIRE_CHUNK_NODES, 2, {4, 0}, "no parent", 1},
    {WIRE_CHUNK_NODES, 2, {UINT64_MAX, 0}, "no parent", 1},
    {WIRE_CHUNK_NODES, 2, {1, 2}, "no frame", 1},
    {WIRE_CHUNK_NODES, 1, {1}, "middle of a record", 1},
    {WIRE_CHUNK_FRAMES, 2, {2 << 4, 0}, "no module", 1},
    {WIRE_CHUNK_FRAMES, 2, {UINT64_MAX, 0}, "no module", 1},
    {WIRE_CHUNK_THREADS, 4, {0, 1, 1, 0}, "wrong number", 1},
    {WIRE_CHUNK_THREADS, 4, {3, 1, 1, 0}, "wrong number", 1},
    {WIRE_CHUNK_THREADS, 4, {2, 1ull << 31, 1, 0}, "wrong number", 1},
    {WIRE_CHUNK_THREADS, 4, {2, 1, 1, 1}, "too long", 1},
    {WIRE_CHUNK_THREADS, 4, {2, 1, 1, UINT64_MAX}, "too long", 1},
    {WIRE_CHUNK_MODULE, 1, {'x'}, "wrong number", 1}, /* its number is 0 */
    {99, 1, {0}, NULL, 1},			      /* of later versions */
};

START_TEST(reader_refuses_a_number_that_leads_nowhere)
{
	struct profile *p =
	    with_chunk(hostile[_i].type, hostile[_i].v, hostile[_i].n);

	if (hostile[_i].what == NULL) {
		ck_assert_ptr_null(p->facts.damage);
		ck_assert(p->facts.is_complete);
	} else {
		ck_assert_ptr_nonnull(p->facts.damage);
		ck_assert_msg(strstr(p->facts.damage, hostile[_i].what) != NULL,
			      "%s", p->facts.damage);
		ck_assert(!p->facts.is_complete);
	}
	ck_assert_uint_eq(hostile[_i].samples, p->n_samples);
	profile_free(p);
}
END_TEST

/* -- Other files -- */

static int open_text(const char *meta, struct hark_err *err)
{
	int fd = memfd_create("other", 0), rc;
	struct profile *p = NULL;
	struct file_writer *w;
	char path[64];

	ck_assert_int_eq(0, file_create_fd(fd, "other", &w, err));
	if (meta != NULL)
		file_put(w, WIRE_CHUNK_META, 0, 0, meta, strlen(meta), err);
	file_writer_close(w);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	rc = profile_open(path, &p, err);
	profile_free(p);
	close(fd);
	return rc;
}

START_TEST(reader_refuses_what_is_no_profile)
{
	struct hark_err err;

	ck_assert_int_eq(-1, open_text("kind=recording\n", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "of kind recording"));
	ck_assert_int_eq(-1, open_text("kind=profile\nprofile=2\n", &err));
	ck_assert_ptr_nonnull(strstr(err.text, "version 2"));
	ck_assert_int_eq(-1, open_text("", &err));
	ck_assert_int_eq(-1, open_text(NULL, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "nothing is in it"));
	ck_assert_int_eq(0, open_text("kind=profile\n", &err));
}
END_TEST

START_TEST(reader_gives_facts_without_the_rest)
{
	int fd = memfd_create("facts", 0);
	struct hark_err err;
	struct profile *p;
	char path[64];
	size_t len;
	uint8_t *bytes = make_example(&len);

	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ck_assert_int_eq(0, profile_open_facts(path, &p, &err));
	ck_assert_uint_eq(EXAMPLE_SAMPLES, p->facts.samples);
	ck_assert_uint_eq(EXAMPLE_SAMPLES, p->facts.weight);
	ck_assert_uint_eq(0, p->n_samples);
	ck_assert_uint_eq(8, p->facts.lost);
	ck_assert_uint_eq(3, p->facts.threads);
	ck_assert(p->facts.is_complete);
	profile_free(p);
	close(fd);
	free(bytes);
}
END_TEST

START_TEST(reader_without_memory_says_so)
{
	const struct profile_choice all = {0};
	size_t len;
	uint8_t *bytes = make_example(&len);
	int fd = memfd_create("memory", 0), happened = 1;
	char path[64];

	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	for (long k = 1; happened; k++) {
		struct profile_stacks *stacks = NULL;
		struct profile *p = NULL;
		struct hark_err err = {0};
		struct calls c = {0};
		int rc;

		faults_set(k);
		rc = profile_open(path, &p, &err);
		if (rc == 0)
			rc = profile_stacks(p, &all, &stacks, &err);
		if (rc == 0)
			rc = calls_init(&c, profile_stacks_get(stacks),
					CALLS_UP, 0, &err);
		happened = faults_happened();
		faults_set(0);
		if (rc < 0)
			ck_assert_str_ne("", err.text);
		else /* never less of it */
			ck_assert_uint_eq(EXAMPLE_SAMPLES, c.total);
		calls_fini(&c);
		profile_stacks_free(stacks);
		profile_free(p);
	}
	close(fd);
	free(bytes);
}
END_TEST

Suite *profile_reader_suite(void)
{
	Suite *s = suite_create("profile_reader");
	TCase *t = tcase_create("reader");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, reader_of_every_truncation_gives_a_prefix);
	tcase_add_test(t, reader_notices_every_flipped_bit);
	tcase_add_test(t, reader_believes_nothing_that_has_a_right_checksum);
	tcase_add_loop_test(t, reader_refuses_a_number_that_leads_nowhere, 0,
			    sizeof hostile / sizeof hostile[0]);
	tcase_add_test(t, reader_refuses_what_is_no_profile);
	tcase_add_test(t, reader_gives_facts_without_the_rest);
	tcase_add_test(t, reader_without_memory_says_so);
	suite_add_tcase(s, t);
	return s;
}
