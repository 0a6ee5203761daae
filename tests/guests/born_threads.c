/* tests/guests/born_threads.c - threads are born while others use descriptors.
 *
 * Three threads make short-lived threads, one after the other. Meanwhile the
 * first opens a file, which must get the lowest free number, moves another
 * over the next number and finds it still there afterwards, and forks: the
 * child must have no descriptor and no mapping that is not of this program.
 * Exit status 0 if all went well; else says what went badly, and how often. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUN_NS = 800000000, FORK_EVERY = 16, MIDWIVES = 3 };

static atomic_int over;
static int wrong_number, lost, in_child, at_first;

static void *short_life(void *arg)
{
	return arg;
}

static void *midwife(void *arg)
{
	while (!over) {
		pthread_t t;

		if (pthread_create(&t, NULL, short_life, NULL) == 0)
			pthread_join(t, NULL);
	}
	return arg;
}

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Open at `lowest`, a second one on top of it, look, close. */
static void use_descriptors(int lowest, dev_t device, ino_t inode)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct stat st;

	wrong_number += fd != lowest;
	if (fd >= 0)
		close(fd);
	dup2(0, lowest);
	for (int i = 0; i < 20; i++)
		if (fstat(lowest, &st) < 0 || st.st_dev != device ||
		    st.st_ino != inode) {
			lost++;
			break;
		}
	close(lowest);
}

/* How many numbers are in use from `lowest` on (of the
 * next few), and how much is mapped that has a file's name but no file. */
static int strange(int lowest)
{
	char line[512];
	FILE *maps;
	int n = 0;

	for (int fd = lowest; fd < lowest + 8; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	maps = fopen("/proc/self/maps", "re");
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
		n += strstr(line, "/memfd:") != NULL;
	if (maps != NULL)
		fclose(maps);
	return n;
}

static void look_in_child(int lowest)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(strange(lowest) != at_first);
	in_child += waitpid(pid, &status, 0) != pid || status != 0;
}

int main(void)
{
	int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
	long end = now_ns() + RUN_NS;
	struct stat st;
	pthread_t t[MIDWIVES];

	close(lowest);
	at_first = strange(lowest);
	if (fstat(0, &st) < 0)
		return 2;
	for (int i = 0; i < MIDWIVES; i++)
		if (pthread_create(&t[i], NULL, midwife, NULL) != 0)
			return 2;
	for (int i = 0; now_ns() < end; i++) {
		use_descriptors(lowest, st.st_dev, st.st_ino);
		if (i % FORK_EVERY == 0)
			look_in_child(lowest);
	}
	over = 1;
	for (int i = 0; i < MIDWIVES; i++)
		pthread_join(t[i], NULL);
	if (wrong_number + lost + in_child == 0)
		return 0;
	printf("badly: %d other numbers, %d lost, %d strange children\n",
	       wrong_number, lost, in_child);
	return 1;
}
