// runs: 1000
/* tests/fuzz/gdb_packet.c - whatever a debugger sends, the server answers.
 *
 * Bytes go through the reader; each body that comes out of it (with sums that
 * need not be right) is answered, over a history that is made up. What begins
 * with a zero byte is an expression for the conditions' machine. */
#include "../unit/gdb_fake.c"

#include "gdb/agent.h"
#include "gdb/server.h"

static int any_register(void *ctx, unsigned number, uint64_t *out)
{
	(void)ctx;
	*out = number * 0x123456789abcdefULL;
	return number > 200 ? -1 : 0;
}

static int any_memory(void *ctx, uint64_t address, size_t len, uint8_t *out)
{
	(void)ctx;
	memset(out, (int)address, len);
	return address % 7 == 0 ? -1 : 0;
}

static void must(int is)
{
	if (!is)
		abort();
}

static void run_agent(const uint8_t *data, size_t size)
{
	const struct agent_state state = {NULL, any_register, any_memory};
	uint64_t value;

	agent_run(data, size, &state, &value);
}

static void run_server(const uint8_t *data, size_t size)
{
	static struct packet_reader in;
	struct hark_recording *r = fake_new();
	struct gdb_wish wish = {.api = &fake_api, .recording = r};
	struct gdb *g = NULL;

	fake_know(r, 0x40000,
		  "\x7f"
		  "ELF\2\1\1",
		  7, "/bin/fake");
	fake_know(r, 0x50000, "library", 7, "/usr/lib/libx.so.1.2");
	must(gdb_new(&wish, &g, NULL) == 0);
	packet_reader_init(&in);
	in.no_sums = 1;
	for (size_t i = 0; i < size; i++)
		if (packet_take(&in, data[i]) == PACKET_BODY) {
			const struct packet *p = gdb_answer(g, in.body, in.len);

			must(in.body[in.len] == '\0');
			must(p == NULL || p->len <= PACKET_MAX);
			must(p == NULL || !p->is_full);
		}
	gdb_free(g);
	fake_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0 && data[0] == 0)
		run_agent(data + 1, size - 1);
	else
		run_server(data, size);
	return 0;
}
