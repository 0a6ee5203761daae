/* record/collect_priv.h - what the parts of the recorder share.
 *
 *	collect.c	threads: when something is told
 *	collect_load.c	what they find in memory
 *	collect_put.c	how it is written: rings, records, positions
 *	collect_code.c	processes: code, mappings
 *	collect_name.c	what threads are called
 *	collect_order.c	threads among each other: tickets
 *
 * Lives in the target: freestanding, general registers only. */
#ifndef RECORD_COLLECT_PRIV_H
#define RECORD_COLLECT_PRIV_H

#include "engine/pool.h"
#include "engine/tape.h"
#include "wire/ring.h"

enum {
	TAPE_XSAVE = 11776, /* with AMX */
	TAPE_SEEN = 32
};

/* What writes to a ring. */
struct pen {
	struct ring_view view;	  /* .ring NULL: nothing is written */
	struct wire_chunk *chunk; /* that is open; NULL: not known */
};

/* Memory that an instruction has stored to which the CPU executed alone. */
struct left_store {
	uint64_t address, offset, len;
};
enum { LEFT_MAX = 2 };

/* One thread's, in its slot. */
struct tape {
	struct pen pen;
	uint64_t last_count, last_pc; /* of the last position written */
	uint32_t thread;	      /* its number */
	uint32_t born; /* enum wire_start + 1: START is to be written */
	uint32_t parent;
	uint32_t pending; /* WIRE_STATE_*, and IS_PENDING */
	uint64_t pending_count, pending_pc;
	uint64_t n_left; /* of `left`: logged after what is pending */
	struct left_store left[LEFT_MAX];
	uint64_t last_tsc;
	uint64_t key_count;  /* when the last KEY was written */
	uint64_t key_cpu_ns; /* likewise, in CPU time */
	uint64_t look_count; /* when it is seen whether one is due */
	uint64_t look_every, look_cpu_ns; /* counts; when it was seen last */
	/* Granules since then of which nothing was known: not what somebody
	 * else has changed, and not input that is told at once. */
	uint64_t fills;
	uint32_t is_first, pad; /* there was no KEY but the first one */
	struct wire_locked locked[WIRE_LOCKED_SLOTS];
	/* Where granules lie that others have changed, by a hash; and, the last
	 * one, what was filled last. 0: none. */
	uint64_t seen[TAPE_SEEN];
	uint8_t info[128]; /* WIRE_STATE_SIGNAL */
	uint8_t xsave[TAPE_XSAVE] __attribute__((aligned(64)));
	uint8_t xstate[TAPE_XSAVE];
};
_Static_assert(SLOT_TAPE + sizeof(struct tape) <= SLOT_ORDER, "collect_priv.h");
_Static_assert(SLOT_ORDER + 8 * (WIRE_ORDER_LINES + 1) <= SLOT_VCPU,
	       "collect_priv.h");
enum { IS_PENDING = 1 << 16 };

/* One process's. */
struct tapes {
	struct pen pen; /* code and mappings; under engine.lock */
	struct wire_recording *recording; /* borrowed: in the channel */
	uint32_t process;		  /* its number */
	uint32_t pid;
	uint32_t n_threads; /* numbered so far */
	uint32_t over;	    /* nobody listens any more */
	uint32_t n_pages;
	uint64_t serial;	  /* of the last CODE */
	uint64_t changed;	  /* of the last that changed what was there */
	struct code_page **pages; /* owned: a hash of n_slots */
	uint32_t n_slots, pad;
	struct bytes store; /* owned: the pages */
	uint64_t lines;	    /* owned: collect_order.c */
	uint64_t brk;	    /* the end of the heap */
	/* The file that names a thread: its descriptor + 1; 0: none. */
	uint32_t comm_fd, comm_tid;
	/* Where xsave puts components: asking the CPU takes it long. */
	uint32_t xstate_size[64], xstate_at[64];
};

/* -- collect_put.c -- */

/* Takes a ring for a stream; .view.ring NULL if there is none. */
struct pen put_open(struct engine *e, uint32_t tid);
/* Whatever is put from now on is lost. */
void put_close(struct engine *e, struct pen *p);
/* Room for len bytes, wherever it comes from; NULL: it is over. */
uint8_t *put_reserve(struct engine *e, struct pen *p, uint32_t len);

/* A thread that meets another one in its memory writes two records under the
 * program's own lock, and everyone waits for that. So what is put together here
 * is inline, and a chunk that has room is not looked for again. */

/* Room for a record of len bytes behind its head; NULL: it is over. */
static inline uint8_t *put_begin(struct engine *e, struct pen *p,
				 enum wire_record_type type, unsigned info,
				 uint32_t len)
{
	struct wire_rec head = {.type = (uint8_t)type, .info = (uint8_t)info};
	struct wire_chunk *c = p->chunk;
	uint32_t whole = (uint32_t)sizeof head + len;
	uint8_t *at;

	if (c && !e->tapes->over && whole <= ring_room(&p->view) &&
	    c->committed <= ring_room(&p->view) - whole)
		at = (uint8_t *)(c + 1) + c->committed;
	else
		at = put_reserve(e, p, whole);
	if (!at)
		return 0;
	__builtin_memcpy(at, &head, sizeof head);
	return at + sizeof head;
}

/* It is written: up to end. */
static inline void put_end(const struct pen *p, const uint8_t *end)
{
	struct wire_chunk *c = p->chunk;
	uint8_t *start = (uint8_t *)(c + 1) + c->committed;
	uint32_t len = (uint32_t)(end - start);
	uint16_t body = (uint16_t)(len - sizeof(struct wire_rec));

	__builtin_memcpy(start + offsetof(struct wire_rec, len), &body,
			 sizeof body);
	ring_commit_to(c, len);
}

static inline uint8_t *put_varint(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

static inline uint8_t *put_zigzag(uint8_t *to, int64_t value)
{
	return put_varint(to, (uint64_t)value << 1 ^ -(uint64_t)(value < 0));
}

static inline uint8_t *put_word(uint8_t *to, uint32_t value)
{
	__builtin_memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

uint8_t *put_bytes(uint8_t *to, const void *from, uint32_t len);

enum { POSITION_MAX = 20, VARINT_MAX = 10 };
static inline uint8_t *put_position(struct tape *t, uint8_t *to, uint64_t count,
				    uint64_t pc)
{
	to = put_varint(to, count - t->last_count);
	to = put_zigzag(to, (int64_t)(pc - t->last_pc));
	t->last_count = count;
	t->last_pc = pc;
	return to;
}

uint64_t put_now_ns(void);
uint64_t put_clock_ns(int clock);

/* -- collect_load.c -- */

/* Memory as it is now, told at pc; what the shadow has of it, too. */
void load_memory(struct vcpu *v, uint64_t pc, uint64_t address, uint64_t len);
/* The same, at the place of `offset` in the shadow: of what is reached through
 * fs, the distance from its base. */
void load_at_index(struct vcpu *v, uint64_t pc, uint64_t address,
		   uint64_t offset, uint64_t len);

/* -- collect_left.c -- */

struct x86_insn;

/* What the instruction at pc may have stored. `changed`: general registers that
 * are not what they were before it. */
unsigned left_find(const struct vcpu *v, const uint8_t *code,
		   const struct x86_insn *x, uint64_t pc, uint16_t changed,
		   struct left_store out[LEFT_MAX]);
/* Logs it, at .pc. */
void left_log(struct vcpu *v, const struct left_store *all, unsigned n);

/* What a thread has in common with others, as it last saw it. */
struct common {
	uint64_t memory[TAPE_SEEN]; /* 0: none */
	uint64_t words[TAPE_SEEN][4];
};

void load_get_common(const struct vcpu *v, struct common *out);
/* Behind a key: what is like that still, and what is not. */
void load_again(struct vcpu *v, const struct common *c);

/* -- collect_code.c -- */

/* A system call that may have mapped memory. */
void code_call(struct vcpu *v, int64_t nr, int64_t answer);
/* Where a descriptor leads to: how many bytes. */
uint32_t code_path(uint64_t fd, char *out, uint32_t size);

/* -- collect_name.c -- */

/* The thread begins: what is it called? */
void name_begin(struct vcpu *v, enum wire_start why);
/* A system call that may have named a thread. */
void name_call(struct vcpu *v, int64_t nr, int64_t answer);

/* -- collect_order.c -- */

/* The process's counters, all 0. 0, or an errno. */
int order_start_process(struct engine *e);
/* In the child of a fork. */
void order_forked(struct engine *e);
/* A new segment: whatever comes next of each line is told unless it is 0. */
void order_forget(const struct vcpu *v);
/* A ticket of the line WIRE_ORDER_KERNEL, told at pc: if it must be, or
 * always. */
void order_kernel(struct vcpu *v, uint64_t pc);
void order_kernel_told(struct vcpu *v, uint64_t pc);
/* Likewise at the end: every signal is blocked, and the clock may be forbidden
 * to the program, so it has the time of the last one. */
void order_end(struct vcpu *v);
/* The ticket that emitted code drew, if somebody else was there. */
void order_drawn(struct vcpu *v, uint64_t pc);
/* What a locked instruction found in memory; size 0: what was foreseen. */
struct found {
	uint64_t value;
	uint32_t index;
	unsigned size;
};
/* Likewise with what it found. 0: nobody was there, and nothing is told. */
int order_locked(struct vcpu *v, uint64_t pc, const struct found *f);
/* Now, between what was done and what is done next. */
uint64_t order_clock(void);
/* That something was seen, now. */
void order_seen(struct vcpu *v, uint64_t pc);

#endif
