/* last-write.c - who wrote these bytes, and what was it?
 *
 *	cc last-write.c -o last-write $(pkg-config --cflags --libs hark)
 *	last-write RECORDING ADDRESS [LENGTH [MOMENT]]
 *
 * Prints the last write to them before a moment ("1:2000+3", "50%", by default
 * the end), goes back to just before it, and shows where that is: the thread's
 * instruction pointer and stack pointer, and the bytes then. `??` is what the
 * recording does not know. */
#include <hark/recording.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct hark_error err;

static int failed(void)
{
	fprintf(stderr, "last-write: %s\n", err.text);
	return 2;
}

static void print_bytes(const char *label, const uint8_t *bytes,
			const uint8_t *known, size_t len)
{
	printf("%s", label);
	for (size_t i = 0; i < len; i++)
		if (known == NULL || known[i])
			printf(" %02x", bytes[i]);
		else
			printf(" ??");
	printf("\n");
}

static void print_access(const struct hark_access *a)
{
	uint32_t size = a->size < sizeof a->after ? a->size : sizeof a->after;
	char at[64];

	hark_position_text(&a->at, at, sizeof at);
	printf("written at %s by 0x%" PRIx64 ": %" PRIu32 " bytes at 0x%" PRIx64
	       "\n",
	       at, a->pc, a->size, a->address);
	print_bytes("  then:  ", a->after, NULL, size);
}

/* The timeline goes there; forward again, it would be written. */
static int show_before(struct hark_timeline *t, const struct hark_access *a)
{
	uint8_t bytes[64], known[64];
	size_t len = a->size < sizeof bytes ? a->size : sizeof bytes;
	static struct hark_registers regs;

	if (hark_seek(t, &a->at, &err) < 0 ||
	    hark_registers(t, a->at.thread, &regs, &err) < 0)
		return failed();
	hark_read(t, a->address, len, bytes, known, &err);
	print_bytes("  before:", bytes, known, len);
	printf("thread %" PRIu32 ": rip 0x%" PRIx64 ", rsp 0x%" PRIx64 "\n",
	       hark_selected(t), regs.rip, regs.gpr[4]);
	return 0;
}

static int answer(struct hark_timeline *t, uint64_t address, uint64_t len,
		  const char *moment)
{
	struct hark_position at;
	struct hark_access a;
	int rc;

	if (hark_position_parse(t, moment, &at, &err) < 0 ||
	    hark_seek(t, &at, &err) < 0)
		return failed();
	rc = hark_last_write(t, address, len, &a, &err);
	if (rc < 0)
		return failed();
	if (rc == 0) {
		printf("nobody wrote them before\n");
		return 1;
	}
	print_access(&a);
	return show_before(t, &a);
}

int main(int argc, char **argv)
{
	struct hark_recording *r = NULL;
	struct hark_timeline *t = NULL;
	int rc;

	if (argc < 3) {
		fprintf(stderr, "usage: last-write RECORDING ADDRESS [LENGTH "
				"[MOMENT]]\n");
		return 2;
	}
	if (hark_open(argv[1], &r, &err) < 0)
		return failed();
	if (hark_timeline_open(r, 0, &t, &err) < 0) {
		hark_close(r);
		return failed();
	}
	printf("%s: %u threads\n", hark_process(r, 0)->command,
	       hark_n_threads(t));
	rc = answer(t, strtoull(argv[2], NULL, 0),
		    argc > 3 ? strtoull(argv[3], NULL, 0) : 1,
		    argc > 4 ? argv[4] : "end");
	hark_timeline_close(t);
	hark_close(r);
	return rc;
}
