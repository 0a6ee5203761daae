/* tests/end-to-end/probe_left.c - a program that harks come to and are killed
 * at.
 *
 *	probe_left FILE [THREADS]	until there is a file of that name
 *	probe_left FILE forged SEED	the same, with memory that looks as if a
 *					hark had left it, and holds lies
 *
 * Its threads call hot() (a jump), cold() (a trap) and meet a probe with a
 * semaphore; a timer's signal is handled, SIGUSR2 is blocked in all but the
 * first. At the end all results were right, and the semaphore is down. When
 * there is a file `fork`, it has a child. */
#include "guest.h"
#include "native/trampoline.h"
#include "probe_functions.h"
#include "wire/collect.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

BY_JUMP(hot);
BY_TRAP(cold);

/* As sys/sdt.h writes it. */
__attribute__((section(".probes"))) volatile unsigned short left_semaphore;
#define MEET(value)                                                            \
	__asm__ volatile("990: nop\n"                                          \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"        \
			 ".balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n"     \
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"           \
			 "993: .8byte 990b, _.stapsdt.base, left_semaphore\n"  \
			 ".asciz \"left\"\n.asciz \"meet\"\n.asciz \"8@%0\"\n" \
			 "994: .balign 4\n.popsection\n"                       \
			 ".ifndef _.stapsdt.base\n"                            \
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", "  \
			 ".stapsdt.base, comdat\n.weak _.stapsdt.base\n"       \
			 ".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"  \
			 ".size _.stapsdt.base, 1\n.popsection\n.endif\n"      \
			 :                                                     \
			 : "r"(value))

static int stop;
static volatile uint64_t alarms;

static void handle(int sig)
{
	(void)sig;
	alarms++;
}

static void *work(void *p)
{
	uint64_t n = 0;

	(void)p;
	guest_begin();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		n++;
		if (hot(n) != 2 * n + 1)
			guest_wrong = 1;
		if (n % 64 == 0 && cold(n) != 2 * n + 1)
			guest_wrong = 1;
		MEET(n);
	}
	return NULL;
}

/* -- Lies -- */

static uint64_t seed;

static uint64_t space(void)
{
	struct stat st;

	MUST(stat("/proc/self/ns/pid", &st) == 0);
	return st.st_ino;
}

static uint64_t any(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 11;
}

/* A word that is nearly right, or not at all. */
static uint64_t lie(uint64_t truth)
{
	switch (any() % 32) {
	case 0:
		return any();
	case 1:
		return truth + 1;
	case 2:
		return ~0ull - any() % 64;
	case 3:
		return 0;
	default:
		return truth;
	}
}

/* A plan in which one thing or another is wrong, its hark being dead. What it
 * says of changed bytes is not even about this program. */
static void forge(void)
{
	enum { SIZE = 1 << 20, PART = 1 << 16 };
	int fd = memfd_create("hark-probe", 0);
	struct collect_plan *head;
	struct collect_removal *r;
	uint64_t self, *words;

	MUST(fd >= 0 && ftruncate(fd, SIZE) == 0);
	head = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(head != MAP_FAILED);
	close(fd);
	self = (uint64_t)head;
	words = (uint64_t *)head;
	for (size_t n = 0; n < SIZE / sizeof *words; n++)
		words[n] = any() % 4 ? any() % SIZE : any();
	*head = (struct collect_plan){
	    .magic = COLLECT_MAGIC, .version = COLLECT_VERSION, .self = self};
	head->size = lie(PART);
	head->image = lie(self + PART);
	head->image_len = lie(PART);
	head->home = lie(self + 2ull * PART);
	head->home_len = lie(PART);
	head->table = lie(self + 3ull * PART);
	head->table_len = lie(2ull * PART);
	head->work = lie(self + 5ull * PART); /* of no length */
	head->own = lie(self + 5ull * PART);
	head->own_len = lie(PART);
	head->board = lie(self + 6ull * PART);
	head->board_len = lie(PART);
	head->index = lie(8192);
	head->removal = any() % 8 ? 4096 : any();
	r = (struct collect_removal *)(self + 4096);
	r->hark = 0x7fffffff;
	r->began = 1;
	r->space = space();
	r->trampoline_size = sizeof(struct trampoline);
	r->ranges.offset = any() % 8 ? any() % PART & ~15ull : any();
	r->changes.offset = any() % 8 ? any() % PART & ~15ull : any();
	r->semaphores.offset = any() % 8 ? any() % PART & ~15ull : any();
	words[2 * PART / sizeof *words] = self; /* home */
	r->ranges.n = any() % 4 ? any() % 100 : any();
	r->changes.n = any() % 4 ? any() % 100 : any();
	r->semaphores.n = any() % 4 ? any() % 100 : any();
	/* One that can be written is not even looked at. */
	MUST(mprotect(head, PART, PROT_READ) == 0);
}

/* It has what its parent had at that time, and none of its threads. */
static void bear(const char *path)
{
	if (fork() != 0)
		return;
	dprintf(1, "child %d\n", getpid());
	while (access(path, F_OK) != 0) {
		if (hot(3) != 7 || cold(3) != 7)
			guest_wrong = 1;
		MEET(3);
		usleep(100);
	}
	dprintf(1, "child %s, %u\n", guest_wrong ? "wrong" : "right",
		left_semaphore);
	_exit(0);
}

static void await(const char *path, int threads)
{
	bool has_child = false;

	guest_await(threads);
	(void)access(path, F_OK); /* what is called first is bound then */
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (access(path, F_OK) != 0) {
		if (!has_child && access("fork", F_OK) == 0) {
			has_child = true;
			bear(path);
		}
		usleep(2000);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	/* No handler changes what /proc tells of the thread's mask. */
	const struct sigaction a = {.sa_handler = handle,
				    .sa_flags = SA_RESTART | SA_NODEFER};
	const struct itimerval often = {{0, 3000}, {0, 3000}};
	pthread_t thread[8];
	sigset_t two;
	int n = 2;

	MUST(argc >= 2);
	if (argc > 3) {
		seed = strtoull(argv[3], NULL, 10);
		forge();
	} else if (argc > 2) {
		n = atoi(argv[2]);
	}
	sigemptyset(&two);
	sigaddset(&two, SIGUSR2);
	MUST(sigaction(SIGALRM, &a, NULL) == 0 &&
	     setitimer(ITIMER_REAL, &often, NULL) == 0 && n > 0 && n <= 8 &&
	     pthread_sigmask(SIG_BLOCK, &two, NULL) == 0);
	for (int i = 0; i < n; i++)
		MUST(pthread_create(&thread[i], NULL, work, NULL) == 0);
	MUST(pthread_sigmask(SIG_UNBLOCK, &two, NULL) == 0);
	await(argv[1], n);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	wait(NULL);
	SAME(left_semaphore, 0);
	CHECK(alarms > 0);
	return guest_end();
}
