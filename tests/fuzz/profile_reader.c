/* tests/fuzz/profile_reader.c - any bytes as a profile.
 *
 * Every input is read twice: as a file, and as a list of chunks that a file is
 * made of, with right checksums. What is opened is then shown, both ways. */
#include "profile/reader.h"

#include "profile/report.h"
#include "profile/show.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(const struct profile *p)
{
	for (size_t i = 0; i < p->n_frames; i++)
		if (p->frames[i].module > p->n_modules)
			abort();
	for (size_t i = 1; i < p->n_nodes; i++)
		if (p->nodes[i].parent >= i || p->nodes[i].frame >= p->n_frames)
			abort();
	for (size_t i = 0; i < p->n_samples; i++)
		if (p->samples[i].thread >= p->n_threads ||
		    p->samples[i].node >= p->n_nodes)
			abort();
}

static void show(const struct profile *p, FILE *nowhere)
{
	const struct profile_choice all = {0};
	struct profile_stacks *stacks;
	struct hark_err err;
	struct report_plan plan = {.profile = p, .width = 60};

	if (profile_stacks(p, &all, &stacks, &err) < 0)
		abort();
	plan.stacks = profile_stacks_get(stacks);
	for (int view = CALLS_DOWN; view <= CALLS_UP; view++) {
		plan.view = (enum calls_view)view;
		if (report_text(&plan, nowhere, &err) < 0 ||
		    report_json(&plan, nowhere, &err) < 0)
			abort();
	}
	profile_stacks_free(stacks);
}

static void read_all(int fd)
{
	static FILE *nowhere;
	struct profile *p = NULL;
	struct hark_err err = {0};
	char path[64];

	if (nowhere == NULL)
		nowhere = fopen("/dev/null", "w");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (profile_open(path, &p, &err) < 0) {
		if (p != NULL || err.text[0] == '\0')
			abort();
		return;
	}
	check_numbers(p);
	show(p, nowhere);
	profile_free(p);
	if (profile_open_facts(path, &p, &err) == 0)
		profile_free(p);
}

/* A chunk is its type, its number, its length in two bytes, and bytes. Files
 * that names could lead to are none. */
static void make_file(int fd, const uint8_t *data, size_t size)
{
	static const char meta[] = "kind=profile\nprofile=1\n";
	struct file_writer *w = NULL;
	struct hark_err err;

	if (file_create_fd(fd, "fuzz", &w, &err) < 0)
		abort();
	file_put(w, WIRE_CHUNK_META, 0, 0, meta, sizeof meta - 1, &err);
	while (size >= 4) {
		size_t len = (size_t)data[2] << 8 | data[3];

		len = len < size - 4 ? len : size - 4;
		if (memmem(data + 4, len, "path=/", 6) == NULL)
			file_put(w, data[0] % 16, 0, data[1], data + 4, len,
				 &err);
		data += 4 + len;
		size -= 4 + len;
	}
	file_writer_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0), made = memfd_create("made", 0);

	if (fd < 0 || made < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	read_all(fd);
	make_file(made, data, size);
	read_all(made);
	close(fd);
	close(made);
	return 0;
}
