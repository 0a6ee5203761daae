/* wire/channel.h - the memory that target and hark share, laid out.
 *
 *   0            struct wire_control: who, how large, what was asked
 *   rings_at     struct wire_ring  [max_threads]
 *   slots_at     struct wire_slot  [n_slots]: threads on their way in
 *   chunks_at    max_threads * ring_chunks * chunk_size bytes
 *
 * hark makes it (a memfd of the target's own, so that no right over hark is
 * needed) and fills in the geometry before the target sees it. It is sparse:
 * a ring that nobody uses costs nothing. hark keeps its own copy of the
 * geometry and believes only that.
 *
 * Pure layouts; released layouts only grow. */
#ifndef WIRE_CHANNEL_H
#define WIRE_CHANNEL_H

#include "wire/ring.h"

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC 0x6c656e6e6168630aull /* "\nchannel" */
enum { WIRE_VERSION = 1, WIRE_PAGE = 4096 };

struct wire_geometry {
	uint32_t max_threads;
	uint32_t n_slots;
	uint32_t ring_chunks; /* chunks in a ring, at least 2 */
	uint32_t chunk_size;  /* bytes, a multiple of 8 */
};

struct wire_control {
	uint64_t magic;
	uint32_t version;
	uint32_t page_size; /* of this header: WIRE_PAGE */
	struct wire_geometry geometry;
	uint64_t rings_at, slots_at, chunks_at, size;
	uint32_t pid;	   /* the target, as hark sees it */
	uint32_t doorbell; /* futex: something is there for hark */
	uint32_t visits;   /* threads that came through the image */
	uint32_t reserved;
};
_Static_assert(sizeof(struct wire_control) == 80, "shared layout");
_Static_assert(offsetof(struct wire_control, doorbell) == 68, "shared layout");

/* Registers as PTRACE_GETREGS gives them. The order is a gift: popping the
 * first fifteen and skipping orig_rax leaves exactly the frame that IRETQ
 * wants (rip, cs, rflags, rsp, ss). */
struct wire_regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	uint64_t rax, rcx, rdx, rsi, rdi, orig_rax;
	uint64_t rip, cs, rflags, rsp, ss;
	uint64_t fs_base, gs_base, ds, es, fs, gs;
};
_Static_assert(sizeof(struct wire_regs) == 216, "struct user_regs_struct");

enum { WIRE_SLOT_SIZE = 16384, WIRE_STACK_ALIGN = 16 };

/* What a thread comes for. */
enum wire_mode {
	WIRE_PASS,	/* once through, then natively on */
	WIRE_TRANSLATE, /* from here on only through the engine */
	/* A process that runs already (wire/stay.h): */
	WIRE_ATTACH, /* makes the engine, and a place there for each slot */
	WIRE_JOIN,   /* another thread of it */
	WIRE_LEAVE,  /* signals are natively the program's again */
	WIRE_VANISH, /* all that the engine has mapped is gone */
};

/* One thread on its way through the image, with the stack it uses there. */
struct wire_slot {
	struct wire_regs regs; /* first: the image pops it to go home */
	uint64_t sigmask;      /* to put back when it goes home by itself */
	uint64_t channel;      /* struct wire_control, as the target sees it */
	uint32_t ring;	       /* its ring's number */
	uint32_t tid;
	uint64_t time_ns; /* when hark sent it in; copied into its report */
	uint32_t mode;	  /* enum wire_mode */
	uint32_t status;  /* 0, or what kept the engine from starting: errno */
	uint64_t vcpu;	  /* what the engine made of it */
	uint32_t restart; /* 0, or why the system call at rip is to be made
			   * again: 512 ... */
	uint32_t rseq_len, rseq_signature;
	uint32_t n_threads; /* WIRE_LEAVE: how many are parked */
	uint64_t rseq;	    /* what it has registered; 0: nothing */
	uint8_t stack[WIRE_SLOT_SIZE - 288];
};
_Static_assert(sizeof(struct wire_slot) == WIRE_SLOT_SIZE, "shared layout");
_Static_assert(offsetof(struct wire_slot, sigmask) == 216, "entry.S uses it");
_Static_assert(offsetof(struct wire_slot, mode) == 248, "entry.S uses it");
_Static_assert(offsetof(struct wire_slot, status) == 252, "entry.S uses it");

/* What a thread reports when it passes: the records of a native visit. */
enum { WIRE_VISIT = 1 };
struct wire_visit {
	uint32_t type; /* WIRE_VISIT */
	uint32_t size; /* of this record */
	uint32_t pid, tid;
	uint64_t rip, rsp, fs_base, gs_base;
	uint64_t image;	  /* where the image found itself */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
};
_Static_assert(sizeof(struct wire_visit) == 64, "shared layout");

/* Fills in control from geometry; its caller maps control->size bytes. */
void channel_layout(const struct wire_geometry *g, struct wire_control *out);

/* Ring number `ring` of a channel mapped at base, by geometry g. */
struct ring_view channel_ring(const struct wire_geometry *g, void *base,
			      uint32_t ring);
struct wire_slot *channel_slot(const struct wire_geometry *g, void *base,
			       uint32_t slot);

#endif
