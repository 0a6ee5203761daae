/* outside/rules.c - restart, EINTR and rseq rules; see the header. */
#include "outside/rules.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Calls that answer a stop with EINTR though no handler ran (signal(7)), and
 * that have done nothing yet when they do. close, connect and whatever may
 * have taken effect halfway are not here. */
static const uint16_t eintr_after_stop[] = {
    SYS_epoll_wait,   SYS_epoll_pwait,	 SYS_epoll_pwait2,
    SYS_semop,	      SYS_semtimedop,	 SYS_rt_sigtimedwait,
    SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter,
    SYS_read,	      SYS_readv,	 SYS_recvfrom,
    SYS_recvmsg,      SYS_recvmmsg,	 SYS_accept,
    SYS_accept4,      SYS_write,	 SYS_writev,
    SYS_sendto,	      SYS_sendmsg,	 SYS_sendmmsg,
};

static int answers_stop_with_eintr(uint64_t nr)
{
	size_t n = sizeof eintr_after_stop / sizeof eintr_after_stop[0];

	for (size_t i = 0; i < n; i++)
		if (eintr_after_stop[i] == nr)
			return 1;
	return 0;
}

static long error_of(const struct user_regs_struct *r)
{
	return -(long)r->rax;
}

static int spurious_eintr(const struct user_regs_struct *r)
{
	return (long)r->orig_rax >= 0 && error_of(r) == EINTR &&
	       answers_stop_with_eintr(r->orig_rax);
}

int rules_in_call(const struct user_regs_struct *r)
{
	long e = error_of(r);

	if ((long)r->orig_rax < 0)
		return 0;
	return e == RULES_ERESTARTSYS || e == RULES_ERESTARTNOINTR ||
	       e == RULES_ERESTARTNOHAND || e == RULES_ERESTART_RESTARTBLOCK ||
	       spurious_eintr(r);
}

int rules_kernel(struct user_regs_struct *r)
{
	if (!spurious_eintr(r))
		return 0;
	r->rax = (unsigned long long)-RULES_ERESTARTNOHAND;
	return 1;
}

void rules_by_hand(struct user_regs_struct *r)
{
	if (rules_in_call(r)) {
		r->rax = error_of(r) == RULES_ERESTART_RESTARTBLOCK
			     ? SYS_restart_syscall
			     : r->orig_rax;
		r->rip -= 2; /* syscall is two bytes, as is int $0x80 */
	}
	r->orig_rax = ~0ull;
}

int rules_rseq(struct user_regs_struct *r, const struct rules_rseq_cs *cs)
{
	if (r->rip - cs->start >= cs->len)
		return 0;
	r->rip = cs->abort;
	return 1;
}
