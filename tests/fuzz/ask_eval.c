/* tests/fuzz/ask_eval.c - expressions of any text.
 *
 * They are asked of a program that does not run: its module is one of another
 * fuzzer's corpus (names: shop, tls_var, sink, work; in the frame n, s, d, i,
 * sum, t), its memory is made up, and the first byte of the input chooses what
 * of it is not known. */
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
#define MODULE "tests/fuzz/corpus/image_vars/gcc5-O0"

enum { TEXT_LEN = 20000, MODULE_MAX = 1 << 20 };
enum { LOW = 0x400000, HIGH = 0x404000, WORK = 0x401020 };

static uint8_t module_bytes[MODULE_MAX];
static size_t module_len;
static uint8_t hidden; /* bytes whose address ends in this are not known */

/* Words are small numbers or lead back into the module, so that pointers can
 * be followed for ever. */
static uint8_t byte_at(uint64_t addr)
{
	uint64_t word = addr / 8 * 0x9e3779b97f4a7c15;

	word = word >> 62 == 0 ? word % 256 : LOW + word % (HIGH - LOW);
	return (uint8_t)(word >> addr % 8 * 8);
}

static size_t fake_read(void *ctx, uint64_t addr, size_t len, uint8_t *out,
			uint8_t *known)
{
	size_t count = 0;

	(void)ctx;
	for (size_t i = 0; i < len; i++) {
		known[i] = (uint8_t)(addr + i) != hidden && addr + i >= 4096;
		if (known[i])
			out[i] = byte_at(addr + i);
		count += known[i];
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
	for (unsigned i = 0; i < 16; i++)
		out->gpr[i] = 0x7fff0000 + 64 * i;
	out->rip = WORK;
	out->fs_base = 0x7fee0000;
	return 0;
}

static int fake_mappings(void *ctx, const struct hark_mapping **out,
			 unsigned *count, struct hark_err *err)
{
	static const struct hark_mapping maps[] = {
	    {.start = LOW + 0x1000,
	     .end = LOW + 0x2000,
	     .offset = 0x1000,
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

/* Once; and the names of the module must mean something. */
static void begin(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, module_bytes, sizeof module_bytes);
	struct hark_err err = {0};
	struct value v;

	if (n <= 0) {
		fprintf(stderr, "cannot read %s\n", MODULE);
		abort();
	}
	close(fd);
	module_len = (size_t)n;
	if (space_new(&source, &e.space, NULL) < 0 ||
	    unwind_new(e.space, 1, 1, &e.u, NULL) < 0 ||
	    eval_text(&e, "shop.next->grid[1] + i + GREEN", &v, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[TEXT_LEN + 1];
	struct hark_err err = {0};
	struct prose out;
	struct value v;
	int64_t number;

	if (e.space == NULL)
		begin();
	if (size == 0 || size > TEXT_LEN)
		return 0;
	hidden = data[0];
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (eval_text(&e, text, &v, &err) < 0) {
		if (err.text[0] == '\0')
			abort(); /* an error says why */
		return 0;
	}
	eval_number(&e, &v, &number);
	prose_init(&out, 1 << 16);
	if (show_value(&e, &v, &out, &err) < 0 || out.len > (1 << 16) + 4)
		abort();
	prose_fini(&out);
	return 0;
}
