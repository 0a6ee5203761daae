/* tests/fuzz/record_recording.c - any bytes as a recording.
 *
 * Every input is read twice: as a file, and as a list of chunks that a file is
 * made of, with right checksums. What is opened is then read to its end. */
#include "record/recording.h"

#include "outside/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* -- Reading -- */

static void read_stream(struct recording_stream *s)
{
	const uint8_t *bytes;
	struct hark_err err;
	size_t len;

	while (recording_stream_next(s, &bytes, &len, &err) > 0)
		for (size_t at = 0; at < len;) {
			struct wire_rec rec;

			memcpy(&rec, bytes + at, sizeof rec);
			at += sizeof rec + rec.len;
			if (at > len)
				abort();
		}
	recording_stream_close(s);
}

static void read_segments(struct recording *r)
{
	const struct recording_segment *last = NULL;
	struct recording_stream *s;
	struct hark_err err;

	for (unsigned i = 0; i < recording_n_segments(r); i++) {
		const struct recording_segment *g = recording_segment(r, i);

		if (last != NULL && last->process == g->process &&
		    last->thread == g->thread &&
		    (last->count > g->count || last->is_last || g->is_first))
			abort();
		last = g;
		if (recording_read_segment(r, i, &s, &err) == 0)
			read_stream(s);
	}
}

static void read_rest(struct recording *r)
{
	struct recording_stream *s;
	struct hark_err err;
	char text[256];

	for (unsigned i = 0; i < recording_n_processes(r); i++) {
		const struct recording_process *p = recording_process(r, i);

		if (p->parent == p->number || strlen(p->command) == SIZE_MAX)
			abort();
		if (recording_read_process(r, p->number, &s, &err) == 0)
			read_stream(s);
		if (recording_read_maps(r, p->number, &s, &err) == 0)
			read_stream(s);
	}
	for (unsigned i = 0; i < recording_n_modules(r); i++) {
		uint8_t *bytes;
		size_t len;

		if (recording_read_module(r, i, &bytes, &len, &err) == 0) {
			if (len != recording_module(r, i)->size)
				abort();
			free(bytes);
		}
	}
	recording_cpu_missing(r, text, sizeof text);
	recording_cpu_refuses(r, text, sizeof text);
	recording_note(r, 3);
	recording_check(r, &err);
}

static void read_all(int fd)
{
	struct recording *r = NULL;
	struct hark_err err = {0};
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (recording_open_damaged(path, &r, &err) < 0) {
		if (r != NULL || err.text[0] == '\0')
			abort();
		return;
	}
	read_segments(r);
	read_rest(r);
	recording_close(r);
}

/* -- Making -- */

static void put_chunk(struct file_writer *w, const uint8_t head[8],
		      const uint8_t *bytes, size_t len)
{
	const struct wire_file_key key = {.count = head[4],
					  .flags = head[5] & 1};
	struct file_content c = {
	    .type = head[0] % 10,
	    .process = head[1] % 4,
	    .thread = head[2] % 4,
	    .key = (head[3] & 1) != 0 ? &key : NULL,
	    .bytes = bytes,
	    .len = len,
	};
	struct file_packed p = {0};
	struct hark_err err;

	if (file_pack(&c, (head[3] & 2) != 0 ? 1 : 0, NULL, &p) < 0)
		abort();
	file_put_packed(w, &p, &err);
	file_unpack_free(&p);
}

static void make_file(int fd, const uint8_t *data, size_t size)
{
	static const char meta[] = "kind=recording\nrecord=1\n";
	struct file_writer *w = NULL;
	struct hark_err err;

	if (file_create_fd(fd, "fuzz", &w, &err) < 0)
		abort();
	file_put(w, WIRE_CHUNK_META, 0, 0, meta, sizeof meta - 1, &err);
	while (size >= 8) {
		size_t len = (size_t)data[6] << 8 | data[7];

		len = len < size - 8 ? len : size - 8;
		put_chunk(w, data, data + 8, len);
		data += 8 + len;
		size -= 8 + len;
	}
	file_writer_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	read_all(fd);
	close(fd);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	make_file(fd, data, size);
	read_all(fd);
	close(fd);
	return 0;
}
