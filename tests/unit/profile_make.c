/* tests/unit/profile_make.c - small profiles for tests. */
#include "profile_make.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void make_begin(struct make *m)
{
	static char *const argv[] = {(char *)"prog", (char *)"a b", NULL};
	static const uint8_t id[] = {0, 1, 2, 0xff}; /* may begin with 0 */
	const struct module_range ranges[] = {
	    {MAKE_BASE, MAKE_BASE + 0x10000},
	    {MAKE_LIB, MAKE_LIB + 0x1000},
	    {MAKE_ANON, MAKE_ANON + 0x1000},
	};
	const struct module_spec specs[] = {
	    {.path = "/nowhere/prog",
	     .id = id,
	     .id_len = sizeof id,
	     .bias = 0x1000,
	     .ranges = &ranges[0],
	     .n_ranges = 1,
	     .kind = MODULE_PIE,
	     .main = true},
	    {.path = "/nowhere/lib.so",
	     .bias = MAKE_LIB,
	     .ranges = &ranges[1],
	     .n_ranges = 1,
	     .kind = MODULE_SO},
	    {.path = "[anon]",
	     .ranges = &ranges[2],
	     .n_ranges = 1,
	     .kind = MODULE_ANON},
	};
	struct profile_plan plan = {.argv = argv,
				    .clock = PROFILE_WALL,
				    .period_ns = 1000000,
				    .began_ns = MAKE_BEGAN};
	struct hark_err err;

	*m = (struct make){.fd = memfd_create("profile", 0)};
	ck_assert_int_ge(m->fd, 0);
	snprintf(m->path, sizeof m->path, "/proc/self/fd/%d", m->fd);
	ck_assert_int_eq(0, image_new(&m->image, &err));
	ck_assert_int_eq(
	    0, modules_of_list(m->image, specs, 3, &m->modules, &err));
	ck_assert_int_eq(0, file_create_fd(m->fd, "profile", &plan.file, &err));
	ck_assert_int_eq(0, profile_create(&plan, &m->writer, &err));
}

void make_maps(struct make *m, int pid)
{
	struct hark_err err;

	ck_assert_int_eq(0, profile_maps(m->writer, pid, m->modules, &err));
}

int make_sample(struct make *m, int tid, uint64_t time, uint32_t kept,
		const uint64_t *pcs, struct hark_err *err)
{
	struct profile_frame frames[64] = {0};
	struct profile_sample s = {.pid = 7,
				   .tid = tid,
				   .time_ns = MAKE_BEGAN + time,
				   .weight = 1,
				   .kept = kept,
				   .frames = frames};

	while (pcs[s.n] != 0) {
		frames[s.n].pc = pcs[s.n];
		frames[s.n].is_return = pcs[s.n + 1] != 0;
		s.n++;
	}
	return profile_put(m->writer, &s, err);
}

void make_finish(struct make *m)
{
	struct profile_ending e = {.ended_ns = MAKE_BEGAN + 1000000,
				   .cpu_user_ns = 700000,
				   .cpu_system_ns = 300000,
				   .has_status = true,
				   .status = 3 << 8};
	struct hark_err err;

	ck_assert_int_eq(0, profile_finish(m->writer, &e, &err));
	make_cut(m);
}

void make_cut(struct make *m)
{
	profile_close(m->writer);
	m->writer = NULL;
	modules_free(m->modules);
	image_free(m->image);
}

void make_close(struct make *m)
{
	close(m->fd);
}

uint8_t *make_example(size_t *len)
{
	struct hark_err err;
	struct make m;
	uint8_t *bytes;

	make_begin(&m);
	make_maps(&m, 7);
	ck_assert_int_eq(0, profile_thread(m.writer, 7, 7, "first", &err));
	for (uint64_t i = 0; i < 40; i++) {
		const uint64_t pcs[] = {
		    MAKE_BASE + 16 + 16 * (i / 13), MAKE_LIB + 32 * (i % 5) + 1,
		    i % 7 == 0 ? MAKE_ANON + 5 : MAKE_BASE + 256 + i,
		    i % 11 == 0 ? 0xdeadbeef : 0, 0};

		ck_assert_int_eq(0, make_sample(&m, 7 + (int)(i % 3), 1000 * i,
						0, pcs, &err));
		if (i % 9 == 8)
			profile_lost(m.writer, "no room", 2);
		if (i % 10 == 9)
			ck_assert_int_eq(0, profile_flush(m.writer, &err));
	}
	make_finish(&m);
	*len = (size_t)lseek(m.fd, 0, SEEK_END);
	bytes = malloc(*len);
	ck_assert_int_eq(pread(m.fd, bytes, *len, 0), (ssize_t)*len);
	make_close(&m);
	return bytes;
}

int make_open(const uint8_t *bytes, size_t len, struct profile **out,
	      struct hark_err *err)
{
	int fd = memfd_create("profile", 0), rc;
	char path[64];

	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	rc = profile_open(path, out, err);
	close(fd);
	return rc;
}

void make_check(const struct profile *p)
{
	uint64_t before = 0, weight = 0;

	for (size_t i = 0; i < p->n_frames; i++)
		ck_assert_uint_le(p->frames[i].module, p->n_modules);
	ck_assert_uint_ge(p->n_nodes, 1);
	for (size_t i = 1; i < p->n_nodes; i++) {
		ck_assert_uint_lt(p->nodes[i].parent, i);
		ck_assert_uint_lt(p->nodes[i].frame, p->n_frames);
	}
	for (size_t i = 0; i < p->n_samples; i++) {
		ck_assert_uint_lt(p->samples[i].thread, p->n_threads);
		ck_assert_uint_lt(p->samples[i].node, p->n_nodes);
		ck_assert_uint_ge(p->samples[i].time_ns, before);
		before = p->samples[i].time_ns;
		weight += p->samples[i].weight;
	}
	ck_assert_uint_eq(weight, p->facts.weight);
	ck_assert_uint_eq(p->n_samples, p->facts.samples);
}
