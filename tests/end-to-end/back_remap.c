/* tests/end-to-end/back_remap.c - one place, and what is mapped there in turn.
 *
 *	back_remap one|two|fork|exec
 *
 * What it has written or read is gone when something else is mapped there. It
 * says, for each time that moment() is entered, what can be known then:
 *
 *	P ADDRESS		the number of the process that this is about;
 *				where moment() is
 *	N ADDRESS KIND VALUE W	8 bytes; known: VALUE; lost: not one of them is
 *				known; zero, maybe: not one of them is anything
 *				else than 0, or VALUE; hidden: known, if it can
 *				be told from another address with the same low
 *				32 bits. W is 1 if somebody has written it since
 *				it is there, 0 if nobody, 2: that is not asked
 *
 * It checks itself that what it calls known is so. */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 32, TOLD_MOST = 1024 };

typedef volatile uint64_t word;

static struct told {
	unsigned moment;
	word *at;
	const char *kind;
	uint64_t value;
	int is_written;
} told[TOLD_MOST];
static unsigned n_told, n_moments;

/* Where it all happens; and where nothing else is. */
static char *const place = (char *)0x123456700000;
static char *const other = (char *)0x123556700000;

__attribute__((noinline)) void moment(void)
{
	__asm__ volatile("" ::: "memory");
}

static void tell(void *at, const char *kind, uint64_t value, int is_written)
{
	if (n_told == TOLD_MOST)
		errx(1, "it says too much");
	told[n_told++] = (struct told){n_moments, at, kind, value, is_written};
}
static void known(void *at, uint64_t value, int is_written)
{
	tell(at, "known", value, is_written);
}
static void hidden(void *at, uint64_t value, int is_written)
{
	tell(at, "hidden", value, is_written);
}
static void lost(void *at)
{
	tell(at, "lost", 0, 0);
}
static void zero(void *at)
{
	tell(at, "zero", 0, 0);
}
static void maybe(void *at, uint64_t value)
{
	tell(at, "maybe", value, 2);
}

/* Now; then what was told is looked at, if `look`. */
static void now(int look)
{
	unsigned n = n_moments++;

	moment();
	for (unsigned i = 0; look && i < n_told; i++)
		if (told[i].moment == n && strcmp(told[i].kind, "lost") != 0 &&
		    *told[i].at != told[i].value)
			errx(1, "moment %u: %p holds %llx, not %llx", n,
			     (void *)told[i].at,
			     (unsigned long long)*told[i].at,
			     (unsigned long long)told[i].value);
}

static void say(unsigned process)
{
	printf("%u %llx\n", process, (unsigned long long)moment);
	for (unsigned i = 0; i < n_told; i++)
		printf("%u %llx %s %llx %d\n", told[i].moment,
		       (unsigned long long)told[i].at, told[i].kind,
		       (unsigned long long)told[i].value, told[i].is_written);
	fflush(stdout);
}

static void must(int is_good, const char *what)
{
	if (!is_good)
		err(1, "%s", what);
}

/* -- Mapping -- */

static void map_anew(char *at, size_t len)
{
	must(mmap(at, len, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at,
	     "mmap");
}
static void unmap(char *at, size_t len)
{
	must(munmap(at, len) == 0, "munmap");
}
static void map_file(const char *path, char *at, size_t len, int flags)
{
	int fd = open(path, O_RDONLY);

	must(fd >= 0, path);
	must(mmap(at, len, PROT_READ, flags | MAP_FIXED, fd, 0) == at, "mmap");
	close(fd);
}
static void make_file(const char *path, uint64_t seed)
{
	uint64_t words[PAGE / 8];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (unsigned i = 0; i < PAGE / 8; i++)
		words[i] = seed + i;
	must(fd >= 0 && write(fd, words, sizeof words) == sizeof words, path);
	close(fd);
}
static void put(void *at, uint64_t value)
{
	*(word *)at = value;
}
static uint64_t get(void *at)
{
	return *(word *)at;
}

/* The call alone, in the middle of a count: what the script stops at. */
__attribute__((noinline)) static void unmap_here(char *at, uint64_t len)
{
	long answer;

	__asm__ volatile(".globl the_unmap\n"
			 "the_unmap: syscall\n"
			 ".globl behind_unmap\n"
			 "behind_unmap: nop\n"
			 : "=a"(answer)
			 : "a"(SYS_munmap), "D"(at), "S"(len)
			 : "rcx", "r11", "memory");
	must(answer == 0, "munmap");
}

/* -- Of one thread -- */

static void of_mappings(void)
{
	map_anew(place, PAGES * PAGE);
	zero(place);
	now(0);
	put(place, 0x1111111111111111);
	put(place + 8, 0x1212121212121212);
	put(place + PAGE, 0x1313131313131313);
	known(place, 0x1111111111111111, 1);
	known(place + 8, 0x1212121212121212, 1);
	known(place + PAGE, 0x1313131313131313, 1);
	zero(place + 16);
	now(1);
	/* Away, and there again. */
	unmap(place, PAGES * PAGE);
	lost(place);
	lost(place + PAGE);
	now(0);
	map_anew(place, PAGES * PAGE);
	zero(place);
	zero(place + 8);
	now(0);
	must(get(place + 8) == 0, "it is zero");
	put(place + 16, 0x2222222222222222);
	zero(place);
	known(place + 8, 0, 0);
	known(place + 16, 0x2222222222222222, 1);
	zero(place + PAGE);
	now(1);
	/* Over it. */
	map_anew(place, PAGES * PAGE);
	zero(place + 8);
	zero(place + 16);
	now(0);
	put(place + 16, 0x2323232323232323);
	known(place + 16, 0x2323232323232323, 1);
	now(1);
	/* A part of it. */
	put(place + 2 * PAGE, 0x2424242424242424);
	map_anew(place, PAGE);
	zero(place + 16);
	known(place + 2 * PAGE, 0x2424242424242424, 1);
	now(0);
	unmap(place + 2 * PAGE, PAGE);
	lost(place + 2 * PAGE);
	now(0);
	/* What protects it does not change it. */
	put(place, 0x2525252525252525);
	must(mprotect(place, PAGE, PROT_NONE) == 0 &&
		 mprotect(place, PAGE, PROT_READ | PROT_WRITE) == 0,
	     "mprotect");
	known(place, 0x2525252525252525, 1);
	now(1);
	unmap(place, PAGES * PAGE);
}

static void of_files(const char *program)
{
	uint64_t head;
	int fd = open(program, O_RDONLY);

	must(fd >= 0 && read(fd, &head, sizeof head) == sizeof head, program);
	close(fd);
	make_file("file1", 0x3100000000000000);
	make_file("file2", 0x3200000000000000);
	map_anew(place, PAGE);
	put(place, 0x3333333333333333);
	known(place, 0x3333333333333333, 1);
	now(1);
	map_file("file1", place, PAGE, MAP_PRIVATE);
	maybe(place, 0x3100000000000000);
	maybe(place + 8, 0x3100000000000001);
	now(0);
	must(get(place + 8) == 0x3100000000000001, "the first file");
	known(place + 8, 0x3100000000000001, 0);
	now(1);
	map_file("file2", place, PAGE, MAP_SHARED);
	maybe(place + 8, 0x3200000000000001);
	now(0);
	must(get(place) == 0x3200000000000000, "the second file");
	known(place, 0x3200000000000000, 0);
	maybe(place + 8, 0x3200000000000001);
	now(1);
	unmap(place, PAGE);
	lost(place);
	lost(place + 8);
	now(0);
	/* What is in the recording is known without being read. */
	map_file(program, place, PAGE, MAP_PRIVATE);
	known(place, head, 0);
	now(0);
	must(get(place) == head, "the program");
	map_anew(place, PAGE);
	zero(place);
	now(0);
	unmap(place, PAGE);
}

static void of_moves(void)
{
	map_anew(place, PAGES * PAGE);
	unmap(place + 2 * PAGE, (PAGES - 2) * PAGE);
	put(place, 0x4141414141414141);
	put(place + PAGE, 0x4242424242424242);
	/* It grows, and shrinks, where it is. */
	must(mremap(place, 2 * PAGE, 4 * PAGE, 0) == place, "mremap");
	known(place, 0x4141414141414141, 1);
	known(place + PAGE, 0x4242424242424242, 1);
	zero(place + 3 * PAGE);
	now(0);
	put(place + 3 * PAGE, 0x4343434343434343);
	known(place + 3 * PAGE, 0x4343434343434343, 1);
	now(1);
	must(mremap(place, 4 * PAGE, PAGE, 0) == place, "mremap");
	known(place, 0x4141414141414141, 1);
	lost(place + PAGE);
	lost(place + 3 * PAGE);
	now(0);
	must(mremap(place, PAGE, 4 * PAGE, 0) == place, "mremap");
	known(place, 0x4141414141414141, 1);
	zero(place + PAGE);
	zero(place + 3 * PAGE);
	now(0);
	/* Elsewhere, over something else. */
	map_anew(other, 4 * PAGE);
	put(other, 0x4444444444444444);
	put(other + PAGE, 0x4545454545454545);
	must(mremap(place, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    other) == other,
	     "mremap");
	lost(place);
	maybe(other, 0x4141414141414141);
	maybe(other + PAGE, 0);
	now(0);
	must(get(other) == 0x4141414141414141, "it was moved");
	known(other, 0x4141414141414141, 2);
	now(0);
	map_anew(place, PAGE);
	zero(place);
	hidden(other, 0x4141414141414141, 2);
	now(1);
	unmap(place, PAGE);
	unmap(other, 4 * PAGE);
}

static void of_heap(void)
{
	char *top = (char *)syscall(SYS_brk, 0), *base;

	base = (char *)(((uintptr_t)top + PAGE - 1) & -(uintptr_t)PAGE);
	must((char *)syscall(SYS_brk, base + 8 * PAGE) == base + 8 * PAGE,
	     "brk");
	put(base + PAGE, 0x5151515151515151);
	put(base + 2 * PAGE, 0x5252525252525252);
	put(base + 3 * PAGE, 0x5353535353535353);
	known(base + PAGE, 0x5151515151515151, 1);
	known(base + 2 * PAGE, 0x5252525252525252, 1);
	now(1);
	/* To the middle of a page, which stays. */
	syscall(SYS_brk, base + 2 * PAGE - 100);
	known(base + PAGE, 0x5151515151515151, 1);
	lost(base + 2 * PAGE);
	lost(base + 3 * PAGE);
	now(0);
	syscall(SYS_brk, base + 8 * PAGE);
	known(base + PAGE, 0x5151515151515151, 1);
	zero(base + 2 * PAGE);
	zero(base + 3 * PAGE);
	now(0);
	must(get(base + 3 * PAGE) == 0, "a heap is zero");
	zero(base + 2 * PAGE);
	known(base + 3 * PAGE, 0, 0);
	now(1);
	syscall(SYS_brk, top);
}

static void of_advice(void)
{
	map_anew(place, 2 * PAGE);
	put(place, 0x6161616161616161);
	put(place + PAGE, 0x6262626262626262);
	known(place, 0x6161616161616161, 1);
	now(1);
	must(madvise(place, PAGE, MADV_DONTNEED) == 0, "madvise");
	zero(place);
	known(place + PAGE, 0x6262626262626262, 1);
	now(0);
	must(madvise(place, PAGE, MADV_WILLNEED) == 0, "madvise");
	put(place, 0x6363636363636363);
	must(madvise(place, PAGE, MADV_WILLNEED) == 0, "madvise");
	known(place, 0x6363636363636363, 1);
	now(1);
	unmap(place, 2 * PAGE);
}

static void of_segments(void)
{
	int id[2];

	for (unsigned i = 0; i < 2; i++) {
		id[i] = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600);
		must(id[i] >= 0, "shmget");
	}
	must(shmat(id[0], place, 0) == place, "shmat");
	put(place, 0x7171717171717171);
	put(place + PAGE, 0x7272727272727272);
	known(place + PAGE, 0x7272727272727272, 1);
	now(1);
	must(shmdt(place) == 0, "shmdt");
	lost(place);
	lost(place + PAGE);
	now(0);
	must(shmat(id[1], place, 0) == place, "shmat");
	zero(place);
	zero(place + PAGE);
	now(0);
	must(get(place + PAGE) == 0, "it is another");
	known(place + PAGE, 0, 0);
	now(1);
	must(shmat(id[0], place, SHM_REMAP) == place, "shmat");
	maybe(place, 0x7171717171717171);
	maybe(place + PAGE, 0x7272727272727272);
	now(0);
	must(shmdt(place) == 0, "shmdt");
	shmctl(id[0], IPC_RMID, NULL);
	shmctl(id[1], IPC_RMID, NULL);
}

/* What has the same low 32 bits. */
static void of_aliases(void)
{
	map_anew(place, PAGE);
	put(place, 0x8181818181818181);
	unmap(place, PAGE);
	map_anew(other, PAGE);
	zero(other);
	lost(place);
	now(0);
	put(other, 0x8282828282828282);
	map_anew(place, PAGE);
	put(place + 8, 0x8383838383838383);
	unmap(place, PAGE);
	hidden(other, 0x8282828282828282, 1);
	zero(other + 8);
	lost(place + 8);
	now(1);
	unmap(other, PAGE);
	lost(other);
	now(0);
}

static void of_one_count(void)
{
	map_anew(place, PAGE);
	put(place, 0x9191919191919191);
	known(place, 0x9191919191919191, 1);
	now(1);
	unmap_here(place, PAGE);
	lost(place);
	now(0);
}

static void one(const char *program)
{
	of_mappings();
	of_files(program);
	of_moves();
	of_heap();
	of_advice();
	of_segments();
	of_aliases();
	of_one_count();
}

/* -- Of two -- */

static struct {
	sem_t go, done;
	void (*what)(void *);
	void *on;
} errand;

static void *run_errands(void *arg)
{
	for (;;) {
		sem_wait(&errand.go);
		if (errand.what == NULL)
			return arg;
		errand.what(errand.on);
		sem_post(&errand.done);
	}
}
static void ask_other(void (*what)(void *), void *on)
{
	errand.what = what;
	errand.on = on;
	sem_post(&errand.go);
	if (what != NULL)
		sem_wait(&errand.done);
}
static void look_at(void *at)
{
	(void)get(at);
}
static void write_there(void *at)
{
	put(at, 0xa1a1a1a1a1a1a1a1);
}
static void unmap_there(void *at)
{
	unmap(at, PAGE);
}
static void map_there(void *at)
{
	map_anew(at, PAGE);
}
static void one_moment(void *unused)
{
	(void)unused;
	now(0);
}

static void two(void)
{
	pthread_t thread;

	sem_init(&errand.go, 0, 0);
	sem_init(&errand.done, 0, 0);
	must(pthread_create(&thread, NULL, run_errands, NULL) == 0, "a thread");
	/* The other one knows what was there, and nothing of its end. */
	map_anew(place, PAGE);
	put(place, 0xa2a2a2a2a2a2a2a2);
	ask_other(look_at, place);
	known(place, 0xa2a2a2a2a2a2a2a2, 1);
	now(1);
	unmap(place, PAGE);
	lost(place);
	now(0);
	map_anew(place, PAGE);
	zero(place);
	now(0);
	zero(place);
	ask_other(one_moment, NULL);
	must(get(place + 8) == 0, "it is zero");
	known(place + 8, 0, 0);
	zero(place);
	now(0);
	ask_other(look_at, place);
	known(place, 0, 0);
	now(1);
	ask_other(write_there, place);
	known(place, 0xa1a1a1a1a1a1a1a1, 1);
	now(0);
	/* The other one unmaps, and maps. */
	put(place + 16, 0xa3a3a3a3a3a3a3a3);
	ask_other(unmap_there, place);
	lost(place);
	lost(place + 16);
	now(0);
	ask_other(map_there, place);
	zero(place);
	zero(place + 16);
	now(0);
	zero(place + 16);
	ask_other(one_moment, NULL);
	put(place + 16, 0xa4a4a4a4a4a4a4a4);
	ask_other(write_there, place);
	known(place + 16, 0xa4a4a4a4a4a4a4a4, 1);
	known(place, 0xa1a1a1a1a1a1a1a1, 1);
	now(0);
	must(madvise(place, PAGE, MADV_DONTNEED) == 0, "madvise");
	zero(place);
	zero(place + 16);
	now(0);
	ask_other(write_there, place + 24);
	/* It is no more, and has known. */
	ask_other(NULL, NULL);
	pthread_join(thread, NULL);
	known(place + 24, 0xa1a1a1a1a1a1a1a1, 1);
	now(0);
	map_anew(place, PAGE);
	zero(place + 24);
	now(0);
}

/* -- Of a child -- */

static void child(void)
{
	known(place, 0xb1b1b1b1b1b1b1b1, 2);
	known(place + PAGE, 0xb2b2b2b2b2b2b2b2, 2);
	known(place + 2 * PAGE, 0xb3b3b3b3b3b3b3b3, 2);
	now(0);
	map_anew(place, PAGE);
	zero(place);
	known(place + PAGE, 0xb2b2b2b2b2b2b2b2, 2);
	now(0);
	must(madvise(place + PAGE, PAGE, MADV_DONTNEED) == 0, "madvise");
	zero(place + PAGE);
	known(place + 2 * PAGE, 0xb3b3b3b3b3b3b3b3, 2);
	now(0);
	must(mremap(place + 2 * PAGE, PAGE, 2 * PAGE, 0) == place + 2 * PAGE,
	     "mremap");
	known(place + 2 * PAGE, 0xb3b3b3b3b3b3b3b3, 2);
	zero(place + 3 * PAGE);
	now(1);
	unmap(place, 4 * PAGE);
	lost(place + 2 * PAGE);
	now(0);
	say(2);
	_exit(0);
}

static int with_child(void)
{
	int status;

	map_anew(place, 2 * PAGE);
	put(place, 0xb1b1b1b1b1b1b1b1);
	put(place + PAGE, 0xb1b1b1b1b1b1b1b1);
	must(madvise(place + PAGE, PAGE, MADV_DONTNEED) == 0 &&
		 mremap(place, 2 * PAGE, 4 * PAGE, 0) == place,
	     "madvise and mremap");
	put(place + PAGE, 0xb2b2b2b2b2b2b2b2);
	put(place + 2 * PAGE, 0xb3b3b3b3b3b3b3b3);
	put(place + 3 * PAGE, 0xb4b4b4b4b4b4b4b4);
	unmap(place + 3 * PAGE, PAGE);
	if (fork() == 0)
		child();
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* -- Of another program, at the same place -- */

static int first_program(const char *program)
{
	map_anew(place, PAGE);
	put(place, 0xc1c1c1c1c1c1c1c1);
	execl(program, program, "then", NULL);
	return 1;
}

static void second_program(void)
{
	lost(place);
	now(0);
	map_anew(place, PAGE);
	zero(place);
	now(0);
	put(place + 8, 0xc2c2c2c2c2c2c2c2);
	zero(place);
	known(place + 8, 0xc2c2c2c2c2c2c2c2, 1);
	now(1);
	say(2);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "fork") == 0)
		return with_child();
	if (strcmp(what, "exec") == 0)
		return first_program(argv[0]);
	if (strcmp(what, "then") == 0) {
		second_program();
		return 0;
	}
	if (strcmp(what, "one") == 0)
		one(argv[0]);
	else if (strcmp(what, "two") == 0)
		two();
	else
		errx(2, "one, two, fork or exec?");
	say(1);
	return 0;
}
