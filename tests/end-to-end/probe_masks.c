/* probe_masks - three threads with signals blocked before anybody comes, who
 * do what they are told on standard input, a word and a thread (0, 1, 2) on a
 * line:
 *
 *	hit T		execute hot() a thousand times
 *	look T		say what is blocked and what is pending
 *	send T		a SIGTRAP with a number of its own is sent to it
 *	raise T		a SIGTRAP is sent to it as tgkill() does
 *	every T		a SIGTRAP is sent to the process as kill() does; the
 *			first thread blocks it
 *	close T		block what threads 0 and 1 do
 *	open T		let everything through, and say what came
 *	kernel T	say what the kernel says is blocked
 *
 * Each line is answered by one line. Thread 2 has nothing blocked. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3 };

struct member {
	pthread_t thread;
	pid_t tid;
	int to[2], from[2]; /* a letter each */
	uint64_t said;
};

static struct member all[THREADS];
static __thread volatile uint64_t came; /* numbers of signals, a digit each */
enum { BY_TGKILL = 8, BY_KILL = 9 };

__attribute__((noinline)) uint64_t hot(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3;
}

static void handle(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	came = came * 10 + (info->si_code == SI_TKILL ? BY_TGKILL
			    : info->si_code == SI_USER
				? BY_KILL
				: (uint64_t)info->si_value.sival_int);
}

static uint64_t bits(const sigset_t *set)
{
	uint64_t out;

	memcpy(&out, set, sizeof out);
	return out;
}

static void close_mask(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigaddset(&set, SIGILL);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static uint64_t obey(char word)
{
	sigset_t set, pending;
	uint64_t sum = 0;

	switch (word) {
	case 'h':
		for (uint64_t i = 0; i < 1000; i++)
			sum += hot(i);
		return sum;
	case 'l':
		pthread_sigmask(SIG_BLOCK, NULL, &set);
		sigpending(&pending);
		return bits(&set) << 32 | bits(&pending);
	case 'c':
		close_mask();
		return 0;
	default:
		came = 0;
		sigemptyset(&set);
		pthread_sigmask(SIG_SETMASK, &set, NULL);
		return came;
	}
}

static void *live(void *arg)
{
	struct member *m = arg;
	char word;

	if (m != &all[2])
		close_mask();
	m->tid = (pid_t)syscall(SYS_gettid);
	while (write(m->from[1], "!", 1) == 1 && read(m->to[0], &word, 1) == 1)
		m->said = obey(word);
	return NULL;
}

static uint64_t kernels_word(const struct member *m)
{
	char path[64], line[256];
	uint64_t set = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/status", m->tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "SigBlk: %" SCNx64, &set);
	fclose(f);
	return set;
}

static void answered(struct member *m)
{
	char done;

	if (read(m->from[0], &done, 1) != 1)
		exit(1);
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = handle,
			      .sa_flags = SA_SIGINFO | SA_RESTART};
	char line[64], word[16];
	unsigned t;

	sigaction(SIGTRAP, &a, NULL);
	for (t = 0; t < THREADS; t++) {
		if (pipe(all[t].to) != 0 || pipe(all[t].from) != 0 ||
		    pthread_create(&all[t].thread, NULL, live, &all[t]) != 0)
			return 1;
		answered(&all[t]);
	}
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		struct member *m;

		if (sscanf(line, "%15s %u", word, &t) != 2 || t >= THREADS)
			return 1;
		m = &all[t];
		if (word[0] == 's') {
			union sigval v = {.sival_int = (int)t + 1};

			m->said =
			    (uint64_t)pthread_sigqueue(m->thread, SIGTRAP, v);
		} else if (word[0] == 'r') {
			m->said = (uint64_t)pthread_kill(m->thread, SIGTRAP);
		} else if (word[0] == 'e') {
			close_mask();
			m->said = (uint64_t)kill(getpid(), SIGTRAP);
		} else if (word[0] == 'k') {
			m->said = kernels_word(m);
		} else {
			if (write(m->to[1], word, 1) != 1)
				return 1;
			answered(m);
		}
		printf("%s %u: %" PRIx64 "\n", word, t, m->said);
		fflush(stdout);
	}
	return 0;
}
