/* tests/guests/proc_userfaultfd.c - memory that a thread of the program fills,
 * page by page, at the first touch: by loads, stores, locked and string
 * instructions, and by system calls. */
#include "guest.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum { PAGES = 64, PAGE = 4096 };

static int fd;
static char *area;
static volatile int served;

static char letter(int page)
{
	return (char)('a' + page % 26);
}

static void *serve(void *arg)
{
	static char page[PAGE] __attribute__((aligned(PAGE)));
	struct uffd_msg m;

	while (read(fd, &m, sizeof m) == sizeof m) {
		uint64_t at = m.arg.pagefault.address & ~(PAGE - 1ull);
		struct uffdio_copy c = {
		    .dst = at, .src = (uint64_t)page, .len = PAGE};

		memset(page, letter((int)((at - (uint64_t)area) / PAGE)), PAGE);
		served++;
		MUST(ioctl(fd, UFFDIO_COPY, &c) == 0);
	}
	return arg;
}

static void touch_all(void)
{
	char buf[2 * PAGE];
	void *to = buf, *from = area + 30 * PAGE + 100;
	size_t n = 8000;
	int p[2];

	for (int i = 0; i < 16; i++)
		SAME(area[i * PAGE + 17], letter(i));
	for (int i = 16; i < 24; i++) {
		area[i * PAGE + 5] = 'X';
		SAME(area[i * PAGE + 6], letter(i));
		SAME(area[i * PAGE + 5], 'X');
	}
	for (int i = 24; i < 28; i++) {
		__atomic_fetch_add(&area[i * PAGE], 1, __ATOMIC_SEQ_CST);
		SAME(area[i * PAGE], letter(i) + 1);
	}
	memcpy(buf, area + 28 * PAGE + 100, 8000);
	SAME(buf[0], letter(28));
	SAME(buf[7999], letter(29));
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
	SAME(buf[0], letter(30));
	SAME(buf[7999], letter(31));
	MUST(pipe(p) == 0);
	SAME(write(p[1], area + 32 * PAGE + 10, 5000), 5000);
	SAME(read(p[0], area + 40 * PAGE + 10, 5000), 5000);
	SAME(area[40 * PAGE + 10], letter(32));
	SAME(area[40 * PAGE + 5], letter(40));
	SAME(served, 36);
}

int main(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register r = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t t;

	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0)
		guest_absent("kernel");
	area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(area != MAP_FAILED);
	r.range.start = (uint64_t)area;
	r.range.len = PAGES * PAGE;
	MUST(ioctl(fd, UFFDIO_REGISTER, &r) == 0);
	MUST(pthread_create(&t, NULL, serve, NULL) == 0);
	touch_all();
	/* taken away, and filled anew */
	MUST(madvise(area, PAGE, MADV_DONTNEED) == 0);
	area[3] = 1;
	SAME(area[17], letter(0));
	SAME(served, 37);
	return guest_end();
}
