/* outside/limit.c - files that are none; see the header. */
#include "outside/limit.h"

void limit_lift_files(struct rlimit *was)
{
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};

	getrlimit(RLIMIT_FSIZE, was);
	if (was->rlim_cur == RLIM_INFINITY)
		return;
	if (setrlimit(RLIMIT_FSIZE, &most) < 0) {
		most.rlim_cur = most.rlim_max = was->rlim_max;
		setrlimit(RLIMIT_FSIZE, &most);
	}
}

void limit_restore_files(const struct rlimit *was)
{
	if (was->rlim_cur != RLIM_INFINITY)
		setrlimit(RLIMIT_FSIZE, was);
}

rlim_t limit_of_files(void)
{
	struct rlimit was, most;

	limit_lift_files(&was);
	getrlimit(RLIMIT_FSIZE, &most);
	limit_restore_files(&was);
	return most.rlim_cur;
}
