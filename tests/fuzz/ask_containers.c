/* tests/fuzz/ask_containers.c - containers of C++ in any memory.
 *
 * The first byte of the input chooses a container of a module, the second one
 * which bytes are not known; each one after that is a word of the memory, in
 * which the container lies at the begin: a small number, or a pointer to
 * another word of it. So most of what the fuzzer makes can be followed. */
#include "ask/eval.h"
#include "ask/show.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From the root of the sources, where all fuzzers run. */
#define MODULE "tests/fuzz/modules/containers.so"

enum { MODULE_MAX = 1 << 20, FIELDS = 64, TEXT_MAX = 1 << 16 };
enum { BASE = 0x10000000, CODE = 0x1000, MEMORY = 0x20000 };

static uint8_t module_bytes[MODULE_MAX];
static size_t module_len;
static const uint8_t *words; /* of the memory */
static size_t n_words;
static uint8_t hidden; /* bytes whose address ends in this are not known */

static size_t fake_read(void *ctx, uint64_t addr, size_t len, uint8_t *out,
			uint8_t *known)
{
	size_t count = 0;

	(void)ctx;
	for (size_t i = 0; i < len; i++) {
		uint64_t at = addr + i - MEMORY, word;

		known[i] = at / 8 < n_words && (uint8_t)(addr + i) != hidden;
		if (!known[i])
			continue;
		word = words[at / 8];
		if (word >= 128)
			word = MEMORY + (word - 128) * 4;
		out[i] = (uint8_t)(word >> at % 8 * 8);
		count++;
	}
	return count;
}

static int fake_registers(void *ctx, uint32_t thread,
			  struct hark_registers *out, struct hark_err *err)
{
	(void)ctx;
	(void)thread;
	(void)err;
	memset(out, 0, sizeof *out);
	out->rip = BASE + CODE;
	return 0;
}

static int fake_mappings(void *ctx, const struct hark_mapping **out,
			 unsigned *count, struct hark_err *err)
{
	static const struct hark_mapping maps[] = {
	    {.start = BASE + CODE,
	     .end = BASE + 2 * CODE,
	     .offset = CODE,
	     .prot_ever = PROT_EXEC,
	     .path = ""},
	};

	(void)ctx;
	(void)err;
	*out = maps;
	*count = 1;
	return 0;
}

static unsigned fake_n_modules(void *ctx)
{
	(void)ctx;
	return 1;
}

static const struct hark_module *fake_module(void *ctx, unsigned i)
{
	static struct hark_module m = {
	    .path = "/nowhere/fuzzed", .build_id = "", .debug_of = ""};

	(void)ctx;
	(void)i;
	m.len = module_len;
	return &m;
}

static int fake_read_module(void *ctx, unsigned i, uint8_t **out, size_t *len,
			    struct hark_err *err)
{
	(void)ctx;
	(void)i;
	(void)err;
	*len = module_len;
	*out = malloc(*len);
	if (*out == NULL)
		return -1;
	memcpy(*out, module_bytes, *len);
	return 0;
}

static const struct ask_source source = {.read = fake_read,
					 .registers = fake_registers,
					 .mappings = fake_mappings,
					 .n_modules = fake_n_modules,
					 .module = fake_module,
					 .read_module = fake_read_module};

static struct eval e;
static struct type containers[FIELDS];
static unsigned n_containers;

static int take_field(void *ctx, const struct type_field *f)
{
	(void)ctx;
	containers[n_containers++] = f->type;
	return n_containers == FIELDS;
}

/* The fourth container is one of bits: here with 67 of them. */
static void check_module(void)
{
	static const uint8_t vector[] = {134, 0, 136, 3, 136, 5};
	struct value v;
	struct prose out;

	words = vector;
	n_words = sizeof vector;
	hidden = 255;
	v = eval_at(containers[3], MEMORY, 0);
	prose_init(&out, TEXT_MAX);
	if (n_containers < 15 || show_value(&e, &v, &out, NULL) < 0 ||
	    strncmp(prose_of(&out), "std::vector<bool> of length 67", 30) !=
		0) {
		fprintf(stderr, "the module is another one: %s\n",
			prose_of(&out));
		abort();
	}
	prose_fini(&out);
}

static void begin(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, module_bytes, sizeof module_bytes);
	struct hark_err err = {0};
	struct type all;

	if (n <= 0) {
		fprintf(stderr, "cannot read %s\n", MODULE);
		abort();
	}
	close(fd);
	module_len = (size_t)n;
	if (space_new(&source, &e.space, &err) < 0 ||
	    unwind_new(e.space, 1, 1, &e.u, &err) < 0 ||
	    space_count(e.space) != 1 ||
	    type_named(space_get(e.space, 0)->file, "All", &all, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	type_each_field(all, take_field, NULL);
	check_module();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hark_err err = {0};
	struct prose out;
	struct value v;

	if (e.space == NULL)
		begin();
	if (size < 2)
		return 0;
	v = eval_at(containers[data[0] % n_containers], MEMORY, 0);
	hidden = data[1];
	words = data + 2;
	n_words = size - 2;
	prose_init(&out, TEXT_MAX);
	if (show_value(&e, &v, &out, &err) < 0 || out.len > TEXT_MAX + 4)
		abort();
	prose_fini(&out);
	return 0;
}
