/* tests/guests/proc_tight_limits.c - programs started under tight limits run as
 * they do natively: little address space, four descriptors, a small or an
 * unlimited stack, no locked memory, no new processes. */
#include "guest.h"
#include <sys/resource.h>
#include <sys/wait.h>

static const struct {
	int what;
	rlim_t to;
} limits[] = {
    {RLIMIT_AS, 64 << 20},     {RLIMIT_NOFILE, 4},
    {RLIMIT_STACK, 256 << 10}, {RLIMIT_STACK, RLIM_INFINITY},
    {RLIMIT_MEMLOCK, 0},       {RLIMIT_DATA, 16 << 20},
    {RLIMIT_FSIZE, 0},	       {RLIMIT_CORE, 0},
    {RLIMIT_NPROC, 1},
};
enum { N = sizeof limits / sizeof limits[0] };

static int child(int k)
{
	struct rlimit r;
	char *p;

	MUST(getrlimit((__rlimit_resource_t)limits[k].what, &r) == 0);
	SAME(r.rlim_cur, limits[k].to);
	p = malloc(1 << 20);
	MUST(p != NULL);
	memset(p, 5, 1 << 20);
	for (int i = 0; i < 1 << 20; i += 4096)
		SAME(p[i], 5);
	return guest_wrong ? 1 : 70 + k;
}

int main(int argc, char **argv)
{
	int status;

	if (argc > 1)
		return child(atoi(argv[1]));
	for (int k = 0; k < N; k++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct rlimit r;
			char text[8];

			getrlimit((__rlimit_resource_t)limits[k].what, &r);
			r.rlim_cur = limits[k].to;
			if (r.rlim_cur > r.rlim_max)
				_exit(70 + k); /* not allowed to ask */
			MUST(setrlimit((__rlimit_resource_t)limits[k].what,
				       &r) == 0);
			snprintf(text, sizeof text, "%d", k);
			execl("/proc/self/exe", argv[0], text, NULL);
			_exit(3);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, (70 + k) << 8);
	}
	return guest_end();
}
