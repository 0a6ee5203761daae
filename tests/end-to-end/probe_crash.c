/* tests/end-to-end/probe_crash.c - keeps a diary, so that one knows how far it
 * came when it ended.
 *
 *	probe_crash FILE spin | segv | count N
 *
 * FILE holds two numbers of 64 bits: the ordinal with which `hot` is called
 * next, and the last one that it has returned from.
 *
 *	spin	for a minute, or until it is killed
 *	segv	100,000 times, then it writes where nothing is (at crash_here)
 *	count	N times, then it says so */
#include "guest.h"
#include "probe_functions.h"
#include <fcntl.h>
#include <time.h>

PLAIN(hot);

void crash(uint64_t n);

/* clang-format off */
__asm__(".text\n"
	".globl crash\n.type crash, @function\n"
	"crash:	xor	%eax, %eax\n"
	".globl crash_here\n"
	"crash_here:\n"
	"	mov	%rdi, 0x40(%rax)\n"
	"	ret\n"
	".size crash, .-crash\n");
/* clang-format on */

int main(int argc, char **argv)
{
	volatile uint64_t *diary;
	time_t end = time(NULL) + 60;
	uint64_t n = 100000;
	int fd, spins;

	MUST(argc >= 3);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && ftruncate(fd, 16) == 0);
	diary = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(diary != MAP_FAILED);
	printf("ready %d\n", getpid());
	fflush(stdout);
	spins = strcmp(argv[2], "spin") == 0;
	if (argc > 3)
		n = strtoull(argv[3], NULL, 10);
	for (uint64_t i = 0; spins || i < n; i++) {
		diary[0] = i;
		if (hot(i) != 2 * i + 1)
			guest_wrong = 1;
		diary[1] = i;
		if (spins && i % 65536 == 0 && time(NULL) > end)
			break;
	}
	printf("hit hot %lu\n", diary[1] + 1);
	if (guest_end() != 0)
		return 1;
	fflush(stdout);
	if (strcmp(argv[2], "segv") == 0)
		crash(n);
	return 0;
}
