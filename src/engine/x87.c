/* engine/x87.c - the x87 unit remembers where it was.
 *
 * It keeps the address of its last instruction, which is one in the cache, and
 * stores it with its environment: fnstenv, fnsave, fxsave, xsave and kin, and
 * the kernel in signal frames. After these the address is turned back into the
 * program's. (AMD's processors store it for fxsave and xsave only while an
 * exception is pending.) */
#include "engine/engine.h"

#include "engine/cache.h"
#include "inside/sys.h"
#include "x86/access.h"

/* The program's pc for an address in the cache, of which only `bits` are
 * known; 0: it is none. */
static uint64_t guest_pc(struct vcpu *v, uint64_t host, unsigned bits)
{
	const struct cache *c = v->engine->cache;

	for (uint32_t i = 0; bits == 32 && i < c->n_regions; i++) {
		const struct region *r = &c->regions[i];
		uint64_t offset = (uint32_t)(host - r->base);

		if (offset < r->size)
			host = r->base + offset;
	}
	return cache_contains(c, host) ? engine_pc_of(v, host) : 0;
}

static void fix(struct vcpu *v, uint64_t at, unsigned bits)
{
	uint64_t host = 0, pc;

	if (guest_copy(&host, (const void *)at, bits / 8) != 0)
		return;
	pc = guest_pc(v, host, bits);
	if (pc != 0)
		guest_copy((void *)at, &pc, bits / 8);
}

void x87_fix_frame(struct vcpu *v, void *fxsave)
{
	enum { FIP = 8 };

	fix(v, (uint64_t)fxsave + FIP, 64);
}

/* Where the instruction's memory operand is; registers are the vcpu's. */
static uint64_t operand(const struct vcpu *v, const struct x86_insn *x)
{
	uint64_t at = (uint64_t)x->disp;

	if (x->base == X86_RIP)
		at += v->pc + x->len;
	else if (x->base != X86_NOREG)
		at += v->gpr[x->base];
	if (x->index != X86_NOREG)
		at += v->gpr[x->index] << x->scale;
	if (x->prefixes & X86_P_67)
		at = (uint32_t)at;
	if (x->seg == 0x64)
		at += sys_fs_base();
	return at;
}

void x87_stored(struct vcpu *v)
{
	enum { ENV_FIP_32 = 12, ENV_FIP_16 = 6, FXSAVE_FIP = 8 };
	uint8_t code[X86_MAX_LEN];
	unsigned have = X86_MAX_LEN;
	struct x86_insn x;

	have -= (unsigned)guest_copy(code, (const void *)v->pc, have);
	if (x86_decode(code, have, &x) != X86_OK)
		engine_die("an instruction is gone");
	if (x.row->special != X86_X87ENV)
		fix(v, operand(v, &x) + FXSAVE_FIP, x.rex & 8 ? 64 : 32);
	else if (!(x.prefixes & X86_P_66))
		fix(v, operand(v, &x) + ENV_FIP_32, 32);
	v->pc += x.len;
}
