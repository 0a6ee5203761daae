/* inside/sys.h - system calls, made directly.
 *
 * The answer is the kernel's: a negative errno on failure. Works hosted, too.
 */
#ifndef INSIDE_SYS_H
#define INSIDE_SYS_H

#include <stdint.h>

static inline int64_t sys_call(int64_t nr, uint64_t a, uint64_t b, uint64_t c,
			       uint64_t d, uint64_t e, uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	int64_t answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return answer;
}

static inline int64_t sys_call3(int64_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	return sys_call(nr, a, b, c, 0, 0, 0);
}

/* Numbers, so that freestanding code needs no libc header. */
enum sys_nr {
	SYS_NR_WRITE = 1,
	SYS_NR_MMAP = 9,
	SYS_NR_MPROTECT = 10,
	SYS_NR_MUNMAP = 11,
	SYS_NR_BRK = 12,
	SYS_NR_RT_SIGACTION = 13,
	SYS_NR_RT_SIGPROCMASK = 14,
	SYS_NR_RT_SIGRETURN = 15,
	SYS_NR_SCHED_YIELD = 24,
	SYS_NR_MREMAP = 25,
	SYS_NR_MADVISE = 28,
	SYS_NR_GETPID = 39,
	SYS_NR_KILL = 62,
	SYS_NR_SIGALTSTACK = 131,
	SYS_NR_MUNLOCK = 150,
	SYS_NR_ARCH_PRCTL = 158,
	SYS_NR_GETTID = 186,
	SYS_NR_TKILL = 200,
	SYS_NR_FUTEX = 202,
	SYS_NR_CLOCK_GETTIME = 228,
	SYS_NR_TGKILL = 234,
	SYS_NR_RT_TGSIGQUEUEINFO = 297,
};

static inline int sys_failed(int64_t answer)
{
	return (uint64_t)answer >= (uint64_t)-4095;
}

/* Private anonymous memory at or near hint; flags are added. A negative errno
 * on failure. */
enum {
	SYS_PROT_NONE = 0,
	SYS_PROT_READ = 1,
	SYS_PROT_WRITE = 2,
	SYS_PROT_EXEC = 4,
	SYS_MAP_SHARED = 1,
	SYS_MAP_PRIVATE = 2,
	SYS_MAP_FIXED = 0x10,
	SYS_MAP_ANONYMOUS = 0x20,
	SYS_MAP_32BIT = 0x40,
	SYS_MAP_GROWSDOWN = 0x100,
	SYS_MAP_NORESERVE = 0x4000,
	SYS_MAP_FIXED_NOREPLACE = 0x100000,
};
static inline int64_t sys_map(uint64_t hint, uint64_t len, unsigned prot,
			      unsigned flags)
{
	return sys_call(SYS_NR_MMAP, hint, len, prot,
			SYS_MAP_PRIVATE | SYS_MAP_ANONYMOUS | flags,
			(uint64_t)-1, 0);
}

static inline int64_t sys_unmap(uint64_t at, uint64_t len)
{
	return sys_call3(SYS_NR_MUNMAP, at, len, 0);
}

/* The program's, as long as nothing of hark's uses fs. */
static inline uint64_t sys_fs_base(void)
{
	uint64_t base;

	__asm__ volatile("rdfsbase %0" : "=r"(base));
	return base;
}

enum { SYS_FUTEX_WAIT = 0, SYS_FUTEX_WAKE = 1, SYS_FUTEX_PRIVATE = 128 };

#endif
