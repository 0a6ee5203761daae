/* record/collect_order.c - which thread came first.
 *
 * Tickets (ORDER in wire/record.h): the process's counters lie a cache line
 * apart, so that threads are in each other's way only where the program's own
 * are. Each thread keeps in its slot, for every line, the ticket that it gets
 * next if nobody else comes: one that gets it has nothing to tell. Most locked
 * instructions are such, and emitted code sees to them (mirror_order.c).
 *
 * In doubt a ticket is told: one that is told too much does no harm. */
#include "record/collect_priv.h"

#include "inside/mem.h"
#include "inside/sys.h"

enum { LINE = 64, MADV_DONTNEED = 4, ERR_NOMEM = 12 };
enum { LINES_SIZE = (WIRE_ORDER_LINES + 1) * LINE };

static uint64_t *counter(const struct vcpu *v, unsigned line)
{
	return (uint64_t *)(v->lines + (uint64_t)line * LINE);
}

static uint64_t *next_of(const struct vcpu *v, unsigned line)
{
	return (uint64_t *)((uint64_t)v + SLOT_ORDER) + line;
}

/* -- Life ------------------------------------------------------------------ */

int order_start_process(struct engine *e)
{
	e->tapes->lines = (uint64_t)memory_map(e->memory, LINES_SIZE);
	return e->tapes->lines ? 0 : ERR_NOMEM;
}

void order_forked(struct engine *e)
{
	sys_call3(SYS_NR_MADVISE, e->tapes->lines, LINES_SIZE, MADV_DONTNEED);
}

void order_forget(const struct vcpu *v)
{
	memset(v->tape->locked, 0, sizeof v->tape->locked);
	sys_call3(SYS_NR_MADVISE, (uint64_t)v + SLOT_ORDER,
		  SLOT_VCPU - SLOT_ORDER, MADV_DONTNEED);
}

/* -- Telling --------------------------------------------------------------- */

/* Neither before what was done nor after what is done next. */
uint64_t order_clock(void)
{
	uint64_t now;

	__asm__ volatile("lfence" ::: "memory");
	now = guest_tsc();
	__asm__ volatile("lfence" ::: "memory");
	return now;
}

static void tell(struct vcpu *v, uint64_t pc, unsigned line, uint64_t ticket,
		 uint64_t overtaken, uint64_t now)
{
	struct tape *t = v->tape;
	uint8_t *at = put_begin(v->engine, &t->pen, WIRE_REC_ORDER, 0,
				POSITION_MAX + 4 * VARINT_MAX);

	if (!at)
		return;
	at = put_position(t, at, vcpu_count(v), pc);
	at = put_varint(at, line);
	at = put_varint(at, ticket);
	at = put_varint(at, overtaken);
	at = put_varint(at, now - t->last_tsc);
	t->last_tsc = now;
	put_end(&t->pen, at);
}

void order_seen(struct vcpu *v, uint64_t pc)
{
	tell(v, pc, WIRE_ORDER_SEEN, 0, 0, order_clock());
}

static uint64_t draw(const struct vcpu *v)
{
	return __atomic_fetch_add(counter(v, WIRE_ORDER_KERNEL), 1,
				  __ATOMIC_SEQ_CST);
}

static void tell_kernel(struct vcpu *v, uint64_t pc, uint64_t ticket,
			uint64_t now)
{
	tell(v, pc, WIRE_ORDER_KERNEL, ticket, 0, now);
	*next_of(v, WIRE_ORDER_KERNEL) = ticket + 1;
}

void order_kernel(struct vcpu *v, uint64_t pc)
{
	uint64_t ticket;

	if (!v->engine->has_company)
		return;
	ticket = draw(v);
	if (ticket != *next_of(v, WIRE_ORDER_KERNEL))
		tell_kernel(v, pc, ticket, order_clock());
	else
		*next_of(v, WIRE_ORDER_KERNEL) = ticket + 1;
}

void order_kernel_told(struct vcpu *v, uint64_t pc)
{
	uint64_t ticket = draw(v);

	tell_kernel(v, pc, ticket, order_clock());
}

void order_end(struct vcpu *v)
{
	tell_kernel(v, v->pc, draw(v), v->tape->last_tsc);
}

void order_drawn(struct vcpu *v, uint64_t pc)
{
	unsigned line = (unsigned)((v->line - v->lines) / LINE);
	uint64_t now, time;

	if (!v->engine->has_company)
		return;
	/* Whoever draws after the look has a later time. One look only: the
	 * line may be the other's by then, and is far away. */
	time = order_clock();
	now = __atomic_load_n(counter(v, line), __ATOMIC_SEQ_CST);
	if (now == v->after)
		return;
	tell(v, pc, line, v->ticket, now - v->ticket - 1, time);
	*next_of(v, line) = v->ticket + 1;
}

static unsigned log_of(unsigned size)
{
	return (unsigned)__builtin_ctz(size);
}

/* Is what is told next at this place of the same memory? */
static int is_same(const struct wire_locked *last, unsigned line,
		   const struct found *f)
{
	return last->line == line && (f->size == 0 || last->index == f->index);
}

static unsigned info_of(const struct found *f, int same, uint64_t overtaken)
{
	unsigned info = same ? WIRE_LOCKED_SAME : 0;

	if (f->size != 0)
		info |= WIRE_LOCKED_VALUE | log_of(f->size) << WIRE_LOCKED_SIZE;
	if (overtaken > WIRE_LOCKED_MORE)
		overtaken = WIRE_LOCKED_MORE;
	return info | (unsigned)overtaken << WIRE_LOCKED_BEHIND;
}

static uint8_t *put_place(uint8_t *at, struct wire_locked *last, unsigned line,
			  const struct found *f)
{
	*last = (struct wire_locked){.line = line};
	at = put_varint(at, line);
	if (f->size == 0)
		return at;
	last->index = f->index;
	return put_word(at, f->index);
}

static uint8_t *put_found(uint8_t *at, struct wire_locked *last,
			  const struct found *f)
{
	uint64_t more = f->value - last->value;

	last->value = wire_locked_low(f->value, f->size);
	return put_zigzag(at, wire_locked_signed(more, f->size));
}

int order_locked(struct vcpu *v, uint64_t pc, const struct found *f)
{
	struct tape *t = v->tape;
	struct wire_locked *last = &t->locked[wire_locked_slot(pc)];
	unsigned line = (unsigned)((v->line - v->lines) / LINE);
	uint64_t overtaken = v->seen - v->ticket - 1;
	int same = is_same(last, line, f);
	uint8_t *at;

	if (v->seen == v->after || !v->engine->has_company)
		return 0;
	*next_of(v, line) = v->ticket + 1;
	at = put_begin(v->engine, &t->pen, WIRE_REC_LOCKED,
		       info_of(f, same, overtaken),
		       POSITION_MAX + 4 + 5 * VARINT_MAX);
	if (!at)
		return 1;
	at = put_position(t, at, vcpu_count(v), pc);
	if (!same)
		at = put_place(at, last, line, f);
	at = put_varint(at, v->ticket - last->ticket);
	last->ticket = v->ticket;
	if (overtaken >= WIRE_LOCKED_MORE)
		at = put_varint(at, overtaken);
	at = put_varint(at, v->time - t->last_tsc);
	t->last_tsc = v->time;
	put_end(&t->pen, f->size != 0 ? put_found(at, last, f) : at);
	return 1;
}

void tape_unordered(struct vcpu *v)
{
	unsigned line = (unsigned)((v->line - v->lines) / LINE);

	*next_of(v, line) = UINT64_MAX;
}
