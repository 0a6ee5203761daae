/* engine/mirror_check.c - a load against the shadow.
 *
 * Equal is the rule. A miss goes to cold code, one piece a check, which tells
 * the engine (record/collect_load.c); then the value is taken from the shadow.
 */
#include "engine/mirror_priv.h"

#include "x86/rewrite.h"

static struct x86_mem plus(struct x86_mem m, unsigned off)
{
	m.disp += off;
	return m;
}

/* Loads a value of so many bytes into a whole register. */
static const uint8_t load_by_size[9] = {
    [1] = EMIT_MOVZX8, [2] = EMIT_MOVZX16, [4] = EMIT_MOV, [8] = EMIT_MOV};

static uint32_t new_site(struct work *w, const struct check *c)
{
	uint32_t number = pool_add(&w->e->cache->sites);
	struct site *s;

	if (number == 0)
		engine_die("no memory for sites");
	s = cache_site(w->e->cache, number);
	*s = (struct site){
	    .pc = w->pc,
	    .disp = c->m.disp,
	    .base = c->m.base,
	    .index = c->m.index,
	    .scale = c->m.scale,
	    .size = (uint8_t)c->whole,
	    .value = c->is_value ? (uint8_t)c->value : X86_NOREG,
	    .flags = (uint8_t)((c->m.seg == X86_FS ? SITE_FS : 0) |
			       (c->m.addr32 ? SITE_ADDR32 : 0) |
			       (c->is_gather ? SITE_GATHER : 0) |
			       (c->is_order ? SITE_ORDER : 0) |
			       (c->r10_spilled ? SITE_SPILLED : 0)),
	    .temp = {w->temp[0], w->temp[1]},
	    .flags_saved = w->flags_saved,
	};
	return number;
}

void put_check(struct work *w, struct check *c)
{
	c->cold = take_cold(w, COLD_LEN);
	if (c->flags_live)
		put_save_flags(w);
	emit_rm(&w->hot, EMIT_CMP, c->size, c->value,
		shadow_of(plus(c->m, c->at)));
	emit_jcc(&w->hot, X86_CC_NE, c->cold);
}

/* gs:[VCPU_ARG] = site; to the engine; what follows is where it comes back. */
void cold_ask(struct work *w, struct check *c, struct x86_buf *b)
{
	uint32_t site = new_site(w, c);
	int way = c->is_order ? VCPU_LOCKED : VCPU_CHECK;

	emit_mi(b, EMIT_MOV, 4, x86_mem_seg(X86_GS, VCPU_ARG), (int32_t)site);
	emit_m(b, EMIT_JMP, 8, x86_mem_seg(X86_GS, way));
	cache_site(w->e->cache, site)->resume = emit_pc(b);
}

void cold_end(struct x86_buf *b, uint64_t back)
{
	emit_jmp(b, back);
	if (b->bad)
		engine_die("no room for a check");
}

/* Behind a miss: value = what the shadow holds now; back to here. */
void cold_load(struct work *w, struct check *c)
{
	struct x86_buf b = cold_buf(w, c->cold, COLD_LEN);
	unsigned width = c->size == 8 ? 8 : 4;

	cold_ask(w, c, &b);
	emit_rm(&b, load_by_size[c->size], width, c->value, shadow_of(c->m));
	cold_end(&b, emit_pc(&w->hot));
}

/* The same by the program's own instruction: a load. */
void cold_again(struct work *w, struct check *c)
{
	struct x86_buf b = cold_buf(w, c->cold, COLD_LEN);

	cold_ask(w, c, &b);
	if (x86_put_moved32(&b, w->g->bytes + w->i->off, &w->i->x, w->pc,
			    X86_GS, WIRE_SHADOW_SKEW) < 0)
		engine_die("an operand is too long");
	cold_end(&b, emit_pc(&w->hot));
}

/* Nothing to be loaded. */
void cold_on(struct work *w, struct check *c)
{
	struct x86_buf b = cold_buf(w, c->cold, COLD_LEN);

	cold_ask(w, c, &b);
	cold_end(&b, emit_pc(&w->hot));
}

/* temp = [m], checked. */
unsigned load_temp(struct work *w, struct x86_mem m, unsigned size,
		   int flags_live)
{
	struct check c = {
	    .m = m, .size = size, .whole = size, .flags_live = flags_live};

	c.value = take_temp(w, 0, 0);
	emit_rm(&w->hot, load_by_size[size], size == 8 ? 8 : 4, c.value, m);
	put_check(w, &c);
	cold_load(w, &c);
	return c.value;
}

void put_shadowed(struct work *w)
{
	if (x86_put_moved32(&w->hot, w->g->bytes + w->i->off, &w->i->x, w->pc,
			    X86_GS, WIRE_SHADOW_SKEW) < 0)
		engine_die("an operand is too long");
}
