/* tests/end-to-end/probe_run_prog.c - something to ask questions of, which says
 * what the answers are. One word of the command line chooses what it does. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))

/* A probe as sys/sdt.h writes it: one argument, in a register, and a semaphore.
 */
__attribute__((section(".probes"))) volatile unsigned short query_semaphore;
#define QUERY(text)                                                         \
	__asm__ volatile(                                                   \
	    "990: nop\n"                                                    \
	    ".pushsection .note.stapsdt, \"\", \"note\"\n"                  \
	    ".balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n"               \
	    "991: .asciz \"stapsdt\"\n992: .balign 4\n"                     \
	    "993: .8byte 990b, _.stapsdt.base, query_semaphore\n"           \
	    ".asciz \"server\"\n.asciz \"query__start\"\n.asciz \"8@%0\"\n" \
	    "994: .balign 4\n.popsection\n"                                 \
	    ".ifndef _.stapsdt.base\n"                                      \
	    ".pushsection .stapsdt.base, \"aG\", \"progbits\", "            \
	    ".stapsdt.base, comdat\n.weak _.stapsdt.base\n"                 \
	    ".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"            \
	    ".size _.stapsdt.base, 1\n.popsection\n.endif\n"                \
	    :                                                               \
	    : "r"(text))

static volatile long sink;

FUNCTION long work(long n)
{
	sink += n;
	return n * 2;
}

static long number(char **argv, int i, long otherwise)
{
	return argv[1] != NULL && argv[i] != NULL ? atol(argv[i]) : otherwise;
}

static int do_calls(char **argv)
{
	long n = number(argv, 2, 1000);

	for (long i = 0; i < n; i++)
		work(i);
	printf("%ld\n", n);
	return (int)number(argv, 3, 0);
}

static void *calls_of_thread(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++)
		work(i);
	return NULL;
}

static int do_threads(char **argv)
{
	long n = number(argv, 2, 1000);
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, calls_of_thread, &n);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", 4 * n);
	return 0;
}

FUNCTION void release(void *volatile p)
{
	free(p);
	sink++;
}

static int do_malloc(char **argv)
{
	void *volatile p;

	(void)argv;
	for (int i = 0; i < 300; i++) {
		p = malloc(5000);
		release(p);
	}
	return 0;
}

static int do_open(char **argv)
{
	int fd;

	(void)argv;
	fd = open("/dev/null", O_RDONLY);
	close(fd);
	fd = open("no/such/file", O_RDONLY);
	printf("%d %d\n", fd, errno);
	return 0;
}

static int do_sync(char **argv)
{
	int fd = open("synced", O_WRONLY | O_CREAT, 0600);

	(void)argv;
	for (int i = 0; i < 20; i++)
		if (write(fd, "x", 1) != 1 || fsync(fd) < 0)
			return 1;
	return 0;
}

FUNCTION long leaf(long n)
{
	sink += n;
	return n + 1;
}

FUNCTION long parse(long n)
{
	long r = leaf(n);

	sink += r;
	return r;
}

FUNCTION long handle(long n)
{
	long r = parse(n) + leaf(n);

	sink += r;
	return r;
}

static int do_tree(char **argv)
{
	(void)argv;
	leaf(1);
	handle(2);
	leaf(3);
	return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&mutex);
		usleep(20000);
		pthread_mutex_unlock(&mutex);
		usleep(1000);
	}
	return NULL;
}

static int do_mutex(char **argv)
{
	pthread_t t[2];

	(void)argv;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, hold, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%p\n", (void *)&mutex);
	return 0;
}

FUNCTION long req_begin(long n)
{
	sink += n;
	return n;
}

FUNCTION long req_end(long n)
{
	sink += n;
	return n % 3 == 0;
}

static int do_requests(char **argv)
{
	(void)argv;
	for (long i = 1; i <= 9; i++) {
		req_begin(1000 + i);
		req_end(i);
	}
	return 0;
}

static int do_queries(char **argv)
{
	(void)argv;
	for (int i = 0; i < 3; i++)
		QUERY("select 1");
	printf("%u\n", query_semaphore);
	return 0;
}

static int do_crash(char **argv)
{
	(void)argv;
	for (long i = 0; i < 100000; i++)
		work(i);
	leaf(1);
	raise(SIGKILL);
	return 0;
}

/* Works until SIGTERM comes, and says how often. */
static volatile sig_atomic_t is_over;

static void end(int sig)
{
	(void)sig;
	is_over = 1;
}

static int do_long(char **argv)
{
	long n = 0;

	(void)argv;
	signal(SIGTERM, end);
	signal(SIGINT, end);
	puts("ready");
	fflush(stdout);
	for (; !is_over; n++) {
		work(n);
		if (n % 64 == 0)
			usleep(100);
	}
	printf("%ld\n", n);
	return 9;
}

/* A pointer that leads nowhere. */
FUNCTION long look(const char *p)
{
	sink += (long)p;
	return 0;
}

static int do_pointers(char **argv)
{
	(void)argv;
	look("text");
	look((const char *)8);
	look("more");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} all[] = {{"calls", do_calls},	    {"threads", do_threads},
		   {"malloc", do_malloc},   {"open", do_open},
		   {"sync", do_sync},	    {"tree", do_tree},
		   {"mutex", do_mutex},	    {"requests", do_requests},
		   {"queries", do_queries}, {"crash", do_crash},
		   {"long", do_long},	    {"pointers", do_pointers}};

	for (unsigned i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
		if (strcmp(argv[1], all[i].name) == 0)
			return all[i].run(argv);
	return 99;
}
