/* engine/frame.c - a signal frame on the program's stack, as the kernel's.
 *
 *	sp --red zone--> [xsave image] --> [ucontext, siginfo] <-- new rsp
 *
 * The extended registers are copied from the frame that the kernel made for
 * the engine's own handler, so their layout is the kernel's by construction;
 * in that frame they are then reset, and sigreturn gives the program's
 * handler the registers that the kernel would have given it. */
#include "engine/signal_priv.h"

#include "inside/mem.h"

enum { RED_ZONE = 128, XSTATE_ALIGN = 64, FRAME_ALIGN = 16, PKRU_BIT = 9 };
enum { RAX = 0, RDX = 2, RSP = 4, RSI = 6, RDI = 7 };

static int within_altstack(const struct vcpu *v, uint64_t sp)
{
	return sp > v->altstack.sp && sp - v->altstack.sp <= v->altstack.size;
}

int frame_on_altstack(const struct vcpu *v, uint64_t sp)
{
	if (v->altstack.flags & STACK_AUTODISARM)
		return 0;
	return within_altstack(v, sp);
}

uint32_t frame_fp_length(const uint8_t *fp)
{
	uint32_t magic, len;

	if (!fp)
		return 0;
	memcpy(&magic, fp + FP_MAGIC, sizeof magic);
	memcpy(&len, fp + FP_EXTENDED_SIZE, sizeof len);
	return magic == FP_MAGIC1 ? len : FP_LEGACY_SIZE;
}

/* Where the kernel would put it. 0, or -1: not there. */
static int choose(const struct vcpu *v, const struct sig_action *act,
		  uint32_t fp_len, uint64_t *fp, uint64_t *frame)
{
	uint64_t sp = v->gpr[RSP];
	int on_alt = frame_on_altstack(v, sp);

	sp -= RED_ZONE;
	if ((act->flags & ACT_ONSTACK) && v->altstack.size != 0 &&
	    !frame_on_altstack(v, sp)) {
		sp = v->altstack.sp + v->altstack.size;
		on_alt = 1;
	}
	sp = (sp - fp_len) & ~(uint64_t)(XSTATE_ALIGN - 1);
	*fp = fp_len != 0 ? sp : 0;
	sp -= sizeof(struct sig_frame);
	*frame = (sp & ~(uint64_t)(FRAME_ALIGN - 1)) - 8;
	return on_alt && !within_altstack(v, *frame) ? -1 : 0;
}

static int put(uint64_t to, const void *from, uint64_t len)
{
	return guest_copy((void *)to, from, len) == 0 ? 0 : -1;
}

static void fill(struct caught *c, const struct sig_action *act,
		 const struct sig_info *info, struct sig_frame *out)
{
	struct vcpu *v = c->v;
	struct sig_uc *uc = &out->uc;
	int64_t *g = uc->context.gregs;

	out->pretcode = act->restorer;
	uc->flags = c->uc->flags | UC_SS | UC_STRICT_SS;
	uc->link = 0;
	uc->stack.sp = v->altstack.sp;
	uc->stack.flags = v->altstack.flags;
	uc->stack.pad = 0;
	uc->stack.size = v->altstack.size;
	signal_get_state(v, g);
	g[GREG_ERR] = (int64_t)v->error;
	g[GREG_TRAPNO] = (int64_t)v->trapno;
	g[GREG_CR2] = (int64_t)v->cr2;
	g[GREG_OLDMASK] = (int64_t)v->mask;
	uc->mask = v->mask;
	out->info = *info;
}

/* The bytes that the kernel leaves alone are left alone. */
static int write_frame(uint64_t at, const struct sig_frame *f, int with_info)
{
	const uint8_t *from = (const uint8_t *)f;
	uint64_t gap = offsetof(struct sig_frame, uc.context.reserved);
	uint64_t rest = offsetof(struct sig_frame, uc.mask);
	uint64_t end = with_info ? sizeof *f : offsetof(struct sig_frame, info);
	uint64_t stack_pad = offsetof(struct sig_frame, uc.stack.pad);
	uint64_t behind = stack_pad + sizeof f->uc.stack.pad;

	if (put(at, from, stack_pad) < 0 ||
	    put(at + behind, from + behind, gap - behind) < 0)
		return -1;
	return put(at + rest, from + rest, end - rest);
}

static uint32_t pkru_at(void)
{
	uint32_t a = 0xd, b, c = PKRU_BIT, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b;
}

/* As after exec: that is what handlers start with. */
static void reset_fp(uint8_t *fp)
{
	const uint16_t fcw = 0x37f;
	const uint32_t mxcsr = 0x1f80, pkru = 0x55555554;
	uint64_t bv;

	if (!fp)
		return;
	memcpy(fp + FP_FCW, &fcw, sizeof fcw);
	memcpy(fp + FP_MXCSR, &mxcsr, sizeof mxcsr);
	if (frame_fp_length(fp) == FP_LEGACY_SIZE)
		return;
	memcpy(&bv, fp + FP_XSTATE_BV, sizeof bv);
	bv &= 1ull << PKRU_BIT;
	memcpy(fp + FP_XSTATE_BV, &bv, sizeof bv);
	if (bv != 0)
		memcpy(fp + pkru_at(), &pkru, sizeof pkru);
}

static void enter_handler(struct vcpu *v, const struct sig_action *act, int sig,
			  uint64_t frame)
{
	uint64_t base = v->has_temp_mask ? v->temp_mask : v->mask;

	v->gpr[RDI] = (uint64_t)sig;
	v->gpr[RSI] = frame + offsetof(struct sig_frame, info);
	v->gpr[RDX] = frame + offsetof(struct sig_frame, uc);
	v->gpr[RAX] = 0;
	v->gpr[RSP] = frame;
	v->pc = act->handler;
	v->rflags &= ~(uint64_t)(FLAG_DF | FLAG_RF | FLAG_TF);
	v->stepping = 0;
	v->cs = CS_64;
	v->ss = SS_USER;
	v->mask = base | act->mask;
	if (!(act->flags & ACT_NODEFER))
		v->mask |= SIG_BIT(sig);
	v->mask &= ~SIG_UNBLOCKABLE;
	v->has_temp_mask = 0;
	if (v->altstack.flags & STACK_AUTODISARM)
		v->altstack = (struct vcpu_altstack){.flags = STACK_DISABLE};
}

int frame_push(struct caught *c, const struct sig_action *act,
	       const struct sig_info *info)
{
	struct vcpu *v = c->v;
	uint8_t *native_fp = (void *)c->uc->context.fpstate;
	uint32_t fp_len = frame_fp_length(native_fp);
	struct sig_frame f;
	uint64_t fp, at;

	if (!(act->flags & ACT_RESTORER) ||
	    choose(v, act, fp_len, &fp, &at) < 0)
		return -1;
	x87_fix_frame(v, native_fp);
	fill(c, act, info, &f);
	f.uc.context.fpstate = fp;
	if (put(fp, native_fp, fp_len) < 0 ||
	    write_frame(at, &f, (act->flags & ACT_SIGINFO) != 0) < 0)
		return -1;
	enter_handler(v, act, info->signo, at);
	reset_fp(native_fp);
	return 0;
}
