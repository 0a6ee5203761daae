/* tests/end-to-end/record_craft.c - recordings of programs that no recorder
 *saw.
 *
 *	record_craft OUT KIND
 *
 * One thread, one key frame, a few instructions, an end whose registers are
 * what those leave. The file is good in every way; what it makes a replayer do
 * is not. */
#include "../unit/record_encode.h"
#include "outside/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START = 0x1000, COUNT = 100, DF = 0x400, AC = 0x40000 };
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct kind {
	const char *name;
	uint8_t code[16];
	unsigned len;	 /* of it */
	unsigned counts; /* that it takes */
	void (*begin)(struct wire_rec_state *s);
	void (*end)(struct wire_rec_state *s); /* what begin left is there */
	uint32_t pkru;			       /* at the end; 0: not saved */
};

/* -- Strings around address 0: 8,192 bytes are one part -- */

static void begin_up(struct wire_rec_state *s)
{
	s->gpr[RDI] = -8192ull;
	s->gpr[RCX] = 8192 + 100;
}

static void end_up(struct wire_rec_state *s)
{
	s->gpr[RDI] = 100;
	s->gpr[RCX] = 0;
}

static void begin_down(struct wire_rec_state *s)
{
	s->rflags |= DF;
	s->gpr[RDI] = 99;
	s->gpr[RCX] = 8192 + 100;
}

static void end_down(struct wire_rec_state *s)
{
	s->gpr[RDI] = -8193ull;
	s->gpr[RCX] = 0;
}

/* 2 GiB. */
static void begin_fill(struct wire_rec_state *s)
{
	s->gpr[RDI] = 0x10000;
	s->gpr[RCX] = 2ull << 30;
}

static void end_fill(struct wire_rec_state *s)
{
	s->gpr[RDI] = 0x10000 + (2ull << 30);
	s->gpr[RCX] = 0;
}

/* -- Flags and keys of hark's thread -- */

static void begin_ac(struct wire_rec_state *s)
{
	s->rflags |= AC;
	s->gpr[RSI] = 0x20000;
}

static void begin_key(struct wire_rec_state *s)
{
	s->gpr[RAX] = UINT32_MAX; /* no access with any key */
}

static void end_same(struct wire_rec_state *s)
{
	(void)s;
}

static const struct kind kinds[] = {
    {"string-up", {0xf3, 0xaa}, 2, 1, begin_up, end_up},
    {"string-down", {0xf3, 0xaa}, 2, 1, begin_down, end_down},
    {"fill", {0xf3, 0xaa}, 2, (2u << 30) / 8192 - 1, begin_fill, end_fill},
    {"ac", {0x48, 0x8b, 0x46, 0x01}, 4, 0, begin_ac, end_same},
    /* A fault with AC, too: division by 0. */
    {"ac-fault", {0x48, 0xf7, 0xf1}, 3, 0, begin_ac, end_same},
    {"pkru", {0x0f, 0x01, 0xef}, 3, 0, begin_key, end_same, UINT32_MAX},
};

/* -- Writing -- */

static const uint8_t xstate[RECORD_XSTATE_MIN] = {
    [8] = 0x7f, [9] = 0x03, [8 + 24] = 0x80, [8 + 25] = 0x1f};

static int put(struct file_writer *w, uint32_t thread,
	       const struct record_event *e, unsigned n)
{
	struct record_encoder to = {0};
	struct wire_file_key key = {.count = COUNT, .flags = WIRE_KEY_FIRST};
	struct file_content c = {.type = WIRE_CHUNK_DATA,
				 .process = 1,
				 .thread = thread,
				 .key = thread > 0 ? &key : NULL};
	struct file_packed packed = {0};
	struct hark_err err = {0};
	int rc;

	for (unsigned i = 0; i < n; i++)
		record_encode(&to, &e[i]);
	c.bytes = to.at;
	c.len = to.n;
	rc = file_pack(&c, 1, NULL, &packed) < 0 ||
	     file_put_packed(w, &packed, &err) < 0;
	file_unpack_free(&packed);
	record_encoder_fini(&to);
	return rc ? -1 : 0;
}

static int put_code(struct file_writer *w, const struct kind *k)
{
	struct record_event e[2] = {
	    {.type = WIRE_REC_PROCESS},
	    {.type = WIRE_REC_CODE, .bytes = k->code, .len = k->len + 1}};

	e[0].process.process = 1;
	e[1].code.serial = 1;
	e[1].code.address = START;
	return put(w, 0, e, 2);
}

static int put_thread(struct file_writer *w, const struct kind *k)
{
	struct record_event e[3] = {
	    {.type = WIRE_REC_START, .count = COUNT},
	    {.type = WIRE_REC_KEY, .count = COUNT, .pc = START},
	    {.type = WIRE_REC_END,
	     .info = WIRE_END_PROCESS,
	     .count = COUNT + k->counts,
	     .pc = START + k->len}};

	uint8_t with_pkru[sizeof xstate + 8] = {0};

	memcpy(with_pkru, xstate, sizeof xstate);
	with_pkru[1] = 1 << (9 - 8); /* component 9 */
	memcpy(with_pkru + sizeof xstate, &k->pkru, sizeof k->pkru);
	for (unsigned i = 1; i < 3; i++) {
		e[i].xstate = xstate;
		e[i].xstate_len = sizeof xstate;
	}
	if (k->pkru != 0) {
		e[2].xstate = with_pkru;
		e[2].xstate_len = sizeof with_pkru;
	}
	e[0].start.process = e[0].start.thread = 1;
	e[1].key.count = COUNT;
	e[1].key.epoch = 1;
	e[1].key.state.rflags = 0x202;
	e[1].key.state.pc = START;
	k->begin(&e[1].key.state);
	e[2].state = e[1].key.state;
	e[2].state.pc = START + k->len;
	k->end(&e[2].state);
	return put(w, 1, e, 3);
}

static int write_all(struct file_writer *w, const struct kind *k,
		     struct hark_err *err)
{
	static const char meta[] = "kind=recording\nrecord=1\n";
	static const char process[] = "pid=101\nparent=0\nserial=0\n";

	if (file_put(w, WIRE_CHUNK_META, 0, 0, meta, strlen(meta), err) < 0 ||
	    file_put(w, WIRE_CHUNK_PROCESS, 1, 0, process, strlen(process),
		     err) < 0 ||
	    put_code(w, k) < 0 || put_thread(w, k) < 0)
		return -1;
	return file_put(w, WIRE_CHUNK_END, 0, 0, "exit=0\n", 7, err);
}

int main(int argc, char **argv)
{
	struct file_writer *w = NULL;
	struct hark_err err = {0};

	for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0];
	     i++) {
		if (strcmp(kinds[i].name, argv[2]) != 0)
			continue;
		if (file_create(argv[1], 1, &w, &err) < 0 ||
		    write_all(w, &kinds[i], &err) < 0) {
			fprintf(stderr, "record_craft: %s\n", err.text);
			return 1;
		}
		file_writer_close(w);
		return 0;
	}
	fprintf(stderr, "usage: record_craft OUT KIND\n");
	return 2;
}
