/* tests/end-to-end/probe_usdt.c - programmers' probes with arguments of every
 * shape.
 *
 *	probe_usdt [FILE]	waits, before and after, until there is a FILE
 *
 * The notes are written by hand, as sys/sdt.h and its compilers write them, so
 * that each shape is there for certain. Before each probe the program says what
 * its arguments are: "NAME VALUE...", all as signed numbers. Built with -DOTHER
 * it is another part of the program, or a library. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clang-format off */
#define NOTE(name, arguments, semaphore)				\
	"990:	nop\n"							\
	".pushsection .note.stapsdt, \"\", \"note\"\n"			\
	".balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n"		\
	"991: .asciz \"stapsdt\"\n992: .balign 4\n"			\
	"993: .8byte 990b, _.stapsdt.base, " semaphore "\n"		\
	".asciz \"shapes\"\n.asciz \"" name "\"\n"			\
	".asciz \"" arguments "\"\n"					\
	"994: .balign 4\n.popsection\n"					\
	".ifndef _.stapsdt.base\n"					\
	".pushsection .stapsdt.base, \"aG\", \"progbits\", "		\
	".stapsdt.base, comdat\n.weak _.stapsdt.base\n"			\
	".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"		\
	".size _.stapsdt.base, 1\n.popsection\n.endif\n"
/* clang-format on */

/* SAY("name", values...) */
#define SAY(name, ...)                            \
	say(name, (const int64_t[]){__VA_ARGS__}, \
	    sizeof((const int64_t[]){__VA_ARGS__}) / 8)

static inline void say(const char *name, const int64_t *values, size_t n)
{
	printf("%s", name);
	for (size_t i = 0; i < n; i++)
		printf(" %ld", values[i]);
	printf("\n");
}

#ifdef OTHER

__attribute__((used)) static int64_t twice = 1;
int64_t library_global = 0x1234567890;
__attribute__((used)) static int32_t library_local = -77;

void other(void)
{
	SAY("library", library_global, library_local);
	__asm__ volatile(NOTE("library",
			      "8@library_global(%%rip) -4@library_local(%%rip)",
			      "0")
			 :
			 : "m"(library_local), "m"(library_global));
	__asm__ volatile(NOTE("twice", "8@twice(%%rip)", "0") : : "m"(twice));
}

#else

void other(void) __attribute__((weak));

int32_t counter = -4;
__attribute__((used)) static int64_t table[8] = {10, -11, 12, -13,
						 14, -15, 16, -17};
__attribute__((used)) static uint16_t words[4] = {1, 0xfffe, 3, 0xfffc};
__attribute__((used)) static int64_t twice = 2;
__thread int32_t thread_counter = -1000;
__thread int64_t thread_filler[3] = {1, 2, 3};
volatile uint16_t first_semaphore __attribute__((section(".probes")));
volatile uint16_t second_semaphore __attribute__((section(".probes")));
volatile uint16_t third_semaphore __attribute__((section(".probes")));

/* Relative to rip, and without. */
static void names(void)
{
	SAY("names", counter, table[2], (uint64_t)table[3] & 0xffffffff,
	    (uint32_t)counter, words[1], (int16_t)words[1], table[5],
	    (intptr_t)&counter, (intptr_t)&table[1], (int8_t)counter);
	__asm__ volatile(
	    NOTE("names",
		 "-4@counter(%%rip) 8@table+16(%%rip) 4@32+table-8(%%rip) "
		 "4@counter(%%rip) 2@words+2(%%rip) -2@words+0x2(%%rip) "
		 "-8@table(,%%rcx,8) 8@$counter 8@$table+8 -1@counter",
		 "0")
	    :
	    : "c"(5L), "m"(counter), "m"(table), "m"(words));
}

static void memory(void)
{
	const int32_t numbers[6] = {1, -2, 3, -4, 5, -6};

	SAY("memory", -4, (uint32_t)-6, 3, -2, (uint8_t)-2, 0xff, -1,
	    (uint32_t)-2);
	__asm__ volatile(
	    "mov $1, %%r9\n" NOTE(
		"memory",
		"-4@8(%%rax,%%rbx,4) 4@20(%%rax) 4@(%%rax,%%rdx) "
		"-4@-4(%%rax,%%r9,8) 1@4(%%rax) 1@-1(%%rax,%%rdx,1) "
		"-2@0x6(%%rax) 4@(%%rax,%%r9,4)",
		"0")
	    :
	    : "a"(numbers), "b"(1L), "d"(8L), "m"(numbers)
	    : "r9");
}

static void constants(void)
{
	SAY("constants", -5, 255, INT64_MAX, -56, -1, 1, 7, 0, INT64_MIN);
	__asm__ volatile(NOTE("constants",
			      "-4@$-5 1@$-1 8@$0x7fffffffffffffff -1@$200 "
			      "8@$18446744073709551615 2@$65537 4@$3+4 4@$0 "
			      "-8@$-9223372036854775808",
			      "0")
			 :
			 :);
}

static void registers(void)
{
	int64_t a = (int64_t)0x8182838485868788, s;

	SAY("registers", 0x88, 0x87, (int8_t)0x87, 0x8788, (int16_t)0x8788,
	    0x85868788, (int32_t)0x85868788, a, 0xfd, 0xfffd);
	__asm__ volatile("mov $-3, %%r9\n" NOTE(
			     "registers",
			     "1@%%al 1@%%ah -1@%%ah 2@%%ax -2@%%ax 4@%%eax "
			     "-4@%%eax 8@%%rax 1@%%r9b 2@%%r9w",
			     "0")
			 :
			 : "a"(a)
			 : "r9");
	/* A register may be smaller than its argument; no size means 8. */
	SAY("narrow", 0x88, (int16_t)0x8788, 0x85868788, a, a + 1, 123);
	__asm__ volatile("lea 1(%%rax), %%r15\n"
			 "push $123\n" NOTE("narrow",
					    "4@%%al -8@%%ax 8@%%eax %%rax "
					    "8@%%r15 8@(%%rsp)",
					    "0") "pop %0\n"
			 : "=r"(s)
			 : "a"(a)
			 : "r15", "memory");
}

static void segments(void)
{
	static int64_t there[3] = {21, -22, 23};
	uint64_t fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	syscall(SYS_arch_prctl, ARCH_SET_GS, there);
	SAY("segments", thread_counter, (uint32_t)thread_counter, (int64_t)fs,
	    there[1], 23, thread_filler[1], (int64_t)fs);
	__asm__ volatile(
	    NOTE("segments",
		 "-4@%%fs:thread_counter@tpoff 4@%%fs:thread_counter@tpoff "
		 "8@%%fs:0 8@%%gs:8 -8@%%gs:(%%rax,%%rcx,8) "
		 "8@%%fs:thread_filler@tpoff+8 8@%%fs:(%%rdx)",
		 "0")
	    :
	    : "a"(8L), "c"(1L), "d"(0L), "m"(thread_counter),
	      "m"(thread_filler));
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
}

/* As the compiler itself writes them. */
static void compiled(long i)
{
	static int16_t own = -300;
	volatile int64_t stacked = -40;

	SAY("compiled", counter, table[3], words[i], thread_counter, stacked,
	    -6, table[i] + 1, own, thread_filler[i], table[i]);
	__asm__ volatile(
	    NOTE("compiled",
		 "-4@%0 8@%1 2@%2 -4@%3 8@%4 -4@%5 8@%6 -2@%7 8@%8 8@%9", "0")
	    :
	    : "m"(counter), "m"(table[3]), "m"(words[i]), "m"(thread_counter),
	      "m"(stacked), "i"(-6), "r"(table[i] + 1), "m"(own),
	      "m"(thread_filler[i]), "m"(table[i]));
}

/* The first argument can be had. */
static void beyond(void)
{
	__asm__ volatile(NOTE("beyond",
			      "-4@$1 16@%%xmm0 8f@%%xmm1 4f@8(%%rsp) "
			      "8@counter@GOTPCREL(%%rip) 8@%%ymm3 8@8(%%rip) "
			      "3@%%eax 8@nowhere(%%rip) 8@(%%eax)",
			      "0")
			 :
			 :);
	__asm__ volatile(NOTE("mine", "-8@twice(%%rip)", "0") : : "m"(twice));
}

static void semaphores(void)
{
	__asm__ volatile(NOTE("on", "8@$1", "first_semaphore"));
	__asm__ volatile(NOTE("on", "8@$2", "first_semaphore"));
	__asm__ volatile(NOTE("alone", "8@$3", "second_semaphore"));
	__asm__ volatile(NOTE("off", "8@$4", "third_semaphore"));
	printf("semaphores %u %u %u\n", first_semaphore, second_semaphore,
	       third_semaphore);
}

static void await(const char *file, const char *state)
{
	printf("%s\n", state);
	fflush(stdout);
	while (file != NULL && access(file, F_OK) != 0)
		usleep(2000);
	if (file != NULL)
		unlink(file);
}

int main(int argc, char **argv)
{
	const char *file = argc > 1 ? argv[1] : NULL;

	if (file != NULL)
		await(file, "ready");
	names();
	memory();
	constants();
	registers();
	segments();
	compiled(argc > 5 ? 0 : 2);
	if (other != NULL)
		other();
	beyond();
	semaphores();
	if (file != NULL) {
		await(file, "done");
		semaphores();
	}
	return 0;
}

#endif
