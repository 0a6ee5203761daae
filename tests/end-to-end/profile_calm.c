/* tests/end-to-end/profile_calm.c - deep in calls, and writes where it is not
 * expected.
 *
 *	calm WHAT
 *
 * Dives DEPTH calls deep and stays until the kernel notes writes to its stack
 * (VmFlags of smaps has "uw"), for ten seconds of CPU time at most. Then it
 * does WHAT, prints ok, or what is wrong. "can" says whether the kernel can do
 * that at all. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 6000, MIDDLE = 3000, PAGE = 4096, ROOM = 6 * PAGE };
enum { LONG_MS = 10000, SOME_MS = 200 };

typedef int what(void);
static what *at_bottom;
static volatile unsigned long sink;
static unsigned seed = 1;
static unsigned char *room; /* in a frame in the middle; page-aligned */
static jmp_buf out;

static unsigned any(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work(void)
{
	for (int i = 0; i < 3000; i++)
		sink += i;
}

static void burn(long ms)
{
	for (long end = cpu_ms() + ms; cpu_ms() < end;)
		work();
}

/* -- Down -- */

static int dive(unsigned left);

#define PLAIN(n)                                                  \
	__attribute__((noinline)) static int dive_##n(unsigned l) \
	{                                                         \
		volatile long local[n + 2];                       \
		local[0] = l;                                     \
		return dive(l - 1) + (local[0] == -1);            \
	}
PLAIN(1)
PLAIN(2)
PLAIN(3)
PLAIN(4)
PLAIN(5)
PLAIN(6)

static __attribute__((noinline)) int dive_varying(unsigned l)
{
	volatile char *local = __builtin_alloca(any(256) + 16);

	local[0] = 1;
	return dive(l - 1) + (local[0] != 1);
}

__attribute__((noinline)) static int dive_wide(unsigned l)
{
	unsigned char local[ROOM + PAGE];
	int got;

	room = (void *)(((uintptr_t)local + PAGE - 1) & -(uintptr_t)PAGE);
	memset(room, 7, ROOM);
	got = dive(l - 1);
	sink += room[0];
	return got;
}

__attribute__((noinline)) static int dive(unsigned left)
{
	static int (*const all[])(unsigned) = {
	    dive_1, dive_2, dive_3, dive_4, dive_5, dive_6, dive_varying};

	if (left == 0)
		return at_bottom();
	if (left == MIDDLE)
		return dive_wide(left);
	return all[any(7)](left);
}

/* -- Is it noted? -- */

static int is_noted(void)
{
	char line[512];
	unsigned long from, to;
	int in_stack = 0, found = 0;
	FILE *f = fopen("/proc/self/smaps", "re");

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2)
			in_stack = strstr(line, "[stack]") != NULL;
		if (in_stack && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " uw") != NULL;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

static int await(void)
{
	long end = cpu_ms() + LONG_MS;

	while (!is_noted()) {
		if (cpu_ms() > end)
			return puts("nobody notes what is written");
		burn(20);
	}
	burn(50); /* pages are protected by now */
	return 0;
}

static int can_note(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = {.api = UFFD_API, .features = 1 << 15};
	struct uffdio_register r = {
	    .range = {(uintptr_t)page, PAGE},
	    .mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);

	return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 &&
	       ioctl(fd, UFFDIO_REGISTER, &r) == 0;
}

/* -- What -- */

/* Up by any number of calls, and down by others. */
static int climb(void)
{
	static long end;

	if (end == 0)
		end = cpu_ms() + 5 * SOME_MS;
	work();
	if (cpu_ms() > end)
		longjmp(out, 1);
	return 0;
}

__attribute__((noinline)) static int dive_again(unsigned left)
{
	volatile char *local = __builtin_alloca(any(64) + 16);

	local[0] = 1;
	if (left == 0) {
		int got = 0;

		for (int i = 0; i < 40; i++)
			got += dive(any(20));
		return got;
	}
	if (any(200) == 0)
		dive(any(40));
	return dive_again(left - 1) + local[0];
}

static int changes(void)
{
	if (await() != 0)
		return 1;
	at_bottom = climb;
	if (setjmp(out) == 0)
		for (;;)
			dive_again(any(10) == 0 ? any(4000) : any(30));
	return 0;
}

static int is_all(const unsigned char *at, size_t n, int value)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] != value)
			return 0;
	return 1;
}

/* The kernel, another process, and nobody at all write to pages that are
 * protected. */
static int writers(void)
{
	static unsigned char data[PAGE];
	struct iovec from = {data, PAGE}, to;
	int ends[2], mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (await() != 0 || pipe2(ends, O_CLOEXEC) < 0)
		return 1;
	for (int i = 1; i < 60; i++) {
		memset(data, i, PAGE);
		to = (struct iovec){room + PAGE, PAGE};
		if (write(ends[1], data, PAGE) != PAGE ||
		    read(ends[0], room, PAGE) != PAGE ||
		    process_vm_writev(getpid(), &from, 1, &to, 1, 0) != PAGE ||
		    pwrite(mem, data, PAGE,
			   (off_t)(uintptr_t)(room + 2 * PAGE)) != PAGE ||
		    madvise(room + 3 * PAGE, PAGE, MADV_DONTNEED) < 0)
			return puts("a write has failed"), 1;
		if (!is_all(room, 3ul * PAGE, i) ||
		    !is_all(room + 3 * PAGE, PAGE, 0))
			return puts("something else was written"), 1;
		memset(room + 3 * PAGE, 1, PAGE);
		burn(5);
	}
	return 0;
}

/* The lowest number that is free is always the same. */
static int files(void)
{
	int first = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(first);
	for (long end = cpu_ms() + SOME_MS; cpu_ms() < end;) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		close(fd);
		if (fd != first)
			return printf("%d, not %d\n", fd, first);
	}
	return 0;
}

static int lonely_files(void)
{
	return await() != 0 ? 1 : files();
}

static void *files_thread(void *result)
{
	*(int *)result = files();
	return NULL;
}

static volatile int is_done;

static void *watch_files(void *result)
{
	files_thread(result);
	is_done = 1;
	return NULL;
}

/* Another thread would see a descriptor, if this one had one for a moment. */
static int thread(void)
{
	pthread_t t;
	int result = 1;

	if (await() != 0 || pthread_create(&t, NULL, watch_files, &result) != 0)
		return 1;
	while (!is_done)
		work();
	pthread_join(t, NULL);
	burn(SOME_MS);
	return result;
}

/* How many descriptors there are, and the stack's mapping, but for how far down
 * it has grown. */
static int look_around(char *out_text, size_t size)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0;

	out_text[0] = '\0';
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strstr(line, "[stack]") != NULL)
			snprintf(out_text + strlen(out_text),
				 size - strlen(out_text), "%s",
				 strchr(line, '-'));
	if (f != NULL)
		fclose(f);
	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int traces(void)
{
	char before[1024], after[1024];
	int n = look_around(before, sizeof before);

	if (await() != 0)
		return 1;
	if (look_around(after, sizeof after) != n)
		return puts("another descriptor"), 1;
	return strcmp(before, after) != 0 ? (puts("another mapping"), 1) : 0;
}

/* What asking needs is deadly from now on. */
static int forbid(int by_prctl)
{
	static const unsigned deadly[] = {SYS_openat, SYS_ioctl, SYS_unshare,
					  SYS_close};
	struct sock_filter f[16] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
	struct sock_fprog p = {.filter = f};
	unsigned n = 1;

	for (unsigned i = 0; i < 4; i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						      deadly[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						      SECCOMP_RET_KILL_PROCESS);
	}
	f[n++] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p.len = (unsigned short)n;
	if (await() != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	if ((by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)
		      : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				     &p)) < 0)
		return puts("no filter"), 1;
	burn(2 * SOME_MS);
	return 0;
}

static int filter_prctl(void)
{
	return forbid(1);
}

static int filter_seccomp(void)
{
	return forbid(0);
}

/* A child has what its parent had, and nobody notes its writes. */
static int children(void)
{
	int status;

	if (await() != 0)
		return 1;
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			memset(room, i, ROOM);
			burn(50);
			_exit(is_noted() ? 2 : is_all(room, ROOM, i) ? 0 : 3);
		}
		memset(room, 100 + i, ROOM);
		burn(20);
		if (waitpid(pid, &status, 0) != pid || status != 0)
			return printf("a child: %x\n", status);
		if (!is_all(room, ROOM, 100 + i))
			return puts("a child has written here"), 1;
	}
	return 0;
}

static int executes(void)
{
	if (await() != 0)
		return 1;
	execl("/proc/self/exe", "calm", "writers", NULL);
	return puts("execl"), 1;
}

/* A page of the stack is not there any more, and comes back as another. */
static int unmapped(void)
{
	static unsigned char was[PAGE];
	unsigned char *page = room + PAGE;

	if (await() != 0)
		return 1;
	memcpy(was, page, PAGE);
	if (munmap(page, PAGE) < 0)
		return puts("munmap"), 1;
	burn(SOME_MS / 3);
	if (mmap(page, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
		return puts("mmap"), 1;
	memcpy(page, was, PAGE);
	burn(SOME_MS);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		what *f;
	} all[] = {
	    {"changes", changes},	 {"writers", writers},
	    {"files", lonely_files},	 {"thread", thread},
	    {"traces", traces},		 {"prctl", filter_prctl},
	    {"seccomp", filter_seccomp}, {"children", children},
	    {"executes", executes},	 {"unmapped", unmapped},
	};

	if (argc == 2 && strcmp(argv[1], "can") == 0)
		return can_note() ? 0 : 1;
	for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i].name, argv[1]) == 0)
			at_bottom = all[i].f;
	if (at_bottom == NULL)
		return 125;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (dive(DEPTH) != 0)
		return 1;
	return puts("ok") < 0;
}
