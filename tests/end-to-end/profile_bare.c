/* tests/end-to-end/profile_bare.c - callers that no rule tells of:
 * `profile_bare KIND [SECONDS]`. Each kind calls callback() from code without
 * call-frame rules, which outer() has called. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile uint64_t sink;
static double seconds = 0.4;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

KEEP void callback(void)
{
	for (double end = used() + seconds; used() < end;)
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i * 7;
	sink++; /* no jump */
}

/* Never called: what is behind its call looks like a return address. */
KEEP void decoy(void)
{
	char room[200];

	sprintf(room, "%d", (int)sink);
	__asm__ volatile("call callback\n.Lbehind_decoy:" ::: "memory");
	sink += (uint64_t)room[0];
}

void bare(void (*f)(void));
void linked(void (*f)(void));
void lie(void (*f)(void), void *caller);

/* bare: rbp is anything, and below its return address lies one that is not.
 * linked: with a frame pointer. lie: with one to a frame that is none, of a
 * caller that somebody else chooses. */
__asm__(".text\n"
	".globl bare, linked, lie\n"
	"bare:	push %rbx\n"
	"	push %rbp\n"
	"	sub $56, %rsp\n"
	"	lea .Lbehind_decoy(%rip), %rax\n"
	"	mov %rax, 8(%rsp)\n"
	"	mov $0x1235, %ebp\n"
	"	call *%rdi\n"
	"	add $56, %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"linked: push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $80, %rsp\n"
	"	call *%rdi\n"
	"	leave\n"
	"	ret\n"
	"lie:	push %rbp\n"
	"	sub $64, %rsp\n"
	"	lea 16(%rsp), %rbp\n"
	"	mov %rbp, 16(%rsp)\n"
	"	mov %rsi, 24(%rsp)\n"
	"	call *%rdi\n"
	"	add $64, %rsp\n"
	"	pop %rbp\n"
	"	ret\n");

static void *behind_made;

/* Code that was made: one function that calls another that calls f. */
static void made(void (*f)(void))
{
	static const uint8_t inner[] = {
	    0x55, 0x48, 0x89, 0xe5, /* push rbp; mov rbp, rsp */
	    0xff, 0xd7,		    /* call rdi */
	    0x5d, 0xc3,		    /* pop rbp; ret */
	};
	static const uint8_t outer[] = {
	    0x55, 0x48, 0x89, 0xe5,	  /* push rbp; mov rbp, rsp */
	    0xe8, 0xf7, 0x0f, 0x00, 0x00, /* call inner, a page later */
	    0x5d, 0xc3,			  /* pop rbp; ret */
	};
	uint8_t *at = mmap(NULL, 16384, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	memcpy(at, outer, sizeof outer);
	memcpy(at + 4096, inner, sizeof inner);
	((void (*)(void (*)(void)))at)(f);
	munmap(at, 16384);
	behind_made = at + 9;
}

/* Into code that is gone, though hark may believe that it is there. */
static void gone(void (*f)(void))
{
	made(f);
	lie(f, behind_made);
}

KEEP void outer(void (*with)(void (*)(void)))
{
	with(callback);
	sink++;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (argc > 2)
		seconds = atof(argv[2]);
	if (strcmp(kind, "bare") == 0)
		outer(bare);
	if (strcmp(kind, "linked") == 0)
		outer(linked);
	if (strcmp(kind, "made") == 0)
		outer(made);
	if (strcmp(kind, "gone") == 0)
		outer(gone);
	if (argc > 100)
		decoy();
	puts("ok");
	return 0;
}
