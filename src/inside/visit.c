/* inside/visit.c - what a thread does when it passes through natively.
 *
 * It opens the ring that hark gave it, says who and where it is, and closes
 * the ring again. It makes no system call (hark counts on the next one being
 * hark_leave's) and executes nothing that a program can have forbidden itself,
 * such as rdtsc. */
#include "inside/visit.h"

#include "inside/start.h"

/* Where the image is: this function's address less its offset in the blob
 * would need a relocation; the entry is at offset 0, so its address is it. */
extern const uint8_t hark_entry[] __attribute__((visibility("hidden")));

static void visit(struct wire_slot *slot)
{
	struct wire_control *c = (void *)slot->channel;
	struct ring_view v = channel_ring(&c->geometry, c, slot->ring);
	struct wire_visit *out;

	ring_open(&v, slot->tid);
	out = ring_reserve(&v, sizeof *out);
	if (out != NULL) {
		*out = (struct wire_visit){
		    .type = WIRE_VISIT,
		    .size = sizeof *out,
		    .pid = c->pid,
		    .tid = slot->tid,
		    .rip = slot->regs.rip,
		    .rsp = slot->regs.rsp,
		    .fs_base = slot->regs.fs_base,
		    .gs_base = slot->regs.gs_base,
		    .image = (uint64_t)hark_entry,
		    .time_ns = slot->time_ns,
		};
		ring_commit(&v, sizeof *out);
	} else {
		ring_lose(&v, sizeof *out);
	}
	ring_close(&v);
	__atomic_fetch_add(&c->visits, 1, __ATOMIC_RELEASE);
}

void inside_enter(struct wire_slot *slot)
{
	if (slot->mode <= WIRE_ATTACH)
		visit(slot);
	if (slot->mode == WIRE_PASS)
		return;
	__atomic_store_n(&slot->status, (uint32_t)engine_enter(slot),
			 __ATOMIC_RELEASE);
	engine_wait(slot);
}
