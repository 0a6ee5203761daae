/* bench/meter.c - run one command and say what it cost.
 *
 *   meter [-l SECONDS] [-o FD] COMMAND ARGS...
 *
 * One line of JSON goes to FD (default 3) when all is over. Why not let the
 * runner do this itself? Because a process measured from a large parent is
 * measured wrongly: Linux counts the memory that a child shares with its
 * parent before exec as the child's own peak, so nothing started by an
 * interpreter ever seems to need less than the interpreter does. The meter
 * is small, and so are its errors.
 *
 *   wall_s          from before fork until the command itself was reaped
 *   user_s, sys_s   of the command, of every descendant that was waited for,
 *                   and of every orphan: the meter adopts orphans
 *   rss_kb          the largest peak of any one of those processes
 *   status, signal  how the command ended; one of them is 0
 *   killed          1: the time limit was reached and everything was killed
 *   orphans         descendants that outlived the command
 *   left            1: some orphan still ran after GRACE_S and was killed
 *
 * Not seen: a descendant whose parent ignores SIGCHLD (the kernel throws its
 * times away).
 *
 * M1  When the meter ends, by whatever signal it can catch, no descendant
 *     of the command is left.
 * M2  The command starts with default signal dispositions and an empty
 *     mask, in a process group of its own, without the meter's descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 5, AGAIN_NS = 10000000 };
enum { EXIT_TROUBLE = 125, EXIT_NOEXEC = 126, EXIT_NOENT = 127 };

static const int64_t second_ns = 1000000000;

struct bill {
	pid_t pid; /* the command */
	int64_t start_ns, end_ns;
	double user_s, sys_s;
	long rss_kb;
	int wait_status;
	bool ended, killed, left;
	int orphans;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * second_ns + t.tv_nsec;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void bill_add(struct bill *b, pid_t pid, int wait_status,
		     const struct rusage *use)
{
	b->user_s += seconds(use->ru_utime);
	b->sys_s += seconds(use->ru_stime);
	if (use->ru_maxrss > b->rss_kb)
		b->rss_kb = use->ru_maxrss;
	if (pid != b->pid) {
		b->orphans++;
		return;
	}
	b->ended = true;
	b->end_ns = now_ns();
	b->wait_status = wait_status;
}

/* Reaps whoever is dead. False: there is no child any more. */
static bool bill_collect(struct bill *b)
{
	struct rusage use;
	int wait_status;
	pid_t pid;

	while ((pid = wait4(-1, &wait_status, WNOHANG, &use)) > 0)
		bill_add(b, pid, wait_status, &use);
	return pid == 0;
}

/* Kills the command's group and all present children. Their own children
 * become ours, so that killing again until no child is left ends all (M1). */
static void kill_children(pid_t group)
{
	char path[64], *word = NULL;
	size_t room = 0;
	FILE *f;

	kill(-group, SIGKILL);
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (f == NULL)
		return;
	while (getdelim(&word, &room, ' ', f) > 0) {
		pid_t pid = (pid_t)strtol(word, NULL, 10);

		if (pid > 0)
			kill(pid, SIGKILL);
	}
	free(word);
	fclose(f);
}

/* Waits for any of set until the time comes. The signal, or 0. */
static int signal_before(const sigset_t *set, int64_t until_ns)
{
	int64_t left = until_ns - now_ns();
	struct timespec t;
	int sig;

	if (left <= 0)
		return 0;
	t.tv_sec = left / second_ns;
	t.tv_nsec = left % second_ns;
	do
		sig = sigtimedwait(set, NULL, &t);
	while (sig < 0 && errno == EINTR);
	return sig < 0 ? 0 : sig;
}

/* Until nobody is left, or somebody wants us to end: then that signal. */
static int bill_watch(struct bill *b, const sigset_t *set, int limit_s)
{
	int64_t until_ns = b->start_ns + limit_s * second_ns;
	bool grace = false;

	while (bill_collect(b)) {
		int sig;

		if (b->ended && !grace && !b->killed) {
			grace = true;
			until_ns = b->end_ns + GRACE_S * second_ns;
		}
		sig = signal_before(set, until_ns);
		if (sig == SIGCHLD)
			continue;
		if (sig != 0)
			return sig;
		if (b->ended && !b->killed)
			b->left = true;
		else
			b->killed = true;
		kill_children(b->pid);
		until_ns = now_ns() + AGAIN_NS;
	}
	return 0;
}

static void bill_print(const struct bill *b, FILE *out)
{
	int st = b->wait_status;

	fprintf(out,
		"{\"wall_s\": %.6f, \"user_s\": %.6f, \"sys_s\": %.6f, "
		"\"rss_kb\": %ld, \"status\": %d, \"signal\": %d, "
		"\"killed\": %d, \"orphans\": %d, \"left\": %d}\n",
		(double)(b->end_ns - b->start_ns) / 1e9, b->user_s, b->sys_s,
		b->rss_kb, WIFEXITED(st) ? WEXITSTATUS(st) : 0,
		WIFSIGNALED(st) ? WTERMSIG(st) : 0, b->killed, b->orphans,
		b->left);
}

static void become(char **argv, const sigset_t *mask)
{
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "meter: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? EXIT_NOENT : EXIT_NOEXEC);
}

static int measure(char **argv, int limit_s, struct bill *out)
{
	struct bill b = {0};
	sigset_t set, none;
	int sig;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	b.start_ns = now_ns();
	b.pid = fork();
	if (b.pid == 0)
		become(argv, &none);
	if (b.pid < 0)
		return -1;
	setpgid(b.pid, b.pid); /* whoever comes first, see kill_children() */
	sig = bill_watch(&b, &set, limit_s);
	if (sig != 0) {
		while (bill_collect(&b)) {
			kill_children(b.pid);
			signal_before(&set, now_ns() + AGAIN_NS);
		}
		sigprocmask(SIG_SETMASK, &none, NULL);
		raise(sig);
	}
	*out = b;
	return 0;
}

int main(int argc, char **argv)
{
	int limit_s = 600, fd = 3, opt;
	struct bill b;
	FILE *out;

	while ((opt = getopt(argc, argv, "+l:o:")) != -1) {
		if (opt == 'l')
			limit_s = (int)strtol(optarg, NULL, 10);
		else if (opt == 'o')
			fd = (int)strtol(optarg, NULL, 10);
		else
			return EXIT_TROUBLE;
	}
	out = fdopen(fd, "w");
	if (optind >= argc || out == NULL || limit_s <= 0) {
		fprintf(stderr,
			"usage: meter [-l SECONDS] [-o FD] COMMAND...\n");
		return EXIT_TROUBLE;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (measure(argv + optind, limit_s, &b) < 0) {
		fprintf(stderr, "meter: fork: %s\n", strerror(errno));
		return EXIT_TROUBLE;
	}
	bill_print(&b, out);
	return fclose(out) == 0 ? 0 : EXIT_TROUBLE;
}
