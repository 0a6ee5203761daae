/* bench/start.c - what does it cost to start a program, alone and behind a
 * tool?
 *
 *   start [-n N] [-j] COMMAND... [: COMMAND...]...     compare
 *   start -l N COMMAND...                              just run it N times
 *
 * Commands are separated by a lone colon; the first is the plain program, the
 * others the same program behind a tool. They run in turns, each round in
 * another order, first on any cpu and then all on one (a tool that talks to
 * its target pays for waking the other cpu). What is timed is the whole life:
 * from before fork until the process was waited for.
 *
 *   pinned  method      median  (min .. max)  over the first, in microseconds
 *
 * The plain program also runs by posix_spawn, which copies no address space:
 * that row says how much of the first is fork itself. With -j the rows are
 * lines of JSON. Standard output of the commands is thrown away. Exit status
 * 1: some command did not end as the first did.
 *
 * With -l nothing is compared and nothing thrown away; the first run that
 * fails is the last, and its exit status is ours. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROWS_MAX = 16, EXIT_TROUBLE = 125, EXIT_NOENT = 127 };

struct row {
	char **argv;	  /* borrowed from main */
	bool spawn;	  /* by posix_spawn, else by fork and exec */
	int strays;	  /* runs that ended otherwise than the plain program */
	int64_t *life_ns; /* owned; one a round */
};

struct plan {
	struct row rows[ROWS_MAX];
	int n_rows, n_rounds;
	int null_fd;
	bool json;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "start: %s: %s\n", what, strerror(errno));
	exit(EXIT_TROUBLE);
}

/* -- One life -- */

static pid_t start_fork(char **argv, int out_fd)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	execvp(argv[0], argv);
	_exit(EXIT_NOENT);
}

/* glibc's way without a copy of the address space (CLONE_VM, CLONE_VFORK). */
static pid_t start_spawn(char **argv, int out_fd)
{
	posix_spawn_file_actions_t acts;
	pid_t pid;

	if (posix_spawn_file_actions_init(&acts) != 0)
		return -1;
	posix_spawn_file_actions_adddup2(&acts, out_fd, STDOUT_FILENO);
	errno = posix_spawnp(&pid, argv[0], &acts, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&acts);
	return errno == 0 ? pid : -1;
}

static int64_t live_once(const struct row *r, int out_fd, int *wait_status)
{
	int64_t start = now_ns();
	pid_t pid = r->spawn ? start_spawn(r->argv, out_fd)
			     : start_fork(r->argv, out_fd);

	if (pid < 0)
		die(r->argv[0]);
	if (waitpid(pid, wait_status, 0) != pid)
		die("waitpid");
	return now_ns() - start;
}

/* -- Comparing -- */

/* The untimed first round warms the caches and says how a run should end. */
static void rounds_run(struct plan *p)
{
	int st, plain_st = 0;

	for (int i = p->n_rows - 1; i >= 0; i--)
		live_once(&p->rows[i], p->null_fd, &plain_st);
	for (int k = 0; k < p->n_rounds; k++)
		for (int i = 0; i < p->n_rows; i++) {
			struct row *r = &p->rows[(i + k) % p->n_rows];

			r->life_ns[k] = live_once(r, p->null_fd, &st);
			r->strays += st != plain_st;
		}
}

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double median_us(const int64_t *sorted, int n)
{
	int below = (n - 1) / 2, above = n / 2;

	return (double)(sorted[below] + sorted[above]) / 2e3;
}

static void row_print(const struct plan *p, const struct row *r, bool pinned,
		      double base_us)
{
	int n = p->n_rounds;
	double mid = median_us(r->life_ns, n);
	double lo = (double)r->life_ns[0] / 1e3;
	double hi = (double)r->life_ns[n - 1] / 1e3;
	const char *how = r->spawn ? "spawn" : "fork";

	if (p->json)
		printf("{\"row\": %d, \"pinned\": %s, \"method\": \"%s\", "
		       "\"n\": %d, \"median_us\": %.1f, \"min_us\": %.1f, "
		       "\"max_us\": %.1f, \"over_us\": %.1f, "
		       "\"strays\": %d}\n",
		       (int)(r - p->rows), pinned ? "true" : "false", how, n,
		       mid, lo, hi, mid - base_us, r->strays);
	else
		printf("%-7s %-6s %9.1f  (%.1f .. %.1f)  %+9.1f  %s%s\n",
		       pinned ? "pinned" : "any cpu", how, mid, lo, hi,
		       mid - base_us, r->argv[0],
		       r->strays > 0 ? "  WRONG: ends otherwise" : "");
}

/* Runs all rounds and prints them. The number of strays. */
static int compare(struct plan *p, bool pinned)
{
	double base_us;
	int strays = 0;

	rounds_run(p);
	for (int i = 0; i < p->n_rows; i++)
		qsort(p->rows[i].life_ns, (size_t)p->n_rounds,
		      sizeof p->rows[i].life_ns[0], compare_ns);
	base_us = median_us(p->rows[0].life_ns, p->n_rounds);
	for (int i = 0; i < p->n_rows; i++) {
		row_print(p, &p->rows[i], pinned, base_us);
		strays += p->rows[i].strays;
		p->rows[i].strays = 0;
	}
	return strays;
}

static void pin_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof set, &set) < 0)
		die("sched_setaffinity");
}

/* -- Command line -- */

static void row_add(struct plan *p, char **argv, bool spawn)
{
	struct row *r = &p->rows[p->n_rows];

	if (p->n_rows == ROWS_MAX || argv[0] == NULL) {
		errno = EINVAL;
		die("too many commands, or an empty one");
	}
	*r = (struct row){.argv = argv, .spawn = spawn};
	r->life_ns = calloc((size_t)p->n_rounds, sizeof r->life_ns[0]);
	if (r->life_ns == NULL)
		die("memory");
	p->n_rows++;
}

/* Cuts argv at the lone colons. */
static void rows_parse(struct plan *p, char **argv)
{
	char **first = argv;

	for (char **word = argv;; word++) {
		bool end = *word == NULL;

		if (!end && strcmp(*word, ":") != 0)
			continue;
		*word = NULL;
		row_add(p, first, false);
		if (first == argv)
			row_add(p, first, true);
		if (end)
			return;
		first = word + 1;
	}
}

/* For the row `start` of bench/run, which measures us from outside. */
static int loop(char **argv, long n)
{
	const struct row r = {.argv = argv};
	int st = 0;

	while (n-- > 0 && st == 0)
		live_once(&r, -1, &st);
	if (WIFSIGNALED(st))
		return 128 + WTERMSIG(st);
	return WEXITSTATUS(st);
}

int main(int argc, char **argv)
{
	struct plan p = {.n_rounds = 200};
	long n_loop = 0;
	int opt, strays;

	while ((opt = getopt(argc, argv, "+n:l:j")) != -1) {
		if (opt == 'n')
			p.n_rounds = (int)strtol(optarg, NULL, 10);
		else if (opt == 'l')
			n_loop = strtol(optarg, NULL, 10);
		else if (opt == 'j')
			p.json = true;
		else
			return EXIT_TROUBLE;
	}
	if (optind == argc || p.n_rounds < 1) {
		fprintf(stderr,
			"usage: start [-n N] [-j] COMMAND [: COMMAND]..."
			"\n       start -l N COMMAND\n");
		return EXIT_TROUBLE;
	}
	if (n_loop > 0)
		return loop(argv + optind, n_loop);
	p.null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (p.null_fd < 0)
		die("/dev/null");
	rows_parse(&p, argv + optind);
	strays = compare(&p, false);
	pin_here();
	strays += compare(&p, true);
	for (int i = 0; i < p.n_rows; i++)
		free(p.rows[i].life_ns);
	return strays > 0;
}
