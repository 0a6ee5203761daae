/* record/collect_left.c - what an instruction has stored that was left to the
 * CPU.
 *
 * The engine does not translate it, so the shadow has not taken part, and
 * replay does not execute it. The log has the registers after it (STATE), and
 * then the bytes that it may have stored, as memory holds them: without those,
 * nothing would be known of them until the program loads them.
 *
 * Not logged are stores of instructions whose address cannot be formed from
 * what is at hand: scatters, and those that change a register of their address.
 */
#include "record/collect_priv.h"

#include "inside/mem.h"
#include "inside/sys.h"
#include "x86/access.h"
#include "x86/decode.h"

#include <stdbool.h>

static uint64_t address_of(const struct vcpu *v, const struct x86_access *a,
			   uint64_t next)
{
	uint64_t at = (uint64_t)a->disp;

	if (a->base == X86_RIP)
		at += next;
	else if (a->base < 16)
		at += v->gpr[a->base];
	if (a->index < 16)
		at += v->gpr[a->index] << a->scale;
	return a->addr32 ? (uint32_t)at : at;
}

/* What xsave and its kin may store. */
static uint64_t saved_size(const struct vcpu *v, const struct x86_access *a)
{
	enum { FIRST = 2, FXSAVE = 512, HEADER = 64 };
	const struct tapes *p = v->engine->tapes;
	uint64_t mask = v->gpr[X86_RDX] << 32 | (uint32_t)v->gpr[X86_RAX];
	uint64_t end = FXSAVE + HEADER;

	if (a->where != X86_AT_STATE)
		return a->size;
	for (unsigned n = FIRST; n < 63; n++)
		if (mask >> n & 1 && end < p->xstate_at[n] + p->xstate_size[n])
			end = p->xstate_at[n] + p->xstate_size[n];
	return end;
}

static bool is_in(uint16_t registers, unsigned reg)
{
	return reg < 16 && (registers >> reg & 1) != 0;
}

/* changed: registers that are no longer as the instruction found them. */
static bool can_find(const struct x86_access *a, uint16_t changed)
{
	return a->access & X86_M_WRITE && !is_in(changed, a->base) &&
	       !is_in(changed, a->index) &&
	       (a->where == X86_AT_PLAIN || a->where == X86_AT_BIT ||
		a->where == X86_AT_STATE || a->where == X86_AT_LINE);
}

static struct left_store store_of(const struct vcpu *v,
				  const struct x86_insn *x,
				  const struct x86_access *a, uint64_t next)
{
	enum { LINE = 64 };
	uint64_t offset = address_of(v, a, next);
	uint64_t len = saved_size(v, a);

	if (a->where == X86_AT_BIT)
		offset += (uint64_t)x86_bit_disp(x, v->gpr[x->reg & 15]);
	if (a->where == X86_AT_LINE) {
		offset &= ~(uint64_t)(LINE - 1);
		len = LINE;
	}
	return (struct left_store){
	    .address = offset + (a->seg == 0x64 ? sys_fs_base() : 0),
	    .offset = offset,
	    .len = len,
	};
}

unsigned left_find(const struct vcpu *v, const uint8_t *code,
		   const struct x86_insn *x, uint64_t pc, uint16_t changed,
		   struct left_store out[LEFT_MAX])
{
	struct x86_access all[X86_ACCESS_MAX];
	unsigned n = x86_accesses(code, x, all), found = 0;

	for (unsigned i = 0; i < n && found < LEFT_MAX; i++)
		if (can_find(&all[i], changed))
			out[found++] = store_of(v, x, &all[i], pc + x->len);
	return found;
}

void left_log(struct vcpu *v, const struct left_store *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		load_at_index(v, v->pc, all[i].address, all[i].offset,
			      all[i].len);
}
