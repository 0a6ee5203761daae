/* tests/fuzz/image_elf.c - any bytes may call themselves an ELF file.
 *
 * Everything that hark would ask of a module is asked of them. The sizes of
 * questions are fixed, so that the time is the file's. */
#include "image/frames.h"
#include "image/image.h"
#include "image/lines.h"
#include "image/symbols.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESSES = 64 };

struct seen {
	struct image_file *f; /* borrowed */
	uint64_t addr[ADDRESSES];
	size_t n, all;
};

static int see(void *ctx, const struct symbol *s)
{
	struct seen *seen = ctx;

	if (seen->n < ADDRESSES) {
		seen->addr[seen->n++] = s->addr;
		symbols_pretty(seen->f, s);
	}
	seen->all++;
	return 0;
}

static int stop(void *ctx, uint64_t addr)
{
	struct seen *seen = ctx;

	seen->addr[0] ^= addr;
	return 1;
}

static int read_zero(void *ctx, uint64_t addr, uint64_t *out)
{
	(void)ctx;
	*out = addr * 2654435761u;
	return (addr & 0xf000) == 0xf000 ? -1 : 0;
}

static void ask_frames(struct image_file *f, const struct seen *seen)
{
	static const struct frame_memory memory = {read_zero, NULL};
	const struct frame_table *t;

	if (frames_of(f, &t, NULL) < 0)
		return;
	if (frame_table_check(t, t->len, true, NULL) < 0)
		abort(); /* what we build must pass our own check */
	for (size_t i = 0; i < seen->n; i++) {
		struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1,
					.exact = true};

		cpu.reg[FRAME_RIP] = seen->addr[i] + 1;
		cpu.reg[FRAME_RSP] = 0x7ff000;
		for (int k = 0; k < 4; k++)
			if (frame_step(t, 0, &memory, &cpu) != FRAME_STEPPED)
				break;
	}
	for (uint32_t i = 0; i < t->n_rules; i++) {
		struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1};

		frame_apply(t, &frame_rules(t)[i], &memory, &cpu);
	}
}

static void ask_lines(struct image_file *f, struct seen *seen)
{
	struct line_frame frame[LINES_DEPTH];
	size_t n;

	for (size_t i = 0; i < seen->n; i++) {
		for (uint64_t at = 0; at < 32; at += 7) {
			if (lines_at(f, seen->addr[i] + at, frame, LINES_DEPTH,
				     &n, NULL) < 0)
				continue;
			if (i == 0 && at == 0 && frame[n - 1].file != NULL)
				lines_sites(f, frame[n - 1].file,
					    frame[n - 1].line, stop, seen,
					    NULL);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *im = NULL;
	struct image_file *f = NULL;
	struct symbol s;

	if (image_new(&im, NULL) < 0)
		return 0;
	if (image_open_memory(im, "fuzzed", data, size, &f, NULL) == 0) {
		struct seen seen = {.f = f};

		symbols_each(f, NULL, see, &seen, NULL);
		symbols_each(f, "*a?[m-z]*", see, &seen, NULL);
		symbols_named(f, "main", &s, NULL);
		symbols_named(f, "std::vector<int>::push_back", &s, NULL);
		symbols_object(f, 0x4010, &s, NULL);
		ask_frames(f, &seen);
		ask_lines(f, &seen);
		image_file_debug(f);
	}
	image_free(im);
	return 0;
}
