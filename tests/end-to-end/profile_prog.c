/* tests/end-to-end/profile_prog.c - programs that a profiler may disturb, or
 * that it must get right: `profile_prog KIND [ARG]`. Each looks after itself,
 * and says ok if it found nothing wrong. With PROG_PERCENT in the environment
 * it takes so many percent of its usual CPU time. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef _SC_MINSIGSTKSZ
#define _SC_MINSIGSTKSZ 249
#endif
#define KEEP __attribute__((noinline, noclone, noipa))

extern char **environ;
static char *self;
static volatile uint64_t sink;

static void die(const char *what)
{
	printf("wrong: %s\n", what);
	exit(1);
}
#define CHECK(it) ((it) ? (void)0 : die(#it))

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* When the calling thread will have used that much more, by PROG_PERCENT. */
static double until(double seconds)
{
	static double part;

	if (part == 0) {
		const char *percent = getenv("PROG_PERCENT");

		part = percent != NULL ? atof(percent) / 100 : 1;
	}
	return used() + seconds * part;
}

/* That much CPU time of the calling thread. */
KEEP static void burn(double seconds)
{
	double end = until(seconds);

	while (used() < end)
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * 7;
}

/* -- Shares -- */

/* One multiplication waits for the other: so long each takes, wherever the
 * loop lies in memory. (Adding to memory takes some processors half as long
 * again in one of two places.) */
static inline void multiply(int n)
{
	uint64_t x = sink;

	for (int i = 0; i < n; i++)
		__asm__ volatile("imul $7, %0, %0" : "+r"(x) : : "cc");
	sink = x;
}

KEEP static void heavy(int n)
{
	multiply(3 * n);
}

KEEP static void light(int n)
{
	multiply(n);
}

/* Three to one, in rounds of many lengths: if one lasted as long as it is from
 * tick to tick, on a machine that happens to be so fast, all ticks would come
 * at the same place. */
static void shares(void)
{
	uint32_t seed = 1;

	for (double end = until(1.0); used() < end;) {
		int n;

		seed = seed * 1103515245 + 12345;
		n = 50000 + (int)(seed >> 16) % 100000;
		heavy(n);
		light(n);
	}
}

/* -- Depth -- */

KEEP static uint64_t dive(int n)
{
	uint64_t r;

	if (n == 0) {
		burn(0.6);
		return 1;
	}
	r = dive(n - 1);
	sink += r;
	return r + 1;
}

static void *dive_in_thread(void *n)
{
	CHECK(dive(*(int *)n) == (uint64_t) * (int *)n + 1);
	return NULL;
}

static void depth(int n)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 1 << 29);
	CHECK(pthread_create(&t, &a, dive_in_thread, &n) == 0);
	pthread_join(t, NULL);
}

/* -- Threads, processes -- */

static void *late_thread(void *seconds)
{
	burn(*(double *)seconds);
	return NULL;
}

static void threads(void)
{
	double seconds = 0.1;
	pthread_t t[8];

	burn(0.1);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, late_thread, &seconds) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

/* Writes which number the kernel is to give next; false: that is not for
 * everybody. Others take it before, on a busy machine. */
static bool ask_for(pid_t id)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (f == NULL)
		return false;
	fprintf(f, "%d", (int)id - 1);
	return fclose(f) == 0;
}

enum { TRIES = 20000 };
static pid_t wanted;

static void *in_life(void *name)
{
	pid_t tid = gettid();

	if (wanted != 0 && tid != wanted)
		return NULL;
	wanted = tid;
	pthread_setname_np(pthread_self(), name);
	burn(0.2);
	return &wanted;
}

/* Two threads, the second with the number of the first. */
static void reuse(void)
{
	static char one[] = "one", two[] = "two";
	void *got = NULL;
	pthread_t t;

	CHECK(pthread_create(&t, NULL, in_life, one) == 0);
	pthread_join(t, NULL);
	for (int i = 0; got == NULL; i++) {
		CHECK(i < TRIES);
		if (!ask_for(wanted)) {
			puts("not allowed");
			exit(0);
		}
		CHECK(pthread_create(&t, NULL, in_life, two) == 0);
		pthread_join(t, &got);
	}
}

KEEP static void at_last(void)
{
	burn(0.04);
	sink++; /* no jump */
}

/* Burns, and waits to be told. */
static void idle(void)
{
	burn(0.2);
	at_last();
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (getchar() != EOF)
		;
}

KEEP static void as_child(void)
{
	burn(0.3);
	sink++; /* no jump */
}

KEEP static void as_next(void)
{
	burn(0.3);
	sink++;
}

static void family(bool executes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		as_child();
		if (executes)
			execl(self, self, "next", NULL);
		_exit(0);
	}
	burn(0.1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Two children, the second with the number of the first, which has executed
 * another program by the end. */
static void second_family(const char *other)
{
	int status;
	pid_t first = fork(), pid = 0;

	if (first == 0) {
		execl(other, other, NULL);
		_exit(1);
	}
	CHECK(waitpid(first, &status, 0) == first && status == 0);
	for (int i = 0; pid != first; i++) {
		CHECK(i < TRIES);
		if (!ask_for(first)) {
			puts("not allowed");
			exit(0);
		}
		pid = fork();
		if (pid == 0) {
			if (getpid() == first)
				as_child();
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void storm(void)
{
	char *const words[] = {self, (char *)"nothing", NULL};
	int status;

	for (int i = 0; i < 30; i++) {
		pid_t pid;

		CHECK(posix_spawn(&pid, self, NULL, NULL, words, environ) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		pid = vfork();
		if (pid == 0)
			_exit(7);
		CHECK(waitpid(pid, &status, 0) == pid &&
		      WEXITSTATUS(status) == 7);
		burn(0.01);
	}
}

/* -- Signals -- */

static volatile sig_atomic_t came[65];
static volatile int code_of_last;

static void count(int sig, siginfo_t *info, void *context)
{
	(void)context;
	came[sig]++;
	code_of_last = info->si_code;
}

static void handle(int sig, int flags)
{
	struct sigaction a = {.sa_sigaction = count,
			      .sa_flags = SA_SIGINFO | flags};

	CHECK(sigaction(sig, &a, NULL) == 0);
}

static void raise_again(int sig)
{
	sigset_t pending;

	if (came[sig]++ > 0)
		return;
	CHECK(raise(sig) == 0);
	CHECK(came[sig] == 1);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, sig) == 1);
}

/* A signal that its own handler has raised comes when that has ended, though
 * the thread makes no more calls. */
static void again(void)
{
	static const int sigs[] = {SIGILL, SIGTRAP, SIGBUS, SIGSEGV, SIGUSR1};

	for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		const struct sigaction a = {.sa_handler = raise_again};

		CHECK(sigaction(sigs[i], &a, NULL) == 0);
		CHECK(raise(sigs[i]) == 0);
		for (double end = used() + 5; came[sigs[i]] < 2;)
			CHECK(used() < end);
	}
}

/* It is sent to itself, and raised by the processor. */
static void own_trap(void)
{
	handle(SIGTRAP, 0);
	for (int i = 0; i < 200; i++) {
		burn(0.002);
		if (i % 2 == 0) {
			CHECK(raise(SIGTRAP) == 0);
			CHECK(code_of_last == SI_TKILL);
		} else {
			__asm__ volatile("int3");
			CHECK(code_of_last == SI_KERNEL);
		}
		CHECK(came[SIGTRAP] == i + 1);
	}
}

static void blocked(void)
{
	sigset_t all, now;

	sigfillset(&all);
	CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		burn(0.01);
		CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
		CHECK(sigismember(&now, SIGTRAP) == 1 &&
		      sigismember(&now, SIGUSR1) == 1);
		CHECK(sigpending(&now) == 0 && sigisemptyset(&now));
	}
	raise(SIGTRAP);
	CHECK(sigpending(&now) == 0 && sigismember(&now, SIGTRAP) == 1);
	CHECK(sigwaitinfo(&all, NULL) == SIGTRAP);
}

static void reset(void)
{
	struct sigaction a = {.sa_handler = SIG_DFL}, was;

	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			CHECK(sigaction(sig, &a, &was) == 0 &&
			      was.sa_handler == SIG_DFL);
	burn(0.5);
	a.sa_handler = SIG_IGN;
	CHECK(sigaction(SIGTRAP, &a, NULL) == 0);
	burn(0.3);
	CHECK(raise(SIGTRAP) == 0);
	CHECK(sigaction(SIGTRAP, NULL, &was) == 0 && was.sa_handler == SIG_IGN);
}

static void itimer(void)
{
	const struct itimerval every = {{0, 5000}, {0, 5000}};

	handle(SIGPROF, SA_RESTART);
	CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
	burn(0.6);
	CHECK(came[SIGPROF] > 20);
	CHECK(code_of_last == SI_KERNEL);
	CHECK(came[SIGTRAP] == 0);
}

/* Nothing that waits is interrupted. */
static void waits(void)
{
	const struct timespec pause = {0, 1000000};
	struct pollfd none = {.fd = -1};

	for (double end = until(0.3); used() < end;) {
		burn(0.0007);
		errno = 77;
		CHECK(poll(&none, 1, 1) == 0 && errno == 77);
		CHECK(nanosleep(&pause, NULL) == 0 && errno == 77);
		CHECK(select(0, NULL, NULL, NULL, &(struct timeval){0, 500}) ==
		      0);
	}
}

/* -- Stacks -- */

#ifdef NO_CONTEXTS /* musl has none */
static void contexts(void)
{
}
#else
static ucontext_t main_context, other[2];
static char stacks[2][1 << 16];
static int turns;

KEEP static void coroutine(int which)
{
	for (;;) {
		burn(0.001);
		turns++;
		swapcontext(&other[which],
			    turns % 7 == 0 ? &main_context : &other[!which]);
	}
}

static void contexts(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&other[i]);
		other[i].uc_stack.ss_sp = stacks[i];
		other[i].uc_stack.ss_size = sizeof stacks[i];
		makecontext(&other[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0; i < 60; i++) {
		swapcontext(&main_context, &other[i % 2]);
		burn(0.001);
	}
	CHECK(turns == 60 * 7);
}
#endif

KEEP static void on_other_stack(int sig)
{
	came[sig]++;
	burn(0.005);
}

/* With little room, and with much: the handler burns there. */
static void altstack(void)
{
	static char room[1 << 16];
	struct sigaction a = {.sa_handler = on_other_stack,
			      .sa_flags = SA_ONSTACK};
	const size_t sizes[] = {sizeof room,
				(size_t)sysconf(_SC_MINSIGSTKSZ) + 1024};

	CHECK(sigaction(SIGUSR1, &a, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		stack_t s = {.ss_sp = room, .ss_size = sizes[i % 2]};

		CHECK(sigaltstack(&s, NULL) == 0);
		raise(SIGUSR1);
		burn(0.002);
	}
	CHECK(came[SIGUSR1] == 100);
}

/* What is below rsp is the program's: 128 bytes of it. */
static void red_zone(void)
{
	for (double end = until(0.5); used() < end;) {
		uint64_t bad;

		__asm__ volatile("lea -128(%%rsp), %%rsi\n\t"
				 "xor %%eax, %%eax\n\t"
				 "mov $100000, %%ecx\n"
				 "1: mov %%rcx, -8(%%rsp)\n\t"
				 "mov %%rcx, (%%rsi)\n\t"
				 "mov %%rcx, -64(%%rsp)\n\t"
				 "mov -8(%%rsp), %%rdx\n\t"
				 "xor (%%rsi), %%rdx\n\t"
				 "or %%rdx, %%rax\n\t"
				 "mov -64(%%rsp), %%rdx\n\t"
				 "xor %%rcx, %%rdx\n\t"
				 "or %%rdx, %%rax\n\t"
				 "dec %%ecx\n\t"
				 "jne 1b"
				 : "=a"(bad)
				 :
				 : "rcx", "rdx", "rsi", "cc", "memory");
		CHECK(bad == 0);
	}
}

static jmp_buf back;

KEEP static void leap(int n)
{
	volatile char some[64] = {(char)n};

	if (n == 0)
		longjmp(back, some[0] + 1);
	if (sink != 0)
		leap(n - 1);
	sink += (uint64_t)some[0];
}

static void leaps(void)
{
	sink = 1;
	for (double end = until(0.5); used() < end;)
		for (volatile int i = 0; i < 200; i++)
			if (setjmp(back) == 0)
				leap(i % 50);
}

/* rbp and rsp of this code lead nowhere: a walk must not believe them. */
static void nowhere(void)
{
	static const uint8_t code[] = {
	    0x53, 0x55,				   /* push rbx; push rbp */
	    0x48, 0x89, 0xe3,			   /* mov rbx, rsp */
	    0x48, 0xc7, 0xc5, 0x10, 0,	  0, 0x40, /* mov rbp, 0x40000010 */
	    0xb9, 0x40, 0x42, 0x0f, 0x00,	   /* mov ecx, 1000000 */
	    0xff, 0xc9, 0x75, 0xfc,		   /* dec ecx; jne */
	    0x48, 0x89, 0xdc,			   /* mov rsp, rbx */
	    0x5d, 0x5b, 0xc3,			   /* pop rbp; pop rbx; ret */
	};
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memcpy(at, code, sizeof code);
	for (double end = until(0.5); used() < end;)
		((void (*)(void))at)();
}

/* -- Libraries -- */

static void libraries(const char *path)
{
	for (int i = 0; i < 40; i++) {
		void *lib = dlopen(path, RTLD_NOW);
		void (*work)(void);

		CHECK(lib != NULL);
		work = (void (*)(void))dlsym(lib, "library_work");
		CHECK(work != NULL);
		for (double end = used() + 0.01; used() < end;)
			work();
		CHECK(dlclose(lib) == 0);
	}
}

/* -- Until told otherwise -- */

static int begun;

static void *burn_on(void *stop)
{
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELEASE);
	while (!*(volatile int *)stop)
		burn(0.002);
	return NULL;
}

static void server(void)
{
	int stop = 0, got;
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, burn_on, &stop) == 0);
	/* Of a thread that has not run yet libc still blocks all signals. */
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while ((got = getchar()) != EOF)
		;
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "",
		   *arg = argc > 2 ? argv[2] : "";
	const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
	    {"shares", shares},	    {"threads", threads},
	    {"storm", storm},	    {"trap", own_trap},
	    {"blocked", blocked},   {"reset", reset},
	    {"itimer", itimer},	    {"waits", waits},
	    {"contexts", contexts}, {"altstack", altstack},
	    {"redzone", red_zone},  {"leaps", leaps},
	    {"nowhere", nowhere},   {"server", server},
	    {"reuse", reuse},	    {"idle", idle},
	    {"again", again},
	};

	self = argv[0];
#ifdef BLOCKS
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
#endif
	if (strcmp(kind, "nothing") == 0)
		return 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kind, kinds[i].name) == 0)
			kinds[i].run();
	if (strcmp(kind, "depth") == 0)
		depth(atoi(arg));
	if (strcmp(kind, "libraries") == 0)
		libraries(arg);
	if (strcmp(kind, "reusefork") == 0)
		second_family(arg);
	if (strcmp(kind, "fork") == 0)
		family(false);
	if (strcmp(kind, "forkexec") == 0)
		family(true);
	if (strcmp(kind, "exec") == 0) {
		as_child();
		execl(self, self, "next", NULL);
	}
	if (strcmp(kind, "next") == 0) {
		as_next();
		return 0;
	}
	puts("ok");
	return strcmp(kind, "status") == 0 ? 42 : 0;
}
