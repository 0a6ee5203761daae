/* engine/sent.c - synchronous signals that somebody sent.
 *
 * They are never blocked natively, so the engine keeps those that the program
 * blocks, as the kernel would: of each signal at most one for the thread and
 * one for the process, and the thread's first.
 *
 * .sent says which signals are kept, .sent_twice of which there are two. */
#include "engine/signal_priv.h"

#include "inside/mem.h"

enum { CODE_TKILL = -6 };

static const uint8_t order[VCPU_N_SYNC] = {SIG_ILL, SIG_TRAP, SIG_BUS,
					   SIG_FPE, SIG_SEGV, SIG_SYS};

static unsigned index_of(int sig)
{
	unsigned i = 0;

	while (i < VCPU_N_SYNC - 1 && order[i] != sig)
		i++;
	return i;
}

static int is_for_thread(const struct sig_info *info)
{
	return info->code == CODE_TKILL;
}

void sent_keep(struct vcpu *v, const struct sig_info *info)
{
	unsigned i = index_of(info->signo);
	struct sig_info *first = (void *)v->sent_info[i];
	struct sig_info *second = (void *)v->sent_more[i];
	uint64_t bit = SIG_BIT(info->signo);

	if (!(v->sent & bit)) {
		*first = *info;
	} else if (!(v->sent_twice & bit) &&
		   is_for_thread(first) != is_for_thread(info)) {
		*second = is_for_thread(info) ? *first : *info;
		if (is_for_thread(info))
			*first = *info;
		v->sent_twice |= bit;
	}
	v->sent |= bit;
	signal_recheck(v);
}

int sent_take(struct vcpu *v, uint64_t set, struct sig_info *out)
{
	uint64_t bit = v->sent & set;
	unsigned i;
	int sig;

	if (bit == 0)
		return 0;
	bit &= -bit;
	sig = __builtin_ctzll(bit) + 1;
	i = index_of(sig);
	memcpy(out, v->sent_info[i], sizeof *out);
	if (v->sent_twice & bit)
		memcpy(v->sent_info[i], v->sent_more[i], sizeof *out);
	else
		v->sent &= ~bit;
	v->sent_twice &= ~bit;
	signal_recheck(v);
	return sig;
}

void sent_drop(struct vcpu *v, uint64_t set)
{
	v->sent &= ~set;
	v->sent_twice &= ~set;
	signal_recheck(v);
}
